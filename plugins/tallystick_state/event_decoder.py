"""Decoding of a source: state events of its records and late events, batch by batch.

A record is scored by the snapshot that its epoch pins; a late event is a line that is an object
with the key ``event``, which no record has.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, cast

import attrs
import msgspec
from msgspec.structs import replace

from tallystick.canonical import canonical_doubles, digest_of_bytes
from tallystick.errors import RecordError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.sources import Chunk, Source
from tallystick.records.decoding import Decoded, Decoder, Item, MissedDeadline
from tallystick.records.defects import internal_error
from tallystick.records.rejects import UNKNOWN, Identity, Reject
from tallystick.records.schema import MISSED, Schema
from tallystick.records.struct_builder import Record
from tallystick.resources import schema_path
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.result import GROUP, MEASURES
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.table import ResultTable
from tallystick_consensus.group_record import CONSENSUS
from tallystick_state.event import StateEvent
from tallystick_state.reputation import consensus_event, events_of_record
from tallystick_state.rules import state_rules_of
from tallystick_state.sections.claims import claims_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tallystick_state.round_groups import RoundGroups

Line = tuple[int, StateEvent]
"""An event and the number of its line."""


@attrs.frozen
class EventBatch:
    """The events of consecutive lines, and the lines that are none.

    Attributes:
        events: each with its line, in order.
        rejects: what is wrong with the others, by line.
        scored: what the records score, with some that are rejects for another reason.
    """

    events: list[Line]
    rejects: list[Reject]
    scored: ResultTable = attrs.field(eq=False)


def events_of(
    source: Source, scorer: Scorer, groups: RoundGroups | None = None
) -> Iterator[EventBatch]:
    """Return the events of a source, batch after batch, with bounded memory.

    Args:
        source: records and late events.
        scorer: the rule set, with the snapshots that epochs pin.
        groups: those of the records.

    Raises:
        InputError: the file cannot be read, or has no records.
    """
    return map(EventDecoder(scorer, groups).events, source)


@attrs.frozen
class _Pinned:
    """The rules of an epoch for the events of a skill type.

    Attributes:
        no_consensus: whether they keep the factor from the type: it is 1, which nobody agreed on.
        keeps_facts: whether a state keeps the digest of the facts.
        consensus_event: gives the event that a consensus is, in nano; see `consensus_event`.
    """

    no_consensus: bool
    keeps_facts: bool
    consensus_event: Callable[[int], str | None]

    @classmethod
    def of(cls, rules: BoundRules, skill_type: str) -> _Pinned:
        line = rules.line_of(skill_type)
        no_consensus = CONSENSUS in line.types[skill_type].absent
        # records of a task have the same consensus, and most have few digits
        event_of = functools.lru_cache(1 << 12)(partial(consensus_event, state_rules_of(line)))
        return cls(no_consensus, claims_of(line.rule_set).facts == "digest", event_of)


@attrs.frozen
class _Unscored:
    """The lines of a chunk before it is scored.

    Attributes:
        records: the event of each record, without what its score decides.
        late: the events that came alone.
        rejects: the lines that are no such events.
    """

    records: dict[int, StateEvent] = attrs.field(factory=dict)
    late: list[Line] = attrs.field(factory=list)
    rejects: list[Reject] = attrs.field(factory=list)


class EventDecoder:
    """Makes state events of records and of late events."""

    def __init__(self, scorer: Scorer, groups: RoundGroups | None = None) -> None:
        """Take the rules, with the snapshots that epochs pin, and the groups of the records."""
        self._groups = groups
        self.scorer, self._pinned = scorer, dict[tuple[str, int], _Pinned]()
        self._late = _late_decoder(frozenset(scorer.schemas))
        self._keeps_facts = any(claims_of(r.rule_set).facts == "digest" for r in scorer.each())

    def events(self, chunk: Chunk) -> EventBatch:
        """Return the events of one chunk.

        Raises:
            InputError: it cannot be read, or holds facts alone.
        """
        items = chunk.items()
        # records that get a consensus are other items then
        scored = items if self._groups is None else [*items]
        unscored = _Unscored()
        records = self._records(items, chunk.first, scored, unscored)
        results = self.scorer.score_decoded(records, scored, chunk.first)
        rejects = [*unscored.rejects, *results.rejects]
        lines = [*self._scored(results, unscored.records, rejects), *unscored.late]
        rejects.sort(key=attrgetter("line"))
        return EventBatch(sorted(lines, key=itemgetter(0)), rejects, results)

    def _records(
        self, items: Sequence[Item], first: int, scored: Sequence[Item], unscored: _Unscored
    ) -> Iterator[tuple[int, Decoded]]:
        """Yield the records of some items for the scorer, each with its number.

        Of each its event is kept: records themselves, with all their lists, would keep the garbage
        collector busy.
        """
        for number, item in enumerate(items, first):
            is_late = _is_event(item)
            of_item = self._late if is_late else self.scorer.decoder
            take: Any = of_item.decode if isinstance(item, bytes) else of_item.convert
            decoded = take(item, number)
            if is_late:
                event = _event_of(decoded, _late_event, number)
                if isinstance(event, Reject):
                    unscored.rejects.append(event)
                else:
                    unscored.late.append((number, event))
                continue
            if self._groups is not None:
                joined = self._joined(decoded, item, number, take)
                decoded, cast("list[Item]", scored)[number - first] = joined
            event = _event_of(decoded, _event_of_record, number)
            if isinstance(event, Reject):
                decoded = event
            else:
                unscored.records[number] = event
            yield number, decoded

    def unscored(self, line: bytes, number: int) -> StateEvent | Reject:
        """Return the event of a line as far as it is known without a snapshot: nothing is scored.

        Its identity and its digest are those that a state knows it by.

        Args:
            line: a record or a late event.
            number: of the line, for the reject.
        """
        is_late = _is_event(line)
        decoded = (self._late if is_late else self.scorer.decoder).decode(line, number)
        return _event_of(decoded, _late_event if is_late else _event_of_record, number)

    def _joined(
        self, event: Decoded, item: Item, number: int, take: Callable[[Any, int], Decoded]
    ) -> tuple[Decoded, Item]:
        """Return a record with the consensus of its group, decoded and as an item."""
        if self._groups is None:
            return event, item
        if isinstance(event, Reject):
            self._groups.pass_over(item)
            return event, item
        record = event.record if isinstance(event, MissedDeadline) else event
        try:
            filled = self._groups.applied(record, item)
        except RecordError as error:
            return Reject.of(error, number, _identity(record)), item
        return (event, item) if filled is item else (take(filled, number), filled)

    def _scored(
        self, results: ResultTable, unscored: Mapping[int, StateEvent], rejects: list[Reject]
    ) -> Iterator[Line]:
        """Yield the events of scored records; the others are added to the rejects."""
        quality, emission = (results.column(name).nano() for name in ("quality", "emission"))
        consensus = results.column(CONSENSUS).nano()
        measures = _measures(results)
        groups = results.texts(GROUP).to_pylist() if results.layout.has_group else None
        facts = results.facts_digests() if self._keeps_facts else [None] * len(results)
        for row, line in enumerate(results.record.tolist()):
            event = unscored[line]
            try:
                pinned = self._pinned_of(event.skill_type, event.epoch)
                events = _events_of(event, consensus[row], pinned)
                event = replace(
                    event,
                    events=events,
                    missed=MISSED in events,
                    quality=quality[row],
                    emission=emission[row],
                    facts=facts[row] if pinned.keeps_facts else None,
                    measures={} if measures is None else measures[row],
                    group=None if groups is None else groups[row],
                )
                if self._groups is not None:
                    event = self._groups.noted(event)
            except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
                who = Identity(event.task_id, None, event.hotkey, event.validator)
                rejects.append(Reject.of(internal_error(error), line, who))
            else:
                yield line, event

    def _pinned_of(self, skill_type: str, epoch: int) -> _Pinned:
        key = skill_type, self.scorer.begins(epoch)
        if key not in self._pinned:
            self._pinned[key] = _Pinned.of(self.scorer.rules_at(epoch), skill_type)
        return self._pinned[key]


def _events_of(event: StateEvent, consensus: int | None, pinned: _Pinned) -> tuple[str, ...]:
    if consensus is None or pinned.no_consensus:
        return event.events
    arisen = pinned.consensus_event(consensus)
    return event.events if arisen is None else events_of_record(event.events, arisen)


def _event_of(
    decoded: Decoded, event_of: Callable[[Any], StateEvent], number: int
) -> StateEvent | Reject:
    """Return the event of a decoded line, or why there is none."""
    record: Any = decoded.record if decoded.__class__ is MissedDeadline else decoded
    if record.__class__ is Reject:
        return record
    try:
        return event_of(record)
    except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
        who = UNKNOWN if event_of is _late_event else _identity(record)
        return Reject.of(internal_error(error), number, who)


def _identity(record: Record) -> Identity:
    miner = record.miner
    return Identity(record.task_id, miner.uid, miner.hotkey, record.validator)


def _event_of_record(record: Record) -> StateEvent:
    """Return the event of a record without what its score decides."""
    return StateEvent(
        validator=record.validator,
        hotkey=record.miner.hotkey,
        skill_type=record.skill_type,
        task_id=record.task_id,
        round=record.round,
        epoch=record.epoch,
        events=events_of_record(record.events, None),
        role=record.role,
        missed=MISSED in record.events,
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


def _measures(results: ResultTable) -> list[dict[str, int | Fraction]] | None:
    """Return the measures of each record that apply; None of rules that have none."""
    names = results.layout.measures
    if not names:
        return None
    columns = {name: results.column(f"{MEASURES}.{name}").nano() for name in names}
    return [
        {name: value for name, column in columns.items() if (value := column[row]) is not None}
        for row in range(len(results))
    ]


class _Probe(msgspec.Struct, gc=False):
    """An object that is looked at for one key alone."""

    event: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_probe = msgspec.json.Decoder(_Probe).decode


def _is_event(line: Item) -> bool:
    """Return whether an item is an object with the key ``event``; False for one that is no JSON."""
    if not isinstance(line, bytes):
        # what a program gives may be anything
        return isinstance(line, dict) and "event" in line
    # a key can be spelled with escapes; one byte is found faster than two
    has_escapes = b"\\" in line and b"\\u" in line
    if not (has_escapes or b'"event"' in line) or len(line) > MAX_LINE_BYTES:
        return False
    try:
        return _probe(line).event is not msgspec.UNSET
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


@functools.lru_cache(maxsize=16)
def _late_decoder(skill_types: frozenset[str]) -> Decoder:
    """Return the decoder of late events of some types, made once, as that is slow."""
    schema = _event_schema()
    return Decoder({name: _of_type(schema, name) for name in sorted(skill_types)})


def _event_schema() -> Schema:
    schema: Schema = json.loads(schema_path("event-1").read_bytes())
    return {name: value for name, value in schema.items() if name != "$id"}


def _of_type(schema: Schema, skill_type: str) -> Schema:
    """Return the schema of late events of one type, with the key by which a decoder tells types."""
    declared = schema["properties"]["skill_type"]
    typed = {"description": declared["description"], "const": skill_type}
    return {**schema, "properties": {**schema["properties"], "skill_type": typed}}


def record_digest(record: Record) -> str:
    """Return ``sha256:`` and the digest of a decoded record, the same for every spelling of it.

    It is of the RFC 8785 form of the record, without what is left out, null or empty; numbers are
    doubles, whole ones too.
    """
    return digest_of_bytes(canonical_doubles(record))
