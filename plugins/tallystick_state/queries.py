"""Queries: answers about a state as it is at one instant.

The answers are the operator's; what a miner may be told of them is said by `visibility`. Nothing
here tells of a task of anyone (docs/sources.md, Visibility).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import islice
from operator import attrgetter

from tallystick.canonical import digest
from tallystick.errors import StateError, StoreError
from tallystick.numbers.nano import from_decimal, to_decimal, to_decimals, to_text
from tallystick.numbers.text import numbered
from tallystick.records.messages import shown
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.files import RoundFile
from tallystick_allocation.recipients import by_slot
from tallystick_allocation.rules import ALLOCATION
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.memory import Average
from tallystick_state.answers import (
    ClaimInfo,
    ClosedRound,
    EpochInfo,
    MinerInfo,
    Movement,
    Profile,
    Recent,
    RecordScore,
    Rerun,
    RoundInfo,
    SnapshotInfo,
    StateInfo,
)
from tallystick_state.attributes import NO_ATTRIBUTES, closed_attributes
from tallystick_state.carry import carried_names
from tallystick_state.claims import DROPPED
from tallystick_state.event import NUMBER_LIMIT, StateEvent, events_digest
from tallystick_state.groups import is_ejected
from tallystick_state.leaderboard import (
    Standing,
    leaderboard,
    ranks,
    rounds_dispatched,
    window_of,
)
from tallystick_state.miners import miner_of, pinned_reputation
from tallystick_state.model import Snapshot, State, unstructure
from tallystick_state.pruned import PrunedPoint
from tallystick_state.round_scores import round_epoch, round_scores
from tallystick_state.rules import EpochRules, StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.store.transaction import LogHead, Transaction
from tallystick_state.weights import (
    LineRecords,
    LineWeights,
    Weights,
    pooled,
)


class StateQueries:
    """Questions to one transaction.

    Attributes:
        transaction: what is read.
        in_force: the rules of the state.
    """

    def __init__(self, transaction: Transaction, in_force: RulesInForce) -> None:
        """Ask nothing yet."""
        self.transaction, self.in_force = transaction, in_force
        self._states: dict[int, State | None] = {}

    def __repr__(self) -> str:
        return f"<StateQueries of {' and '.join(self.in_force.lines)}>"

    @cached_property
    def head(self) -> LogHead:
        """The end of the log, with the live state."""
        head = self.transaction.head()
        if head is None:
            raise StoreError("found a store without a state, expected one: restore a copy")
        return head

    @property
    def state(self) -> State:
        """The live state."""
        return self.head.state

    @property
    def rules(self) -> EpochRules:
        """The rules of the open epoch."""
        return self.in_force.at(self.state.epoch)

    def digest(self) -> str:
        """Return the digest of the state: of the last snapshot, the miners and the open events.

        It is free of the order in which records came, of batches, and of times.
        """
        epoch = self.state.epoch
        return digest(
            {
                "evidence": events_digest(self.transaction.event_lines(epoch)),
                "snapshot": self._snapshot(epoch).digest,
                "state": unstructure(self.state),
            }
        )

    def rules_digest(self) -> str:
        """Return the digest of the rules in force and scheduled, which `digest` does not cover."""
        return self.in_force.digest_from(self.state.epoch)

    def pinned(self, epoch: int) -> State | None:
        """Return the state at the start of an epoch; None for one that has not begun."""
        if epoch not in self._states:
            self._states[epoch] = self.transaction.state(epoch)
        return self._states[epoch]

    def round_scores(self, number: int, line: str | None = None) -> dict[str, Decimal]:
        """Return the scores of a round by hotkey, by the rules of the epoch it is pinned to.

        Args:
            number: of the round.
            line: whose rules; by default those of the only line.

        Raises:
            StateError: the state has no such line, or several where none is named.
        """
        name = self.named_line(line)
        return self.scores_of_lines(number)[name]

    def scores_of_lines(self, number: int) -> dict[str, dict[str, Decimal]]:
        """Return the scores of a round by line; see `round_scores`."""
        self._check_round(number)
        return self._scores_of_lines(self.transaction.events_of_round(number))

    def _scores_of_lines(self, events: Iterable[StateEvent]) -> dict[str, dict[str, Decimal]]:
        """Return the scores of the events of a round by line."""
        by_line = defaultdict[str | None, list[StateEvent]](list)
        for event in events:
            by_line[self.in_force.line_of(event.skill_type)].append(event)
        return {line: self._round_scores(line, by_line[line]) for line in self.in_force.lines}

    def reruns(self, number: int) -> list[Rerun]:
        """Return the submissions of a round that are to be run again, in their order."""
        self._check_round(number)
        events = self.transaction.events_of_round(number)
        reruns = (Rerun.of(event) for event in events if event.rerun)
        return sorted(reruns, key=attrgetter("skill_type", "task_id", "validator", "hotkey"))

    def snapshot_digest(self, epoch: int) -> str:
        """Return the digest of the snapshot of an epoch.

        Raises:
            StateError: it has not begun.
        """
        return self._snapshot(epoch).digest

    def known(self, identities: Collection[bytes]) -> frozenset[bytes]:
        """Return which of some records and events the state has, also pruned ones.

        Args:
            identities: of `StateEvent.identity`, 32 bytes each.
        """
        several = frozenset(identities)
        pruned = self.transaction.pruned_claims(several)
        return self.transaction.claims.known(several) | pruned.keys()

    def recorded(self, number: int) -> frozenset[str]:
        """Return the digests of the records of a round that are recorded."""
        self._check_round(number)
        events = self.transaction.events_of_round(number)
        return frozenset(event.record for event in events if event.record is not None)

    def profile(self, hotkey: str, at: datetime | None = None) -> Profile:
        """Return a miner, whole.

        Args:
            hotkey: of the miner.
            at: the end of the hours over which dispatches are counted; by default the latest
                recorded round.

        Raises:
            StateError: there is no such miner.
        """
        miner, times, rules = miner_of(self.state, hotkey), self._times(), self.rules.watching()
        last = -1 if self.pruned is None else self.pruned.last_round
        # the pruned rounds, of those between two with a time the first
        gone = [number for number in (*times, last) if 0 <= number <= last]
        dispatched = self.transaction.dispatched(hotkey)
        return Profile(
            hotkey=hotkey,
            epoch=self.state.epoch,
            reputation=MinerInfo.of(miner).reputation,
            rank={name: self._rank(hotkey, name) for name in miner.types},
            # nobody knows who had a record in a round that is pruned
            rounds=None
            if rounds_dispatched(gone, times, at, rules)
            else rounds_dispatched(dispatched, times, at, rules),
            counted="all" if window_of(times, rules) is None else "hours",
        )

    def recent(self, hotkey: str) -> Recent:
        """Return what a miner is paid now, its newest scores, and what moved its reputations.

        Raises:
            StateError: there is no such miner.
        """
        miner, shared = miner_of(self.state, hotkey), self.shared_weights()
        by_line = {ALL_LINES: shared} if shared is not None else {}
        by_line = by_line or {line: self.weights(line=line) for line in self.in_force.lines}
        weights, reasons = dict[str, Decimal | None](), dict[str, str]()
        for line, chosen in by_line.items():
            paid = dict(zip(chosen.uids, chosen.weights, strict=True))
            weights[line] = None if miner.uid is None else paid.get(miner.uid)
            if reason := chosen.reason_of(hotkey, miner.uid):
                reasons[line] = reason
        newest = islice(self.transaction.scored(hotkey), MOST_SCORES)
        scores = tuple(map(RecordScore.of, newest))
        return Recent(miner.uid, weights, reasons, scores, tuple(self._movements(hotkey)))

    def _movements(self, hotkey: str) -> Iterator[Movement]:
        """Yield by skill type what the last closed epoch counts of a miner."""
        epoch = self.state.epoch - 1
        counted = [] if epoch < 0 else self.transaction.counted(hotkey, epoch)
        if not counted:
            return
        states = [self._snapshot(number).state for number in (epoch, epoch + 1)]
        for skill_type in sorted({event.skill_type for event in counted}):
            # a late event may be of a type that the rules of the epoch have no more
            rules = self.in_force.at(epoch).type_rules.get(skill_type)
            if rules is None or rules.rule_set.section(REPUTATION) is None:
                continue
            own = [event for event in counted if event.skill_type == skill_type]
            names = Counter(name for event in own for name in event.events)
            before, after = (pinned_reputation(s, rules, hotkey, skill_type) for s in states)
            yield Movement(
                skill_type,
                to_decimal(before),
                to_decimal(after),
                sum(event.is_record for event in own),
                {name: names[name] for name in sorted(names) if name in rules.reputation.events},
            )

    def miner(self, hotkey: str) -> MinerInfo:
        """Return a miner.

        Raises:
            StateError: there is none with the hotkey.
        """
        return MinerInfo.of(miner_of(self.state, hotkey))

    def board(self, skill_type: str) -> list[Standing]:
        """Return the leaderboard of a skill type.

        Raises:
            StateError: the rule set has no such type.
        """
        return leaderboard(self.state, skill_type, self.rules.of_type(skill_type))

    def weights(self, immune: Collection[str] = (), line: str | None = None) -> Weights:
        """Return the weights of the miners that have a slot.

        They are what the allocation of the rules makes of the records; what reads the records of
        one round reads those of the last closed one, of several lines the last that has records of
        the line.

        Args:
            immune: hotkeys of miners that the chain still protects, which warm up.
            line: whose rules give them; by default those of the only line.

        Raises:
            StateError: one of them is no miner; or the state has no such line, or several where
                none is named.
        """
        return self.chosen(self.line_weights(self.named_line(line), immune))

    def chosen(self, weighed: LineWeights) -> Weights:
        """Return the weights of a line as the chain takes them, with what `line_weights` gave."""
        slots, allocation = self.state.slots, weighed.allocation
        reason = weighed.refused or lost_at(allocation)
        reason = reason or no_weights(self.state, weighed.rules, weighed.round)
        notes = () if allocation is None else allocation.notes
        return Weights.of(weighed.weights, slots, self._without(weighed), reason, notes)

    def shared_weights(self, lines: Mapping[str, LineWeights] | None = None) -> Weights | None:
        """Return the weights of all lines by the pools of the open epoch; None without pools.

        Args:
            lines: what `line_weights` gave of every line; by default without immune miners.
        """
        pools = self.in_force.pools.at(self.state.epoch)
        if pools is None:
            return None
        of_lines = lines or {line: self.line_weights(line) for line in self.in_force.lines}
        slots = self.state.slots
        weights = pooled(pools, {line: own.weights for line, own in of_lines.items()}, slots)
        paid = by_slot(weights, slots)[0]
        lacking = sorted(hotkey for hotkey, uid in slots.items() if uid not in paid)
        without = dict.fromkeys(lacking, NO_LINE)
        return Weights.of(weights, slots, without, "no line has a weight")

    def line_weights(
        self, line: str, immune: Collection[str] = (), attributes: RoundFile | None = None
    ) -> LineWeights:
        """Return the weights of a line with every column that they come of.

        Args:
            line: whose rules give them.
            immune: as for `weights`.
            attributes: what the rules ask of miners and of the rounds so far beside the records; by
                default what the last epoch was closed with, unless the open one has records.

        Raises:
            StateError: one of them is no miner.
        """
        for hotkey in immune:
            miner_of(self.state, hotkey)
        return self._records(line, attributes).weighed(immune)

    def quarantine(
        self,
        validator: str | None = None,
        number: int | None = None,
        reasons: Collection[str] = (),
    ) -> Iterator[ClaimInfo]:
        """Yield the claims that are not recorded, in the order in which they came.

        Args:
            validator: only those of this one.
            number: only those about this round.
            reasons: only those that are there for one of these; by default all but what the
                operator has dropped.
        """
        for claim in self.transaction.claims.waiting():
            wanted = claim.reason in reasons if reasons else claim.reason != DROPPED
            of_validator = validator in {None, claim.event.validator}
            if claim.reason and wanted and of_validator and number in {None, claim.event.round}:
                yield ClaimInfo.of(claim, claim.reason)

    def no_candidates(self, skill_type: str) -> str:
        """Return the reason why no group of a type, and no leaderboard, has anyone."""
        return no_candidates(self.state, skill_type, self.rules.of_type(skill_type))

    def info(self) -> StateInfo:
        """Return the state at a glance."""
        head, newest = self.head, self.transaction.newest_rounds(1)
        miners = head.state.miners.values()
        return StateInfo(
            epoch=head.epoch,
            snapshot=self._snapshot(head.epoch).digest,
            miners=len(miners),
            slots=sum(miner.uid is not None for miner in miners),
            records_round=newest[0] if newest else None,
            closed_rounds=len(self.transaction.rounds()),
            open_events=self.transaction.counted_events().get(head.epoch, 0),
            entries=head.entries,
            hash=head.hash,
            quarantine=sum(
                claims
                for reason, claims in self.transaction.claims.reasons().items()
                if reason != DROPPED
            ),
        )

    def miners(self) -> list[MinerInfo]:
        """Return the miners: those with a slot by their slots, then the others by hotkey."""
        miners = map(MinerInfo.of, self.state.miners.values())
        return sorted(miners, key=lambda each: (each.uid is None, each.uid or 0, each.hotkey))

    def rounds(self, last: int | None = None) -> list[RoundInfo]:
        """Return the rounds with records, in their order: the ``last`` ones, or all."""
        if last is None:
            return self._rounds()
        newest = self.transaction.newest_rounds(last)
        return self._rounds(newest[-1]) if newest else []

    def round(self, number: int) -> RoundInfo:
        """Return one round.

        Raises:
            StateError: it has no records.
        """
        self._check_round(number)
        rounds = self._rounds(number, number)
        if rounds:
            return rounds[0]
        every = self._rounds()
        others = f"some from {every[0].round} to {every[-1].round}" if every else "none has so far"
        raise StateError(f"found no record of round {number}, expected a round that has: {others}")

    def closed_round(self, number: int, named: int) -> ClosedRound:
        """Return a round that a file has closed, in which its records name an epoch."""
        events = [*self.transaction.events_of_round(number)]
        records = [event for event in events if event.is_record]
        # of a pruned round what came late is recorded; the scores need the records before it
        is_pruned = self._is_pruned(number)
        epoch = None if is_pruned else round_epoch(records)
        none = dict[str, dict[str, Decimal]]((line, {}) for line in self.in_force.lines)
        return ClosedRound(
            number,
            named if epoch is None else epoch,
            none if is_pruned else self._scores_of_lines(events),
            records=len(records),
            miners=len({record.hotkey for record in records}),
            late=sum(record.missed for record in records),
            reruns=sum(bool(record.rerun) for record in records),
        )

    def round_epoch(self, number: int) -> int | None:
        """Return the epoch that a round is pinned to; None without records."""
        rounds = self.transaction.recorded_rounds(number, number)
        return rounds[0][-1] if rounds else None

    @cached_property
    def pruned(self) -> PrunedPoint | None:
        """The point up to which records were pruned; None where none were."""
        return self.transaction.pruned()

    def _is_pruned(self, number: int) -> bool:
        return self.pruned is not None and number <= self.pruned.last_round

    def _check_round(self, number: int) -> None:
        if self.pruned is not None:
            self.pruned.check_round(number)

    def _rounds(self, first: int = 0, last: int = NUMBER_LIMIT) -> list[RoundInfo]:
        closed = self.transaction.rounds()
        if self.pruned is not None:
            first = max(first, self.pruned.last_round + 1)
        return [
            RoundInfo(number, epoch, number in closed, closed.get(number), records, miners)
            for number, records, miners, epoch in self.transaction.recorded_rounds(first, last)
        ]

    def epochs(self, last: int | None = None) -> list[EpochInfo]:
        """Return the epochs that have begun, in their order: the ``last`` ones, or all."""
        begun = range(self.state.epoch + 1)
        # each has a snapshot to read
        return self._epochs(begun if last is None else begun[-last:])

    def epoch(self, number: int) -> EpochInfo:
        """Return one epoch.

        Raises:
            StateError: it has not begun.
        """
        if not 0 <= number <= self.state.epoch:
            raise StateError(
                f"found the epoch {number}, expected 0 to {self.state.epoch}, the open one"
            )
        (info,) = self._epochs([number])
        return info

    def _epochs(self, numbers: Iterable[int]) -> list[EpochInfo]:
        times = {}
        for body in (entry.body for entry in self.transaction.of_kind("epoch")):
            entry = json.loads(body)
            times[entry["epoch"]] = entry["at"]
        counts, current = self.transaction.counted_events(), self.state.epoch
        return [
            EpochInfo(
                n,
                n == current,
                times.get(n),
                counts.get(n, 0),
                SnapshotInfo.of(self._snapshot(n)),
            )
            for n in numbers
        ]

    def _rank(self, hotkey: str, skill_type: str) -> int | None:
        rules = self.rules.type_rules.get(skill_type)
        if rules is None or rules.rule_set.section(GROUPS) is None:
            return None
        return ranks(self.state, skill_type, rules).get(hotkey)

    def named_line(self, line: str | None) -> str:
        """Return the name of a line, or of the only one.

        Raises:
            StateError: the state has no such line, or several where none is named.
        """
        name = self.rules.only().line if line is None else line
        if name not in self.in_force.lines:
            lines = ", ".join(self.in_force.lines)
            raise StateError(
                f"found the line {shown(name)}, expected one of {lines}", code="other-line"
            )
        return name

    def _round_scores(self, line: str, events: Sequence[StateEvent]) -> dict[str, Decimal]:
        """Return the scores of the events of a line in one round."""
        epoch = round_epoch(events)
        if epoch is None:
            return {}
        records = self._records(line)
        return to_decimals(round_scores(events, records.timeline.at(epoch), records.pins))

    def weighing(self, line: str) -> StateRules:
        """Return the rules of the weights of a line: those of its last closed round's epoch."""
        return self._records(line).rules

    def _records(self, line: str, attributes: RoundFile | None = None) -> LineRecords:
        transaction, in_force, state = self.transaction, self.in_force, self.state
        if attributes is None:
            attributes = closed_attributes(transaction, in_force, line, state.epoch - 1)
            events = transaction.events(state.epoch) if attributes else ()
            # the rounds so far are others than those that it was said of
            if any(in_force.line_of(event.skill_type) == line for event in events):
                attributes = NO_ATTRIBUTES
        return LineRecords(
            transaction, in_force, line, self.pinned, state.epoch, state, attributes=attributes
        )

    def _without(self, weights: LineWeights) -> dict[str, str]:
        """Return by hotkey the reason why a miner with a slot has no weight."""
        if weights.refused:
            return dict.fromkeys(sorted(self.state.slots), REFUSED)
        why = {} if weights.allocation is None else weights.allocation.without
        lacking = [hotkey for hotkey in self.state.slots if not weights.weights.get(hotkey)]
        return {hotkey: why.get(hotkey, NO_RECORD) for hotkey in sorted(lacking)}

    def _snapshot(self, epoch: int) -> Snapshot:
        snapshot = self.transaction.snapshot(epoch)
        if snapshot is None:
            raise StateError(f"found no snapshot of the epoch {epoch}, expected 0 to the open one")
        return snapshot

    def _times(self) -> dict[int, datetime]:
        rounds = self.transaction.rounds().items()
        return {number: datetime.fromisoformat(at) for number, at in rounds if at is not None}


