"""Ingest: files of records and of late events into the log of a state, or nothing of them.

A record is scored by the snapshot that its epoch pins. Its digest is of its RFC 8785 form after
decoding, without what is left out, null or empty. Two spellings of one record have one digest.

A late event is a line that is an object with the key ``event``, which no record has. What the state
knows already is left out; what it cannot take refuses the whole file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import attrs
import msgspec

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.errors import RecordError, RefusedError
from tallystick.io.chunks import Chunk, RowChunk
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.sources import Source
from tallystick.records.decoding import MISSED, Decoded, Decoder, Item, MissedDeadline
from tallystick.records.messages import shown
from tallystick.records.rejects import Identity, Reject
from tallystick.records.schema import Schema
from tallystick.records.struct_builder import Record
from tallystick.resources import schema_path
from tallystick.scoring.batch import ResultBatch
from tallystick.scoring.receipt import Progress
from tallystick.scoring.result import CONSENSUS
from tallystick.scoring.scorer import Scorer
from tallystick.state.event import StateEvent
from tallystick.state.event_log import EventLog
from tallystick.state.miners import has_declared
from tallystick.state.model import State
from tallystick.state.reputation import consensus_event, events_of_record
from tallystick.state.rules import StateRules, state_rules_of

CODES: Mapping[str, str] = MappingProxyType(
    {
        "conflict": "the same validator said something else of the same task, or under the same id",
        "future-epoch": "the epoch has not begun in this state",
        "other-epoch": "a round is pinned to one epoch, but its records name two",
        "other-round": "the record belongs to another round than the one that is closed",
        "undeclared-type": "the miner never declared the skill type",
        "unknown-miner": "no miner of this state has the hotkey",
    }
)
"""Why a state refuses a good record or event, and what it means."""

Known = Mapping[bytes, StateEvent]
"""Events that are recorded already, by identity."""
Line = tuple[int, StateEvent]
"""An event and the number of its line."""

_encode = msgspec.json.Encoder(order="sorted").encode
_UNLIKE_RFC_8785 = re.compile(
    rb"(?<=[:,\[])-?[0-9.]+(?:e|(?<=\.0)[,\]}]|(?<=[0-9]{16})[,\]}])"
    rb'|[\x80-\xff](?:[^"\\]|\\.)*":'
)
"""Where the encoder may write what RFC 8785 writes in another way: 1.0, exponents, whole numbers
that a double may not hold, and the order of keys that are not ASCII."""
_DOUBLE_EXACT, _DOUBLE_LIMIT = 1 << 53, (1 << 1024) - (1 << 970)


@attrs.frozen
class Ingested:
    """What became of a file of events.

    Attributes:
        events: how many were new.
        duplicates: how many were known already.
    """

    events: int
    duplicates: int


@attrs.define
class Rounds:
    """The rounds that a file closes, each pinned to one epoch (E40 of docs/errata.md).

    Attributes:
        only: the one round that all records are of; None for whichever they are of.
        epochs: the epoch of each round so far.
    """

    only: int | None = None
    epochs: dict[int, int] = attrs.field(factory=dict)

    def refusals(self, lines: Iterable[Line]) -> dict[int, Reject]:
        """Why some records do not belong to the rounds, by line."""
        found = ((line, self._refusal(line, event)) for line, event in lines)
        return {line: reject for line, reject in found if reject is not None}

    def _refusal(self, line: int, event: StateEvent) -> Reject | None:
        """A late event closes no round."""
        if not event.is_record:
            return None
        if self.only is not None and event.round != self.only:
            wanted = f"the round {self.only}"
            return _reject(line, event, "other-round", "round", str(event.round), wanted)
        pinned = self.epochs.setdefault(event.round, event.epoch)
        if event.epoch != pinned:
            wanted = f"the epoch {pinned}, as the records of the round {event.round} before it"
            return _reject(line, event, "other-epoch", "epoch", str(event.epoch), wanted)
        return None


@attrs.frozen
class Admitted:
    """What becomes of some lines.

    Attributes:
        events: those that are new, in order.
        duplicates: how many were known already.
        refused: why others cannot be recorded.
    """

    events: tuple[StateEvent, ...]
    duplicates: int
    refused: tuple[Reject, ...]


def ingest(  # noqa: PLR0913, PLR0917  # what an ingest needs
    log: EventLog,
    source: Source,
    scorer: Scorer,
    name: str,
    rounds: Rounds | None = None,
    progress: Progress | None = None,
) -> Ingested:
    """Record the events of a source that are not known yet.

    Args:
        log: where they go.
        source: records and late events.
        scorer: the rule set with the snapshots of the state.
        name: the source in errors.
        rounds: given, the rounds that the source closes.
        progress: told how much of the source was read.

    Raises:
        InputError: the file cannot be read.
        RefusedError: a line is bad; the transaction has to be given up.
    """
    refused, events, duplicates = list[Reject](), 0, 0
    for batch in events_of(source, scorer):
        if progress is not None:
            progress(source.bytes_read, source.size)
        others = {} if rounds is None else rounds.refusals(batch.events)
        lines = [each for each in batch.events if each[0] not in others]
        known = log.transaction.known([event for _, event in lines])
        admitted = admit(log.state, log.rules, lines, known)
        refused += [*batch.rejects, *others.values(), *admitted.refused]
        duplicates += admitted.duplicates
        events += len(admitted.events)
        if not refused:
            log.record(admitted.events)
    if refused:
        raise RefusedError(name, sorted(refused, key=lambda each: each.line))
    return Ingested(events, duplicates)


def admit(state: State, rules: StateRules, lines: Iterable[Line], known: Known) -> Admitted:
    """Tell new events from known ones and from those that are refused.

    Args:
        state: the live state.
        rules: its rules.
        lines: events with the numbers of their lines.
        known: at least those of the recorded events that have the identity of one of the lines.
    """
    new: dict[bytes, StateEvent] = {}
    refused, duplicates = list[Reject](), 0
    for line, event in lines:
        identity = event.identity
        before = known.get(identity) or new.get(identity)
        if before == event:
            duplicates += 1
        elif before is not None:
            refused.append(_conflict(line, event))
        elif (reject := refusal(state, rules, line, event)) is not None:
            refused.append(reject)
        else:
            new[identity] = event
    return Admitted(tuple(new.values()), duplicates, tuple(refused))


def refusal(state: State, rules: StateRules, line: int, event: StateEvent) -> Reject | None:
    """Why a state cannot take an event, if so; pinned epochs that are over are welcome (E40)."""
    miner = state.miners.get(event.hotkey)
    path = "miner.hotkey" if event.is_record else "hotkey"
    if miner is None:
        wanted = "a registered miner: register it with tallystick miner register"
        return _reject(line, event, "unknown-miner", path, shown(event.hotkey), wanted)
    if not has_declared(miner, event.skill_type):
        wanted = f"one that {event.hotkey} declared: {', '.join(miner.types)}"
        return _reject(
            line, event, "undeclared-type", "skill_type", shown(event.skill_type), wanted
        )
    if rules.rule_set.epochs is not None and event.epoch > state.epoch:
        wanted = f"at most {state.epoch}, the open epoch: close the epochs before it first"
        return _reject(line, event, "future-epoch", "epoch", str(event.epoch), wanted)
    return None


def _reject(  # noqa: PLR0913, PLR0917  # the parts of a reject
    line: int, event: StateEvent, code: str, path: str, value: str, expected: str
) -> Reject:
    """Why an event is refused, and whose it is."""
    who = Identity(event.task_id, None, event.hotkey, event.validator)
    return Reject.of(RecordError(code, path, value, expected), line, who)


def _conflict(line: int, event: StateEvent) -> Reject:
    if event.is_record:
        wanted = f"the record of {event.validator} that is known, or a new task"
        return _reject(line, event, "conflict", "task_id", shown(event.task_id), wanted)
    wanted = f"the event of {event.validator} that is known, or a new id"
    return _reject(line, event, "conflict", "id", shown(event.id), wanted)


@attrs.frozen
class EventBatch:
    """The events of consecutive lines, and the lines that are none.

    Attributes:
        events: each with its line, in order.
        rejects: what is wrong with the others, by line.
    """

    events: list[Line]
    rejects: list[Reject]


def events_of(source: Source, scorer: Scorer) -> Iterator[EventBatch]:
    """The events of a source, batch after batch, with bounded memory.

    Args:
        source: records and late events.
        scorer: the rule set, with the snapshots that epochs pin.

    Raises:
        InputError: the file cannot be read, or has no records.
    """
    return map(EventDecoder(scorer).events, source)


class EventDecoder:
    """Makes state events of records and of late events."""

    def __init__(self, scorer: Scorer) -> None:
        """Take the rule set, with the snapshots that epochs pin."""
        schema, types = _event_schema(), scorer.types
        self.scorer, self._rules = scorer, state_rules_of(scorer)
        self._late = Decoder({name: _of_type(schema, name) for name in types})
        self._no_consensus = {name for name, bound in types.items() if CONSENSUS in bound.absent}

    def events(self, chunk: Chunk) -> EventBatch:
        """The events of one chunk.

        Raises:
            InputError: it cannot be read, or holds facts alone.
        """
        items, decoder = chunk.items(), self.scorer.decoder
        # a table has the columns of records alone
        of_table = isinstance(chunk, RowChunk)
        decoded: dict[int, Decoded] = {}
        late, rejects = list[Line](), list[Reject]()
        for number, item in enumerate(items, chunk.first):
            is_line, is_late = isinstance(item, bytes), not of_table and _is_event(item)
            of_item = self._late if is_late else decoder
            take: Any = of_item.decode if is_line else of_item.convert
            found = take(item, number)
            if not is_late:
                decoded[number] = found
            elif isinstance(found, Reject):
                rejects.append(found)
            else:
                late.append((number, _late_event(found)))
        results = self.scorer.score_decoded(decoded.items(), items, chunk.first)
        events = sorted([*self._scored(results, decoded), *late], key=itemgetter(0))
        return EventBatch(events, sorted([*results.rejects, *rejects], key=lambda each: each.line))

    def _scored(self, results: ResultBatch, decoded: Mapping[int, Any]) -> Iterator[Line]:
        quality, emission = _column(results, "quality"), _column(results, "emission")
        consensus = _column(results, CONSENSUS)
        for row, line in enumerate(results.record.tolist()):
            record = decoded[line]
            if record.__class__ is MissedDeadline:
                record = record.record
            events = self._events_of(record, consensus[row])
            yield line, _event_of_record(record, events, quality[row], emission[row])

    def _events_of(self, record: Record, consensus: int | None) -> tuple[str, ...]:
        # a factor that the rule set keeps from a type is 1, which nobody agreed on
        if consensus is None or record.skill_type in self._no_consensus:
            return events_of_record(record.events, None)
        return events_of_record(record.events, consensus_event(self._rules, consensus))


def record_digest(record: Record) -> str:
    """``sha256:`` and the digest of a decoded record, the same for every spelling of it.

    It is of the RFC 8785 form of the record, without what is left out, null or empty; numbers are
    doubles, whole ones too.
    """
    text = _encode(record)
    if _UNLIKE_RFC_8785.search(text):
        text = canonical_bytes(_in_doubles(msgspec.json.decode(text)))
    return PREFIX + hashlib.sha256(text).hexdigest()


def _in_doubles(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The same value, its whole numbers as doubles where RFC 8785 writes no others."""
    if isinstance(value, dict):
        return {key: _in_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_doubles(item) for item in value]
    if not isinstance(value, int) or abs(value) < _DOUBLE_EXACT:
        return value
    return float(value) if abs(value) < _DOUBLE_LIMIT else str(value)


def _event_of_record(
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


def _late_event(event: Any) -> StateEvent:  # noqa: ANN401  # made from its schema
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
    """An object that is looked at for one key alone."""

    event: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_probe = msgspec.json.Decoder(_Probe).decode


def _is_event(line: Item) -> bool:
    """Whether an item is an object with the key ``event``; what is no JSON is no event either."""
    if not isinstance(line, bytes):
        # what a program gives may be anything
        return isinstance(line, dict) and "event" in line
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
