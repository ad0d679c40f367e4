"""Fields of a record that are to have some facts: numbers, truths, choices, texts, maps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from tallystick.formula.facts import arguments_of, path_of, reader_of
from tallystick.formula.schema_path import Schema, alternatives_of, is_map, target_of
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO, to_decimal

Shown = dict[str, Any]
"""A record as JSON."""
Demand = tuple[Node, int]
"""A fact and the integer that it is to have."""
Said = Mapping[tuple[str, str], int]
"""The integers of facts by reader and path."""

_TEXTS = ("a:b", "A:B", "a", "b:a")
"""Texts to try where a formula compares texts or asks for a pattern."""


def put(into: Shown, path: Sequence[str], value: object) -> None:
    """Set what is at a path of names, with the objects on the way to it."""
    *way, last = path
    for name in way:
        if not isinstance(into.get(name), dict):
            into[name] = {}
        into = into[name]
    into[last] = value


def drop(out_of: Shown, path: Sequence[str]) -> None:
    """Leave out what is at a path of names."""
    *way, last = path
    for name in way:
        inner = out_of.get(name)
        if not isinstance(inner, dict):
            return
        out_of = inner
    out_of.pop(last, None)


def fill(record: Shown, demands: Sequence[Demand], schema: Schema) -> None:
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


def _set(record: Shown, fact: Node, value: int) -> None:
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


def _is_there(record: Shown, names: Sequence[str]) -> bool:
    inner: object = record
    for name in names:
        if not isinstance(inner, Mapping) or name not in inner:
            return False
        inner = inner[name]
    return inner is not None


def _json_number(nano: int) -> int | float:
    return nano // NANO if nano % NANO == 0 else float(to_decimal(nano))


def _fill_totals(record: Shown, demands: Sequence[Demand], said: Said, schema: Schema) -> None:
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


def _fill_excesses(record: Shown, demands: Sequence[Demand], said: Said, schema: Schema) -> None:
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


def _put_entries(record: Shown, path: str, values: Iterable[tuple[int, int]]) -> None:
    """The entries of a map by the number of their key; what is read from each may lie within."""
    before, _, after = path.partition(".*")
    rest = [name for name in after.split(".") if name]
    entries: Shown = {}
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
