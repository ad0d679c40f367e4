"""Decoding: from one line, or one Python object, to a record or a reject.

A record is accepted if and only if its skill type's JSON Schema accepts it. The fast type of its
skill type decides nearly always; what it refuses, such as a record without an answer, the schema
validates. Both ways lead to the same values, and nothing that a record holds makes the decoder
raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Annotated, Any, Union

import attrs
import msgspec

from tallystick.errors import RecordError, SchemaError
from tallystick.formula.schema_path import ANSWER
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.defects import attempt
from tallystick.records.identity import identity_of
from tallystick.records.messages import NOTHING, shown
from tallystick.records.rejects import Reject
from tallystick.records.schema import MISSED, Schema, skill_type_of
from tallystick.records.strict_json import empty_line, is_blank, parse, plain, whole
from tallystick.records.struct_builder import Record, fast_type, shape_type

if TYPE_CHECKING:
    from tallystick.records.validator import RecordValidator

_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@attrs.frozen
class MissedDeadline:
    """A valid record without submission or checks: nothing of it is scored.

    Attributes:
        record: what there is; its ``submission`` and ``checks`` are None where they are missing.
    """

    record: Record


Item = bytes | Mapping[str, Any]
"""A record as it came: a line of JSON, or a plain mapping."""
Decoded = Record | MissedDeadline | Reject
"""A record, one whose deadline was missed, or a reject."""


class _Never(msgspec.Struct, tag_field="skill_type", tag="", gc=False):
    """Accepts nothing; with it the fast types are a union, which never lets the tag be absent."""

    never: Annotated[int, msgspec.Meta(ge=1, le=0)]


@attrs.define
class _Known:
    """Decoders of one skill type; those that only bad records need are made when one comes."""

    name: str
    schema: Schema
    fast: type[Record] | None

    @cached_property
    def validator(self) -> RecordValidator:
        from tallystick.records.validator import RecordValidator

        return RecordValidator(self.schema)

    @cached_property
    def shape(self) -> type[Record]:
        return shape_type(self.name, self.schema)

    def hold(self, accepted: Mapping[str, Any]) -> Record:
        """Return the accepted record, of the fast type wherever that can hold it."""
        for kind in self._kinds():
            try:
                return msgspec.convert(accepted, kind)
            except _REFUSALS:
                continue
        raise RecordError("invalid-record", "", shown(accepted), "values that a record can hold")

    def _kinds(self) -> Iterator[type[Record]]:
        if self.fast is not None:
            yield self.fast
        yield self.shape

    @cached_property
    def answer(self) -> tuple[str, ...]:
        return tuple(name for name in ANSWER if name in self.schema["properties"])


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
        self._limit = limit
        self._known = {
            name: _Known(name, schema, fast_type(name, schema)) for name, schema in schemas.items()
        }
        kinds = (known.fast for known in self._known.values() if known.fast is not None)
        self._fast: Any = Union[(_Never, *kinds)]
        self._decode: Callable[[bytes], Record] = msgspec.json.Decoder(self._fast).decode

    def records(self, items: Sequence[Item], first: int = 1) -> Iterator[tuple[int, Decoded]]:
        """Return the records of consecutive items, each with its number.

        Args:
            items: lines, or mappings.
            first: the number of the first.
        """
        # kept in a list, decoded records would halve the speed: the garbage collector visits them
        following = iter(items)
        head = [*islice(following, 1)]
        of_lines = bool(head) and isinstance(head[0], bytes)
        decode: Callable[[Any, int], Decoded] = self.decode if of_lines else self.convert
        return enumerate(map(decode, chain(head, following), count(first)), first)

    def decode_item(self, item: Item, number: int) -> Decoded:
        """Decode one line, or convert one Python object; see `decode` and `convert`."""
        return self.decode(item, number) if isinstance(item, bytes) else self.convert(item, number)

    def decode(self, line: bytes, number: int) -> Decoded:
        """Decode one line.

        Args:
            line: the bytes of the line; a line end is white space.
            number: the line's number, from 1, for the reject.
        """
        if len(line) > self._limit:
            return _rejected(_too_long(line, self._limit), number, line)
        try:
            return self._decode(line)
        except Exception:  # noqa: BLE001  # refused, or failed: the schema validates it
            outcome = attempt(lambda: self._judged(line, number))
        return _rejected(outcome, number, line) if isinstance(outcome, RecordError) else outcome

    def _judged(self, line: bytes, number: int) -> Decoded:
        """Decode a line that the fast types refuse, by the schema itself."""
        # a small compressed file may have millions of them
        if is_blank(line):
            return Reject.of(empty_line(), number)
        item: Any = line
        try:
            item = parse(line)
            return self._validated(item)
        except RecordError as error:
            # of what was parsed already, it is not parsed again
            return Reject.of(error, number, identity_of(item))

    def convert(self, record: Mapping[str, Any], number: int) -> Decoded:
        """Convert one Python object, validated as the line that it would be.

        Args:
            record: a ``dict`` of JSON values as in ``strict_json``; anything else is rejected.
            number: the record's number, from 1, for the reject.
        """
        outcome = attempt(lambda: self._converted(record))
        return _rejected(outcome, number, record) if isinstance(outcome, RecordError) else outcome

    def _converted(self, record: Mapping[str, Any]) -> Record | MissedDeadline:
        record = plain(record)
        try:
            return msgspec.convert(record, self._fast)  # type: ignore[no-any-return]
        except _REFUSALS:
            return self._validated(record)

    def _validated(self, value: object) -> Record | MissedDeadline:
        if not isinstance(value, dict):
            raise RecordError("not-an-object", "", shown(value), "a JSON object")
        decoders = self._type_of(value)
        decoders.validator.validate(value)
        missing = [name for name in decoders.answer if name not in value]
        if missing and MISSED not in value.get("events", ()):
            expected = f"the field, or the event {MISSED}"
            raise RecordError("missing-field", missing[0], NOTHING, expected)
        record = decoders.hold(whole(value))
        return MissedDeadline(record) if missing else record

    def _type_of(self, record: Mapping[str, Any]) -> _Known:
        names = "one of " + ", ".join(sorted(self._known))
        if "skill_type" not in record:
            raise RecordError("missing-field", "skill_type", NOTHING, names)
        name = record["skill_type"]
        if not isinstance(name, str):
            raise RecordError("wrong-type", "skill_type", shown(name), names)
        if name not in self._known:
            raise RecordError("unknown-skill-type", "skill_type", shown(name), names)
        return self._known[name]


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


def _rejected(error: RecordError, number: int, item: Item) -> Reject:
    return Reject.of(error, number, identity_of(item))


def _too_long(line: bytes, limit: int) -> RecordError:
    start = shown(line[:100].decode("utf-8", "backslashreplace"))
    return RecordError("line-too-long", "", start, f"a line of at most {limit} bytes")
