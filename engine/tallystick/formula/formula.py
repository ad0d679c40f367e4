"""A named formula, a named requirement, and how an author declares them.

A formula is written as a function of its parameters that returns a tree; the decorator of its kind
runs it once and keeps the tree. A released formula never changes: a change is a new version.
"""

from __future__ import annotations

import inspect
import re
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.tree import (
    BEYOND_RATIOS,
    Node,
    Operand,
    as_condition,
    const,
    leaves,
    names,
    param,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FormulaKind = Literal["axis", "composite", "factor", "emission", "threshold", "measure"]

Bounds = tuple["int | Fraction | Decimal", "int | Fraction | Decimal"]
"""The closed range of a parameter or of a formula."""

UNIT: Bounds = (0, 1)
"""The range [0, 1]."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*@[1-9][0-9]*")
_REQUIREMENT = re.compile(r"([a-z0-9][a-z0-9-]*/)?[a-z0-9][a-z0-9-]*")


class Parameters:
    """The parameters that an author's function receives, as attributes."""

    def __init__(self, declared: Mapping[str, Bounds]) -> None:
        self._declared = declared

    def __getattr__(self, name: str) -> Node:
        if name.startswith("_") or name not in self._declared:
            raise FormulaError(
                f"found the parameter {name!r}, expected one that the decorator declares: "
                f"{', '.join(sorted(self._declared)) or 'none'}"
            )
        return param(name)


@attrs.frozen(eq=False, slots=False)
class Formula:
    """A formula under its name.

    Attributes:
        name: ``namespace/name@version``.
        kind: what it computes and may read.
        symbol: the sign that documents use, such as α.
        summary: the first line of the author's docstring.
        parameters: the closed range of each parameter.
        sums_to_one: parameters whose values must add up to exactly 1.
        tree: the expression.
        low: the smallest value that it may have.
        high: the largest value that it may have.
        applies: the condition under which a factor or a measure is published; elsewhere it is null,
            and a factor counts as 1.
    """

    name: str
    kind: FormulaKind
    symbol: str
    summary: str
    parameters: Mapping[str, tuple[Fraction, Fraction]]
    sums_to_one: tuple[str, ...]
    tree: Node
    low: Fraction
    high: Fraction
    applies: Node | None = None

    @cached_property
    def digest(self) -> str:
        """The identity of the meaning: ``sha256:`` and the Merkle hash of the tree."""
        if self.applies is None:
            return f"sha256:{self.tree.digest}"
        return f"sha256:{Node('applies', (self.applies, self.tree)).digest}"

    @property
    def published(self) -> tuple[str, ...]:
        """The names of the published values that it reads."""
        return names(self.tree, "published")

    @property
    def unrounded(self) -> tuple[str, ...]:
        """The names of the values that it reads as they are before they are published."""
        return names(self.tree, "unrounded")

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of all values that it reads, each once."""
        return tuple(dict.fromkeys((*self.published, *self.unrounded)))


@attrs.frozen(eq=False)
class Requirement:
    """A named condition on records; a record that breaks it is rejected with its name as the code.

    Attributes:
        name: the code, such as ``timing-window``; a rule set may name it as ``namespace/name``.
        condition: what must hold.
        path: the place to show in an error.
        expected: what was expected, and what to do, for people.
    """

    name: str
    condition: Node
    path: str
    expected: str

    @property
    def digest(self) -> str:
        """The identity of the condition."""
        return f"sha256:{self.condition.digest}"

    @property
    def code(self) -> str:
        """The error code of a record that breaks it: the name without its namespace."""
        return self.name.rpartition("/")[2]


def require(condition: Node, name: str, *, path: str, expected: str) -> Requirement:
    """Return a named condition on records."""
    if not _REQUIREMENT.fullmatch(name):
        raise FormulaError(f"found the requirement name {name!r}, expected words-with-hyphens")
    return Requirement(name, _condition_of_facts(condition), path, expected)


def axis(
    name: str, *, symbol: str = "", sums_to_one: tuple[str, ...] = (), **parameters: Bounds
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    """Declare an axis: a value in [0, 1] over facts and other published axes.

    >>> from tallystick.formula.facts import count, overlap
    >>> @axis("reviews/recall@1")
    ... def recall(p: Parameters) -> Operand:
    ...     'The share of the expected findings that were found.'
    ...     return overlap("found", "expected") / count("expected")
    >>> recall.name, recall.kind
    ('reviews/recall@1', 'axis')
    """
    return _declare(name, "axis", symbol, UNIT, parameters, sums_to_one)


def composite(
    name: str, *, symbol: str = "", sums_to_one: tuple[str, ...] = (), **parameters: Bounds
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    """Declare a composite: a value in [0, 1] over published axes."""
    return _declare(name, "composite", symbol, UNIT, parameters, sums_to_one)


def factor(
    name: str,
    *,
    within: Bounds,
    applies: Node | None = None,
    sums_to_one: tuple[str, ...] = (),
    **parameters: Bounds,
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    """Declare an emission factor; where ``applies`` does not hold it is null and counts as 1."""
    return _declare(name, "factor", "", within, parameters, sums_to_one, applies)


def emission(
    name: str, *, within: Bounds, **parameters: Bounds
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    """Declare an emission over the published quality, base weight, tier multiplier and factors."""
    return _declare(name, "emission", "", within, parameters, ())


def threshold(
    name: str, *, within: Bounds, **parameters: Bounds
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    """Declare a tier threshold over published thresholds."""
    return _declare(name, "threshold", "", within, parameters, ())


def measure(
    name: str,
    *,
    within: Bounds,
    applies: Node | None = None,
    sums_to_one: tuple[str, ...] = (),
    **parameters: Bounds,
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    """Declare a measure: a value in a range of its own, of a record or of a step of an allocation.

    Of a record it reads facts and other axes and measures; where ``applies`` does not hold it is
    null. As a step it reads earlier columns.
    """
    return _declare(name, "measure", "", within, parameters, sums_to_one, applies)


def formulas_in(*modules: ModuleType) -> tuple[Formula, ...]:
    """Return every formula that the modules define, in name order."""
    formulas = {id(v): v for m in modules for v in vars(m).values() if isinstance(v, Formula)}
    return tuple(sorted(formulas.values(), key=lambda formula: formula.name))


def _declare(  # noqa: PLR0913, PLR0917  # the one place where the parts of a formula come together
    name: str,
    kind: FormulaKind,
    symbol: str,
    within: Bounds,
    parameters: Mapping[str, Bounds],
    sums_to_one: tuple[str, ...],
    applies: Node | None = None,
) -> Callable[[Callable[[Parameters], Operand]], Formula]:
    if not _NAME.fullmatch(name):
        raise FormulaError(f"found the formula name {name!r}, expected namespace/name@version")
    ranges = {key: _range(key, bounds) for key, bounds in parameters.items()}
    low, high = _range("within", within)
    unknown = sorted(set(sums_to_one) - set(ranges))
    if unknown:
        raise FormulaError(f"found {', '.join(unknown)} in sums_to_one, expected parameters")
    condition = None if applies is None else _condition_of_facts(applies)

    def declare(function: Callable[[Parameters], Operand]) -> Formula:
        expression = function(Parameters(parameters))
        if not isinstance(expression, Node | int | float | Decimal | Fraction):
            raise FormulaError(
                f"found that the function of {name} returns {expression!r}, expected an expression"
            )
        tree = const(expression)
        _check(name, kind, tree, ranges)
        return Formula(
            name=name,
            kind=kind,
            symbol=symbol,
            summary=(inspect.getdoc(function) or "").partition("\n")[0],
            parameters=ranges,
            sums_to_one=sums_to_one,
            tree=tree,
            low=low,
            high=high,
            applies=condition,
        )

    return declare


def _range(name: str, bounds: Bounds) -> tuple[Fraction, Fraction]:
    low, high = (value_of(const(end)) for end in bounds)
    if low > high:
        raise FormulaError(f"found the range {low} to {high} of {name}, expected it ascending")
    return low, high


def _condition_of_facts(node: Node) -> Node:
    """Return a condition that facts alone decide."""
    condition = as_condition(node)
    if any(names(condition, op) for op in ("published", "unrounded", "param")):
        raise FormulaError("found a published value or a parameter, expected a condition of facts")
    _check_ratios(condition, "a condition of facts")
    return condition


def _check_ratios(tree: Node, what: str) -> None:
    """Refuse what proofs cannot assume of every value."""
    ops = [op for op in BEYOND_RATIOS if op in tree.by_operator]
    if ops:
        raise FormulaError(
            f"found {', '.join(ops)} in {what}, expected sums, products and quotients, as proofs "
            "assume it: compare an axis with a number instead, or raise both sides to a power"
        )


def _check(name: str, kind: FormulaKind, tree: Node, ranges: Mapping[str, object]) -> None:
    unused = sorted(set(ranges) - set(names(tree, "param")))
    if unused:
        raise FormulaError(f"found that {name} never reads its parameters {', '.join(unused)}")
    if kind not in ("axis", "measure") and leaves(tree, "unrounded"):
        raise FormulaError(f"found unrounded() in {name}, expected it in an axis or a measure only")
    if kind == "threshold":
        _check_ratios(tree, f"the threshold {name}")
    if kind in ("composite", "emission", "threshold") and leaves(tree, "fact"):
        raise FormulaError(f"found a fact in {name}, expected published values only in a {kind}")
