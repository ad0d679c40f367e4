"""The families of facts together: what holds for a fact of any reader.

A plugin adds a family of its own by `family`, in the module that has the functions for authors: who
writes a formula with such a fact has imported that module, and nothing else needs it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import (
    aggregate,
    collection,
    collection_draft,
    scalar,
    text,
)
from tallystick.formula.facts.draft import Demand, Demands, Draft, RecordObject
from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.facts.opaque import READERS as OPAQUE
from tallystick.formula.facts.reader import FactIndex, FactReader
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node

_FAMILIES = (
    scalar.READERS,
    collection.READERS,
    aggregate.READERS,
    text.READERS,
    OPAQUE,
)

READERS: Mapping[str, FactReader] = {
    reader.name: reader for family in _FAMILIES for reader in family
}
"""The core's readers by name, in the order of the table of this package."""
_ADDED: dict[str, FactReader] = {}
"""The readers of plugins, by name."""
_NAME = re.compile(r"([a-z][a-z0-9-]*/)?[a-z][a-z0-9_]*")


def family(*readers: FactReader) -> None:
    """Add a family of facts, whose readers formulas can name from now on.

    Raises:
        FormulaError: the name of one is no name, or is that of another reader.
    """
    for reader in readers:
        if not _NAME.fullmatch(reader.name):
            raise FormulaError(
                f"found a reader of facts of the name {reader.name!r}, expected a name such as "
                "acme/longest: lower case, after the name of its plugin"
            )
        other = READERS.get(reader.name) or _ADDED.get(reader.name)
        if other is not None and _home(other) != _home(reader):
            raise FormulaError(
                f"found two readers of facts of the name {reader.name!r}, {_home(other)} and "
                f"{_home(reader)}, expected one: name it after its plugin, such as acme/longest"
            )
    _ADDED.update((reader.name, reader) for reader in readers)


def _home(reader: FactReader) -> str:
    """The module and the class of a reader, which stay the same where its module runs again."""
    return f"{type(reader).__module__}.{type(reader).__qualname__}"


def reader_of(fact: Node) -> FactReader:
    """Return the reader of a fact.

    Raises:
        FormulaError: no family has a reader of its name.
    """
    name = name_of(fact)
    reader = READERS.get(name) or _ADDED.get(name)
    if reader is None:
        raise FormulaError(
            f"found a fact of the reader {name!r}, expected one of {', '.join(READERS)}, or of a "
            "family that a plugin adds: call family() beside the function that makes the fact"
        )
    return reader


def is_opaque(fact: Node) -> bool:
    """Return whether a fact is computed by Python code that nothing else can read."""
    return name_of(fact) == "opaque"


def domain_of(fact: Node, schema: Schema) -> Domain:
    """Return the range of a fact of any valid record.

    Raises:
        FormulaError: the schema has no such place, gives it no range, or lets it be absent where
            the fact has no ``missing``.
    """
    return reader_of(fact).domain(fact, schema)


def relations(facts: Sequence[Node]) -> Iterator[tuple[Node, Node]]:
    """Pairs (small, large) of facts with small ≤ large for every record, by what they count."""
    index = FactIndex(tuple(facts))
    for fact in facts:
        for large in reader_of(fact).upper(fact, index):
            yield fact, large


def constraints(facts: Sequence[Node], domains: Mapping[str, Domain]) -> Iterator[Node]:
    """Yield the conditions that the facts of one record meet by what they are.

    It is more than what formulas are proved with: the facts have to be those of a record.

    Args:
        facts: some facts, each once.
        domains: their ranges, by digest.
    """
    index = FactIndex(tuple(facts), domains)
    for one, other in combinations(facts, 2):
        if path_of(one) == path_of(other):
            yield from reader_of(one).agreements(one, other)
    for small, large in relations(facts):
        yield small <= large
    for fact in facts:
        yield from reader_of(fact).constraints(fact, index)


def drafts(
    demands: Sequence[Demand],
    base: Mapping[str, Any],
    schema: Schema,
    make: Callable[[Schema, str, int], Any],
) -> Iterator[RecordObject]:
    """Records that may have some facts: whether one has, and is valid, is to be asked.

    Args:
        demands: the facts, each with the integer that it is to have.
        base: a valid record, from which everything else is taken.
        schema: the self-contained schema of the records.
        make: a value of a part of the schema; a name and a number tell such values apart.
    """
    facts = Demands(demands)
    for chosen in text.texts(facts):
        draft = Draft(copy.deepcopy(dict(base)), schema, make)
        scalar.write(facts, draft)
        text.write(chosen, draft)
        collection_draft.write(facts, draft)
        for fact, value in facts:
            reader_of(fact).write(fact, value, draft)
        yield draft.record
