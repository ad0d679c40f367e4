"""Facts that add up an expression over the items of a list or a map.

The expression is a tree over the fields of an item, and over numbers of the record. It is exact for
each item, and the sum is rounded once, to nano. It is part of the fact's identity, and not of the
formula that reads the fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import aggregate, scalar
from tallystick.formula.facts.collection import READERS as COLLECTION
from tallystick.formula.facts.collection import Items
from tallystick.formula.facts.extraction_code import ExtractionCode, attribute_name
from tallystick.formula.facts.fact import arguments_of, fact_at, name_of, path_of, scale_of
from tallystick.formula.facts.reader import FactIndex, FactReader, Repetition, bound_of
from tallystick.formula.schema_path import Schema, alternatives_of, items_at, target_of, type_of
from tallystick.formula.tree import Data, Kind, Node, Operand, arms_of, const, leaves, value_of
from tallystick.numbers.nano import NANO, from_double, round_half_even

_READERS: Mapping[str, FactReader] = {
    reader.name: reader for reader in (*scalar.READERS, *COLLECTION, *aggregate.READERS)
}
"""Facts of the record that an expression may read, those that are numbers."""
_COMPARISONS = {"lt": "<", "le": "<=", "eq": "=="}
_JOINED = {"add": "+", "sub": "-"}
_TRUTHS = (*_COMPARISONS, "and", "or", "not")

Interval = tuple[Fraction, Fraction]


def item(field: str = "") -> Node:
    """Return a number of the item that `summed_over` is at: of a field, or the item itself."""
    return Node("item", (), (field,))


def summed_over(path: str, expression: Operand) -> Node:
    """Return the sum of an expression over the items of a list, a filter or a map, in nano.

    An item that lacks a field of the expression adds nothing.

    >>> from tallystick.formula.facts import number
    >>> from tallystick.formula.text import render
    >>> from tallystick.formula.tree import absolute
    >>> render(summed_over("submission.steps", absolute(item("hours") - number("task.limit"))))
    'Σ steps (|hours − limit|)'

    Args:
        path: the items.
        expression: of `item`, numbers of the record and constants, with + − ×, a division by a
            number, `minimum`, `maximum`, `absolute` and `cases`.

    Raises:
        FormulaError: the expression has another operator, or reads no item.
    """
    tree = const(expression)
    if not leaves(tree, "item"):
        raise FormulaError(f"found no item() in what is summed over {path!r}, expected one")
    _Interval(lambda _: (Fraction(0), Fraction(1))).of(tree)
    return fact_at("summed_over", path, (_packed(tree),), NANO)


def _packed(node: Node) -> Data:
    """Return a tree as data; labels are documentation."""
    inner = node.unlabelled
    return inner.op, inner.data, tuple(map(_packed, inner.args))


def _unpacked(data: Any) -> Node:  # noqa: ANN401  # as `_packed` returns it
    op, values, arguments = data
    kind = Kind.TRUTH if op in _TRUTHS else Kind.NUMBER
    return Node(op, tuple(map(_unpacked, arguments)), values, kind)


class SummedOver(Items):
    """The sum of an expression over items."""

    name = "summed_over"
    form = "Σ {}"  # formulas write the expression behind it
    if_repeated = Repetition.UNCLEAR
    unit = "nano"

    def summand(self, fact: Node) -> Node:
        """Return the expression."""
        return _unpacked(arguments_of(fact)[0])

    def paths(self, fact: Node) -> tuple[str, ...]:
        """Return the path of the items, and those of the numbers of the record."""
        inner = leaves(self.summand(fact), "fact")
        others = (path for other in inner for path in _READERS[name_of(other)].paths(other))
        return path_of(fact), *others

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return the range of one item, times how many there can be."""
        path, is_sure = path_of(fact), True
        for field in leaves(self.summand(fact), "item"):
            is_sure &= not self._bounds(fact, str(field.data[0]), schema)[1]
        least, most = self.least(path, schema) if is_sure else 0, self.most(path, schema)

        def range_of(leaf: Node) -> Interval:
            if leaf.op == "item":
                return self._bounds(fact, str(leaf.data[0]), schema)[0]
            domain = _READERS[name_of(leaf)].domain(leaf, schema)
            return Fraction(domain.low, scale_of(leaf)), Fraction(domain.high, scale_of(leaf))

        low, high = _Interval(range_of).of(self.summand(fact))
        return Domain(
            floor(NANO * low * (most if low < 0 else least)),
            ceil(NANO * high * (most if high > 0 else least)),
        )

    def _bounds(self, fact: Node, field: str, schema: Schema) -> tuple[Interval, bool]:
        """Return the range of a field of an item, and whether an item can lack it."""
        path = path_of(fact)
        items, is_optional = items_at(target_of(path, schema), schema)
        numbers = list[Schema]()
        for kind in items:
            if field and field not in kind.get("properties", {}):
                raise self.refused(path, f"items that have the field {field!r}")
            part = kind["properties"][field] if field else kind
            inner, nullable = alternatives_of(part, schema)
            is_optional |= nullable or (bool(field) and field not in kind.get("required", ()))
            numbers += inner
        if not numbers or any(type_of(kind) not in {"number", "integer"} for kind in numbers):
            raise self.refused(path, "items that are numbers, or have them in the fields")
        ends = [
            Fraction(from_double(bound_of(kind, word, path)), NANO)
            for kind in numbers
            for word in ("minimum", "maximum")
        ]
        return (min(ends), max(ends)), is_optional

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the sum of whole numbers over a constant divisor, rounded."""
        writer = _Writer(code)
        value, divisor = writer.write(self.summand(fact))
        read = (
            f"({name} := {f'x.{attribute_name(field)}' if field else 'x'}) is not None"
            for field, name in writer.fields.items()
        )
        total = f"sum({value} for x in {code.listed(path_of(fact))} if {' and '.join(read)})"
        return f"{code.constant(round_half_even)}({total} * {NANO}, {divisor})"

    def described(self, fact: Node) -> dict[str, Any]:
        """Return also the expression, as a tree."""
        return {**super().described(fact), "summand": self.summand(fact).form}

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that it is within so many times the range of one item, but for the rounding."""
        counted = others.last("count", path_of(fact))
        if counted is None or not others.domains[counted.digest].high:
            return
        domain, most = others.domains[fact.digest], others.domains[counted.digest].high
        half = Fraction(1, 2 * NANO)
        if domain.high >= 0:
            yield fact <= counted * Fraction(domain.high, most * NANO) + half
        if domain.low <= 0:
            yield fact >= counted * Fraction(domain.low, most * NANO) - half


