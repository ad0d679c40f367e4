"""Intake: files of records and of late events, as the signals that they are.

A record is scored by the snapshot that its epoch pins. Its digest is of the record as JSON with
sorted keys and without white space, after decoding: numbers as the doubles or whole numbers that
they denote, without what is left out, null or empty. Two spellings of one record have one digest.

A late event is a line that is an object with the key ``event``, which no record has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from tallystick.canonical import PREFIX
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.tables import rows as records_of
from tallystick.records.decoding import MISSED, Decoder, MissedDeadline
from tallystick.records.rejects import Reject
from tallystick.records.schema import Schema
from tallystick.records.struct_builder import Record
from tallystick.resources import schema_path
from tallystick.scoring.batch import ResultBatch
from tallystick.scoring.gathering import Decode, Item
from tallystick.scoring.result import CONSENSUS
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick.state.event import StateEvent
from tallystick.state.reputation import consensus_event
from tallystick.state.rules import StateRules, state_rules_of

if TYPE_CHECKING:
    import pyarrow as pa

_SET_ASIDE = Reject(0, "", "", "", "")
"""What scoring is told of a late event: nothing to score."""
_NEGATIVE_ZERO = b"-0.0"

_encode = msgspec.json.Encoder(order="sorted").encode


@attrs.frozen
class Batch:
    """The signals of consecutive lines, and the lines that are none.

    Attributes:
        signals: each with its line, in order.
        rejects: what is wrong with the others, by line.
    """

    signals: list[tuple[int, StateEvent]]
    rejects: list[Reject]


def events_of(source: Path, scorer: Scorer) -> Iterator[Batch]:
    """The signals of a file, batch after batch, with bounded memory.

    Args:
        source: records and late events, one JSON object a line; or Parquet, of records alone.
        scorer: the rule set, with the snapshots that epochs pin.

    Raises:
        InputError: the file cannot be read, or has no records.
    """
    return source_of(source).batches(Intake(scorer))


@attrs.frozen
class Intake:
    """Makes signals of records and late events.

    Attributes:
        scorer: the rule set, with the snapshots that epochs pin.
    """

    scorer: Scorer
    _law: StateRules = attrs.field(init=False)
    _events: Decoder = attrs.field(init=False)
    _no_consensus: frozenset[str] = attrs.field(init=False)

    @_law.default
    def _law_of_scorer(self) -> StateRules:
        return state_rules_of(self.scorer)

    @_events.default
    def _event_decoder(self) -> Decoder:
        schema = _event_schema()
        return Decoder({name: _of_type(schema, name) for name in self.scorer.types})

    @_no_consensus.default
    def _types_without_consensus(self) -> frozenset[str]:
        types = self.scorer.types.items()
        return frozenset(name for name, bound in types if CONSENSUS in bound.absent)

    def score_lines(self, lines: Sequence[bytes], first: int = 1) -> Batch:
        """The signals of consecutive lines of JSON; ``first`` is the first's number."""
        records, late = self.scorer.decoder.decode, list[tuple[int, StateEvent]]()

        def decode(line: bytes, number: int) -> Record | MissedDeadline | Reject:
            if not _is_event(line):
                return records(line, number)
            event = self._events.decode(line, number)
            if isinstance(event, Reject):
                return event
            late.append((number, _signal_of_event(event)))
            return _SET_ASIDE

        return self._taken(lines, decode, first, late)

    def score_rows(self, rows: pa.RecordBatch, first: int = 1) -> Batch:
        """The signals of rows with the fields of records.

        Raises:
            InputError: a value has no equal in Python, such as text that is not UTF-8.
        """
        return self._taken(records_of(rows, first), self.scorer.decoder.convert, first, [])

    def _taken(
        self, items: Iterable[Item], decode: Decode, first: int, late: list[tuple[int, StateEvent]]
    ) -> Batch:
        decoded: dict[int, Any] = {}

        def keep(item: Item, number: int) -> Record | MissedDeadline | Reject:
            found = decoded[number] = decode(item, number)
            return found

        results = self.scorer.score_items(items, keep, first)
        signals = list(self._signals(results, decoded))
        rejects = [reject for reject in results.rejects if reject is not _SET_ASIDE]
        return Batch(sorted(signals + late, key=itemgetter(0)) if late else signals, rejects)

    def _signals(
        self, results: ResultBatch, decoded: dict[int, Any]
    ) -> Iterator[tuple[int, StateEvent]]:
        quality, emission = _column(results, "quality"), _column(results, "emission")
        consensus = _column(results, CONSENSUS)
        for row, line in enumerate(results.record):
            record = decoded[line]
            if record.__class__ is MissedDeadline:
                record = record.record
            events = self._events_of(record, consensus[row])
            yield line, _signal_of_record(record, events, quality[row], emission[row])

    def _events_of(self, record: Record, consensus: int | None) -> tuple[str, ...]:
        events: list[str] = record.events
        # a factor that the rule set keeps from a type is 1, which nobody agreed on
        if consensus is not None and record.skill_type not in self._no_consensus:
            arisen = consensus_event(self._law, consensus)
            if arisen is not None:
                events = [*events, arisen]
        return tuple(sorted(events))


