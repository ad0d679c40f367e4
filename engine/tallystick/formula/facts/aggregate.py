"""Facts of whole numbers in a list or a map: what they add up to, and the ends.

A path that is ambiguous is refused: numbers that are no whole ones, values that can be null. The
second part writes drafts of records that have such facts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.collection import Selection, entry_name, items_before, split
from tallystick.formula.facts.draft import Demand, Demands, Draft, RecordObject, put
from tallystick.formula.facts.extraction_code import ExtractionCode, attribute_name
from tallystick.formula.facts.fact import arguments_of, fact_at, name_of, path_of, scaled
from tallystick.formula.facts.reader import (
    Condition,
    FactIndex,
    FactReader,
    FactTerms,
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


@attrs.frozen
class Shape:
    """A constraint on whole numbers whose aggregate is given.

    Attributes:
        low: none is smaller.
        high: none is larger.
        among: these are among them.
        total: they add up to it.
    """

    low: int | None = None
    high: int | None = None
    among: tuple[int, ...] = ()
    total: int | None = None


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

    @abstractmethod
    def of(self, fact: Node, values: Sequence[int]) -> int:
        """Return the aggregate of some numbers, perhaps none."""

    @abstractmethod
    def shape(self, fact: Node, value: int) -> Shape:
        """Return the constraint on numbers, at least one, whose aggregate is the value."""

    def values(self, fact: Node, code: ExtractionCode) -> str:
        """Return an expression for the numbers of a list, a map or a projection."""
        value = code.read(path_of(fact))
        if code.target(path_of(fact)).many:
            return value
        return f"{value}.values() if {value}.__class__ is dict else {value} or ()"


class Total(Aggregate):
    """A whole number, or the sum of the values of a map."""

    name = "total"

    def of(self, fact: Node, values: Sequence[int]) -> int:
        """Return the sum."""
        del fact
        return sum(values)

    def shape(self, fact: Node, value: int) -> Shape:
        """Return that the numbers add up to the value."""
        del fact
        return Shape(total=value)

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

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the fact as a sum."""
        return f"Σ {named(path_of(fact))}"

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
        low, high = (
            min(numbers.low for numbers in alternatives),
            max(numbers.high for numbers in alternatives),
        )
        return Domain(min(low, empty), max(high, empty))

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the number at the end."""
        (empty,) = arguments_of(fact)
        return f"{self.word}(({self.values(fact, code)}), default={empty})"

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the path behind the word."""
        return f"{self.word} {named(path_of(fact))}"

    def absent(self, fact: Node) -> int | None:
        """Return the author's ``empty``."""
        return int(arguments_of(fact)[0])

    def absences(self, fact: Node, others: FactIndex) -> Iterator[tuple[Node, int]]:
        """Yield the counts that, where they are 0, leave no number."""
        (empty,) = arguments_of(fact)
        for path in _counts_of(path_of(fact)):
            for counted in others.find("count", path):
                yield counted, empty

    def constraints(self, fact: Node, record: FactTerms) -> Iterator[Condition]:
        """Yield that it is ``empty`` where nothing is counted, and else at most the sum."""
        (empty,), logic, term = arguments_of(fact), record.logic, record.of(fact)
        for counted, _ in self.absences(fact, record.index):
            yield logic.implies(record.of(counted) == 0, term == empty)
        for sum_of_it in record.index.find("total", path_of(fact)):
            if record.domains[sum_of_it.digest].low >= 0:  # then no number is below 0
                none = [record.of(sum_of_it) == 0, *self.nothing(fact, record)]
                yield logic.some([logic.every(none), record.of(sum_of_it) >= term])

    def nothing(self, fact: Node, record: FactTerms) -> Iterator[Condition]:
        """Yield the conditions of a record without any such number."""
        yield record.of(fact) == arguments_of(fact)[0]
        for path in (path_of(fact), f"{path_of(fact)}.*"):
            counted = record.find("count", path)
            if counted is not None:
                yield counted == 0


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

    name, word = "largest", "max"

    def of(self, fact: Node, values: Sequence[int]) -> int:
        """Return the largest, or ``empty``."""
        return max(values, default=arguments_of(fact)[0])

    def shape(self, fact: Node, value: int) -> Shape:
        """Return that the value is among the numbers and none is larger."""
        del fact
        return Shape(high=value, among=(value,))

    def constraints(self, fact: Node, record: FactTerms) -> Iterator[Condition]:
        """Yield also that count · largest is at least the sum."""
        yield from super().constraints(fact, record)
        counted, added = (record.find(r, path_of(fact)) for r in ("count", "total"))
        if counted is not None and added is not None:
            yield record.logic.some([counted == 0, added <= counted * record.of(fact)])


