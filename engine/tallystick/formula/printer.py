"""One printer of trees, whose styles are text and MathML.

It knows the order of operators, where brackets stand, and how choices are named; a style
(`text`, `mathml`) says how a number, a sign or a fraction is drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tallystick.formula.facts import arguments_of
from tallystick.formula.tree import Node, arms_of, const, factors_of, value_of

STRENGTHS = {"or": 1, "and": 2, "not": 3, "lt": 4, "le": 4, "eq": 4}
STRENGTHS |= {"add": 5, "sub": 5, "mul": 6, "div": 6, "power": 8}
"""How tightly an operator binds: an argument of a lesser one is in brackets."""
SIGNS = {"or": "or", "and": "and", "lt": "<", "le": "≤", "eq": "="}
SIGNS |= {"add": "+", "sub": "−", "mul": "·", "div": "/"}
PRODUCT, POWER = STRENGTHS["mul"], STRENGTHS["power"]

Leaf = Callable[[Node], str]
"""Renders a fact, a parameter or a published value."""


def definitions(name: str, node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the labels that a formula uses, each with its tree, then the formula under its name."""
    labelled: dict[str, Node] = {}
    _collect(node, labelled)
    labelled.pop(name, None)
    yield from labelled.items()
    yield name, node


def _collect(node: Node, found: dict[str, Node]) -> None:
    for argument in node.args:
        _collect(argument, found)
    if node.op == "label":
        found.setdefault(str(node.data[0]), node)


def top_of(node: Node) -> Node:
    """Return what a label labels, which is shown in full at the top of an expression."""
    return node.args[0] if node.op == "label" else node


class Printer(ABC):
    """Prints trees in one style."""

    def __init__(self, leaf: Leaf) -> None:
        """Take what shows facts, parameters and published values."""
        self.leaf = leaf

    @abstractmethod
    def number(self, value: Fraction, outer: int) -> str:
        """Return a number where an operator of a strength reads it."""

    @abstractmethod
    def name(self, text: str) -> str:
        """Return the name of a label, a parameter or a value."""

    @abstractmethod
    def words(self, text: str) -> str:
        """Return a fact, an option or other words."""

    @abstractmethod
    def bracketed(self, body: str) -> str:
        """Return a body in brackets."""

    @abstractmethod
    def fenced(self, left: str, body: str, right: str) -> str:
        """Return a body between two signs of one kind."""

    @abstractmethod
    def infix(self, left: str, sign: str, right: str) -> str:
        """Return two bodies with a sign or a word between."""

    @abstractmethod
    def negated(self, body: str) -> str:
        """Return the opposite of a condition."""

    @abstractmethod
    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Return a function of some arguments."""

    @abstractmethod
    def root(self, base: Node, degree: int) -> str:
        """Return a root."""

    @abstractmethod
    def raised(self, base: Node, exponent: Node) -> str:
        """Return a power."""

    @abstractmethod
    def cases(self, rows: Sequence[tuple[str, str]], otherwise: str, outer: int) -> str:
        """Return what holds where; each row is a value and its condition."""

    def write(self, node: Node, outer: int = 0) -> str:
        """Return a tree where an operator of a strength reads it; 0 is the top."""
        first = node.args[0] if node.args else node
        match node.op:
            case "const":
                return self.number(value_of(node), outer)
            case "label":
                return self.name(str(node.data[0]))
            case "rank":
                name = self._choice_name(first)
                return self.call("rank", [name]) if outer else name
            case "cases":
                arms, otherwise = arms_of(node)
                rows = [(self.write(value), self.write(when)) for when, value in arms]
                return self.cases(rows, self.write(otherwise), outer)
            case "not":
                return self._within(self._not(first), outer > STRENGTHS["not"])
            case "power":
                return self._within(self._power(*node.args), outer >= POWER)
            case "geometric":
                return self._within(self._geometric_mean(node), outer >= PRODUCT)
            case "min" | "max" | "exp" | "log" | "abs" | "floor" | "round":
                return self.function(node, [self.write(argument) for argument in node.args])
        if node.op in SIGNS:
            return self._within(self.binary(node), STRENGTHS[node.op] < outer)
        text = self.leaf(node)
        return self.words(text) if node.op == "fact" else self.name(text)

    def function(self, node: Node, arguments: Sequence[str]) -> str:
        """Return an operator that is written before or around its arguments."""
        match node.op:
            case "abs":
                return self.fenced("|", arguments[0], "|")
            case "floor":
                return self.fenced("⌊", arguments[0], "⌋")
            case "log":
                return self.call("ln", arguments)
            case "round":
                number = node.data[0]
                places = self.words(f"{number} place{'' if number == 1 else 's'}")
                return self.call("round", [*arguments, places])
        return self.call(node.op, arguments)

    def binary(self, node: Node) -> str:
        """Return an operator between two arguments."""
        left, right = node.args
        if node.op == "eq" and left.op == "rank":
            return self._choice(left, "=", right)
        strength, compares = STRENGTHS[node.op], node.op in {"lt", "le", "eq"}
        inner = strength + (compares or node.op in {"sub", "div"})
        first, second = self.write(left, strength + compares), self.write(right, inner)
        return self.infix(first, SIGNS[node.op], second)

    def _within(self, body: str, brackets: bool) -> str:  # one of two forms
        return self.bracketed(body) if brackets else body

    def _power(self, base: Node, exponent: Node) -> str:
        if exponent.op == "const":
            numerator, degree = value_of(exponent).as_integer_ratio()
            if numerator == 1 < degree:
                return self.root(base, degree)
        return self.raised(base, exponent)

    def _geometric_mean(self, node: Node) -> str:
        body, *further = [self._factor(*factor) for factor in factors_of(node)]
        for factor in further:
            body = self.infix(body, SIGNS["mul"], factor)
        return body

    def _factor(self, base: Node, exponent: Fraction) -> str:
        return self.write(base, POWER) if exponent == 1 else self.raised(base, const(exponent))

    def _not(self, node: Node) -> str:
        if node.op == "eq" and node.args[0].op == "rank":
            return self._choice(node.args[0], "≠", node.args[1])
        return self.negated(self.write(node, STRENGTHS["not"] + 1))

    def _choice(self, left: Node, sign: str, right: Node) -> str:
        """Return the comparison of a choice with an option, by the name of the option."""
        name, options = self._choice_name(left.args[0]), arguments_of(left.args[0].unlabelled)
        if right.op == "const" and value_of(right) in range(len(options)):
            return self.infix(name, sign, self.words(str(options[int(value_of(right))])))
        if right.op == "rank":
            return self.infix(name, sign, self._choice_name(right.args[0]))
        position = self.write(right, STRENGTHS["eq"] + 1)
        return self.infix(self.call("rank", [name]), sign, position)

    def _choice_name(self, choice: Node) -> str:
        if choice.op == "label":
            return self.name(str(choice.data[0]))
        return self.words(self.leaf(choice))
