"""Decoding: from one line, or one Python object, to a record or a reject.

A record is accepted if and only if its skill type's JSON Schema accepts it. The type made from that
decides nearly always; what it refuses, and a record without an answer, the schema validates. Both
ways lead to the same values, and nothing that a record holds makes the decoder raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Union

import attrs
import msgspec

from tallystick.errors import RecordError, SchemaError
from tallystick.formula.schema_path import ANSWER
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.defects import internal_errors
from tallystick.records.identity import identity_of
from tallystick.records.messages import NOTHING, shown
from tallystick.records.rejects import Reject
from tallystick.records.schema import MISSED, Schema, skill_type_of
from tallystick.records.strict_json import parse, plain, whole
from tallystick.records.struct_builder import Record, is_answered, record_type

if TYPE_CHECKING:
    from tallystick.records.validator import RecordValidator

_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


Item = bytes | Mapping[str, Any]
"""A record as it came: a line of JSON, or a plain mapping."""
Decoded = Record | Reject
"""A record, which may be one of a missed deadline (see `is_answered`), or a reject."""


class _Never(msgspec.Struct, tag_field="skill_type", tag="", gc=False):
    """Accepts nothing; with it the types are a union, which never lets the tag be absent."""

    never: Annotated[int, msgspec.Meta(ge=1, le=0)]


@attrs.define
class _RecordType:
    """The decoder of one skill type; its validator is made when the first record needs it."""

    schema: Schema
    kind: type[Record]

    @cached_property
    def validator(self) -> RecordValidator:
        from tallystick.records.validator import RecordValidator

        return RecordValidator(self.schema)

    def validated(self, value: Mapping[str, Any]) -> Record:
        """Return the record of a JSON value.

        Raises:
            RecordError: the schema refuses it, or it has no answer and missed no deadline.
        """
        self.validator.validate(value)
        for name in ANSWER:
            is_missing = name in self.schema["properties"] and value.get(name) is None
            if is_missing and MISSED not in value.get("events", ()):
                expected = f"the field, or the event {MISSED}"
                raise RecordError("missing-field", name, NOTHING, expected)
        try:
            return msgspec.convert(whole(value), self.kind)
        except _REFUSALS:
            expected = "values that a record can hold"
            raise RecordError("invalid-record", "", shown(value), expected) from None


class Decoder:
    """Decodes the records of some skill types.

    Args:
        schemas: the self-contained schema of each skill type; records of other types are rejected.
        limit: the longest line, in bytes.

    Raises:
        SchemaError: a schema describes another skill type than the one it is given for.
    """

    def __init__(self, schemas: Mapping[str, Schema], limit: int = MAX_LINE_BYTES) -> None:
        for name, schema in schemas.items():
            if skill_type_of(schema) != name:
                raise SchemaError(
                    f"found the schema of {skill_type_of(schema)!r}, expected that of {name!r}"
                )
        self._limit, self._types, deciding = limit, dict[str, _RecordType](), list[type[Record]]()
        for name, schema in schemas.items():
            kind, decides = record_type(name, schema)
            self._types[name] = _RecordType(schema, kind)
            deciding += [kind] if decides else []
        self._fast: Any = Union[(_Never, *deciding)]
        self._decode: Callable[[bytes], Record] = msgspec.json.Decoder(self._fast).decode

    def records(self, items: Sequence[Item], first: int = 1) -> Iterator[tuple[int, Decoded]]:
        """Return the records of consecutive items, each with its number.

        Args:
            items: lines, or mappings.
            first: the number of the first.
        """
        # kept in a list, decoded records would halve the speed: the garbage collector visits them
        return enumerate(map(self.decode, items, count(first)), first)

    def decode(self, item: Item, number: int) -> Decoded:
        """Decode one line, or one Python object, which is validated as the line that it would be.

        Args:
            item: the bytes of a line, whose line end is white space; or a ``dict`` of JSON values
                as in ``strict_json``. Anything else is rejected.
            number: the line's number, from 1, for the reject.
        """
        if isinstance(item, bytes):
            if len(item) > self._limit:
                return Reject.of(_too_long(item, self._limit), number, identity_of(item))
            try:
                record = self._decode(item)
                if record.submission is not None and record.checks is not None:
                    return record
            except Exception:  # noqa: BLE001, S110  # refused, or failed: the schema validates it
                pass
        return self._judged(item, number)

    def _judged(self, item: Item, number: int) -> Decoded:
        """Decode a line that no type accepts, or a mapping."""
        value: Any = item
        try:
            with internal_errors():
                if isinstance(item, bytes):
                    value = parse(item)
                else:
                    value = plain(item)
                    with suppress(*_REFUSALS):
                        record: Record = msgspec.convert(value, self._fast)
                        if is_answered(record):
                            return record
                return self._type_of(value).validated(value)
        except RecordError as error:
            # of what was parsed already, it is not parsed again
            return Reject.of(error, number, identity_of(value))

    def _type_of(self, record: object) -> _RecordType:
        if not isinstance(record, dict):
            raise RecordError("not-an-object", "", shown(record), "a JSON object")
        names = "one of " + ", ".join(sorted(self._types))
        if "skill_type" not in record:
            raise RecordError("missing-field", "skill_type", NOTHING, names)
        name = record["skill_type"]
        if not isinstance(name, str):
            raise RecordError("wrong-type", "skill_type", shown(name), names)
        if name not in self._types:
            raise RecordError("unknown-skill-type", "skill_type", shown(name), names)
        return self._types[name]


def decoder_of(schemas: Mapping[str, Schema]) -> Decoder:
    """Return the decoder of some skill types, made once for the same schemas.

    To make it takes as long as to load a rule set, and rule sets that are compared or follow each
    other have the same schemas.

    Args:
        schemas: as of ``Decoder``.

    Raises:
        SchemaError: as ``Decoder``.
    """
    # a decoder keeps its schemas, so that no others can be at their place
    key = tuple((name, id(schema)) for name, schema in schemas.items())
    decoder = _MADE.get(key)
    if decoder is None:
        if len(_MADE) == _MOST_MADE:
            _MADE.pop(next(iter(_MADE)), None)
        decoder = _MADE[key] = Decoder(schemas)
    return decoder


_MADE: dict[tuple[tuple[str, int], ...], Decoder] = {}
_MOST_MADE = 16


def _too_long(line: bytes, limit: int) -> RecordError:
    start = shown(line[:100].decode("utf-8", "backslashreplace"))
    return RecordError("line-too-long", "", start, f"a line of at most {limit} bytes")
