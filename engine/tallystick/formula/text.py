"""The text of a tree, as people write it.

``render`` gives one expression; ``lines`` gives a formula with each of its labels on a line of its
own, so that it reads like the document it comes from::

    precision = |mine ∩ expected| / |mine|
    π = 1    if |mine| = 0 and |expected| = 0
        0    if |mine ∩ expected| = 0
        …    otherwise

A `Printer` knows the order of operators, where brackets stand, and how choices are named. It prints
text; a style such as `mathml` draws a number, a sign or a fraction in another way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from tallystick.formula.facts import arguments_of, reader_of
from tallystick.formula.tree import Node, arms_of, const, factors_of, leaves, value_of
from tallystick.numbers.real import Exact, decimal

_STRENGTHS = {"or": 1, "and": 2, "not": 3, "lt": 4, "le": 4, "eq": 4}
_STRENGTHS |= {"add": 5, "sub": 5, "mul": 6, "div": 6, "power": 8}
"""How tightly an operator binds: an argument of a lesser one is in brackets."""
_SIGNS = {"or": "or", "and": "and", "lt": "<", "le": "≤", "eq": "="}
_SIGNS |= {"add": "+", "sub": "−", "mul": "·", "div": "/"}
PRODUCT, POWER = _STRENGTHS["mul"], _STRENGTHS["power"]

Leaf = Callable[[Node], str]
"""Renders a fact, a parameter or a published value."""

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

_LONG_BITS = 1 << 11
"""Nobody reads longer numbers, and Python writes none that are seven times as long."""


def decimal_text(value: Exact) -> str:
    """Return a number as a decimal where it ends, else as a ratio: ``0.25``, ``-2/3``; in ASCII.

    Of an irrational one, or a very long one, 25 places and ``…``.
    """
    if not isinstance(value, Fraction):
        return decimal(value)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONG_BITS:
        return decimal(value)
    enough = value.denominator.bit_length()
    if pow(10, enough, value.denominator):
        return f"{value.numerator}/{value.denominator}"
    places = next(n for n in range(enough) if 10**n % value.denominator == 0)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return ("-" if value < 0 else "") + whole


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
    return Printer(leaf or leaf_of(node)).write(top_of(node))


def lines(name: str, node: Node, leaf: Leaf | None = None) -> list[str]:
    """The formula under a name, after the labels that it uses, each case on a line of its own."""
    text = Printer(leaf or leaf_of(node))
    return [line for label, tree in definitions(name, node) for line in _case(label, tree, text)]


def leaf_of(node: Node) -> Leaf:
    """Return what shows the leaves of a tree by their names, its facts told apart."""
    return substituted(told_apart(leaves(node, "fact")))


def _case(name: str, node: Node, text: Printer) -> list[str]:
    top = top_of(node)
    if top.op != "cases":
        return [f"{name} = {text.write(top)}"]
    arms, otherwise = arms_of(top)
    rows = [(text.write(value), f"if {text.write(when)}") for when, value in arms]
    rows.append((text.write(otherwise), "otherwise"))
    width = max(len(value) for value, _ in rows)
    margin = " " * len(name)
    return [
        f"{margin if position else name} {' ' if position else '='} {value.ljust(width)}  {when}"
        for position, (value, when) in enumerate(rows)
    ]


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


class Printer:
    """Prints trees as text."""

    def __init__(self, leaf: Leaf) -> None:
        """Take what shows facts, parameters and published values."""
        self.leaf = leaf

    def number(self, value: Fraction, outer: int) -> str:
        """Return a number where an operator of a strength reads it."""
        # among signs a minus is one of its own, U+2212
        text = decimal_text(value).replace("-", "−")
        return self.bracketed(text) if "/" in text and outer >= PRODUCT else text

    def name(self, text: str) -> str:
        """Return the name of a label, a parameter or a value."""
        return text

    def words(self, text: str) -> str:
        """Return a fact, an option or other words."""
        return text

    def bracketed(self, body: str) -> str:
        """Return a body in brackets."""
        return self.fenced("(", body, ")")

    def fenced(self, left: str, body: str, right: str) -> str:
        """Return a body between two signs of one kind."""
        return f"{left}{body}{right}"

    def infix(self, left: str, sign: str, right: str) -> str:
        """Return two bodies with a sign or a word between."""
        return f"{left} {sign} {right}"

    def negated(self, body: str) -> str:
        """Return the opposite of a condition."""
        return f"not {body}"

    def call(self, name: str, arguments: Sequence[str]) -> str:
        """Return a function of some arguments."""
        return f"{name}({', '.join(arguments)})"

    def root(self, base: Node, degree: int) -> str:
        """Return a root."""
        raised = "" if degree == 2 else str(degree).translate(_RAISED)
        return f"{raised}√{self.write(base, POWER)}"

    def raised(self, base: Node, exponent: Node) -> str:
        """Return a power."""
        return f"{self.write(base, POWER)}^{self.write(exponent, POWER)}"

    def cases(self, rows: Sequence[tuple[str, str]], otherwise: str, outer: int) -> str:
        """Return what holds where; each row is a value and its condition."""
        del outer
        texts = [f"{value} if {when}" for value, when in rows]
        return "{ " + "; ".join([*texts, f"{otherwise} otherwise"]) + " }"

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
                return self._within(self._not(first), outer > _STRENGTHS["not"])
            case "power":
                return self._within(self._power(*node.args), outer >= POWER)
            case "geometric":
                return self._within(self._geometric_mean(node), outer >= PRODUCT)
            case "min" | "max" | "exp" | "log" | "abs" | "floor" | "round":
                return self.function(node, [self.write(argument) for argument in node.args])
        if node.op in _SIGNS:
            return self._within(self.binary(node), _STRENGTHS[node.op] < outer)
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
        strength, compares = _STRENGTHS[node.op], node.op in {"lt", "le", "eq"}
        inner = strength + (compares or node.op in {"sub", "div"})
        first, second = self.write(left, strength + compares), self.write(right, inner)
        return self.infix(first, _SIGNS[node.op], second)

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
            body = self.infix(body, _SIGNS["mul"], factor)
        return body

    def _factor(self, base: Node, exponent: Fraction) -> str:
        return self.write(base, POWER) if exponent == 1 else self.raised(base, const(exponent))

    def _not(self, node: Node) -> str:
        if node.op == "eq" and node.args[0].op == "rank":
            return self._choice(node.args[0], "≠", node.args[1])
        return self.negated(self.write(node, _STRENGTHS["not"] + 1))

    def _choice(self, left: Node, sign: str, right: Node) -> str:
        """Return the comparison of a choice with an option, by the name of the option."""
        name, options = self._choice_name(left.args[0]), arguments_of(left.args[0].unlabelled)
        if right.op == "const" and value_of(right) in range(len(options)):
            return self.infix(name, sign, self.words(str(options[int(value_of(right))])))
        if right.op == "rank":
            return self.infix(name, sign, self._choice_name(right.args[0]))
        position = self.write(right, _STRENGTHS["eq"] + 1)
        return self.infix(self.call("rank", [name]), sign, position)

    def _choice_name(self, choice: Node) -> str:
        if choice.op == "label":
            return self.name(str(choice.data[0]))
        return self.words(self.leaf(choice))


def _last(path: str) -> str:
    head, bracket, tail = path.rpartition("[")
    if not bracket:
        names = path.split(".")
        return ".".join(names[-2:]) if names[-1] == "*" else names[-1]
    return f"{head.split('.')[-1]}[{tail}"


def substituted(values: Mapping[str, str]) -> Leaf:
    """Return a leaf that shows the given texts, by digest of the leaf, in place of names."""
    return lambda node: values.get(node.digest) or leaf_text(node)
