"""Facts of whole numbers in a list or a map: what they add up to, and the ends.

A path that is ambiguous is refused: numbers that are no whole ones, values that can be null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import and_
from typing import Any, ClassVar

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.collection import items_before
from tallystick.formula.facts.extraction_code import ExtractionCode, attribute_name
from tallystick.formula.facts.fact import arguments_of, fact_at, path_of, scaled
from tallystick.formula.facts.reader import (
    FactIndex,
    FactReader,
    Repetition,
    bound_of,
)
from tallystick.formula.schema_path import (
    Schema,
    alternatives_of,
    is_map,
    items_of,
    limit_of,
    steps,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node, Operand


def total(path: str) -> Node:
    """Return a whole number, or the sum of the values of a map or a projection.

    >>> from tallystick.formula.text import render
    >>> render(total("checks.retries"))
    'Σ retries'
    """
    return fact_at("total", path)


def largest(path: str, *, empty: Operand = 0) -> Node:
    """The largest whole number of a list, a map or a projection; ``empty`` where there is none.

    >>> from tallystick.formula.text import render
    >>> render(largest("checks.scores"))
    'max scores'
    """
    return fact_at("largest", path, scaled("empty", empty, 1))


def smallest(path: str, *, empty: Operand = 0) -> Node:
    """The smallest whole number of a list, a map or a projection; ``empty`` where there is none."""
    return fact_at("smallest", path, scaled("empty", empty, 1))


def excess(path: str, allowance: str) -> Node:
    """Σ over the keys of a map of max(0, value − allowance of the same key).

    >>> from tallystick.formula.text import render
    >>> render(excess("checks.retries", "task.allowed.*"))
    'Σ max(0, retries − allowed.*)'

    Args:
        path: a map of whole numbers; anything else counts as empty.
        allowance: ``map.*.field`` or ``map.*``; a key or a field that is absent allows 0.
    """
    *_, last, before = (None, *(step.name for step in steps(allowance)))
    if "*" not in (last, before) or any(step.field for step in steps(allowance)):
        raise FormulaError(f"found the allowance {allowance!r}, expected map.* or map.*.field")
    return fact_at("excess", path, (allowance,))


@attrs.frozen
class Numbers:
    """The whole numbers that there can be at a path, in one of its alternatives.

    Attributes:
        low: the smallest.
        high: the largest.
        most: how many there can be in a list or a map; None of a number that stands alone.
    """

    low: int
    high: int
    most: int | None = None


class _WholeNumbers(FactReader):
    """A fact of whole numbers, of which there may be many."""

    expected = "whole numbers to add up"

    def numbers(self, fact: Node, schema: Schema) -> list[Numbers]:
        """Return the range of the numbers for each alternative of a path.

        Raises:
            FormulaError: they are no whole numbers, or have no range.
        """
        target = target_of(path_of(fact), schema)
        if target.many:
            low, high = self.whole(fact, target.alternatives)
            return [Numbers(low, high, target.repeats)]
        return [self.numbers_in(fact, alternative, schema) for alternative in target.alternatives]

    def numbers_in(self, fact: Node, alternative: Schema, schema: Schema) -> Numbers:
        """Return the range of the numbers in one alternative: a whole number, a map, or a list.

        Raises:
            FormulaError: as ``numbers``.
        """
        path = path_of(fact)
        if type_of(alternative) == "integer":
            return Numbers(*self.whole(fact, [alternative]))
        if is_map(alternative) and not alternative.get("properties"):
            inner, nullable = alternatives_of(alternative["additionalProperties"], schema)
            most = limit_of(alternative, "maxProperties", path)
        elif type_of(alternative) == "array":
            inner, nullable = items_of(alternative, schema)
            most = limit_of(alternative, "maxItems", path)
        else:
            raise self.refused(path, self.expected)
        if nullable:
            raise self.refused(path, "values that cannot be null")
        low, high = self.whole(fact, inner)
        return Numbers(low, high, most)

    def whole(self, fact: Node, alternatives: Sequence[Schema]) -> tuple[int, int]:
        """Return the range of whole numbers.

        Raises:
            FormulaError: as ``numbers``.
        """
        path = path_of(fact)
        if {type_of(a) for a in alternatives} != {"integer"}:
            raise self.refused(path, self.expected)
        lows = [int(bound_of(a, "minimum", path)) for a in alternatives]
        return min(lows), max(int(bound_of(a, "maximum", path)) for a in alternatives)


class Aggregate(_WholeNumbers):
    """An aggregate of the whole numbers of a list, a map or a projection."""

    def values(self, fact: Node, code: ExtractionCode) -> str:
        """Return an expression for the numbers of a list, a map or a projection."""
        value = code.read(path_of(fact))
        if code.target(path_of(fact)).many:
            return value
        return f"{value}.values() if {value}.__class__ is dict else {value} or ()"


class Total(Aggregate):
    """A whole number, or the sum of the values of a map."""

    name = "total"
    form = "Σ {}"

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return from all numbers the smallest to all numbers the largest."""
        target, alternatives = target_of(path_of(fact), schema), self.numbers(fact, schema)
        ends = [_ends_of_sum(numbers) for numbers in alternatives]
        if target.optional and any(numbers.most is None for numbers in alternatives):
            ends.append((0, 0))
        return Domain(min(low for low, _ in ends), max(high for _, high in ends))

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the number, or the sum."""
        value = code.read(path_of(fact))
        if code.target(path_of(fact)).many:
            return f"sum({value})"
        return f"({value} if {value}.__class__ is int else sum({self.values(fact, code)}))"

    def repetition(self, fact: Node, schema: Schema) -> Repetition:
        """Return that a repeated number adds itself, which can be any number."""
        target = target_of(path_of(fact), schema)
        listed = any(type_of(alternative) == "array" for alternative in target.alternatives)
        return Repetition.UNCLEAR if listed or "[" in path_of(fact) else Repetition.SAME


class _Extreme(Aggregate):
    """The number at one end of those of a list, a map or a projection."""

    expected = "whole numbers to compare"
    word: ClassVar[str]
    """Function of Python and word for people: ``min`` or ``max``."""

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return the range of any of the numbers, and of what stands for none."""
        alternatives = self.numbers(fact, schema)
        if any(numbers.most is None for numbers in alternatives):
            raise self.refused(path_of(fact), "a list or a map of them")
        (empty,) = arguments_of(fact)
        lows = (numbers.low for numbers in alternatives)
        return Domain(min(empty, *lows), max(empty, *(numbers.high for numbers in alternatives)))

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the number at the end."""
        (empty,) = arguments_of(fact)
        return f"{self.word}(({self.values(fact, code)}), default={empty})"

    def absent(self, fact: Node) -> int | None:
        """Return the author's ``empty``."""
        return int(arguments_of(fact)[0])

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that it is ``empty`` where nothing is counted, and else at most the sum."""
        for path in _counts_of(path_of(fact)):
            for counted in others.find("count", path):
                yield (counted != 0) | (fact == arguments_of(fact)[0])
        for sum_of_it in others.find("total", path_of(fact)):
            if others.domains[sum_of_it.digest].low >= 0:  # then no number is below 0
                none = (sum_of_it == 0) & self.nothing(fact, others)
                yield none | (sum_of_it >= fact)

    def nothing(self, fact: Node, others: FactIndex) -> Node:
        """Return the condition of a record without any such number."""
        counts = [others.last("count", path) for path in (path_of(fact), f"{path_of(fact)}.*")]
        none = [counted == 0 for counted in counts if counted is not None]
        nothing: Node = reduce(and_, none, fact == arguments_of(fact)[0])
        return nothing


def _counts_of(path: str) -> Iterator[str]:
    """Yield the paths whose items, where there are none, leave a path without numbers."""
    yield path
    outer, _, rest = path.partition(".*")
    yield f"{outer}.*" if rest else f"{path}.*"
    items = items_before(path)
    if items is not None:
        yield items


class Largest(_Extreme):
    """The largest whole number of a list or a map."""

    name, word, form = "largest", "max", "max {}"

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield also that count · largest is at least the sum."""
        yield from super().constraints(fact, others)
        counted, added = (others.last(r, path_of(fact)) for r in ("count", "total"))
        if counted is not None and added is not None:
            yield (counted == 0) | (added <= counted * fact)