def _divisor(node: Node) -> Fraction:
    """Return the number that an expression divides by.

    Raises:
        FormulaError: it is no number, or 0.
    """
    divisor = node.unlabelled
    if divisor.op != "const" or value_of(divisor) == 0:
        raise FormulaError(
            f"found a division by {divisor!r} in what is summed over items, expected a number: "
            "divide the sum"
        )
    return value_of(divisor)


def _refused(node: Node) -> FormulaError:
    return FormulaError(
        f"found {node.op} in what is summed over items, expected item(), numbers of the record "
        "and constants, with + − ×, a division by a number, minimum, maximum, absolute and cases"
    )


class _Interval:
    """Interval arithmetic over an expression; ``leaf`` gives the range of what it reads."""

    def __init__(self, leaf: Callable[[Node], Interval]) -> None:
        self.leaf = leaf

    def of(self, node: Node) -> Interval:
        """Return the range of a number of the expression.

        Raises:
            FormulaError: the expression has what none may have.
        """
        match node.op:
            case "const":
                return value_of(node), value_of(node)
            case "label":
                return self.of(node.args[0])
            case "item":
                return self.leaf(node)
            case "fact" if name_of(node) in _READERS and node.kind is Kind.NUMBER:
                return self.leaf(node)
            case "cases":
                arms, otherwise = arms_of(node)
                for condition, _ in arms:
                    self.check(condition)
                return _hull([self.of(value) for value in (*(v for _, v in arms), otherwise)])
            case "div":
                (low, high), divisor = self.of(node.args[0]), _divisor(node.args[1])
                return _hull([(low / divisor, low / divisor), (high / divisor, high / divisor)])
            case "abs":
                low, high = self.of(node.args[0])
                return max(low, -high, Fraction(0)), max(-low, high)
            case "add" | "sub" | "mul" | "min" | "max":
                return self._of_two(node)
        raise _refused(node)

    def _of_two(self, node: Node) -> Interval:
        (low, high), (least, most) = map(self.of, node.args)
        match node.op:
            case "add":
                return low + least, high + most
            case "sub":
                return low - most, high - least
            case "min":
                return min(low, least), min(high, most)
            case "max":
                return max(low, least), max(high, most)
        ends = [low * least, low * most, high * least, high * most]
        is_square = node.args[0].digest == node.args[1].digest
        bottom = Fraction(0) if is_square and low <= 0 <= high else min(ends)
        return (min(low**2, high**2) if is_square and bottom else bottom), max(ends)

    def check(self, condition: Node) -> None:
        """Refuse a condition that compares something else than numbers of the expression."""
        if condition.op not in {*_TRUTHS, "label"}:
            raise _refused(condition)
        for part in condition.args:
            if part.kind is Kind.TRUTH:
                self.check(part)
            else:
                self.of(part)


