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
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from tallystick.formula.facts import reader_of
from tallystick.formula.printer import POWER, PRODUCT, Leaf, Printer, definitions, top_of
from tallystick.formula.tree import Node, arms_of, leaves
from tallystick.numbers.real import Exact, decimal

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

_LONG_BITS = 1 << 11
"""Nobody reads longer numbers, and Python writes none that are seven times as long."""


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
    return _Text(leaf or leaf_of(node)).write(top_of(node))


def lines(name: str, node: Node, leaf: Leaf | None = None) -> list[str]:
    """The formula under a name, after the labels that it uses, each case on a line of its own."""
    text = _Text(leaf or leaf_of(node))
    return [line for label, tree in definitions(name, node) for line in _case(label, tree, text)]


def leaf_of(node: Node) -> Leaf:
    """Return what shows the leaves of a tree by their names, its facts told apart."""
    return substituted(told_apart(leaves(node, "fact")))


def _case(name: str, node: Node, text: _Text) -> list[str]:
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


class _Text(Printer):
    def number(self, value: Fraction, outer: int) -> str:
        text = _in_formula(value)
        return f"({text})" if "/" in text and outer >= PRODUCT else text

    def name(self, text: str) -> str:
        return text

    def words(self, text: str) -> str:
        return text

    def bracketed(self, body: str) -> str:
        return f"({body})"

    def fenced(self, left: str, body: str, right: str) -> str:
        return f"{left}{body}{right}"

    def infix(self, left: str, sign: str, right: str) -> str:
        return f"{left} {sign} {right}"

    def negated(self, body: str) -> str:
        return f"not {body}"

    def call(self, name: str, arguments: Sequence[str]) -> str:
        return f"{name}({', '.join(arguments)})"

    def root(self, base: Node, degree: int) -> str:
        raised = "" if degree == 2 else str(degree).translate(_RAISED)
        return f"{raised}√{self.write(base, POWER)}"

    def raised(self, base: Node, exponent: Node) -> str:
        return f"{self.write(base, POWER)}^{self.write(exponent, POWER)}"

    def cases(self, rows: Sequence[tuple[str, str]], otherwise: str, outer: int) -> str:
        del outer
        texts = [f"{value} if {when}" for value, when in rows]
        return "{ " + "; ".join([*texts, f"{otherwise} otherwise"]) + " }"


def _last(path: str) -> str:
    head, bracket, tail = path.rpartition("[")
    if not bracket:
        names = path.split(".")
        return ".".join(names[-2:]) if names[-1] == "*" else names[-1]
    return f"{head.split('.')[-1]}[{tail}"


def substituted(values: Mapping[str, str]) -> Leaf:
    """Return a leaf that shows the given texts, by digest of the leaf, in place of names."""
    return lambda node: values.get(node.digest) or leaf_text(node)
