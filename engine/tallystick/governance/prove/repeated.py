"""Repeating an item of a list: which facts follow, and whether a record is another's repetition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import z3

from tallystick.canonical import canonical_bytes
from tallystick.formula.facts import path_of, reader_of
from tallystick.formula.schema_path import steps
from tallystick.formula.smt import Truth, Unknowns
from tallystick.formula.tree import Node
from tallystick.governance.prove.subject import Subject


def list_of(path: str) -> str:
    """The path of the list that a path reads: up to its first filter."""
    return path.partition("[")[0]


def repeated_lists(facts: Iterable[Node]) -> tuple[str, ...]:
    """The lists whose items some facts count, each once."""
    counts = (path_of(fact) for fact in facts if reader_of(fact) == "count")
    return tuple(dict.fromkeys(list_of(path) for path in counts if "*" not in path))


def counts_of(facts: Iterable[Node], path: str) -> tuple[Node, ...]:
    """The facts that count items of a list; they follow when one of its items is repeated."""
    return tuple(f for f in facts if reader_of(f) == "count" and list_of(path_of(f)) == path)


def follows(subject: Subject, path: str, one: Unknowns, other: Unknowns) -> Iterator[Truth]:
    """The counts after an item was repeated: each of them that counts it, by the same number."""
    digests = [f.digest for f in counts_of(subject.facts.values(), path) if f.digest in one]
    more = z3.Real("repeated")
    yield more >= 1
    for digest in digests:
        again = z3.And(one[digest] >= 1, other[digest] == one[digest] + more)
        yield z3.Or(again, other[digest] == one[digest])
    yield z3.Or([other[digest] > one[digest] for digest in digests])


def is_repetition(path: str, record: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a list of one record is that of another with items repeated."""
    first, second = (Counter(_items(path, each)) for each in (record, other))
    return first.keys() == second.keys() and first < second


def _items(path: str, record: Mapping[str, Any]) -> list[bytes]:
    found: Any = record
    for step in steps(path):
        found = found.get(step.name, {})
    return [canonical_bytes(item) for item in found or ()]