def record_digest(record: Record) -> str:
    """``sha256:`` and the digest of a decoded record, the same for every spelling of it."""
    text = _encode(record)
    if _NEGATIVE_ZERO in text:
        text = _encode(_without_negative_zero(msgspec.json.decode(text)))
    return PREFIX + hashlib.sha256(text).hexdigest()


def _without_negative_zero(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same value, as negative zero is the same number as zero."""
    if isinstance(value, dict):
        return {key: _without_negative_zero(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_negative_zero(item) for item in value]
    return abs(value) if value == 0 and isinstance(value, float) else value


def _signal_of_record(
    record: Record, events: tuple[str, ...], quality: int | None, emission: int | None
) -> StateEvent:
    return StateEvent(
        validator=record.validator,
        hotkey=record.miner.hotkey,
        skill_type=record.skill_type,
        task_id=record.task_id,
        round=record.round,
        epoch=record.epoch,
        events=events,
        role=record.role,
        missed=MISSED in events,
        quality=quality,
        emission=emission,
        record=record_digest(record),
    )


def _signal_of_event(event: Any) -> StateEvent:  # noqa: ANN401  # made from its schema
    return StateEvent(
        validator=event.validator,
        hotkey=event.hotkey,
        skill_type=event.skill_type,
        task_id=event.task_id,
        round=event.round,
        epoch=event.epoch,
        events=(event.event,),
        id=event.id,
    )


def _column(results: ResultBatch, name: str) -> list[int | None]:
    column = results.decimals[name]
    pairs = zip(column.values.tolist(), column.given.tolist(), strict=True)
    return [nano if given else None for nano, given in pairs]


class _Probe(msgspec.Struct, gc=False):
    """An object, of which only one key is looked at."""

    event: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_probe = msgspec.json.Decoder(_Probe).decode


def _is_event(line: bytes) -> bool:
    """Whether a line is an object with the key ``event``; what is no JSON is no event either."""
    # a key can be spelled with escapes
    if (b'"event"' not in line and b"\\u" not in line) or len(line) > MAX_LINE_BYTES:
        return False
    try:
        return _probe(line).event is not msgspec.UNSET
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _event_schema() -> Schema:
    schema: Schema = json.loads(schema_path("event-1").read_bytes())
    return {name: value for name, value in schema.items() if name != "$id"}


def _of_type(schema: Schema, skill_type: str) -> Schema:
    """The schema of late events of one type, which a decoder tells apart as it does records."""
    declared = schema["properties"]["skill_type"]
    typed = {"description": declared["description"], "const": skill_type}
    return {**schema, "properties": {**schema["properties"], "skill_type": typed}}
