"""Ingest: records and late events of a file, taken into the log of a state.

A record is scored by the snapshot that its epoch pins. Its digest is of its RFC 8785 form after
decoding, without what is left out, null or empty. Two spellings of one record have one digest.

A late event is a line that is an object with the key ``event``, which no record has. What the state
knows already is left out; what it cannot take refuses the whole file, or is rejected alone where
that is asked for. What other claims stand against waits in quarantine and is told, and the rest of
the file is recorded.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

import attrs

from tallystick.errors import MOST_TOLD, RecordError, RefusedError, TrustError
from tallystick.io.sources import ItemSource
from tallystick.json_values import JsonKey, json_object
from tallystick.numbers.text import repr_as
from tallystick.records.defects import DefectLog
from tallystick.records.messages import shown
from tallystick.records.rejects import Identity, Reject
from tallystick.records.schema import MISSED
from tallystick.scoring.result import Result
from tallystick.scoring.run_files import Progress
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick.scoring.table import ResultTable
from tallystick_state.answers import ClaimInfo
from tallystick_state.argument_checks import one_of, path_or_items
from tallystick_state.authority import nothing_to_sign
from tallystick_state.claims import (
    CLOSED,
    CONFLICT,
    DROPPED,
    EVERYONE,
    OUTRANKED,
    OVER,
    REASONS,
    UNKNOWN,
    AllowedValidators,
    Claim,
    Rank,
)
from tallystick_state.event import StateEvent
from tallystick_state.event_decoder import EventBatch, Line, events_of
from tallystick_state.event_log import RECORDED, EventLog
from tallystick_state.miners import has_declared
from tallystick_state.model import State
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.sections.epochs import EPOCHS

if TYPE_CHECKING:
    from tallystick.io.paths import PathLike
    from tallystick.scoring.scorer import RecordLike
    from tallystick_consensus.run import GroupLike
    from tallystick_state.stored_state import StoredState
    from tallystick_state.trust.statement import Statement

Bad = Literal["refuse", "reject"]
"""The fate of a bad line: it refuses all of them, or is rejected alone."""
CODES: Mapping[str, str] = MappingProxyType(
    {
        "future-epoch": "the epoch has not begun in this state",
        "other-epoch": "a round is pinned to one epoch, but its records name two",
        "other-round": "the record belongs to another round than the one that is closed",
        "undeclared-type": "the miner never declared the skill type",
        "unknown-event": "the rules of the epoch have no such event any more",
        "unknown-miner": "no miner of this state has the hotkey",
    }
)
"""Codes of a good record or event for which a state refuses the whole file, with meanings."""
LEFT_OUT = "event-left-out"
UNHEARD, UNSIGNED, NOT_IN_BATCH = "unheard-validator", "unsigned", "not-in-batch"
LINE_CODES: Mapping[str, str] = MappingProxyType(
    {
        LEFT_OUT: "the line is recorded; the rules of the open epoch no longer have the event",
        NOT_IN_BATCH: "its validator has not signed it in the batch that came with it",
        OVER: REASONS[OVER],
        UNHEARD: "the state does not hear the validator",
        UNSIGNED: "the state has a trust file, and no signed batch came with the events of others",
    }
)
"""Codes of a line that a state refuses alone, or of a part of it, with meanings."""


@json_object(
    JsonKey("recorded", "events"),
    "duplicates",
    *(
        JsonKey(name, left_out="empty")
        for name in ("quarantined", "refused", "displaced", "released", "left_out", "told")
    ),
)
@attrs.frozen
class Ingested:
    """The outcome of ingesting a file of events.

    Attributes:
        events: how many were new and are recorded.
        duplicates: how many were known already.
        quarantined: how many are in quarantine, by the reason.
        refused: how many were left out, by the code.
        displaced: how many claims that were recorded before are in quarantine now.
        released: how many claims that were in quarantine before are recorded now.
        left_out: by the name of an event, of how many recorded lines it changes nothing, since the
            rules of the open epoch no longer have it.
        told: why lines are refused or in quarantine, and which events are left out, by line; the
            first ``MOST_TOLD`` of them.
        quarantined_claims: those claims of the file that are not recorded, each with its reason, by
            line; the first ``MOST_TOLD`` of them, or all where bad records are rejected.
        displaced_claims: those claims that were recorded before and are in quarantine now, each
            with its reason, in the order in which they came; as many likewise.
        rejects: where bad records are rejected, why each of them is, in order; empty elsewhere.
            Their lines are the places of the records in what was given.
        scored: where bad records are rejected, the results of the others, as tables.
    """

    events: int
    duplicates: int
    quarantined: Mapping[str, int] = attrs.field(factory=dict)
    refused: Mapping[str, int] = attrs.field(factory=dict)
    displaced: int = 0
    released: int = 0
    left_out: Mapping[str, int] = attrs.field(factory=dict)
    told: tuple[Reject, ...] = attrs.field(default=(), repr=repr_as("line"))
    quarantined_claims: tuple[ClaimInfo, ...] = attrs.field(default=(), repr=repr_as("claim"))
    displaced_claims: tuple[ClaimInfo, ...] = attrs.field(default=(), repr=repr_as("claim"))
    rejects: tuple[Reject, ...] = attrs.field(default=(), repr=repr_as("reject"))
    scored: tuple[ResultTable, ...] = attrs.field(default=(), eq=False, repr=False)

    @cached_property
    def results(self) -> tuple[Result | Reject, ...]:
        """Where bad records are rejected, of every record its result, or why it is rejected.

        They are in the order of the records; empty elsewhere. A late event has no result, and a
        place alone where it is rejected.
        """
        outcomes: dict[int, Result | Reject] = {
            result.record: result for table in self.scored for result in table.results()
        }
        outcomes |= {reject.line: reject for reject in self.rejects}
        return tuple(outcome for _, outcome in sorted(outcomes.items()))

    @property
    def is_whole(self) -> bool:
        """True where every line is recorded, known, or only waits for its task."""
        return not self.refused and self.quarantined.keys() <= {UNKNOWN}


@attrs.define
class Rounds:
    """The rounds that a file closes, each pinned to one epoch (E40 of docs/errata.md).

    Attributes:
        only: the one round that all records are of; None for whichever they are of.
        allowed: of a state that names its validator, only records of this one close rounds.
        epochs: the epoch of each round so far.
    """

    only: int | None = None
    allowed: AllowedValidators = EVERYONE
    epochs: dict[int, int] = attrs.field(factory=dict)
    _basis: str = attrs.field(default="the records of the round {} before it", init=False)

    def pin(self, lines: Iterable[Line]) -> None:
        """Pin each round to the epoch that most of its records name, of equally many to the lowest.

        So one bad record does not reject a round, and the order of the records decides nothing.
        """
        self._basis = "most records of the round {}"
        named = defaultdict[int, Counter[int]](Counter)
        closing = {(e.round, e.epoch, e.identity) for _, e in lines if self._closes(e)}
        for number, epoch, _ in closing:
            if self.only in {None, number}:
                named[number][epoch] += 1
        for number, epochs in named.items():
            self.epochs[number] = min(epochs, key=lambda epoch: (-epochs[epoch], epoch))

    def refusal(self, line: int, event: StateEvent) -> Reject | None:
        """Return the reject of a record that does not belong to the rounds."""
        if not self._closes(event):
            return None
        if self.only is not None and event.round != self.only:
            wanted = f"the round {self.only}"
            return _reject(line, event, "other-round", "round", str(event.round), wanted)
        pinned = self.epochs.setdefault(event.round, event.epoch)
        if event.epoch != pinned:
            wanted = f"the epoch {pinned}, as {self._basis.format(event.round)}"
            return _reject(line, event, "other-epoch", "epoch", str(event.epoch), wanted)
        return None

    def _closes(self, event: StateEvent) -> bool:
        """Return whether an event closes its round: late events and records of others do not."""
        return event.is_record and self.allowed.validator in {None, event.validator}


class _Lines:
    """The lines of one file, and what becomes of them.

    Attributes:
        rejects: the lines that are refused alone, by number, where all of them are kept.
    """

    def __init__(self, log: EventLog, *, keep_all: bool = False) -> None:
        self._log, self._duplicates = log, 0
        self.rejects: dict[int, Reject] | None = {} if keep_all else None
        self._most = None if keep_all else MOST_TOLD
        # above a limit, and kept nowhere
        self._over = list[ClaimInfo]()
        # of each claim that came or rose its number, and its line
        self._numbers, self._lines = array("Q"), array("Q")
        self._refused, self._told = Counter[str](), list[Reject]()
        self._left_out = Counter[str]()

    def objection(self, closing: bool, line: int, event: StateEvent) -> Reject | None:
        """Return the reject of a line that is not heard, or not signed as the state requires it.

        Args:
            closing: whether the file closes rounds, so that the state's own need no signature.
            line: the number.
            event: of the line.
        """
        allowed, batch = self._log.allowed, self._log.batch
        is_trusting = self._log.in_force.root is not None
        is_own = closing and allowed.is_own(event)
        if not allowed.accepts(event.validator):
            code = UNHEARD
        elif is_own or not is_trusting or (batch and batch.holds(event)):
            return None
        else:
            code = UNSIGNED if batch is None else NOT_IN_BATCH
        wanted = _WANTED[code]
        if code == UNHEARD and is_trusting:
            wanted = "a validator that the trust file of this state names"
        return _reject(line, event, code, "validator", shown(event.validator), wanted)

    def record(self, lines: Sequence[Line], closing: bool) -> None:
        """Record events that the state admits; what its own validator says of a round first."""
        is_own = self._log.allowed.is_own
        own = [line for line in lines if is_own(line[1])] if closing else []
        if own:
            self._record(own, Rank.OWN)
            lines = [line for line in lines if not is_own(line[1])]
        self._record(lines, Rank.IMPORTED if self._log.batch is None else Rank.SIGNED)

    def _record(self, lines: Sequence[Line], rank: Rank) -> None:
        """Record events as far as nothing stands against them."""
        outcome = self._log.record([event for _, event in lines], rank)
        self._duplicates += outcome.duplicates
        self._numbers.extend(outcome.numbers.values())
        self._lines.extend(lines[index][0] for index in outcome.numbers)
        for line, event in (lines[index] for index in outcome.refused):
            self.reject([_quarantine_reject(line, event, OVER, _WANTED[OVER])])
            if self._most is None or len(self._over) < self._most:
                self._over.append(ClaimInfo.of(Claim(0, event, rank), OVER, line))
        if self._log.in_force.changes:
            for index in outcome.numbers:
                self._leave_out(*lines[index])

    def ingested(self) -> Ingested:
        """Return the outcome of all lines."""
        moved, pairs = self._log.moved, zip(self._numbers, self._lines, strict=True)
        lines = {number: line for number, line in pairs if number in moved}
        reasons = {number: moved[number][1] for number in lines if moved[number][1] != RECORDED}
        unchanged = sum(moved[number] == (RECORDED, RECORDED) for number in lines)
        others = {number: move for number, move in moved.items() if number not in lines}
        displaced = [number for number, (was, now) in others.items() if was == RECORDED != now]
        waiting = self._waiting({number: lines[number] for number in reasons})
        reports = [*self._told, *self._quarantined(waiting[:MOST_TOLD])]
        claims = [ClaimInfo.of(claim, reasons[claim.seq], line) for line, claim in waiting]
        claims += self._over
        return Ingested(
            len(self._numbers) - len(reasons) - unchanged,
            self._duplicates + unchanged,
            dict(sorted(Counter(reasons.values()).items())),
            dict(sorted(self._refused.items())),
            len(displaced),
            sum(was != RECORDED == now for was, now in others.values()),
            dict(sorted(self._left_out.items())),
            tuple(sorted(reports, key=attrgetter("line"))[:MOST_TOLD]),
            tuple(sorted(claims, key=attrgetter("line"))[: self._most]),
            self._displaced(displaced),
        )

    def reject(self, rejects: Iterable[Reject]) -> None:
        """Refuse lines alone."""
        for reject in rejects:
            self._refused[reject.code] += 1
            if self.rejects is not None and reject.code != OVER:
                self.rejects[reject.line] = reject
            if len(self._told) < MOST_TOLD:
                self._told.append(reject)

    def _leave_out(self, line: int, event: StateEvent) -> None:
        """Tell which events of a late line do nothing, as the rules that count it drop them."""
        epoch = self._log.state.epoch
        now, then = (
            self._log.in_force.dropped_events(event.skill_type, number)
            for number in (epoch, event.epoch)
        )
        left_out = (now - then).intersection(event.events)
        self._left_out.update(left_out)
        for name in sorted(left_out)[: MOST_TOLD - len(self._told)]:
            wanted = f"one that the rules of epoch {epoch} have: the rest of the line is recorded"
            self._told.append(_reject(line, event, LEFT_OUT, "events", shown(name), wanted))

    def _waiting(self, lines: Mapping[int, int]) -> list[tuple[int, Claim]]:
        """Return the first claims of the file in quarantine, of the lines of all, with theirs."""
        first = sorted(lines, key=lines.__getitem__)[: self._most]
        claims = self._log.transaction.claims.numbered(first)
        return sorted(((lines[claim.seq], claim) for claim in claims), key=itemgetter(0))

    def _quarantined(self, waiting: Iterable[tuple[int, Claim]]) -> Iterator[Reject]:
        """Yield a reject for each line in quarantine."""
        claims = self._log.transaction.claims
        for line, claim in waiting:
            alone = None
            if claim.reason == CONFLICT and claim.event.is_record:
                alone = _groupless_claim(claims.of([claim.event.identity]))
            reason = str(claim.reason)
            wanted = _WANTED[reason] if alone is None else _ALONE.format(alone)
            yield _quarantine_reject(line, claim.event, reason, wanted)

    def _displaced(self, numbers: Iterable[int]) -> tuple[ClaimInfo, ...]:
        """Return the first claims that were recorded before and are in quarantine now."""
        claims = self._log.transaction.claims.numbered(sorted(numbers)[: self._most])
        displaced = (ClaimInfo.of(claim, str(claim.reason)) for claim in claims)
        return tuple(sorted(displaced, key=attrgetter("seq")))


def ingest(  # noqa: PLR0913  # what an ingest needs
    log: EventLog,
    source: PathLike | Iterable[RecordLike],
    scorer: Scorer,
    rounds: Rounds | None = None,
    *,
    progress: Progress | None = None,
    groups: PathLike | Iterable[GroupLike] | None = None,
    bad: Bad = "refuse",
) -> Ingested:
    """Record the events that are not known yet: of a file, or of an iterable.

    Args:
        log: where they go.
        source: records and late events.
        scorer: the rule set with the snapshots of the state.
        rounds: given, the rounds that the source closes; what the state's own validator says there
            has the highest rank.
        progress: told how much of a file was read.
        groups: those of the records, which get their consensus from them.
        bad: ``refuse``: a bad line refuses all of them, and memory is bounded; or ``reject``: it is
            rejected alone, as if there were the good ones alone. Which are bad follows then from
            the state and the set of records: their order decides nothing. All results are in
            memory.

    Raises:
        InputError: the file cannot be read, or the groups are of other records.
        RefusedError: a line is bad; the transaction has to be given up.
        StateError: ``bad`` is something else.
    """
    one_of(bad, "bad", get_args(Bad))
    items = path_or_items(source, "a file of records, or an iterable of records")
    name = str(items) if isinstance(items, Path) else "records"
    joined = None
    if groups is not None:
        from tallystick_state.round_groups import groups_of  # seldom

        joined = groups_of(groups, scorer, log.transaction)
    opened = source_of(items) if isinstance(items, Path) else ItemSource(items)
    lines, refused = _Lines(log, keep_all=bad == "reject"), list[Reject]()
    batches, closing = list[EventBatch](), rounds is not None
    of_rounds = [] if rounds is None else [rounds.refusal]
    of_state = partial(refusal, log.state, log.in_force)
    for batch in events_of(opened, scorer, joined):
        if progress is not None and isinstance(items, Path):
            progress(opened.bytes_read, opened.size)
        heard, unheard = _admitted(batch.events, partial(lines.objection, closing))
        lines.reject(unheard)
        if bad == "reject":
            # which epoch a round is pinned to follows from all records
            admitted, rejects = _admitted(heard, of_state)
            lines.reject([*batch.rejects, *rejects])
            batches.append(attrs.evolve(batch, events=admitted))
            continue
        admitted, rejects = _admitted(heard, *of_rounds, of_state)
        refused += [*batch.rejects, *rejects]
        if not refused:
            lines.record(admitted, closing)
    if refused:
        raise RefusedError(name, sorted(refused, key=attrgetter("line")))
    defects = DefectLog(name)
    if rounds is not None and batches:
        rounds.pin(chain.from_iterable(batch.events for batch in batches))
    for batch in batches:
        defects.tell(batch.rejects)
        admitted, rejects = _admitted(batch.events, *of_rounds)
        lines.reject(rejects)
        lines.record(admitted, closing)
    defects.close()
    if joined is not None:
        joined.join.check_joined(name)
    rejected = tuple(reject for _, reject in sorted((lines.rejects or {}).items()))
    scored = tuple(batch.scored for batch in batches)
    return attrs.evolve(lines.ingested(), rejects=rejected, scored=scored)


def _admitted(
    lines: Iterable[Line], *checks: Callable[[int, StateEvent], Reject | None]
) -> tuple[list[Line], list[Reject]]:
    """Return the lines that no check rejects, and the first reject of each of the others."""
    admitted, rejects = list[Line](), list[Reject]()
    for line in lines:
        reject = next(filter(None, (check(*line) for check in checks)), None)
        if reject is None:
            admitted.append(line)
        else:
            rejects.append(reject)
    return admitted, rejects


def batch_statement(
    state: StoredState,
    path: Path,
    validator: str,
    groups: PathLike | None = None,
) -> Statement:
    """Return the statement that a validator signs so that others take its records and late events.

    Args:
        state: that of any validator of the network.
        path: a file of the validator's records and events, and of nobody else's.
        validator: its hotkey.
        groups: a file of the groups of the records, whose consensus is signed with them.

    Raises:
        InputError: a file cannot be read.
        RefusedError: lines of it are no records, events or groups, or contradict their group.
        StateError: the state has no trust file.
        TrustError: a line is of another validator, or there are too many.
    """
    from tallystick_state.trust import statement  # seldom

    in_force = state.in_force
    if in_force.root is None:
        raise nothing_to_sign()
    # a score is no part of the digest of an event, so that no snapshots of epochs are needed
    scorer, source = state.scorer, source_of(path)
    joined, digests = None, list[str]()
    if groups is not None:
        from tallystick_state.round_groups import groups_of

        with state.store.reading() as transaction:
            joined = groups_of(groups, scorer, transaction)
    for batch in events_of(source, scorer, joined):
        if batch.rejects:
            raise RefusedError(str(path), batch.rejects)
        for line, event in batch.events:
            if event.validator != validator:
                message = f"{path}:{line}: found an event of {event.validator!r}, expected those of"
                raise TrustError(f"{message} {validator!r} alone", code="other-validator")
            digests.append(event.claim_digest)
    return statement.events(
        genesis=in_force.genesis,
        network=in_force.root.network,
        validator=validator,
        digests=digests,
        file=path.name,
        # complete once all is read
        digest=source.digest,
    )


def refusal(state: State, in_force: RulesInForce, line: int, event: StateEvent) -> Reject | None:
    """Return the reject of an event that a state cannot take; past epochs are taken (E40)."""
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
    rules = in_force.of_type(event.skill_type, event.epoch)
    if rules is None:
        types = in_force.at(event.epoch).type_rules
        wanted = f"one of the rules of epoch {event.epoch}: {', '.join(types)}"
        return _reject(
            line, event, "unknown-skill-type", "skill_type", shown(event.skill_type), wanted
        )
    if event.epoch > state.epoch and not _takes_any_epoch(in_force, rules, state.epoch, event):
        wanted = f"at most {state.epoch}, the open epoch: close the epochs before it first"
        return _reject(line, event, "future-epoch", "epoch", str(event.epoch), wanted)
    unknown = _dropped(in_force, event)
    if unknown:
        wanted = f"events of {rules.rule_set.reference}, which epoch {event.epoch} has"
        return _reject(line, event, "unknown-event", "events", shown(min(unknown)), wanted)
    return None


def _dropped(in_force: RulesInForce, event: StateEvent) -> frozenset[str]:
    """Return the events of a record that the rules of its own epoch no longer have.

    A missed deadline is none of them: by it a record says that there is no submission.
    """
    if not in_force.changes:
        return frozenset()
    dropped = in_force.dropped_events(event.skill_type, event.epoch)
    return dropped.intersection(event.events) - {MISSED}


def _takes_any_epoch(
    in_force: RulesInForce, rules: StateRules, epoch: int, event: StateEvent
) -> bool:
    """Return whether rules take records of any epoch: they have none, and none are scheduled."""
    has_epochs = rules.rule_set.section(EPOCHS) is not None
    return not has_epochs and rules is in_force.of_type(event.skill_type, epoch)


def _reject(  # noqa: PLR0913, PLR0917  # the parts of a reject
    line: int, event: StateEvent, code: str, path: str, value: str, expected: str
) -> Reject:
    """Return the reject of an event, with its identity."""
    who = Identity(event.task_id, None, event.hotkey, event.validator)
    return Reject.of(RecordError(code, path, value, expected), line, who)


def _quarantine_reject(line: int, event: StateEvent, code: str, wanted: str) -> Reject:
    """Return the reject of a good line that is not recorded."""
    path, value = ("task_id", event.task_id) if event.id is None else ("id", event.id)
    if code == OVER:
        path, value = "validator", event.validator
    elif code == UNKNOWN:
        path, value = "task_id", event.task_id
    return _reject(line, event, code, path, shown(value), wanted)


def _groupless_claim(claims: Iterable[Claim]) -> int | None:
    """Return the claim without its group, if its only rival is the same record with its group."""
    rivals = [claim for claim in claims if claim.reason == CONFLICT]
    alone = [claim.seq for claim in rivals if claim.event.alignment is None]
    return alone[0] if len(rivals) == 2 and len(alone) == 1 else None


_ALONE = "the record with its group alone: drop the claim without, tallystick quarantine drop {}"
_WANTED = {
    CLOSED: "what was counted in an epoch that is closed, or a new identity",
    CONFLICT: "one thing that its validator says, or a new identity; all that differ wait",
    DROPPED: "something that the operator has not dropped",
    NOT_IN_BATCH: "an event that the signed batch lists, of the validator that signed it",
    OUTRANKED: "what the validator of this state says itself, or what its operator accepted",
    UNHEARD: "a validator that this state hears; it was named as the state began",
    OVER: "no more claims of a validator than the rule set allows; none of them is recorded",
    UNKNOWN: "a task that its validator has recorded in this state: the event waits for it",
    UNSIGNED: "a batch that its validator has signed: give it by --signed",
}