def _hull(intervals: list[Interval]) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


class _Writer:
    """Writes an expression as Python: a whole number, over a divisor that no item changes.

    Attributes:
        fields: the variable that holds each field of an item, by name.
    """

    def __init__(self, code: ExtractionCode) -> None:
        self.code, self.fields = code, dict[str, str]()

    def write(self, node: Node) -> tuple[str, int]:
        """Return a number as a whole one and its divisor."""
        match node.op:
            case "const":
                return f"({value_of(node).numerator})", value_of(node).denominator
            case "item":
                name = self.fields.setdefault(str(node.data[0]), f"y{len(self.fields)}")
                return f"round({name} * 1e9)", NANO
            case "fact":
                return self.code.variable(_READERS[name_of(node)].extraction(node, self.code)), (
                    scale_of(node)
                )
            case "mul":
                (first, divisor), (second, other) = map(self.write, node.args)
                return f"({first} * {second})", divisor * other
            case "div":
                (value, divisor), by = self.write(node.args[0]), _divisor(node.args[1])
                sign = 1 if by > 0 else -1
                return f"({value} * {sign * by.denominator})", divisor * abs(by.numerator)
            case "cases":
                arms, otherwise = arms_of(node)
                values, divisor = self.alike(*(value for _, value in arms), otherwise)
                whens = [self.holds(condition) for condition, _ in arms]
                pairs = zip(values[:-1], whens, strict=True)
                text = "".join(f"{value} if {when} else " for value, when in pairs)
                return f"({text}{values[-1]})", divisor
        values, divisor = self.alike(*node.args)
        if node.op in _JOINED:
            return f"({f' {_JOINED[node.op]} '.join(values)})", divisor
        return f"{node.op}({', '.join(values)})", divisor

    def alike(self, *nodes: Node) -> tuple[list[str], int]:
        """Return numbers as whole ones over one divisor."""
        written = [self.write(node) for node in nodes]
        shared = lcm(*(divisor for _, divisor in written))
        values = [v if d == shared else f"({v} * {shared // d})" for v, d in written]
        return values, shared

    def holds(self, condition: Node) -> str:
        """Return a condition."""
        if condition.op in _COMPARISONS:
            (first, second), _ = self.alike(*condition.args)
            return f"({first} {_COMPARISONS[condition.op]} {second})"
        parts = [self.holds(part) for part in condition.args]
        if condition.op == "not":
            return f"(not {parts[0]})"
        return f"({f' {condition.op} '.join(parts)})"


READERS = (SummedOver(),)
