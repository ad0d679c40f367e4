"""Extraction of facts: one generated function takes the facts of a skill type from a record.

What is generated for a fact is its reader's to say (`formula.facts`); here is what becomes of an
opaque fact that fails.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from tallystick.errors import RecordError
from tallystick.formula.evaluate import Facts
from tallystick.formula.facts import ExtractionCode, arguments_of, path_of, reader_of, scale_of
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node
from tallystick.records.messages import shown
from tallystick.records.struct_builder import Record

FactsOf = Callable[[Record], Facts]
"""Takes the facts of one record, in the order in which they were asked for."""
PackedFactsOf = Callable[[Record], tuple[Any, ...]]
"""Takes facts as 8 bytes of this machine each; texts that were asked for follow the bytes."""

FAILURES = (-(1 << 63), 1 - (1 << 63))
"""Integers in place of a failed opaque fact: its function raised, or gave none of its range."""

_OBJECTS = (msgspec.Struct, dict)
"""The types of decoded objects and maps."""


def compile_extraction(
    facts: Sequence[Node], schema: Schema, zero: Collection[str] = ()
) -> FactsOf:
    """Return the function for some facts of records of one schema.

    The facts of the digests in ``zero`` are 0, whatever the record.

    The function raises RecordError with the code ``fact-failed`` when an opaque fact fails.
    """
    packed_of = compile_packed(facts, schema, zero=zero)
    digests, unpack = [fact.digest for fact in facts], struct.Struct(_packing(facts)).unpack
    return lambda record: dict(zip(digests, unpack(packed_of(record)[0]), strict=True))


def compile_packed(
    facts: Sequence[Node],
    schema: Schema,
    *,
    texts: Sequence[str] = (),
    zero: Collection[str] = (),
    may_fail: Collection[str] = (),
) -> PackedFactsOf:
    """Return the function for some facts, packed in 64 bits each, and for texts beside them.

    Args:
        facts: what to take.
        schema: of the records.
        texts: the paths of texts that every record has.
        zero: digests of facts that are 0 whatever the record.
        may_fail: digests of opaque facts that are one of ``FAILURES`` when they fail.
    """
    code = ExtractionCode(
        schema, _OBJECTS, lambda fact: (_marked if fact.digest in may_fail else _guarded)(fact)
    )
    values = [
        "0" if fact.digest in zero else reader_of(fact).extraction(fact, code) for fact in facts
    ]
    pack = code.constant(struct.Struct(_packing(facts)).pack)
    answer = [f"{pack}({', '.join(values)})", *(code.read(path) for path in texts)]
    function: PackedFactsOf = code.compile(f"({', '.join(answer)},)")
    return function


def _packing(facts: Sequence[Node]) -> str:
    return f"={len(facts)}q"


def _guarded(fact: Node) -> Callable[[Record], int]:
    """Return an opaque fact that answers with an integer of its range, or raises RecordError."""
    function, (_, low, high) = fact.function, arguments_of(fact)

    def guarded(record: Record) -> int:
        plain: Mapping[str, Any] = msgspec.to_builtins(record)
        try:
            value = function(plain) if function else None
        except Exception as error:
            raise failed(fact, FAILURES[0], shown(f"{type(error).__name__}: {error}")) from error
        if type(value) is not int or not low <= value <= high:
            raise failed(fact, FAILURES[1], shown(repr(value)))
        return value

    return guarded


def _marked(fact: Node) -> Callable[[Record], int]:
    """Return an opaque fact that answers with one of ``FAILURES`` when it fails."""
    guarded = _guarded(fact)

    def marked(record: Record) -> int:
        try:
            return guarded(record)
        except RecordError as error:
            # what the function raised is the cause
            return FAILURES[1] if error.__cause__ is None else FAILURES[0]

    return marked


def failed(fact: Node, failure: int, found: str) -> RecordError:
    """Return the error of a record whose opaque fact fails; ``failure`` is one of ``FAILURES``."""
    _, low, high = arguments_of(fact)
    expected = f"an integer from {low} to {high}, over {scale_of(fact)}"
    return RecordError(
        "fact-failed", path_of(fact), found, "an integer" if failure == FAILURES[0] else expected
    )
