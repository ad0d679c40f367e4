"""Drafts of records whose whole numbers have the aggregates that facts ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tallystick.formula.facts.aggregate import READERS, Aggregate, Excess, Numbers, Shape
from tallystick.formula.facts.collection import ItemSelection, entry_name, split
from tallystick.formula.facts.draft import Demand, Demands, Draft, RecordObject, put
from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.schema_path import Schema, alternatives_of, is_map, type_of
from tallystick.formula.tree import Node

_AGGREGATES = {reader.name: reader for reader in READERS if isinstance(reader, Aggregate)}
_EXCESS = Excess()


def write(demands: Demands, draft: Draft) -> None:
    """Give a record the numbers in lists and maps that facts ask for."""
    wanted: dict[str, list[Demand]] = {}
    for fact, value in demands:
        if name_of(fact) in _AGGREGATES and demands.value("itemised", path_of(fact)) != 1:
            wanted.setdefault(path_of(fact), []).append((fact, value))
    lists: dict[ItemSelection, dict[str, list[Demand]]] = {}
    for path, demanded in wanted.items():
        field, step, rest = split(path)
        if step is None:
            _write_value(path, demanded, demands, draft)
        elif step.name == "*":
            _write_map(path, demanded, demands, draft)
        else:
            lists.setdefault(ItemSelection(field, step), {})[rest] = demanded
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
    selection: ItemSelection, projections: dict[str, list[Demand]], demands: Demands, draft: Draft
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
