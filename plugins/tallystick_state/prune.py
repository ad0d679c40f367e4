"""Pruning: old records leave a store, and whatever is closed stays provable by its roots.

Records that a closed epoch before the point has counted are removed, but for those that something
still reads:

- windows look back on the last tasks of each miner, as of the point;
- groups rotate by the last rounds of each miner in each type;
- the weights of an epoch without a round are of the last closed round of each line, and of the
  averages of its rules;
- flags count until they are cleared, and alignments are judged with those of later rounds;
- claims in quarantine may be accepted.

Of each claim that is removed 52 bytes stay, by which it is known when it comes again. Snapshots,
leaves of epochs, and every entry that is no claim stay as they are. So a state that was pruned goes
on as one that was not, whatever comes late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import takewhile

import attrs

from tallystick.errors import DamagedError, StateError
from tallystick.json_values import json_object
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.carry import carried_names
from tallystick_state.claims import Claim
from tallystick_state.epoch_log import EpochLog
from tallystick_state.event import StateEvent
from tallystick_state.event_log import RANKS, EventLog
from tallystick_state.miners import FLAG
from tallystick_state.model import State
from tallystick_state.pruned import CODE, PrunedClaim, PrunedPoint
from tallystick_state.pruned_base import rows_digest, staying_rows
from tallystick_state.replay import replaying
from tallystick_state.round_scores import round_epoch
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.samples import read_by_windows
from tallystick_state.sections.groups import GROUPS
from tallystick_state.store.tables import CLAIM_COUNTS, CLAIMS, ENVELOPES, LOG
from tallystick_state.store.transaction import CARRIED, STATING, LogHead, Transaction, delete
from tallystick_state.stored_state import StoredState
from tallystick_state.weights import LineRecords, last_epoch_of

_CLAIMS = (*RANKS, CARRIED)
"""Kinds of the entries that can be removed."""
_COUNTED_IN = CLAIMS.names.index("counted_in")
_Waiting = tuple[tuple[int, int, str], ...]
_Counts = tuple[tuple[str, str], ...]


@json_object("epoch", "already", "entries", "events", "left", "bytes_before", "bytes_after")
@attrs.frozen
class Pruning:
    """The outcome of a pruning.

    Attributes:
        epoch: the first epoch whose records are whole.
        entries: how many entries of the log this call removed.
        events: how many events it removed.
        left: how many events of epochs before are left, as something reads them still.
        bytes_before: size of the store before, in bytes.
        bytes_after: after.
        already: whether the store was pruned so far already: then nothing has changed.
    """

    epoch: int
    entries: int
    events: int
    left: int
    bytes_before: int
    bytes_after: int
    already: bool = False


def prune(ledger: StoredState, before_epoch: int) -> Pruning:
    """Remove the records that closed epochs before one have counted, and that nothing reads.

    What is removed is replayed first, so that nothing is removed that does not follow from the log.

    Args:
        ledger: the state.
        before_epoch: the first epoch whose records stay whole; at most the last closed one.

    Raises:
        DamagedError: the store is damaged; nothing has changed.
        StateError: the epoch is not closed, or rules need all records; its ``code`` is ``pruned``.
        StoreError: the store cannot be written.
    """
    with ledger.store.writing() as transaction:
        bytes_before, in_force = transaction.connection.size(), ledger.in_force_of(transaction)
        state = EventLog(transaction, in_force).state
        done = _Pruner(ledger, transaction, in_force, state, before_epoch).prune()
    if not done.already:
        ledger.store.compact()
    with ledger.store.reading() as transaction:
        bytes_after = transaction.connection.size()
    return attrs.evolve(done, bytes_before=bytes_before, bytes_after=bytes_after)


@attrs.frozen
class _Pruner:
    """One pruning within its transaction."""

    ledger: StoredState
    transaction: Transaction
    in_force: RulesInForce
    state: State
    epoch: int

    def prune(self) -> Pruning:
        """Remove what can be; give the outcome, without sizes."""
        self._check_epoch()
        before = self.transaction.pruned()
        if before is not None and self.epoch <= before.epoch:
            return Pruning(before.epoch, 0, 0, self._left(before.epoch), 0, 0, already=True)
        for line in self.in_force.lines:
            for rules in self._rules_since(line):
                check_prunable(rules)
        # kept as they are made: the rows of these epochs can never be computed again
        log = EpochLog(self.transaction, self.in_force, keeps=True)
        last = log.leaves[self.epoch - 1]
        seq = log.closed[last.epoch].seq
        head, quarantine, counts = self._replayed(seq)
        claims, entries = self._remove(seq, self._needed(seq))
        removed = Counter({} if before is None else before.removed)
        removed.update(claim.counted_in for claim in claims if claim.counted_in is not None)
        named = {} if before is None else dict(before.named)
        last_round = -1 if before is None else before.last_round
        for claim in claims:
            line = self.in_force.line_of(claim.event.skill_type) or ""
            named[line] = max(claim.event.epoch, named.get(line, -1))
            last_round = max(claim.event.round, last_round)
        self.transaction.put_pruned(
            PrunedPoint(
                epoch=self.epoch,
                seq=seq,
                hash=head.hash,
                block=head.block,
                rows=rows_digest(staying_rows(self.transaction, self.epoch, seq)),
                removed=dict(removed),
                last_round=last_round,
                named=named,
                quarantine=quarantine,
                counts=counts,
            )
        )
        return Pruning(self.epoch, entries, len(claims), self._left(self.epoch), 0, 0)

    def _check_epoch(self) -> None:
        last = self.state.epoch - 1
        if not 0 < self.epoch <= last:
            expected = f"1 to {last}: the last closed one stays whole, as its weights may be unsent"
            if last < 1:
                expected = "none: too few epochs are closed"
            raise StateError(f"found the epoch {self.epoch}, expected {expected}", code=CODE)

    def _rules_since(self, line: str) -> Iterator[StateRules]:
        """Yield the rules of a line that hold in the epoch or later."""
        return (rules for _, rules in self.in_force.lines[line].since(self.epoch))

    def _replayed(self, seq: int) -> tuple[LogHead, _Waiting, _Counts]:
        """Return the head as of an entry, and what waited and was counted, by a replay.

        Raises:
            DamagedError: the log does not lead to the snapshots that are stored.
        """
        with replaying(self.ledger, self.transaction, seq) as log:
            replayed, epochs = log.transaction, range(log.state.epoch + 1)
            other = (e for e in epochs if self.transaction.snapshot(e) != replayed.snapshot(e))
            if (epoch := next(other, None)) is not None or self.epoch not in epochs:
                raise DamagedError(
                    f"found another snapshot of the epoch {epoch} than that to which the log up to "
                    f"entry {seq} leads: restore a copy"
                )
            quarantine = tuple(
                (claim.seq, int(claim.rank), str(claim.reason))
                for claim in replayed.claims.waiting()
            )
            counts = tuple((scope.hex(), body) for scope, _, body in replayed.rows(CLAIM_COUNTS))
            return log.head, quarantine, counts

    def _needed(self, seq: int) -> frozenset[bytes]:
        """Return the identities of records that something reads still."""
        needed = set[bytes]()
        last = self.epoch - 1
        # whoever began anew: epochs that are closed since may read what was before
        after = State(last, {}, {})
        for line in self.in_force.lines:
            records = LineRecords(
                self.transaction, self.in_force, line, lambda _: None, last, after, before=seq + 1
            )
            for rules in self._rules_since(line):
                needed.update(self._of_windows(records, rules))
                needed.update(self._of_roles(rules))
            needed.update(self._of_last_rounds(records))
            needed.update(self._of_averages(records))
        return frozenset(needed)

    def _of_windows(self, records: LineRecords, rules: StateRules) -> Iterator[bytes]:
        allocation = rules.rule_set.section(ALLOCATION)
        if allocation is None:
            return
        for hotkey in self.state.miners:
            read = read_by_windows(allocation, records.newest(hotkey))
            yield from (event.identity for _, event in read)

    def _of_roles(self, rules: StateRules) -> Iterator[bytes]:
        groups = rules.rule_set.section(GROUPS)
        if groups is None or not groups.rotation.enabled:
            return
        for hotkey in self.state.miners:
            records = self.transaction.scored(hotkey, self.epoch - 1)
            rounds: dict[str, set[int]] = {}
            for event in records:
                seen = rounds.setdefault(event.skill_type, set())
                is_new = event.round not in seen
                if event.role is None or (is_new and len(seen) >= groups.rotation.auditor_rounds):
                    continue
                seen.add(event.round)
                yield event.identity

    def _of_last_rounds(self, records: LineRecords) -> Iterator[bytes]:
        """Yield the records of the last closed round of a line, and of all rounds after it."""
        for number, *_ in self.transaction.recorded_rounds(records.last_round or 0):
            events = self.transaction.events_of_round(number, records.epoch)
            yield from (event.identity for event in records.own(events))

    def _of_averages(self, records: LineRecords) -> Iterator[bytes]:
        """Yield the events of the last epoch of rules that hold no more, and still weigh a line.

        So they do where the line has had no closed round since.
        """
        pinned, timeline = round_epoch(records.of_last_round), records.timeline
        if pinned is None:
            return
        ended = last_epoch_of(timeline, timeline.at(pinned), self.epoch)
        if ended is not None and ended < self.epoch and carried_names(timeline.at(ended)):
            yield from (event.identity for event in self.transaction.events(ended))

    def _remove(self, seq: int, needed: Collection[bytes]) -> tuple[list[Claim], int]:
        """Remove what can go; return the claims, and how many entries of the log."""
        earlier = self.transaction.claims.where("counted_in < ?", (self.epoch,))
        claims = [claim for claim in earlier if not _is_needed(claim.event, needed)]
        indexed = {row[0] for row in self.transaction.rows(CLAIMS)}
        log = takewhile(lambda entry: entry.seq <= seq, self.transaction.entries())
        # what is not indexed raised a claim that an earlier entry has
        raised = [e.seq for e in log if e.kind in _CLAIMS and e.seq not in indexed]
        entries = [*raised, *(claim.seq for claim in claims)]
        self.transaction.put_pruned_claims(PrunedClaim.of(claim.event) for claim in claims)
        self.transaction.claims.forget(claims)
        connection = self.transaction.connection
        delete(connection, LOG, entries)
        delete(connection, ENVELOPES, sorted(self._batches_before(seq)))
        return claims, len(entries)

    def _batches_before(self, seq: int) -> set[str]:
        """Return the signed statements that batches up to an entry alone name."""
        before, others = set[str](), set[str]()
        for kind in STATING:
            for number, statement in self.transaction.statements(kind):
                is_old = kind == "batch" and number <= seq
                (before if is_old else others).add(statement)
        return before - others

    def _left(self, epoch: int) -> int:
        counted_in = (row[_COUNTED_IN] for row in self.transaction.rows(CLAIMS))
        return sum(number is not None and number < epoch for number in counted_in)


def check_prunable(rules: StateRules) -> None:
    """Refuse rules that may read any record of before.

    Raises:
        StateError: they may; its ``code`` is ``pruned``.
    """
    allocation, name = rules.rule_set.section(ALLOCATION), rules.rule_set.reference
    windows = [
        step
        for step in (() if allocation is None else allocation.collects)
        if step.records == "window"
    ]
    for step in windows:
        if step.last is None:
            reason = "collects every record of a miner, without last"
        elif allocation is not None and allocation.groups:
            reason = "counts the tasks of each group on their own, which reads every record"
        elif carried_names(rules):
            reason = "moves an average, by windows that end with the round of any late record"
        else:
            continue
        raise StateError(
            f"found the step {step.name} of {name}, which {reason}, expected windows of the last "
            "tasks alone: records under these rules cannot be pruned",
            code=CODE,
        )


def _is_needed(event: StateEvent, needed: Collection[bytes]) -> bool:
    is_judged_later = event.alignment is not None or FLAG in event.events
    return is_judged_later or event.identity in needed