_CLOSE = "close rounds with tallystick round close"
_REGISTER = "register miners with tallystick miner register or miner sync"
NO_MINERS = f"no miner is registered: {_REGISTER}"
"""Reason of a state without miners."""
NO_RECORD = "no record in the round"
"""Reason of no weight under rules that weigh the records of one round alone."""
REFUSED = "the rules refuse what they are given"
"""Reason of no weight where a step refuses the round."""
ALL_LINES = "all lines"
"""Name of the weights of a state whose lines share all."""
MOST_SCORES = 5
"""Number of newest records whose scores are told."""
NO_LINE = "no weight in any line"
"""Reason of no weight in a state whose lines share all."""
NO_ROUNDS = "no record is recorded yet: record some with tallystick round close"
"""Reason of a state without rounds."""


def without_command(reason: str) -> str:
    """Return a reason without the command that a daemon's operator does not run."""
    return reason.removesuffix(f": {_CLOSE}").removesuffix(f": {_REGISTER}")


def no_candidates(state: State, skill_type: str, rules: StateRules) -> str:
    """Return the reason why no miner can be selected for a type."""
    declared = [miner for miner in state.miners.values() if skill_type in miner.types]
    if not declared:
        return f"no miner declares {skill_type}: {_REGISTER}"
    left = {
        "without a slot": [miner for miner in declared if miner.uid is None],
        "ejected by collusion flags": [
            miner for miner in declared if miner.uid is not None and is_ejected(rules, miner)
        ],
    }
    others = len(declared) - sum(map(len, left.values()))
    parts = [f"{len(miners)} {why}" for why, miners in left.items() if miners]
    if others:
        minimum = to_text(from_decimal(rules.groups.minimum_reputation))
        parts.append(f"{others} below the minimum reputation {minimum}")
    return f"{numbered(len(declared), 'miner')} of {skill_type}: {', '.join(parts)}"


