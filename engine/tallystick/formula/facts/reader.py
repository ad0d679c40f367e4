"""Readers of facts: everything that the engine knows of one kind of fact.

A reader has a fact's range in a record schema, its upper bounds, how it is taken from a record,
how people read it, and the conditions that it meets beside other facts. A family is a module of
readers that have much in common, with the function that writes a record with their facts; nothing
outside this package tells readers apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.draft import Draft
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.schema_path import PathTarget, Schema, target_of
from tallystick.formula.tree import Node


@attrs.frozen(eq=False, slots=False)
class FactIndex:
    """The facts of one record by reader and path, each once.

    Attributes:
        facts: the facts.
        domains: their ranges, by digest; only conditions on facts need them.
    """

    facts: tuple[Node, ...]
    domains: Mapping[str, Domain] = attrs.field(factory=dict)

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], tuple[Node, ...]]:
        named: dict[tuple[str, str], tuple[Node, ...]] = {}
        for fact in self.facts:
            key = (name_of(fact), path_of(fact))
            named[key] = (*named.get(key, ()), fact)
        return named

    def find(self, reader: str, path: str) -> tuple[Node, ...]:
        """Return the facts of a reader at a path; their arguments differ."""
        return self._named.get((reader, path), ())

    def last(self, reader: str, path: str) -> Node | None:
        """Return the fact of a reader at a path, for readers without further arguments."""
        return next(reversed(self.find(reader, path)), None)


class Repetition(Enum):
    """The change of a fact when an item of the list that it reads is repeated."""

    SAME = "it stays as it is"
    COUNTED = "it grows by how often the item is repeated, if it counts the item"
    UNCLEAR = "that depends on the item"


class FactReader(ABC):
    """One kind of fact.

    Attributes:
        name: what authors call it, and what the digest of a fact covers.
        of_one_value: whether a fact follows from one value of the record, or from the two that it
            compares.
        of_record: whether records have such facts. Where not, no schema has a range for them, and
            whoever counts them computes the formulas that read them.
        unit: what the integer of a fact counts: ``count``, ``nano``, ``truth`` or ``position``.
        if_absent: the integer where there is nothing, unless a fact has one of its own.
        form: its text, with ``{}`` for each path.
        at_most: the readers whose facts, of any of its paths, are at least as large.
        if_repeated: the change when an item is repeated.
    """

    name: ClassVar[str]
    of_one_value: ClassVar[bool] = False
    of_record: ClassVar[bool] = True
    unit: ClassVar[str] = "count"
    if_absent: ClassVar[int | None] = 0
    form: ClassVar[str] = "{}"
    at_most: ClassVar[tuple[str, ...]] = ()
    if_repeated: ClassVar[Repetition] = Repetition.SAME

    @abstractmethod
    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return the range of a fact of any valid record.

        Raises:
            FormulaError: the schema has no such place, gives it no range, or lets it be absent
                where the fact has no ``missing``.
        """

    @abstractmethod
    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return an expression for the integer of a fact."""

    def paths(self, fact: Node) -> tuple[str, ...]:
        """Return every path that a fact reads."""
        return (path_of(fact),)

    def absent(self, fact: Node) -> int | None:
        """Return the integer of a fact of a record without the value; None if all have one."""
        del fact
        return self.if_absent

    def described(self, fact: Node) -> dict[str, Any]:
        """Return the description of a fact for other implementations, as JSON values."""
        return {
            "reader": self.name,
            "paths": list(self.paths(fact)),
            "unit": self.unit,
            "absent": self.absent(fact),
        }

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return a fact for people; ``named`` shows a path."""
        return self.form.format(*map(named, self.paths(fact)))

    def summand(self, fact: Node) -> Node | None:
        """Return the expression that a fact adds up over items, for its text; None of others."""
        del fact
        return None

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield other facts that are at least as large for every record, by what they count."""
        for path in self.paths(fact):
            for reader in self.at_most:
                yield from others.find(reader, path)

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield conditions on a fact and those beside it that every record meets.

        They are besides ``upper``; whoever counts facts in another way than reading a record, such
        as a solver, is held to them.
        """
        del fact, others
        return iter(())

    def agreements(self, fact: Node, other: Node) -> Iterator[Node]:
        """Yield conditions on a fact and another of the same path that every record meets."""
        del fact, other
        return iter(())

    def repetition(self, fact: Node, schema: Schema) -> Repetition:
        """Return the change of a fact when an item of the list that it reads is repeated."""
        del fact, schema
        return self.if_repeated

    def write(self, fact: Node, value: int, draft: Draft) -> None:
        """Give a made-up record what such a fact reads; where nothing does, samples lack it.

        Readers of the core write nothing here: those of a family are written together.
        """
        del fact, value, draft

    def single(self, fact: Node, schema: Schema) -> PathTarget:
        """Return the target of the path of a fact, which is one value.

        Raises:
            FormulaError: it leads nowhere, or to many values.
        """
        target = target_of(path_of(fact), schema)
        if target.many:
            raise FormulaError(
                f"found many values at {path_of(fact)!r}, expected one for {self.name}()"
            )
        return target

    def alternatives(self, fact: Node, target: PathTarget, *types: str) -> tuple[Schema, ...]:
        """Return the schemas of a value that have one of some JSON types.

        Raises:
            FormulaError: it has none of them.
        """
        schemas = target.of_type(*types)
        if not schemas:
            raise FormulaError(
                f"found no {' or '.join(types)} at {path_of(fact)!r}, which {self.name}() reads"
            )
        return schemas

    def refused(self, path: str, expected: str) -> FormulaError:
        """Return the error for a schema that has something else than a fact can read."""
        return FormulaError(f"found {self.name}() of {path!r}, expected {expected}")


class TruthReader(FactReader):
    """A kind of fact that is true or false."""

    of_one_value = True
    unit = "truth"

    @abstractmethod
    def condition(self, fact: Node, code: ExtractionCode) -> str:
        """Return an expression that is true or false."""

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for 1 or 0."""
        return f"(1 if {self.condition(fact, code)} else 0)"


def bound_of(alternative: Schema, keyword: str, path: str) -> Any:  # noqa: ANN401  # a number
    """Return the smallest or largest number that a schema allows.

    Raises:
        FormulaError: the schema sets no such bound.
    """
    if keyword not in alternative:
        raise FormulaError(f"found no {keyword} at {path!r}, expected one: facts need a range")
    return alternative[keyword]
