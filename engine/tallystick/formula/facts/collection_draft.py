"""Drafts of records whose lists and maps have the items and the numbers that facts ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from tallystick.formula.facts.aggregate import READERS, Aggregate, Excess, Numbers
from tallystick.formula.facts.draft import Demand, Demands, Draft, RecordObject, put
from tallystick.formula.facts.fact import arguments_of, name_of, path_of
from tallystick.formula.schema_path import (
    PathStep,
    Schema,
    alternatives_of,
    is_map,
    items_at,
    items_of,
    limit_of,
    steps,
    type_of,
)
from tallystick.formula.tree import Node

_AGGREGATES = {reader.name: reader for reader in READERS if isinstance(reader, Aggregate)}
_EXCESS = Excess()

Token = tuple[str, int]
"""One of the different items of a path: the path that it was made for, and its number."""
_Asked = Mapping[str, Sequence[Demand]]
"""The aggregates that are asked for, by path."""


def write(demands: Demands, draft: Draft) -> None:
    """Give a record the lists, the maps and the numbers in them that facts ask for."""
    asked: dict[str, list[Demand]] = {}
    for fact, value in demands.of(*_AGGREGATES):
        if demands.value("itemised", path_of(fact)) != 1:
            asked.setdefault(path_of(fact), []).append((fact, value))
    counted = [path_of(fact) for fact, _ in demands.of("distinct", "count", "overlap")]
    counted += [str(arguments_of(fact)[0]) for fact, _ in demands.of("overlap")]
    selections: dict[ItemSelection, list[str]] = {}
    for path in dict.fromkeys((*counted, *asked)):
        selection = ItemSelection.of(path)
        if selection is not None:
            selections.setdefault(selection, []).append(path)
        elif path in asked:
            _write_numbers(path, asked[path], demands, draft)
        else:
            draft.put(path, [_item(token, draft) for token in _tokens(path, demands)])
    # items that are counted are new ones, beside those of a list that is counted itself
    for selection, paths in selections.items():
        if not selection.is_map and selection.field not in counted and {*paths} - asked.keys():
            draft.put(selection.field, [])
    for selection in sorted(selections, key=lambda selection: selection.step.each):
        _write_items(selection, selections[selection], asked, demands, draft)
    for fact, value in demands.of("excess"):
        _write_excess(fact, value, demands, draft)


@attrs.frozen
class ItemSelection:
    """The items of a list, or the entries of a map, that a step takes."""

    field: str
    step: PathStep

    @classmethod
    def of(cls, path: str) -> ItemSelection | None:
        """Return the items from each of which a path reads; None where it reads one value."""
        chain = steps(path)
        names = [step.name for step in chain]
        at = next((i for i, step in enumerate(chain) if step.many), None)
        if at is None:
            return None
        return cls(".".join(names[: at + (chain[at].name != "*")]), chain[at])

    @property
    def is_map(self) -> bool:
        """Whether the items are entries of a map."""
        return self.step.name == "*"

    @property
    def counted(self) -> str:
        """The path whose count says how many they are."""
        if self.is_map:
            return f"{self.field}.*"
        if self.step.each:
            return self.field
        return ".".join([*self.field.split(".")[:-1], str(self.step)])

    def rest(self, path: str) -> list[str]:
        """Return the names by which a path goes on in an item."""
        chain = steps(path)
        return [step.name for step in chain[chain.index(self.step) + 1 :]]

    def kind(self, draft: Draft) -> Schema:
        """Return the schema of an item."""
        if self.is_map:
            return draft.target(self.counted).alternatives[0]
        (kind,), _ = items_at(draft.target(self.field), draft.schema)
        return kind

    def most(self, draft: Draft) -> int:
        """Return the maximum number of items."""
        if self.is_map:
            return draft.target(self.counted).repeats
        arrays = draft.target(self.field).of_type("array")
        return max(limit_of(array, "maxItems", self.field) for array in arrays)

    def new(self, number: int, draft: Draft) -> Any:  # noqa: ANN401  # a JSON value
        """Return one more item; entries of a map are told apart by their number."""
        if self.is_map:
            return draft.make(self.kind(draft), self.field.rpartition(".")[2], number)
        made = draft.make(self.kind(draft), self.counted, 0)
        return made if self.step.each else {**made, str(self.step.field): self.step.value}


def _write_items(
    selection: ItemSelection, paths: Sequence[str], asked: _Asked, demands: Demands, draft: Draft
) -> None:
    """Write the selected items of a list or a map, with what paths read from each."""
    tokens = {path: _tokens(path, demands) for path in paths if path not in asked}
    items = [] if selection.is_map else list(draft.get(selection.field) or ())
    are_new = bool(tokens) and not selection.step.each
    selected = [] if are_new else [item for item in items if _keeps(selection, item)]
    others = [item for item in items if are_new or not _keeps(selection, item)]
    least = max(map(len, tokens.values()), default=0)
    counted = demands.value("count", selection.counted)
    sizes = [counted] if counted is not None else [max(least, len(selected))]
    sizes += [] if counted is not None else range(least, selection.most(draft) + 1)
    for size in sizes:
        numbers = {
            path: _projected(asked[path], selection, size, demands, draft)
            for path in paths
            if path in asked
        }
        if None not in numbers.values():
            break
    else:
        return
    added = (selection.new(number, draft) for number in range(len(selected), size))
    rows: list[RecordObject] = [{"": item} for item in (*selected[:size], *added)]
    for path in paths:
        values = numbers.get(path) or [_item(token, draft) for token in tokens.get(path, ())]
        # the last of different items is repeated, unless it is counted how many have one
        repeats = path in tokens and demands.value("count", path) is None
        if selection.is_map or path != selection.counted:
            _fill(rows, selection.rest(path), values, repeats=repeats)
    written = [row[""] for row in rows]
    entries = {entry_name(number): entry for number, entry in enumerate(written)}
    draft.put(selection.field, entries if selection.is_map else [*others, *written])


def _keeps(selection: ItemSelection, item: object) -> bool:
    return isinstance(item, dict) and selection.step.keeps(item)


def _fill(
    rows: Sequence[RecordObject], names: Sequence[str], values: Sequence[Any], *, repeats: bool
) -> None:
    """Give the first rows a value each, and the others the last one, or none."""
    for number, row in enumerate(rows):
        if number < len(values) or (repeats and values):
            put(row, ["", *names], values[min(number, len(values) - 1)])
        elif names:
            row[""].pop(names[0], None)


def _tokens(path: str, demands: Demands) -> list[Token]:
    """Return the items of a path: shared ones, those of its own, repetitions of the first."""
    overlaps = [(path_of(f), str(arguments_of(f)[0]), many) for f, many in demands.of("overlap")]
    shared = [(other, i) for first, other, many in overlaps if first == path for i in range(many)]
    lent = [many for _, other, many in overlaps if other == path]
    count, different = demands.value("count", path) or 0, demands.value("distinct", path)
    if different is None:  # the fewest, where no fact says it
        different = max(len(shared), min(1, count), *lent)
    tokens = shared + [(path, i) for i in range(different - len(shared))]
    return tokens + tokens[:1] * (count - len(tokens))


def _item(token: Token, draft: Draft) -> Any:  # noqa: ANN401  # a JSON value
    path, number = token
    target = draft.target(path)
    kinds = target.alternatives
    if not target.many:
        kinds = items_of(target.alternatives[0], draft.schema)[0]
    return draft.make(kinds[0], path.rpartition(".")[2], number)


def entry_name(number: int) -> str:
    """Return the key of an entry that is made up."""
    return f"step-{number + 1}"


def _write_numbers(path: str, asked: Sequence[Demand], demands: Demands, draft: Draft) -> None:
    """Write one whole number, or a whole map or list of them."""
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


def _projected(
    asked: Sequence[Demand], selection: ItemSelection, size: int, demands: Demands, draft: Draft
) -> list[int] | None:
    """Return the numbers that some items have, where others may have none."""
    fact = asked[0][0]
    names, counted = selection.rest(path_of(fact)), demands.value("count", path_of(fact))
    required = not names or names[0] in selection.kind(draft).get("required", ())
    sizes = [size] if required else [size, *range(size)]
    (numbers,) = _AGGREGATES[name_of(fact)].numbers(fact, draft.schema)
    return _numbers_for(asked, numbers, [n for n in sizes if counted in (None, n)])


def _numbers_for(
    asked: Sequence[Demand], numbers: Numbers, sizes: Iterable[int]
) -> list[int] | None:
    """Return numbers, as many as one of the sizes, with the facts asked for; else None."""
    aggregates = {name_of(fact): value for fact, value in asked}
    none = all(_AGGREGATES[name_of(fact)].absent(fact) == value for fact, value in asked)
    for size in sizes:
        values = _aggregated(aggregates, numbers, size) if size else [] if none else None
        if values is not None:
            return values
    return None


def _aggregated(aggregates: Mapping[str, int], within: Numbers, size: int) -> list[int] | None:
    """Return ``size`` numbers with some aggregates; None if there are none."""
    low = max(within.low, aggregates.get("smallest", within.low))
    high = min(within.high, aggregates.get("largest", within.high))
    ends = (value for name, value in aggregates.items() if name != "total")
    numbers = list(dict.fromkeys(ends))
    spare, total = size - len(numbers), aggregates.get("total")
    # what stands for none may be among them, and no number that there can be
    if spare < 0 or low > high or not all(low <= number <= high for number in numbers):
        return None
    if total is None:
        return [*numbers, *[min(max(0, low), high)] * spare]
    left = total - sum(numbers) - spare * low
    if not 0 <= left <= spare * (high - low):
        return None
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
    _write_entries(f"{path}.*", enumerate([*within, *beyond]), draft)
    allowed = demands.value("total", allowance)
    spare = 0 if allowed is None else allowed - sum(within)
    unused = enumerate(_parts(max(spare, 0), most), len(within) + len(beyond))
    _write_entries(allowance, [*enumerate(within), *unused], draft)


def _write_entries(path: str, values: Iterable[tuple[int, int]], draft: Draft) -> None:
    """Write the entries of a map by the number of their key; a path may lie within an entry."""
    selection = ItemSelection(path.partition(".*")[0], PathStep("*"))
    names, entries = selection.rest(path), dict[str, Any]()
    for number, value in values:
        row = {"": selection.new(number, draft) if names else value}
        put(row, ["", *names], value)
        entries[entry_name(number)] = row[""]
    draft.put(selection.field, entries)


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
