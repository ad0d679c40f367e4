"""Checks of a record, as JSON values: validity under a schema, and requirements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tallystick.errors import RecordError
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import is_opaque
from tallystick.formula.formula import Requirement
from tallystick.formula.tree import Node, facts_in, leaves
from tallystick.records.decoding import Decoder, decoder_of
from tallystick.records.extraction import FactsOf, compile_extraction
from tallystick.records.rejects import Reject
from tallystick.records.schema import Schema, skill_type_of
from tallystick.records.struct_builder import Record, is_answered


@attrs.frozen(eq=False)
class FactReader:
    """Takes facts of records that are JSON values, as the engine takes them.

    Attributes:
        schema: the self-contained schema of the type.
        facts: what is read, each once.
    """

    schema: Schema
    facts: tuple[Node, ...]
    _decoder: Decoder = attrs.field(init=False)
    _facts_of: FactsOf = attrs.field(init=False)

    @_decoder.default
    def _make_decoder(self) -> Decoder:
        return decoder_of({skill_type_of(self.schema): self.schema})

    @_facts_of.default
    def _compile(self) -> FactsOf:
        return compile_extraction(self.facts, self.schema)

    def decoded(self, record: Mapping[str, Any]) -> Record | None:
        """Return the record as formulas get it; None if it is not valid, or has no submission."""
        decoded = self._decoder.decode(record, 1)
        if isinstance(decoded, Reject) or not is_answered(decoded):
            return None
        return decoded

    def integers(self, record: Mapping[str, Any]) -> Mapping[str, int] | None:
        """Return the integers of the facts, by digest; None if the record has none.

        Raises:
            RecordError: a fact that is code fails.
        """
        decoded = self.decoded(record)
        return None if decoded is None else self._facts_of(decoded)


@attrs.frozen(eq=False)
class RecordChecker:
    """Tells whether a record is valid under a schema and meets requirements.

    Attributes:
        schema: the self-contained schema of the type.
        requirements: what else must hold.
    """

    schema: Schema
    requirements: tuple[Requirement, ...]
    _reader: FactReader = attrs.field(init=False)

    @_reader.default
    def _make_reader(self) -> FactReader:
        facts = facts_in(*(requirement.condition for requirement in self.requirements))
        return FactReader(self.schema, tuple(facts.values()))

    def decoded(self, record: Mapping[str, Any]) -> Record | None:
        """Return the record as formulas get it; None if it is not valid, or has no submission."""
        return self._reader.decoded(record)

    def unmet(self, record: Mapping[str, Any]) -> list[Requirement] | None:
        """Return the requirements that a valid record does not meet; None if it is not valid.

        A requirement whose opaque fact fails is not met.
        """
        try:
            facts = self._reader.integers(record)
        except RecordError:
            return [r for r in self.requirements if _is_opaque(r)]
        if facts is None:
            return None
        return [r for r in self.requirements if not evaluate(r.condition, facts, {})]


def _is_opaque(requirement: Requirement) -> bool:
    return any(is_opaque(fact) for fact in leaves(requirement.condition, "fact"))
