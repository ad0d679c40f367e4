"""Facts of the items of lists and maps: all, the different ones, those that two lists share.

A path that is ambiguous is refused: a list that may also be a text, items that are not alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.facts.draft import Demands, Draft, RecordObject, put
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import arguments_of, fact_at, name_of, path_of
from tallystick.formula.facts.reader import (
    FactIndex,
    FactReader,
    Repetition,
)
from tallystick.formula.schema_path import (
    SCALARS,
    PathStep,
    Schema,
    alternatives_of,
    items_at,
    items_of,
    limit_of,
    object_fields,
    steps,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node


def count(path: str) -> Node:
    """Return the number of items of a list or a projection; repeated items count each time.

    >>> from tallystick.formula.text import render
    >>> render(count("checks.expected"))
    '|expected|'
    """
    return fact_at("count", path)


def distinct(path: str) -> Node:
    """Return the number of different items of a list or a projection.

    >>> from tallystick.formula.text import render
    >>> render(distinct("checks.expected"))
    '|distinct expected|'
    """
    return fact_at("distinct", path)


def overlap(first: str, second: str) -> Node:
    """Return the number of different items that are in both lists.

    >>> from tallystick.formula.text import render
    >>> render(overlap("submission.findings", "checks.expected"))
    '|findings ∩ expected|'
    """
    steps(second)
    return fact_at("overlap", first, (second,))


class Items(FactReader):
    """A number of items."""

    def most(self, path: str, schema: Schema) -> int:
        """Return the maximum number of items.

        Raises:
            FormulaError: there is no list, or nothing limits it.
        """
        target = target_of(path, schema)
        if target.many:
            return target.repeats
        if {type_of(a) for a in target.alternatives} != {"array"}:
            raise self.refused(path, "a list")
        return max(limit_of(array, "maxItems", path) for array in target.alternatives)

    def least(self, path: str, schema: Schema) -> int:
        """Return the minimum number of items: of a list that no record leaves out, else 0."""
        target = target_of(path, schema)
        if target.many or target.optional:
            return 0
        return min(int(array.get("minItems", 0)) for array in target.alternatives)

    def fields(self, path: str, schema: Schema) -> tuple[str, ...]:
        """Return the identity of items: the fields of objects, or the type of other items.

        Raises:
            FormulaError: the items are not alike, or nothing that can be compared.
        """
        target = target_of(path, schema)
        items, nullable = items_at(target, schema)
        types = {type_of(item).replace("integer", "number") for item in items}
        if len(types) != 1 or nullable or (types == {"object"} and len(items) > 1):
            raise self.refused(path, "items of one kind that cannot be null")
        if types <= SCALARS:
            return tuple(types)
        fields = object_fields(target, schema)
        inner = [a for n in fields for a in alternatives_of(items[0]["properties"][n], schema)[0]]
        if types != {"object"} or not fields or any(type_of(a) not in SCALARS for a in inner):
            raise self.refused(path, "texts, numbers, truths, or objects of these")
        return ("object", *fields)

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that a projection has at most as many values as there are items."""
        for path in self.paths(fact):
            outer = items_before(path)
            items = None if outer is None else others.last("count", outer)
            if items is not None:
                yield fact <= items


def items_before(path: str) -> str | None:
    """Return the items of a list of which a path reads a field; None where it reads them whole."""
    whole, bracket, rest = path.partition("]")
    if not (bracket and rest):
        return None
    return whole.removesuffix("[") if whole.endswith("[") else f"{whole}{bracket}"


class Count(Items):
    """The number of items of a list; repeated ones count each time."""

    name = "count"

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return from as few items as the schema asks for up to as many as it allows."""
        path = path_of(fact)
        most = self.most(path, schema)
        return Domain(self.least(path, schema), most)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the length of the list."""
        return f"len({code.listed(path_of(fact))})"

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the fact as the size of a set."""
        return f"|{named(path_of(fact))}|"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the count of the items that a projection reads."""
        outer = items_before(path_of(fact))
        if outer is not None:
            yield from others.find("count", outer)

    def repetition(self, fact: Node, schema: Schema) -> Repetition:
        """Return that a repeated item adds one, if it is counted."""
        del fact, schema
        return Repetition.COUNTED


