"""Decoding of a source: state events of its records and late events, batch by batch.

A record is scored by the snapshot that its epoch pins; a late event is a line that is an object
with the key ``event``, which no record has.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from tallystick.canonical import canonical_doubles, digest_of_bytes
from tallystick.errors import RecordError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.sources import Chunk, Source
from tallystick.records.decoding import MISSED, Decoded, Decoder, Item, MissedDeadline
from tallystick.records.defects import internal_error
from tallystick.records.rejects import Identity, Reject
from tallystick.records.schema import Schema
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
        items, decoder = chunk.items(), self.scorer.decoder
        # records that get a consensus are other items then
        joined: list[Item] | None = None if self._groups is None else [*items]
        decoded: dict[int, Decoded] = {}
        late, rejects = list[Line](), list[Reject]()
        for number, item in enumerate(items, chunk.first):
            is_line, is_late = isinstance(item, bytes), _is_event(item)
            of_item = self._late if is_late else decoder
            take: Any = of_item.decode if is_line else of_item.convert
            outcome = take(item, number)
            if not is_late and joined is not None:
                row = number - chunk.first
                decoded[number], joined[row] = self._joined(outcome, item, number, take)
            elif not is_late:
                decoded[number] = outcome
            elif isinstance(outcome, Reject):
                rejects.append(outcome)
            else:
                try:
                    late.append((number, _late_event(outcome)))
                except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
                    rejects.append(Reject.of(internal_error(error), number))
        scored = items if joined is None else joined
        results = self.scorer.score_decoded(decoded.items(), scored, chunk.first)
        rejects += results.rejects
        events = sorted([*self._scored(results, decoded, rejects), *late], key=itemgetter(0))
        return EventBatch(events, sorted(rejects, key=lambda each: each.line), results)

    def unscored(self, line: bytes, number: int) -> StateEvent | Reject:
        """Return the event of a line as far as it is known without a snapshot: nothing is scored.

        Its identity and its digest are those that a state knows it by.

        Args:
            line: a record or a late event.
            number: of the line, for the reject.
        """
        is_late = _is_event(line)
        outcome: Any = (self._late if is_late else self.scorer.decoder).decode(line, number)
        if isinstance(outcome, Reject):
            return outcome
        if outcome.__class__ is MissedDeadline:
            outcome = outcome.record
        try:
            if is_late:
                return _late_event(outcome)
            return _event_of_record(outcome, (), None, None, None)
        except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
            return Reject.of(internal_error(error), number)

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
        self, results: ResultTable, decoded: Mapping[int, Any], rejects: list[Reject]
    ) -> Iterator[Line]:
        """Yield the events of scored records; the others are added to the rejects."""
        quality, emission = (results.column(name).nano() for name in ("quality", "emission"))
        consensus = results.column(CONSENSUS).nano()
        measures = _measures(results)
        groups = results.texts(GROUP).to_pylist() if results.layout.has_group else None
        facts = results.facts_digests() if self._keeps_facts else [None] * len(results)
        for row, line in enumerate(results.record.tolist()):
            record = decoded[line]
            if record.__class__ is MissedDeadline:
                record = record.record
            try:
                pinned = self._pinned_of(record.skill_type, record.epoch)
                events = _events_of(record, consensus[row], pinned)
                row_facts = facts[row] if pinned.keeps_facts else None
                event = _event_of_record(record, events, quality[row], emission[row], row_facts)
                if self._groups is not None:
                    event = self._groups.noted(event)
                if measures is not None or groups is not None:
                    event = attrs.evolve(
                        event,
                        measures={} if measures is None else measures[row],
                        group=None if groups is None else groups[row],
                    )
            except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
                rejects.append(Reject.of(internal_error(error), line, _identity(record)))
            else:
                yield line, event

    def _pinned_of(self, skill_type: str, epoch: int) -> _Pinned:
        key = skill_type, self.scorer.begins(epoch)
        if key not in self._pinned:
            self._pinned[key] = _Pinned.of(self.scorer.rules_at(epoch), skill_type)
        return self._pinned[key]


def _events_of(record: Record, consensus: int | None, pinned: _Pinned) -> tuple[str, ...]:
    if consensus is None or pinned.no_consensus:
        return events_of_record(record.events, None)
    return events_of_record(record.events, pinned.consensus_event(consensus))


def _identity(record: Record) -> Identity:
    miner = record.miner
    return Identity(record.task_id, miner.uid, miner.hotkey, record.validator)


def _event_of_record(
    record: Record,
    events: tuple[str, ...],
    quality: int | None,
    emission: int | None,
    facts: str | None,
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
        facts=facts,
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
    # a key can be spelled with escapes
    if (b'"event"' not in line and b"\\u" not in line) or len(line) > MAX_LINE_BYTES:
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
