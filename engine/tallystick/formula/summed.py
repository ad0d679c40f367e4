"""Facts that add up an expression over the items of a list or a map.

The expression is a tree over the fields of an item, and over numbers of the record. It is exact for
each item, and the sum is rounded once, to nano. It is part of the fact's identity, and not of the
formula that reads the fact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.collection import Items
from tallystick.formula.facts.extraction_code import ExtractionCode, attribute_name
from tallystick.formula.facts.fact import arguments_of, fact_at, name_of, path_of
from tallystick.formula.facts.families import READERS, family, is_opaque, reader_of
from tallystick.formula.facts.reader import FactIndex, Repetition, bound_of
from tallystick.formula.generated import compile_ratio
from tallystick.formula.lowering import lower
from tallystick.formula.polynomial import scale
from tallystick.formula.program import Program
from tallystick.formula.schema_path import Schema, alternatives_of, items_at, target_of, type_of
from tallystick.formula.tree import Data, Kind, Node, Operand, const, leaves, value_of, walk
from tallystick.numbers.nano import NANO, from_double, round_half_even

_CONDITIONS = ("lt", "le", "eq", "and", "or", "not")
_OPERATORS = {
    *("const", "label", "item", "fact", "add", "sub", "mul", "div", "min", "max", "abs", "cases"),
    *_CONDITIONS,
}


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
    for node in walk(tree):
        _check(node)
    return fact_at("summed_over", path, (_packed(tree),), NANO)


def _packed(node: Node) -> Data:
    """Return a tree as data; labels are documentation."""
    inner = node.unlabelled
    return inner.op, inner.data, tuple(map(_packed, inner.args))


def _unpacked(data: Any, item_as: str = "item") -> Node:  # noqa: ANN401  # as `_packed` returns it
    op, values, arguments = data
    kind = Kind.TRUTH if op in _CONDITIONS else Kind.NUMBER
    nodes = tuple(_unpacked(argument, item_as) for argument in arguments)
    return Node(item_as if op == "item" else op, nodes, values, kind)


def _check(node: Node) -> None:
    """Refuse a node that no expression over items may have.

    Raises:
        FormulaError: it is one.
    """
    reads_number = node.op == "fact" and node.kind is Kind.NUMBER and not is_opaque(node)
    if node.op not in _OPERATORS or (
        node.op == "fact" and not (reads_number and name_of(node) in READERS)
    ):
        raise _refused(node)
    for part in node.args:
        if part.kind is Kind.TRUTH and node.op not in (*_CONDITIONS, "cases", "label"):
            raise _refused(part)
    if node.op == "div":
        divisor = node.args[1].unlabelled
        if divisor.op != "const" or not value_of(divisor):
            raise FormulaError(
                f"found a division by {divisor!r} in what is summed over items, expected a "
                "number: divide the sum"
            )


def _refused(node: Node) -> FormulaError:
    return FormulaError(
        f"found {node.op} in what is summed over items, expected item(), numbers of the record "
        "and constants, with + − ×, a division by a number, minimum, maximum, absolute and cases"
    )


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
        others = (path for other in inner for path in reader_of(other).paths(other))
        return path_of(fact), *others

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return the range of one item, times how many there can be."""
        path, is_sure = path_of(fact), True
        for field in leaves(self.summand(fact), "item"):
            is_sure &= not self._bounds(fact, str(field.data[0]), schema)[1]
        least, most = self.least(path, schema) if is_sure else 0, self.most(path, schema)
        one = self._program(fact, schema)
        return Domain(
            floor(NANO * one.low * (most if one.low < 0 else least)),
            ceil(NANO * one.high * (most if one.high > 0 else least)),
        )

    def _program(self, fact: Node, schema: Schema) -> Program:
        """Return the expression of one item as a program, whose published values are its fields."""
        tree = _unpacked(arguments_of(fact)[0], "published")
        fields = {str(field.data[0]) for field in leaves(tree, "published")}
        inner = leaves(tree, "fact")
        return lower(
            tree,
            {other.digest: reader_of(other).domain(other, schema) for other in inner},
            {field: self._bounds(fact, field, schema)[0] for field in fields},
        )

    def _bounds(self, fact: Node, field: str, schema: Schema) -> tuple[Domain, bool]:
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
        words = ("minimum", "maximum")
        ends = [from_double(bound_of(kind, word, path)) for kind in numbers for word in words]
        return Domain(min(ends), max(ends)), is_optional

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the sum of whole numbers over a constant divisor, rounded."""
        program = self._program(fact, code.schema)
        divisors = [arm.denominator[()] for arm in program.arms]
        shared = lcm(*divisors)
        arms = (
            attrs.evolve(arm, numerator=scale(arm.numerator, shared // divisor))
            for arm, divisor in zip(program.arms, divisors, strict=True)
        )
        value_of_item = code.constant(compile_ratio(attrs.evolve(program, arms=tuple(arms))))
        fields = [str(field.data[0]) for field in leaves(self.summand(fact), "item")]
        variables = {field: f"y{number}" for number, field in enumerate(fields)}
        read = (
            f"({name} := {f'x.{attribute_name(field)}' if field else 'x'}) is not None"
            for field, name in variables.items()
        )
        arguments = (
            f"round({variables[str(given.node.data[0])]} * 1e9)"
            if given.node.op == "published"
            else code.variable(reader_of(given.node).extraction(given.node, code))
            for _, given in program.inputs
        )
        value = f"{value_of_item}({', '.join(arguments)})[0]"
        total = f"sum({value} for x in {code.listed(path_of(fact))} if {' and '.join(read)})"
        return f"{code.constant(round_half_even)}({total} * {NANO}, {shared})"

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


family(SummedOver())