class Distinct(Items):
    """The number of different items of a list."""

    name = "distinct"

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return up to as many items as the schema allows; one at least where it asks for any."""
        path = path_of(fact)
        self.fields(path, schema)
        most = self.most(path, schema)
        return Domain(min(self.least(path, schema), 1), most)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the size of the set."""
        return f"len({code.items(path_of(fact))})"

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the fact as the size of a set."""
        return f"|distinct {named(path_of(fact))}|"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the count of the same path."""
        yield from others.find("count", path_of(fact))

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that no item differs only where the list is empty."""
        items = others.last("count", path_of(fact))
        if items is not None:
            yield (fact != 0) | (items == 0)
        yield from super().constraints(fact, others)


class Overlap(Items):
    """The number of different items that two lists share."""

    name = "overlap"

    def paths(self, fact: Node) -> tuple[str, ...]:
        """Return the paths of the two lists."""
        return path_of(fact), str(arguments_of(fact)[0])

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return up to as many items as the shorter list can have."""
        first, second = self.paths(fact)
        if self.fields(first, schema) != self.fields(second, schema):
            raise self.refused(first, f"the same items as in {second!r}")
        return Domain(0, min(self.most(path, schema) for path in (first, second)))

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the size of the intersection."""
        first, second = map(code.items, self.paths(fact))
        return f"len({first} & {second})"

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the fact as the size of a set."""
        first, second = map(named, self.paths(fact))
        return f"|{first} ∩ {second}|"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the counts of either list."""
        for path in self.paths(fact):
            yield from others.find("distinct", path)
            yield from others.find("count", path)


READERS = (Count(), Distinct(), Overlap())

Token = tuple[str, int]
"""One of the different items of a path: the path that it was made for, and its number."""


@attrs.frozen
class _Wanted:
    """The lists that the facts of a draft ask for.

    Attributes:
        distinct: how many different items a path has.
        count: how many items a path has, repeated ones each time.
        shared: by path, with which other paths it shares how many items.
    """

    distinct: Mapping[str, int]
    count: Mapping[str, int]
    shared: Mapping[str, tuple[tuple[str, int], ...]]

    @classmethod
    def of(cls, demands: Demands) -> _Wanted:
        """Return the lists that the facts of this family ask for."""
        distinct, count = dict[str, int](), dict[str, int]()
        shared: dict[str, tuple[tuple[str, int], ...]] = {}
        for fact, value in demands:
            path = path_of(fact)
            match name_of(fact):
                case "distinct":
                    distinct[path] = value
                case "count":
                    count[path] = value
                case "overlap":
                    shared[path] = (*shared.get(path, ()), (str(arguments_of(fact)[0]), value))
        return cls(distinct, count, shared)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path, each once."""
        others = (other for pairs in self.shared.values() for other, _ in pairs)
        return tuple(dict.fromkeys((*self.distinct, *self.count, *self.shared, *others)))

    def tokens(self, path: str) -> list[Token]:
        """Return the items of a path: shared ones, those of its own, repetitions of the first."""
        tokens = [(other, i) for other, many in self.shared.get(path, ()) for i in range(many)]
        tokens += [(path, i) for i in range(self._different(path) - len(tokens))]
        return tokens + tokens[:1] * (self.count.get(path, 0) - len(tokens))

    def _different(self, path: str) -> int:
        """Return the number of different items of a path; the fewest where no fact says it."""
        lent = (many for pairs in self.shared.values() for other, many in pairs if other == path)
        shared = sum(many for _, many in self.shared.get(path, ()))
        least = max((shared, min(1, self.count.get(path, 0)), *lent))
        return self.distinct.get(path, least)


def write(demands: Demands, draft: Draft) -> None:
    """Give a record the lists and maps that facts ask for."""
    wanted = _Wanted.of(demands)
    lists: dict[str, list[Any]] = {}
    parts: dict[ItemSelection, dict[str, list[Token]]] = {}
    for path in wanted.paths:
        field, step, rest = split(path)
        if step is None:
            lists[field] = [_item(token, draft) for token in wanted.tokens(path)]
        else:
            parts.setdefault(ItemSelection(field, step), {})[rest] = wanted.tokens(path)
    for selection, tokens in parts.items():
        if selection.step.name == "*":
            _write_map(selection.field, tokens, draft)
        else:
            lists.setdefault(selection.field, [])
            if not selection.step.each:
                lists[selection.field] += _objects(selection, tokens, draft)
    for selection, tokens in parts.items():
        if selection.step.each:
            _read_of_each(lists[selection.field], selection, tokens, demands, draft)
    for field, items in lists.items():
        draft.put(field, items)