class Smallest(_Extreme):
    """The smallest whole number of a list or a map."""

    name, word = "smallest", "min"

    def of(self, fact: Node, values: Sequence[int]) -> int:
        """Return the smallest, or ``empty``."""
        return min(values, default=arguments_of(fact)[0])

    def shape(self, fact: Node, value: int) -> Shape:
        """Return that the value is among the numbers and none is smaller."""
        del fact
        return Shape(low=value, among=(value,))

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the largest, unless its ``empty`` is below this one's."""
        (empty,) = arguments_of(fact)
        for other in others.find("largest", path_of(fact)):
            if empty <= arguments_of(other)[0]:
                yield other

    def constraints(self, fact: Node, record: FactTerms) -> Iterator[Condition]:
        """Yield also that count · smallest ≤ sum, and that smallest ≤ largest."""
        yield from super().constraints(fact, record)
        logic, term = record.logic, record.of(fact)
        counted, added = (record.find(r, path_of(fact)) for r in ("count", "total"))
        if counted is not None and added is not None:
            yield logic.some([counted == 0, added >= counted * term])
        for other in record.index.find("largest", path_of(fact)):
            most = record.of(other)
            none = [*self.nothing(fact, record), most == arguments_of(other)[0]]
            yield logic.some([logic.every(none), term <= most])


def _ends_of_sum(numbers: Numbers) -> tuple[int, int]:
    if numbers.most is None:
        return numbers.low, numbers.high
    return numbers.most * min(numbers.low, 0), numbers.most * max(numbers.high, 0)


class Excess(_WholeNumbers):
    """The sum by which the values of a map exceed the allowances of the same keys."""

    name = "excess"

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

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the fact as a sum."""
        first, second = map(named, self.paths(fact))
        return f"Σ max(0, {first} − {second})"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the total of the same path."""
        yield from others.find("total", path_of(fact))

    def constraints(self, fact: Node, record: FactTerms) -> Iterator[Condition]:
        """Yield that an empty map exceeds nothing, and that the allowance covers the rest."""
        path, allowance = self.paths(fact)
        itemised = record.find("itemised", path)
        if itemised is None:
            return
        logic, term = record.logic, record.of(fact)
        yield logic.implies(logic.negation(itemised), term == 0)
        total, allowed = record.find("total", path), record.find("total", allowance)
        if total is not None and allowed is not None:
            yield logic.implies(itemised, term >= total - allowed)


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


_AGGREGATES = {reader.name: reader for reader in READERS if isinstance(reader, Aggregate)}
_EXCESS = Excess()


def write(demands: Demands, draft: Draft) -> None:
    """Give a record the numbers in lists and maps that facts ask for."""
    wanted: dict[str, list[Demand]] = {}
    for fact, value in demands:
        if name_of(fact) in _AGGREGATES and demands.value("itemised", path_of(fact)) != 1:
            wanted.setdefault(path_of(fact), []).append((fact, value))
    lists: dict[Selection, dict[str, list[Demand]]] = {}
    for path, demanded in wanted.items():
        field, step, rest = split(path)
        if step is None:
            _write_value(path, demanded, demands, draft)
        elif step.name == "*":
            _write_map(path, demanded, demands, draft)
        else:
            lists.setdefault(Selection(field, step), {})[rest] = demanded
    for selection, projections in lists.items():
        _write_list(selection, projections, demands, draft)
    for fact, value in demands.of("excess"):
        _write_excess(fact, value, demands, draft)


def _write_value(path: str, asked: list[Demand], demands: Demands, draft: Draft) -> None:
    """Write one whole number, or a whole map or list."""
    reader, counted = _AGGREGATES[name_of(asked[0][0])], demands.value("count", path)
    kinds = sorted(draft.target(path).alternatives, key=lambda kind: type_of(kind) != "integer")
    for kind in kinds:
        numbers = reader.numbers_in(asked[0][0], kind, draft.schema)
        if numbers.most is None:
            (alone,) = {value for _, value in asked}
            if numbers.low <= alone <= numbers.high:
                draft.put(path, alone)
                return
            continue
        sizes = range(numbers.most + 1) if counted is None else (counted,)
        values = _numbers_for(asked, numbers, sizes)
        if values is not None:
            named = {entry_name(i): value for i, value in enumerate(values)}
            draft.put(path, values if type_of(kind) == "array" else named)
            return


def _write_map(path: str, asked: list[Demand], demands: Demands, draft: Draft) -> None:
    """Write the number that a fact reads from each entry of a map."""
    field = split(path)[0]
    counted = demands.value("count", path)
    counted = demands.value("count", f"{field}.*") if counted is None else counted
    (numbers,) = _AGGREGATES[name_of(asked[0][0])].numbers(asked[0][0], draft.schema)
    sizes = range((numbers.most or 0) + 1) if counted is None else (counted,)
    values = _numbers_for(asked, numbers, sizes)
    if values is not None:
        entries = draft.get(field) if counted is not None else None
        draft.put(field, _entries(path, enumerate(values), draft, entries))


def _entries(
    path: str, values: Iterable[tuple[int, int]], draft: Draft, entries: RecordObject | None = None
) -> RecordObject:
    """Return a map's entries by the number of their key; a path may lie within an entry."""
    field, _, rest = split(path)
    result = {} if entries is None else entries
    for number, value in values:
        key = entry_name(number)
        if rest and key not in result:
            (kind,) = draft.target(f"{field}.*").alternatives
            result[key] = draft.make(kind, field, number)
        put(result, [key, *rest.split(".")] if rest else [key], value)
    return result


