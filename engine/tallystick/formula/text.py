"""The text of a tree, as people write it.

``render`` gives one expression; ``lines`` gives a formula with each of its labels on a line of its
own, so that it reads like the document it comes from::

    precision = |mine ∩ expected| / |mine|
    π = 1    if |mine| = 0 and |expected| = 0
        0    if |mine ∩ expected| = 0
        …    otherwise
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from tallystick.formula.facts import arguments_of, reader_of
from tallystick.formula.tree import BEYOND_RATIOS, Node, arms_of, factors_of, leaves, value_of
from tallystick.numbers.real import Exact, decimal

_PRECEDENCE = {"or": 1, "and": 2, "not": 3, "lt": 4, "le": 4, "eq": 4}
_PRECEDENCE |= {"add": 5, "sub": 5, "mul": 6, "div": 6, "power": 8}
_SIGNS = {"or": "or", "and": "and", "lt": "<", "le": "≤", "eq": "="}
_SIGNS |= {"add": "+", "sub": "−", "mul": "·", "div": "/"}

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

_LONG_BITS = 1 << 11
"""Nobody reads longer numbers, and Python writes none that are seven times as long."""

Leaf = Callable[[Node], str]
"""Renders a fact, a parameter or a published value."""


def decimal_text(value: Exact) -> str:
    """Return a number as a decimal where it ends, else as a ratio: ``0.25``, ``-2/3``; in ASCII.

    Of an irrational one, or a very long one, 25 places and ``…``.
    """
    if not isinstance(value, Fraction) or _is_long(value):
        return decimal(value)
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return ("-" if value < 0 else "") + whole


def _is_long(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONG_BITS


def _in_formula(value: Fraction) -> str:
    """Return a number as it stands among signs, with a minus sign of its own (U+2212)."""
    return decimal_text(value).replace("-", "−")


def fact_text(fact: Node, named: Callable[[str], str] | None = None) -> str:
    """Return a fact by the last names of its path: ``risk_score``, ``|findings|``, ``|a ∩ b|``.

    A condition that the record decides is in brackets, which count as 1 where it holds. Two paths
    with the same last name are shown whole. ``named`` shows a path in another way.
    """
    reader = reader_of(fact)
    text, summand = reader.text(fact, named or _naming(fact)), reader.summand(fact)
    return text if summand is None else f"{text} ({render(summand)})"


def _naming(fact: Node) -> Callable[[str], str]:
    paths = reader_of(fact).paths(fact)
    return str if len({*map(_last, paths)}) < len(paths) else _last


def told_apart(facts: Iterable[Node]) -> dict[str, str]:
    """The text of each fact, by digest; facts whose texts are the same by their whole paths."""
    texts = {fact.digest: (fact, fact_text(fact)) for fact in facts}
    often = Counter(text for _, text in texts.values())
    return {
        digest: fact_text(fact, str) if often[text] > 1 else text
        for digest, (fact, text) in texts.items()
    }


def leaf_text(node: Node) -> str:
    """Return a fact, a parameter or a value by its name; one before it is published is told so."""
    if node.op == "unrounded":
        return f"unrounded({node.data[0]})"
    return fact_text(node) if node.op == "fact" else str(node.data[0]) or node.op


def render(node: Node, leaf: Leaf | None = None) -> str:
    """Return one expression, with labels shown by name below the top."""
    leaf = leaf or _leaf_of(node)
    top = node.args[0] if node.op == "label" else node
    return _Writer(leaf).write(top, 0)


def lines(name: str, node: Node, leaf: Leaf | None = None) -> list[str]:
    """The formula under a name, after the labels that it uses, each case on a line of its own."""
    leaf = leaf or _leaf_of(node)
    labelled: dict[str, Node] = {}
    _collect(node, labelled)
    labelled.pop(name, None)
    return [
        line
        for label, tree in (*labelled.items(), (name, node))
        for line in _case(label, tree, leaf)
    ]


def _leaf_of(node: Node) -> Leaf:
    return substituted(told_apart(leaves(node, "fact")))


def _collect(node: Node, found: dict[str, Node]) -> None:
    for argument in node.args:
        _collect(argument, found)
    if node.op == "label":
        found.setdefault(str(node.data[0]), node)


def _case(name: str, node: Node, leaf: Leaf) -> list[str]:
    top = node.args[0] if node.op == "label" else node
    if top.op != "cases":
        return [f"{name} = {render(top, leaf)}"]
    arms, otherwise = arms_of(top)
    writer = _Writer(leaf)
    rows = [(writer.write(v, 0), f"if {writer.write(c, 0)}") for c, v in arms]
    rows.append((writer.write(otherwise, 0), "otherwise"))
    width = max(len(value) for value, _ in rows)
    margin = " " * len(name)
    return [
        f"{margin if position else name} {' ' if position else '='} {value.ljust(width)}  {when}"
        for position, (value, when) in enumerate(rows)
    ]


class _Writer:
    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf

    def write(self, node: Node, outer: int) -> str:
        if node.op in _SIGNS:
            text = self._binary(node)
            return f"({text})" if _PRECEDENCE[node.op] < outer else text
        return (self._function if node.op in BEYOND_RATIOS else self._other)(node, outer)

    def _other(self, node: Node, outer: int) -> str:
        first = node.args[0] if node.args else node
        match node.op:
            case "const":
                text = _in_formula(value_of(node))
                return f"({text})" if "/" in text and outer >= _PRECEDENCE["mul"] else text
            case "label":
                return str(node.data[0])
            case "rank":
                return f"rank({self._name(first)})" if outer else self._name(first)
            case "min" | "max":
                return f"{node.op}({', '.join(self.write(a, 0) for a in node.args)})"
            case "abs":
                return f"|{self.write(first, 0)}|"
            case "not":
                text = self._not(first)
                return f"({text})" if outer > _PRECEDENCE["not"] else text
            case "cases":
                return self._cases(node)
            case _:
                return self.leaf(node)

    def _binary(self, node: Node) -> str:
        left, right = node.args
        if node.op == "eq" and left.op == "rank":
            return self._choice(left, "=", right)
        strength = _PRECEDENCE[node.op]
        compares = node.op in ("lt", "le", "eq")
        inner = strength + (compares or node.op in ("sub", "div"))
        first = self.write(left, strength + compares)
        return f"{first} {_SIGNS[node.op]} {self.write(right, inner)}"

    def _function(self, node: Node, outer: int) -> str:
        if node.op == "power":
            text = self._power(*node.args)
            return f"({text})" if outer >= _PRECEDENCE["power"] else text
        if node.op == "geometric":
            text = " · ".join(self._raised(*factor) for factor in factors_of(node))
            return f"({text})" if outer >= _PRECEDENCE["mul"] else text
        argument = self.write(node.args[0], 0)
        match node.op:
            case "floor":
                return f"⌊{argument}⌋"
            case "round":
                number = node.data[0]
                return f"round({argument}, {number} place{'' if number == 1 else 's'})"
        return f"{'ln' if node.op == 'log' else node.op}({argument})"

    def _power(self, base: Node, exponent: Node) -> str:
        text = self.write(base, _PRECEDENCE["power"])
        if exponent.op == "const":
            numerator, degree = value_of(exponent).as_integer_ratio()
            if numerator == 1 < degree:
                return f"{'' if degree == 2 else str(degree).translate(_RAISED)}√{text}"
        return f"{text}^{self.write(exponent, _PRECEDENCE['power'])}"

    def _raised(self, base: Node, exponent: Fraction) -> str:
        text = self.write(base, _PRECEDENCE["power"])
        return text if exponent == 1 else f"{text}^{_in_formula(exponent)}"

    def _not(self, node: Node) -> str:
        if node.op == "eq" and node.args[0].op == "rank":
            return self._choice(node.args[0], "≠", node.args[1])
        return f"not {self.write(node, _PRECEDENCE['not'] + 1)}"

    def _choice(self, left: Node, sign: str, right: Node) -> str:
        choice = left.args[0]
        options = arguments_of(choice.unlabelled)
        if right.op == "const":
            position = value_of(right)
            if position in range(len(options)):
                return f"{self._name(choice)} {sign} {options[int(position)]}"
            return f"rank({self._name(choice)}) {sign} {_in_formula(position)}"
        if right.op == "rank":
            return f"{self._name(choice)} {sign} {self._name(right.args[0])}"
        return f"rank({self._name(choice)}) {sign} {self.write(right, _PRECEDENCE['eq'] + 1)}"

    def _name(self, choice: Node) -> str:
        return str(choice.data[0]) if choice.op == "label" else self.leaf(choice)

    def _cases(self, node: Node) -> str:
        arms, otherwise = arms_of(node)
        rows = [f"{self.write(v, 0)} if {self.write(c, 0)}" for c, v in arms]
        return "{ " + "; ".join([*rows, f"{self.write(otherwise, 0)} otherwise"]) + " }"


def _last(path: str) -> str:
    head, bracket, tail = path.rpartition("[")
    if not bracket:
        names = path.split(".")
        return ".".join(names[-2:]) if names[-1] == "*" else names[-1]
    return f"{head.split('.')[-1]}[{tail}"


def substituted(values: Mapping[str, str]) -> Leaf:
    """Return a leaf that shows the given texts, by digest of the leaf, in place of names."""
    return lambda node: values.get(node.digest) or leaf_text(node)