@attrs.frozen
class ItemSelection:
    """The items of a list that a step takes."""

    field: str
    step: PathStep

    @property
    def counted(self) -> str:
        """The path whose count says how many they are."""
        if self.step.each:
            return self.field
        return ".".join([*self.field.split(".")[:-1], str(self.step)])

    def kind(self, draft: Draft) -> Schema:
        """Return the schema of an item."""
        (kind,), _ = items_at(draft.target(self.field), draft.schema)
        return kind

    def most(self, draft: Draft) -> int:
        """Return the maximum number of items."""
        arrays = draft.target(self.field).of_type("array")
        return max(limit_of(array, "maxItems", self.field) for array in arrays)

    def new(self, draft: Draft) -> RecordObject:
        """Return one more item."""
        made: RecordObject = draft.make(self.kind(draft), self.counted, 0)
        return made if self.step.each else {**made, str(self.step.field): self.step.value}


def split(path: str) -> tuple[str, PathStep | None, str]:
    """Return the field of a list or map, the step that takes several items of it, and the rest."""
    chain = steps(path)
    names = [step.name for step in chain]
    at = next((i for i, step in enumerate(chain) if step.many), None)
    if at is None:
        return path, None, ""
    field = names[:at] if chain[at].name == "*" else names[: at + 1]
    return ".".join(field), chain[at], ".".join(names[at + 1 :])


def entry_name(number: int) -> str:
    """Return the key of an entry that is made up."""
    return f"step-{number + 1}"


def _write_map(field: str, parts: Mapping[str, list[Token]], draft: Draft) -> None:
    """Write a map with as many entries as its longest projection."""
    entries: RecordObject = {}
    (kind,) = draft.target(f"{field}.*").alternatives[:1]
    for number in range(max(map(len, parts.values()))):
        entry = {"": draft.make(kind, field.rpartition(".")[2], number)}
        for rest, tokens in parts.items():
            if tokens:
                token = tokens[min(number, len(tokens) - 1)]
                put(entry, ["", *rest.split(".")] if rest else [""], _item(token, draft))
        entries[entry_name(number)] = entry[""]
    draft.put(field, entries)


def _objects(
    selection: ItemSelection, parts: Mapping[str, list[Token]], draft: Draft
) -> Iterator[RecordObject]:
    """Yield new items of a list, with the values that projections read from each."""
    for number in range(max(map(len, parts.values()))):
        made = selection.new(draft)
        for rest, tokens in parts.items():
            if rest and tokens:
                token = tokens[min(number, len(tokens) - 1)]
                put(made, rest.split("."), _item(token, draft))
        yield made


def _read_of_each(
    items: list[Any],
    selection: ItemSelection,
    parts: Mapping[str, list[Token]],
    demands: Demands,
    draft: Draft,
) -> None:
    """Give a list's items the values that are read from each; add items where too few."""
    if demands.value("count", selection.field) is None:
        more = max(map(len, parts.values())) - len(items)
        items += [selection.new(draft) for _ in range(more)]
    for rest, tokens in parts.items():
        counted = demands.value("count", f"{selection.field}[].{rest}") is not None
        for number, item in enumerate(items):
            if number < len(tokens):
                put(item, rest.split("."), _item(tokens[number], draft))
            elif counted or not tokens:
                item.pop(rest.partition(".")[0], None)
            else:
                put(item, rest.split("."), _item(tokens[-1], draft))


def _item(token: Token, draft: Draft) -> Any:  # noqa: ANN401  # a JSON value
    path, number = token
    target = draft.target(path)
    kinds = target.alternatives
    if not target.many:
        kinds = items_of(target.alternatives[0], draft.schema)[0]
    return draft.make(kinds[0], path.rpartition(".")[2], number)