def _write_list(
    selection: Selection, projections: dict[str, list[Demand]], demands: Demands, draft: Draft
) -> None:
    """Write the number that a fact reads from each of the selected items of a list."""
    items = [item for item in draft.get(selection.field) or () if isinstance(item, dict)]
    selected = [item for item in items if selection.step.keeps(item)]
    others = [item for item in items if not selection.step.keeps(item)]
    counted, kind = demands.value("count", selection.counted), selection.kind(draft)
    sizes = [len(selected), *range(selection.most(draft) + 1)] if counted is None else [counted]
    for size in sizes:
        numbers = {
            rest: _projected(demanded, kind, rest, size, demands, draft)
            for rest, demanded in projections.items()
        }
        if None not in numbers.values():
            selected = selected[:size] + [selection.new(draft) for _ in range(size - len(selected))]
            for rest, values in numbers.items():
                _put_each(selected, rest.split("."), values or ())
            draft.put(selection.field, [*others, *selected])
            return


def _projected(  # noqa: PLR0913, PLR0917  # what is asked, and of what
    asked: list[Demand], kind: Schema, rest: str, size: int, demands: Demands, draft: Draft
) -> list[int] | None:
    """Return the numbers that some items have, where others may have none."""
    reader, fact = _AGGREGATES[name_of(asked[0][0])], asked[0][0]
    counted = demands.value("count", path_of(fact))
    required = rest in kind.get("required", ())
    sizes = [size] if required else [size, *range(size)]
    (numbers,) = reader.numbers(fact, draft.schema)
    allowed = [n for n in sizes if counted in (None, n)]
    return _numbers_for(asked, numbers, allowed)


def _put_each(items: Sequence[RecordObject], names: Sequence[str], values: Sequence[int]) -> None:
    """Give the first items a number each, and the others none."""
    for position, item in enumerate(items):
        if position < len(values):
            put(item, names, values[position])
        else:
            item.pop(names[0], None)


def _numbers_for(
    asked: Sequence[Demand], numbers: Numbers, sizes: Iterable[int]
) -> list[int] | None:
    """Return numbers, as many as one of the sizes, with the facts asked for; else None."""
    shapes = [_AGGREGATES[name_of(fact)].shape(fact, value) for fact, value in asked]
    low = max([numbers.low, *(s.low for s in shapes if s.low is not None)])
    high = min([numbers.high, *(s.high for s in shapes if s.high is not None)])
    among = tuple({value: None for shape in shapes for value in shape.among})
    totals = {shape.total for shape in shapes if shape.total is not None}
    shape = Shape(low, high, among, max(totals, default=None))
    for size in sizes:
        values = _shaped(shape, size)
        if values is not None and all(
            _AGGREGATES[name_of(fact)].of(fact, values) == value for fact, value in asked
        ):
            return values
    return None


def _shaped(shape: Shape, size: int) -> list[int] | None:
    """Return ``size`` numbers of a shape, the larger ones first; None if there are none."""
    low, high, spare = shape.low or 0, shape.high or 0, size - len(shape.among)
    if not size:
        return []
    # what stands for none may be among them, and no number that there can be
    if spare < 0 or low > high or not all(low <= value <= high for value in shape.among):
        return None
    if shape.total is None:
        return [*shape.among, *[min(max(0, low), high)] * spare]
    left = shape.total - sum(shape.among) - spare * low
    if not 0 <= left <= spare * (high - low):
        return None
    numbers = list(shape.among)
    for _ in range(spare):
        numbers.append(low + min(left, high - low))
        left -= numbers[-1] - low
    return numbers


def _write_excess(fact: Node, value: int, demands: Demands, draft: Draft) -> None:
    """Write maps that exceed the allowances of their keys: some keys are covered, others not."""
    path, allowance = _EXCESS.paths(fact)
    if not demands.value("itemised", path):
        return
    most = _largest_in(path, draft)
    all_of_it = demands.value("total", path)
    within = _parts((value if all_of_it is None else all_of_it) - value, most)
    beyond = _parts(value, most)
    draft.put(path, _entries(f"{path}.*", enumerate([*within, *beyond]), draft))
    allowed = demands.value("total", allowance)
    spare = 0 if allowed is None else allowed - sum(within)
    unused = enumerate(_parts(max(spare, 0), most), len(within) + len(beyond))
    draft.put(split(allowance)[0], _entries(allowance, [*enumerate(within), *unused], draft))


def _parts(total: int, most: int) -> list[int]:
    """Return numbers of at most ``most`` that add up to a total."""
    return [most] * (total // most) + [total % most] * (total % most > 0)


def _largest_in(path: str, draft: Draft) -> int:
    """Return the largest whole number at a path, or in the entries of the map there."""
    kinds = draft.target(path).alternatives
    inner = (
        alternatives_of(k["additionalProperties"], draft.schema)[0] for k in kinds if is_map(k)
    )
    every = [*kinds, *(kind for schemas in inner for kind in schemas)]
    return max(int(kind["maximum"]) for kind in every if "maximum" in kind)
