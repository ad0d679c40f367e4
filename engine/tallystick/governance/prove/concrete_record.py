"""A concrete record: one whose facts are the integers that a solver found.

What the facts leave open is taken from a record that is valid already: its fields are set, its
texts are written, its lists made of as many items as the facts count, differ in and share. Whether
the record has the facts is asked of the engine; where none was found that has them there is none.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from tallystick.errors import RecordError, SchemaError
from tallystick.formula.facts import arguments_of, path_of, reader_of
from tallystick.formula.schema_path import (
    Schema,
    Step,
    alternatives_of,
    is_map,
    items_of,
    steps,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO, to_decimal
from tallystick.plugins.generator import Draw
from tallystick.records.struct_builder import Record
from tallystick.scoring.scorer import Scorer
from tallystick.testing.random_records import RandomRecords
from tallystick.testing.random_values import DEPTH, value_maker

_DRAWS = 20
"""How many records are made from a schema to start from."""
_WORDINGS = 50
"""How many ways to write the texts are tried."""
JSON = dict[str, Any]
"""A record as JSON."""
Demand = tuple[Node, int]
"""A fact and the integer that it is to have."""
Said = Mapping[tuple[str, str], int]
"""The integers of facts by reader and path."""
_TEXTS = ("a:b", "A:B", "a", "b:a")
"""Texts to try where a formula compares texts or asks for a pattern."""
Token = tuple[str, int]
"""One of the different items of a path: the path that it was made for, and its number."""


def bases(scorer: Scorer, skill_type: str) -> Iterator[JSON]:
    """Valid records of a type to start from: its examples, then some made from its schema."""
    offered = scorer.registry.skill_types[skill_type]
    if offered.examples is not None:
        for line in offered.examples.read_bytes().splitlines():
            yield from _usable(scorer, skill_type, json.loads(line))
    made = RandomRecords(scorer.types[skill_type].schema)
    for number in range(_DRAWS):
        try:
            record = made.record(Draw.of("witness", number))
        except SchemaError:
            return
        yield from _usable(scorer, skill_type, record)


def concrete_record_of(
    scorer: Scorer, skill_type: str, values: Mapping[str, int], base: Mapping[str, Any]
) -> JSON | None:
    """A record of a type that has some facts, or None if none was found.

    Args:
        scorer: the rule set, whose formulas read the facts.
        skill_type: the type.
        values: by digest, the integers of some facts of ``BoundType.facts``; others may be any.
        base: a valid record, which everything else is taken from.
    """
    bound = scorer.types[skill_type]
    demands = [(fact, values[fact.digest]) for fact in bound.facts if fact.digest in values]
    for _, chosen in zip(range(_WORDINGS), texts(demands), strict=False):
        record = _written(scorer, skill_type, base, demands, chosen)
        found = _facts(scorer, skill_type, record)
        if found is not None and all(found[fact.digest] == value for fact, value in demands):
            return record
    return None


def _written(
    scorer: Scorer,
    skill_type: str,
    base: Mapping[str, Any],
    demands: list[Demand],
    chosen: Mapping[str, str | None],
) -> JSON:
    record: JSON = copy.deepcopy(dict(base))
    fill(record, demands, scorer.types[skill_type].schema)
    for path, text in chosen.items():
        if text is None:
            drop(record, path.split("."))
        else:
            put(record, path.split("."), text)
    for path, items in lists(demands, scorer.types[skill_type].schema):
        put(record, path.split("."), items)
    return record


def _usable(scorer: Scorer, skill_type: str, record: JSON) -> Iterator[JSON]:
    if record.get("skill_type") == skill_type and _facts(scorer, skill_type, record) is not None:
        yield record


def _facts(scorer: Scorer, skill_type: str, record: JSON) -> Mapping[str, int] | None:
    """The facts of a record by digest, or None if it is no record that is scored."""
    bound, found = scorer.types[skill_type], scorer.decoder.convert(record, 1)
    if not isinstance(found, Record):
        return None
    try:
        return dict(zip((f.digest for f in bound.facts), bound.facts_of(found), strict=True))
    except RecordError:
        return None


def put(into: JSON, path: Sequence[str], value: object) -> None:
    """Set what is at a path of names, with the objects on the way to it."""
    *way, last = path
    for name in way:
        if not isinstance(into.get(name), dict):
            into[name] = {}
        into = into[name]
    into[last] = value


def drop(out_of: JSON, path: Sequence[str]) -> None:
    """Leave out what is at a path of names."""
    *way, last = path
    for name in way:
        inner = out_of.get(name)
        if not isinstance(inner, dict):
            return
        out_of = inner
    out_of.pop(last, None)


def fill(record: JSON, demands: Sequence[Demand], schema: Schema) -> None:
    """Give a record the numbers, truths, choices and maps that facts ask for."""
    said = {(reader_of(fact), path_of(fact)): value for fact, value in demands}
    for fact, value in demands:
        path = path_of(fact)
        if said.get(("given", path)) == 0:
            drop(record, path.split("."))
        elif reader_of(fact) == "itemised" and value:
            put(record, path.split("."), {})
    for fact, value in demands:
        if not _is_closed(path_of(fact), said):
            _set(record, fact, value)
    _fill_totals(record, demands, said, schema)
    _fill_excesses(record, demands, said, schema)


def _is_closed(path: str, said: Said) -> bool:
    """Whether a path, or one on the way to it, is left out or has no room for the value."""
    if said.get(("given", path)) == 0 or said.get(("itemised", path)) == 1:
        return True
    names = path.split(".")
    way = (".".join(names[:count]) for count in range(1, len(names)))
    return any(0 in (said.get(("given", p)), said.get(("itemised", p))) for p in way)


def _set(record: JSON, fact: Node, value: int) -> None:
    names = path_of(fact).split(".")
    match reader_of(fact):
        case "number" if (value,) != arguments_of(fact) or _is_there(record, names):
            put(record, names, _json_number(value))
        case "integer" if (value,) != arguments_of(fact) or _is_there(record, names):
            put(record, names, value)
        case "flag":
            put(record, names, bool(value))
        case "choice":
            put(record, names, arguments_of(fact)[value])


def _is_there(record: JSON, names: Sequence[str]) -> bool:
    inner: object = record
    for name in names:
        if not isinstance(inner, Mapping) or name not in inner:
            return False
        inner = inner[name]
    return inner is not None


def _json_number(nano: int) -> int | float:
    return nano // NANO if nano % NANO == 0 else float(to_decimal(nano))


def _fill_totals(record: JSON, demands: Sequence[Demand], said: Said, schema: Schema) -> None:
    """Whole numbers, or the entries of maps, that add up to totals."""
    for fact, value in demands:
        path = path_of(fact)
        if reader_of(fact) != "total" or said.get(("itemised", path)) == 1:
            continue
        most = _most(path, schema)
        if "*" in path or value > most:
            _put_entries(record, path, enumerate(_parts(value, most)))
        else:
            put(record, path.split("."), value)


def _fill_excesses(record: JSON, demands: Sequence[Demand], said: Said, schema: Schema) -> None:
    """Maps that exceed the allowances of their keys: some keys are covered, the others not."""
    for fact, value in _read(demands, "excess"):
        path, allowance = path_of(fact), str(arguments_of(fact)[0])
        if not said.get(("itemised", path)):
            continue
        most = _most(path, schema)
        within = _parts(said.get(("total", path), value) - value, most)
        beyond = _parts(value, most)
        _put_entries(record, path, enumerate([*within, *beyond]))
        allowed = said.get(("total", allowance), sum(within))
        spare = _parts(allowed - sum(within), most) if allowed > sum(within) else []
        unused = enumerate(spare, len(within) + len(beyond))
        _put_entries(record, allowance, [*enumerate(within), *unused])


def _put_entries(record: JSON, path: str, values: Iterable[tuple[int, int]]) -> None:
    """The entries of a map by the number of their key; what is read from each may lie within."""
    before, _, after = path.partition(".*")
    rest = [name for name in after.split(".") if name]
    entries: JSON = {}
    for number, value in values:
        put(entries, [f"step-{number + 1}", *rest], value)
    put(record, before.split("."), entries)


def _parts(total: int, most: int) -> list[int]:
    """Numbers of at most so much that add up to a total."""
    return [most] * (total // most) + [total % most] * (total % most > 0)


def _most(path: str, schema: Schema) -> int:
    """The largest whole number at a path, or in the entries of the map there."""
    kinds = target_of(path, schema).alternatives
    inner = (alternatives_of(k["additionalProperties"], schema)[0] for k in kinds if is_map(k))
    every = [*kinds, *(kind for found in inner for kind in found)]
    return max(int(kind["maximum"]) for kind in every if "maximum" in kind)


def texts(demands: Sequence[Demand]) -> Iterator[Mapping[str, str | None]]:
    """Ways to write the texts that facts compare or match; a text of None is left out."""
    patterns = [(path_of(f), str(arguments_of(f)[0]), v) for f, v in _read(demands, "matches")]
    compared = [(path_of(f), arguments_of(f), v) for f, v in _read(demands, "equal")]
    absent = {path_of(f) for f, v in _read(demands, "given") if not v}
    both = [path for first, (second, *_), _ in compared for path in (first, str(second))]
    paths = sorted({*(path for path, _, _ in patterns), *both})
    for chosen in product((*_TEXTS, None), repeat=len(paths)):
        found = dict(zip(paths, chosen, strict=True))
        if any((found[path] is None) is not (path in absent) for path in absent & found.keys()):
            continue
        if all(_fits(found[path], pattern) == value for path, pattern, value in patterns) and all(
            _is_same(found[first], found[str(second)], folded=bool(more)) == value
            for first, (second, *more), value in compared
        ):
            yield found


def _read(demands: Sequence[Demand], reader: str) -> list[Demand]:
    return [(fact, value) for fact, value in demands if reader_of(fact) == reader]


def _fits(text: str | None, pattern: str) -> bool:
    return text is not None and re.fullmatch(pattern, text, re.ASCII) is not None


def _is_same(first: str | None, second: str | None, *, folded: bool) -> bool:
    if first is None or second is None:
        return False
    return first.lower() == second.lower() if folded else first == second


@attrs.frozen
class ListDemands:
    """What some facts say of the lists of a record.

    Attributes:
        distinct: how many different items a path has.
        count: how many items a path has, repeated ones each time.
        shared: by path, with which other paths it shares how many items.
    """

    distinct: Mapping[str, int]
    count: Mapping[str, int]
    shared: Mapping[str, tuple[tuple[str, int], ...]]

    @classmethod
    def of(cls, demands: Iterable[Demand]) -> ListDemands:
        """What the facts about lists among some say."""
        distinct, count = dict[str, int](), dict[str, int]()
        shared: dict[str, tuple[tuple[str, int], ...]] = {}
        for fact, value in demands:
            path = path_of(fact)
            match reader_of(fact):
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
        """The items of a path: shared ones, those of its own, repetitions of the first."""
        found = [(other, i) for other, many in self.shared.get(path, ()) for i in range(many)]
        found += [(path, i) for i in range(self._different(path) - len(found))]
        return found + found[:1] * (self.count.get(path, 0) - len(found))

    def _different(self, path: str) -> int:
        """How many different items a path has; no more than needed where nothing says it."""
        lent = (many for pairs in self.shared.values() for other, many in pairs if other == path)
        taken = sum(many for _, many in self.shared.get(path, ()))
        least = max((taken, min(1, self.count.get(path, 0)), *lent))
        return self.distinct.get(path, least)


def lists(demands: Iterable[Demand], schema: Schema) -> Iterator[tuple[str, list[Any]]]:
    """The lists that facts ask for, each with the path of its field.

    Args:
        demands: facts of any kind with their values; those about lists count.
        schema: the self-contained schema of the records.
    """
    lists_asked = ListDemands.of(demands)
    fields: dict[str, list[Any]] = {}
    filtered: dict[tuple[str, Step], dict[str, list[Token]]] = {}
    for path in lists_asked.paths:
        field, step, rest = _split(path)
        fields.setdefault(field, [])
        if step is None:
            fields[field] = [_item(token, schema) for token in lists_asked.tokens(path)]
        else:
            filtered.setdefault((field, step), {})[rest] = lists_asked.tokens(path)
    for (field, step), parts in filtered.items():
        fields[field] += _objects(f"{field}[{step.field}={step.value}]", step, parts, schema)
    yield from fields.items()


def _split(path: str) -> tuple[str, Step | None, str]:
    """The field that holds the list, its filter, and the path within each item."""
    parts = steps(path)
    names = [part.name for part in parts]
    at = next((i for i, part in enumerate(parts) if part.field is not None), None)
    if at is None:
        return path, None, ""
    return ".".join(names[: at + 1]), parts[at], ".".join(names[at + 1 :])


def _objects(
    path: str, step: Step, parts: Mapping[str, list[Token]], schema: Schema
) -> Iterator[dict[str, Any]]:
    """The items that a filter keeps, with what is read from each of them."""
    (kind,) = target_of(path, schema).alternatives
    for number in range(max(map(len, parts.values()))):
        made = {**_value(kind, path, 0, schema), step.field: step.value}
        for rest, tokens in parts.items():
            if rest and tokens:
                put(made, rest.split("."), _item(tokens[min(number, len(tokens) - 1)], schema))
        yield made


def _item(token: Token, schema: Schema) -> Any:  # noqa: ANN401  # a JSON value
    path, number = token
    target = target_of(path, schema)
    kinds = target.alternatives if target.many else items_of(target.alternatives[0], schema)[0]
    return _value(kinds[0], path.rpartition(".")[2], number, schema)


def _value(kind: Schema, name: str, number: int, schema: Schema) -> Any:  # noqa: ANN401  # a JSON value
    """A value of a schema that people can read, or any that is valid; numbers tell them apart."""
    text = f"{name}-{number + 1}"
    if type_of(kind) == "object":
        required, fields = kind.get("required", ()), kind.get("properties", {})
        return {
            field: _value(alternatives_of(fields[field], schema)[0][0], name, number, schema)
            for field in required
        }
    if type_of(kind) == "string" and not kind.keys() & {"const", "enum", "pattern", "format"}:
        return text[: kind.get("maxLength")]
    return value_maker(schema, kind)(Draw.of(text), 0, DEPTH)
