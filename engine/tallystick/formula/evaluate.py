"""The reference: the exact rational value of a tree for one record, step by step.

Everything else that computes a formula (``columns``, ``integers``) must give the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from fractions import Fraction

from tallystick.errors import FormulaError
from tallystick.formula.facts import scale_of
from tallystick.formula.tree import Node, arms_of, value_of
from tallystick.numbers.nano import NANO

Trace = MutableMapping[str, Fraction]
"""The value of each label that was read, in order of completion."""


def evaluate(
    node: Node,
    facts: Mapping[str, int],
    published: Mapping[str, int],
    trace: Trace | None = None,
) -> Fraction:
    """The exact value of a tree whose parameters are bound.

    Args:
        node: the tree.
        facts: the integer of each fact, by the digest of the fact.
        published: the nano of each published value, by name.
        trace: where to note the values of labels.

    Raises:
        FormulaError: a division by zero, which loading a rule set rules out, or an unbound name.
    """
    return _Evaluator(facts, published, {} if trace is None else trace).value(node)


_BINARY: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "min": min,
    "max": max,
    "lt": lambda x, y: Fraction(x < y),
    "le": lambda x, y: Fraction(x <= y),
    "eq": lambda x, y: Fraction(x == y),
}


class _Evaluator:
    def __init__(
        self, facts: Mapping[str, int], published: Mapping[str, int], trace: Trace
    ) -> None:
        self.facts, self.published, self.trace = facts, published, trace

    def value(self, node: Node) -> Fraction:
        if node.op in _BINARY:
            return _BINARY[node.op](self.value(node.args[0]), self.value(node.args[1]))
        evaluator = getattr(self, f"_{node.op}", None)
        if evaluator is None:
            raise FormulaError(f"found {node!r}, expected a tree whose parameters are bound")
        value: Fraction = evaluator(node)
        return value

    def _const(self, node: Node) -> Fraction:
        return value_of(node)

    def _fact(self, node: Node) -> Fraction:
        return Fraction(self.facts[node.digest], scale_of(node))

    def _published(self, node: Node) -> Fraction:
        return Fraction(self.published[str(node.data[0])], NANO)

    def _rank(self, node: Node) -> Fraction:
        return self.value(node.args[0])

    def _label(self, node: Node) -> Fraction:
        value = self.value(node.args[0])
        self.trace[str(node.data[0])] = value
        return value

    def _div(self, node: Node) -> Fraction:
        numerator, denominator = map(self.value, node.args)
        if not denominator:
            raise FormulaError(
                "found a division by zero in a formula: put the zero in its own case"
            )
        return numerator / denominator

    def _abs(self, node: Node) -> Fraction:
        return abs(self.value(node.args[0]))

    def _not(self, node: Node) -> Fraction:
        return Fraction(not self.value(node.args[0]))

    def _and(self, node: Node) -> Fraction:
        return Fraction(bool(self.value(node.args[0]) and self.value(node.args[1])))

    def _or(self, node: Node) -> Fraction:
        return Fraction(bool(self.value(node.args[0]) or self.value(node.args[1])))

    def _cases(self, node: Node) -> Fraction:
        arms, otherwise = arms_of(node)
        for condition, value in arms:
            if self.value(condition):
                return self.value(value)
        return self.value(otherwise)
