"""Decoding of a source: state events of its records and late events, batch by batch.

A record is scored by the snapshot that its epoch pins; a late event is a line that is an object
with the key ``event``, which no record has.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
from msgspec.structs import replace

from tallystick.canonical import canonical_doubles, digest_of_bytes
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.sources import Chunk, Source
from tallystick.records.decoding import Decoded, Decoder, Item
from tallystick.records.defects import internal_error
from tallystick.records.rejects import UNKNOWN, Identity, Reject
from tallystick.records.schema import MISSED
from tallystick.records.struct_builder import Record
from tallystick.resources import schema_path
from tallystick.scoring.result import GROUP, MEASURES
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.table import ResultTable
from tallystick_consensus.group_record import CONSENSUS
from tallystick_state.event import StateEvent
from tallystick_state.reputation import consensus_event, events_of_record
from tallystick_state.rules import state_rules_of
from tallystick_state.sections.claims import claims_of

if TYPE_CHECKING:
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


_Pinned = tuple[Callable[[int], str | None], bool]
"""The function of the event that a consensus in nano is; whether digests of facts are kept."""


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
        items, first = [*chunk.items()], chunk.first
        events, rejects = dict[int, StateEvent](), list[Reject]()
        records = list[tuple[int, Item]]()
        for number, item in enumerate(items, first):
            if not _is_event(item):
                records.append((number, item))
            elif isinstance(event := self.unscored(item, number), Reject):
                rejects.append(event)
            else:
                events[number] = event

        def decoded_records() -> Iterator[tuple[int, Decoded]]:
            # of each its event is kept, without what its score decides: records themselves, with
            # all their lists, would keep the garbage collector busy
            for number, item, event, decoded in self.records(records):
                items[number - first] = item
                if isinstance(event, Reject):
                    yield number, event
                else:
                    events[number] = event
                    yield number, decoded

        results = self.scorer.score_decoded(decoded_records(), items, first)
        rejects += results.rejects
        for line, event in self._scored(results, events):
            if isinstance(event, Reject):
                rejects.append(event)
            else:
                events[line] = event
        for reject in rejects:
            events.pop(reject.line, None)
        in_order = sorted(events.items(), key=itemgetter(0))
        return EventBatch(in_order, sorted(rejects, key=attrgetter("line")), results)

    def records(
        self, records: Iterable[tuple[int, Item]]
    ) -> Iterator[tuple[int, Item, StateEvent | Reject, Decoded]]:
        """Yield each record with its event as far as it is known before it is scored.

        Args:
            records: lines or mappings, each with its number.

        Yields:
            The number; the record with the consensus of its group, as an item; its event, or why
            there is none; and the record decoded.
        """
        decoder = self.scorer.decoder
        filled = (
            ((number, item, decoder.decode(item, number)) for number, item in records)
            if self._groups is None
            else self._groups.join.filled(records, decoder)
        )
        for number, item, decoded in filled:
            yield number, item, _event_of(decoded, _event_of_record, number), decoded

    def unscored(self, item: Item, number: int) -> StateEvent | Reject:
        """Return the event of an item as far as it is known without a snapshot: nothing is scored.

        Its identity and its digest are those that a state knows it by.

        Args:
            item: a record or a late event.
            number: of the line, for the reject.
        """
        is_late = _is_event(item)
        decoder = self._late if is_late else self.scorer.decoder
        decoded = decoder.decode(item, number)
        return _event_of(decoded, _late_event if is_late else _event_of_record, number)

    def _scored(
        self, results: ResultTable, unscored: Mapping[int, StateEvent]
    ) -> Iterator[tuple[int, StateEvent | Reject]]:
        """Yield the event of each scored record, or why there is none."""
        quality, emission = (results.column(n).texts().to_pylist() for n in ("quality", "emission"))
        consensus = results.column(CONSENSUS).nano()
        names = results.layout.measures
        measures = {n: results.column(f"{MEASURES}.{n}").texts().to_pylist() for n in names}
        groups = results.texts(GROUP).to_pylist() if results.layout.has_group else None
        facts = results.facts_digests() if self._keeps_facts else [None] * len(results)
        for row, line in enumerate(results.record.tolist()):
            event = unscored[line]
            try:
                event_of, keeps_facts = self._pinned_of(event.skill_type, event.epoch)
                agreed = consensus[row]
                arisen = None if agreed is None else event_of(agreed)
                if arisen is not None:
                    event = replace(event, events=events_of_record(event.events, arisen))
                event = replace(
                    event,
                    missed=MISSED in event.events,
                    quality=quality[row],
                    emission=emission[row],
                    facts=facts[row] if keeps_facts else None,
                    measures={n: text for n in names if (text := measures[n][row]) is not None},
                    group=None if groups is None else groups[row],
                )
                yield line, event if self._groups is None else self._groups.noted(event)
            except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
                who = Identity(event.task_id, None, event.hotkey, event.validator)
                yield line, Reject.of(internal_error(error), line, who)

    def _pinned_of(self, skill_type: str, epoch: int) -> _Pinned:
        """Return what the rules of an epoch decide about the events of a skill type."""
        key = skill_type, self.scorer.begins(epoch)
        if key not in self._pinned:
            line = self.scorer.rules_at(epoch).line_of(skill_type)
            # records of a task have the same consensus, and most have few digits
            event_of = functools.lru_cache(1 << 12)(partial(consensus_event, state_rules_of(line)))
            # where a type has none its factor is 1, which nobody agreed on
            has_consensus = CONSENSUS not in line.types[skill_type].absent
            self._pinned[key] = (
                event_of if has_consensus else lambda _: None,
                claims_of(line.rule_set).facts == "digest",
            )
        return self._pinned[key]


def _event_of(
    decoded: Decoded, event_of: Callable[[Any], StateEvent], number: int
) -> StateEvent | Reject:
    """Return the event of a decoded line, or why there is none."""
    if isinstance(decoded, Reject):
        return decoded
    try:
        return event_of(decoded)
    except BaseException as error:  # noqa: BLE001  # what is no defect is raised again
        who = UNKNOWN if event_of is _late_event else _identity(decoded)
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
    schema: dict[str, Any] = json.loads(schema_path("event-1").read_bytes())
    del schema["$id"]
    fields = schema["properties"]
    # a decoder tells types by the constant of their key
    types = {name: {**fields["skill_type"], "const": name} for name in sorted(skill_types)}
    return Decoder(
        {n: {**schema, "properties": {**fields, "skill_type": kind}} for n, kind in types.items()}
    )


def record_digest(record: Record) -> str:
    """Return ``sha256:`` and the digest of a decoded record, the same for every spelling of it.

    It is of the RFC 8785 form of the record, without what is left out, null or empty; numbers are
    doubles, whole ones too.
    """
    return digest_of_bytes(canonical_doubles(record))
