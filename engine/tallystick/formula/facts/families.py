"""The families of facts together: what holds for a fact of any reader."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tallystick.formula.domain import Domain
from tallystick.formula.facts import aggregate, aggregate_draft, collection, group, scalar, text
from tallystick.formula.facts.draft import Demand, Demands, Draft, Json
from tallystick.formula.facts.fact import name_of
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
    group.READERS,
)

READERS: Mapping[str, FactReader] = {
    reader.name: reader for family in _FAMILIES for reader in family
}
"""Every reader by its name, in the order of the table of this package."""


def reader_of(fact: Node) -> FactReader:
    """The reader of a fact."""
    return READERS[name_of(fact)]


def is_opaque(fact: Node) -> bool:
    """Whether only Python code says what a fact is."""
    return name_of(fact) == "opaque"


def is_of_group(fact: Node) -> bool:
    """Whether a fact is of a member of a group, which no record has."""
    return isinstance(reader_of(fact), group.GroupReader)


def domain_of(fact: Node, schema: Schema) -> Domain:
    """The range of a fact of any valid record.

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


def drafts(
    demands: Sequence[Demand],
    base: Mapping[str, Any],
    schema: Schema,
    make: Callable[[Schema, str, int], Any],
) -> Iterator[Json]:
    """Records that may have some facts: whether one has, and is valid, is to be asked.

    Args:
        demands: the facts, each with the integer that it is to have.
        base: a valid record, from which everything else is taken.
        schema: the self-contained schema of the records.
        make: a value of a part of the schema; a name and a number tell such values apart.
    """
    asked = Demands(demands)
    for chosen in text.texts(asked):
        draft = Draft(copy.deepcopy(dict(base)), schema, make)
        scalar.write(asked, draft)
        text.write(chosen, draft)
        collection.write(asked, draft)
        aggregate_draft.write(asked, draft)
        yield draft.record