def lost_at(allocation: Allocation | None) -> str:
    """Return the step at which most miners lost what they had; empty where they had nothing."""
    lost = Counter(() if allocation is None else allocation.without.values())
    if allocation is None or not lost:
        return ""
    ((why, miners),) = lost.most_common(1)
    rules = allocation.bound.step(why.partition(":")[0]).rules
    return "" if isinstance(rules, Collect | Average) else f"{why} ({numbered(miners, 'miner')})"


def no_weights(state: State, rules: StateRules, last_round: int | None) -> str:
    """Return the reason why no miner has a weight.

    Args:
        state: the live state.
        rules: its rules.
        last_round: the last closed round; None when none is.
    """
    if not state.miners:
        return NO_MINERS
    if all(miner.uid is None for miner in state.miners.values()):
        return f"no miner holds a slot: {_REGISTER}"
    allocation = rules.rule_set.section(ALLOCATION)
    if allocation is None:
        return (
            f"{rules.rule_set.reference} has no [allocation]: it scores records, and weighs nobody"
        )
    if any(step.records == "window" for step in allocation.collects):
        return f"no miner with a slot has a score above 0 in its window: {_CLOSE}"
    if carried_names(rules):
        return f"no miner with a slot has a score above 0 in any round: {_CLOSE}"
    if last_round is None:
        return f"no round is closed yet: {_CLOSE}"
    return f"no miner with a slot has a score above 0 in round {last_round}, the last closed one"