class Smallest(_Extreme):
    """The smallest whole number of a list or a map."""

    name, word, form = "smallest", "min", "min {}"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the largest, unless its ``empty`` is below this one's."""
        (empty,) = arguments_of(fact)
        for other in others.find("largest", path_of(fact)):
            if empty <= arguments_of(other)[0]:
                yield other

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield also that count · smallest ≤ sum, and that smallest ≤ largest."""
        yield from super().constraints(fact, others)
        counted, added = (others.last(r, path_of(fact)) for r in ("count", "total"))
        if counted is not None and added is not None:
            yield (counted == 0) | (added >= counted * fact)
        for most in others.find("largest", path_of(fact)):
            none = self.nothing(fact, others) & (most == arguments_of(most)[0])
            yield none | (fact <= most)


def _ends_of_sum(numbers: Numbers) -> tuple[int, int]:
    if numbers.most is None:
        return numbers.low, numbers.high
    return numbers.most * min(numbers.low, 0), numbers.most * max(numbers.high, 0)


class Excess(_WholeNumbers):
    """The sum by which the values of a map exceed the allowances of the same keys."""

    name = "excess"
    form = "Σ max(0, {} − {})"

    def paths(self, fact: Node) -> tuple[str, ...]:
        """Return the map and the allowance."""
        return path_of(fact), str(arguments_of(fact)[0])

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return 0 up to the total; anything but a map counts as empty."""
        path, allowed = self.paths(fact)
        target, allowance = target_of(path, schema), target_of(allowed, schema)
        maps = [a for a in target.alternatives if is_map(a)]
        if target.many or not maps or {type_of(a) for a in allowance.alternatives} != {"integer"}:
            raise self.refused(path, "maps of whole numbers")
        ends = [_ends_of_sum(self.numbers_in(fact, a, schema)) for a in maps]
        # an excess is at most the total, also where that is of a number or of a list
        others = [a for a in target.alternatives if a not in maps]
        summed = [
            _ends_of_sum(numbers) for a in others for numbers in self._summed(fact, a, schema)
        ]
        lowest = min(low for low, _ in [*ends, *summed])
        if lowest < 0 or self.whole(fact, allowance.alternatives)[0] < 0:
            raise self.refused(path, "numbers that are at least 0")
        return Domain(0, max(high for _, high in ends))

    def _summed(self, fact: Node, alternative: Schema, schema: Schema) -> list[Numbers]:
        """Return the numbers that a total of the same path would add up here."""
        try:
            return [self.numbers_in(fact, alternative, schema)]
        except FormulaError:
            return []

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return a call, since the maps are walked together."""
        path, allowance = self.paths(fact)
        base, _, field = allowance.partition(".*")
        name = field.removeprefix(".")
        allowed = code.constant(_field_reader(attribute_name(name)) if name else _itself)
        excess_of = code.constant(_excess)
        return f"{excess_of}({code.read(path)}, {code.read(base)}, {allowed})"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the total of the same path."""
        yield from others.find("total", path_of(fact))

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that an empty map exceeds nothing, and that the allowance covers the rest."""
        path, allowance = self.paths(fact)
        itemised = others.last("itemised", path)
        if itemised is None:
            return
        yield itemised | (fact == 0)
        total, allowed = others.last("total", path), others.last("total", allowance)
        if total is not None and allowed is not None:
            yield ~itemised | (fact >= total - allowed)


def _excess(values: object, allowed: object, allowance: Callable[[Any], int | None]) -> int:
    if not isinstance(values, dict):
        return 0
    limits = allowed if isinstance(allowed, dict) else {}
    return sum(
        max(0, value - ((allowance(limits[key]) or 0) if key in limits else 0))
        for key, value in values.items()
    )


def _field_reader(name: str) -> Callable[[Any], int | None]:
    return lambda item: getattr(item, name, None)


def _itself(item: int | None) -> int | None:
    return item


READERS = (Total(), Largest(), Smallest(), Excess())
