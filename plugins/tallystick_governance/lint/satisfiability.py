"""Satisfiability of conditions of a formula: exact intervals, and no solver.

What is compared with a number has an interval, open or closed at each end; of two expressions it
is that of their difference. Conditions that say nothing of this kind say nothing here: what is
found impossible is so for every record, and what is not found so may still be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.tree import Node, leaves

Ends = tuple[Fraction | None, Fraction | None]
"""The smallest and the largest value of an expression; None where neither is known."""
Asked = tuple[Node, bool]
"""A condition, and whether it holds."""

_CHOICES = 8
"""Maximum number of disjunctions the search branches on; beyond it the answer is 'satisfiable'."""


@attrs.frozen
class Span:
    """The interval of a value; each end may be open, or missing.

    Attributes:
        low: the lower end.
        high: the upper end.
        above: whether the lower end itself is left out.
        below: whether the upper end itself is left out.
        but: numbers in between that are left out.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    above: bool = False
    below: bool = False
    but: frozenset[Fraction] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True if no value is left."""
        if self.low is None or self.high is None or self.low < self.high:
            return False
        return self.low > self.high or self.above or self.below or self.low in self.but

    def at_least(self, end: Fraction, *, above: bool) -> Span:
        """Return the part that is at an end or above it, or only above it."""
        if self.low is not None and (end, above) <= (self.low, self.above):
            return self
        return attrs.evolve(self, low=end, above=above)

    def at_most(self, end: Fraction, *, below: bool) -> Span:
        """Return the part that is at an end or below it, or only below it."""
        if self.high is not None and (-end, below) <= (-self.high, self.below):
            return self
        return attrs.evolve(self, high=end, below=below)


def satisfiable(asked: Sequence[Asked], ends_of: Callable[[Node], Ends]) -> bool:
    """Return whether conditions can hold together, as far as intervals show.

    Args:
        asked: conditions whose parameters are bound, and whether each holds.
        ends_of: the range of an expression for every valid record.
    """
    return _Search(ends_of).holds(tuple(asked), {}, _CHOICES)


@attrs.frozen
class _Search:
    ends_of: Callable[[Node], Ends]

    def holds(self, asked: Sequence[Asked], known: Mapping[str, Span], choices: int) -> bool:
        """Return whether conditions are satisfiable, given the interval of each expression."""
        pending, later = list(asked), list[Asked]()
        while pending:
            node, holds = pending.pop()
            match node.op:
                case "label":
                    pending.append((node.args[0], holds))
                case "not":
                    pending.append((node.args[0], not holds))
                case "and" | "or" if (node.op == "and") is holds:
                    pending += [(part, holds) for part in node.args]
                case "and" | "or":
                    later.append((node, holds))
                case _:
                    known = self._learnt(node, holds, known)
        if any(span.is_empty for span in known.values()):
            return False
        return not later or not choices or self._chosen(later, known, choices - 1)

    def _chosen(self, later: Sequence[Asked], known: Mapping[str, Span], choices: int) -> bool:
        """Return whether the first disjunction is satisfiable by one of its parts."""
        (first, holds), *rest = later
        return any(self.holds([(part, holds), *rest], known, choices) for part in first.args)

    def _learnt(self, node: Node, holds: bool, known: Mapping[str, Span]) -> Mapping[str, Span]:
        tree, sign, edge = _compared(node)
        span = known.get(tree.digest) or Span(*self.ends_of(tree))
        return {**known, tree.digest: _narrowed(span, node.op, sign, edge, holds)}


def _compared(node: Node) -> tuple[Node, int, Fraction]:
    """Return the expression that a condition compares with a number, its sign, and the number."""
    if node.op not in ("lt", "le", "eq"):
        return node, 1, Fraction(1)  # a truth that the record decides: 1 where it holds
    left, right = (side.unlabelled for side in node.args)
    if (edge := _number_of(right)) is not None:
        return left, 1, edge
    if (edge := _number_of(left)) is not None:
        return right, -1, -edge
    if left.digest <= right.digest:
        return left - right, 1, Fraction(0)
    return right - left, -1, Fraction(0)


def _number_of(tree: Node) -> Fraction | None:
    """Return the number of an expression that reads nothing; None of an irrational one."""
    if leaves(tree, "fact") or leaves(tree, "published"):
        return None
    try:
        number = evaluate(tree, {}, {})
    except (FormulaError, UndecidedError, ZeroDivisionError):  # it is not asked there
        return None
    return number if isinstance(number, Fraction) else None


def _narrowed(span: Span, op: str, sign: int, edge: Fraction, holds: bool) -> Span:
    """Return a span narrowed by ``sign · value op edge``, or by its negation."""
    if op not in ("lt", "le"):
        return _at(span, sign * edge, holds)
    open_ = (op == "lt") is holds
    if holds is (sign == 1):
        return span.at_most(sign * edge, below=open_)
    return span.at_least(sign * edge, above=open_)


def _at(span: Span, value: Fraction, holds: bool) -> Span:
    if not holds:
        return attrs.evolve(span, but=span.but | {value})
    return span.at_least(value, above=False).at_most(value, below=False)
