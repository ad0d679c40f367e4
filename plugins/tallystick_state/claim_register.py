"""The register of claims: which are recorded and which wait, within one transaction.

What becomes of a claim depends on other claims; so each that comes, is dropped or is accepted can
move others. Everything that it can move is looked at once more, whole:

- all claims of its identity;
- the events that are about it, where events wait for their tasks;
- all claims of its validator and epoch, where a limit is passed, or no longer is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from tallystick_state.claims import DROPPED, UNKNOWN, Claim, Rank, contenders
from tallystick_state.event import StateEvent, scope_of
from tallystick_state.pruned import PrunedClaim
from tallystick_state.quotas import Quotas
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.sections.claims import claims_of
from tallystick_state.store.transaction import Transaction

_Groups = dict[bytes, list[Claim]]
"""Claims by their identity, or by what they are about."""


@attrs.frozen
class Sifted:
    """A batch of events, sorted into those that come, known ones and refused ones.

    Attributes:
        entries: indexes of the events that have an entry of the log, in its order; with the claim
            of one that is known, and comes with a higher rank than before, and None of a new one.
        duplicates: how many others are known.
        refused: indexes of those that are above a limit, and are not even kept.
        numbers: by index, the numbers of the claims of those entries, once they are written.
    """

    entries: Mapping[int, Claim | None]
    duplicates: int
    refused: Sequence[int]
    numbers: Mapping[int, int] = attrs.field(factory=dict)


@attrs.frozen
class Move:
    """A claim before and after; ``before`` is None for one that is new."""

    before: Claim | None
    after: Claim


class ClaimRegister:
    """The claims of a store, within one transaction."""

    def __init__(self, transaction: Transaction, in_force: RulesInForce) -> None:
        """Read nothing of the claims yet."""
        self._transaction, self._rows = transaction, transaction.claims
        self._in_force, self._quotas = in_force, Quotas(self._rows, in_force)
        self._waiting = any(
            claims_of(rules.rule_set).event_task == "recorded"
            for rules in in_force.rule_sets().values()
        )
        self._has_quarantine = self._rows.has_waiting()
        # until a batch is settled: its identities, and what is known of them
        self._sifted, self._known = frozenset[bytes](), dict[bytes, list[Claim]]()
        self._has_pruned = transaction.pruned() is not None

    def sift(self, events: Sequence[StateEvent], rank: Rank, epoch: int) -> Sifted:
        """Sort the events of a batch into new ones, known ones and those above a limit.

        Args:
            events: those that the state admits.
            rank: with which all of them come.
            epoch: the open one.
        """
        identities = [event.identity for event in events]
        self._sifted, self._known = frozenset(identities), self._claims_of(identities)
        gone = self._pruned_of(self._sifted)
        entries, duplicates = dict[int, Claim | None](), 0
        batch = defaultdict[bytes, list[StateEvent]](list)
        for index, (identity, event) in enumerate(zip(identities, events, strict=True)):
            claims = self._known.get(identity, ())
            before = next((claim for claim in claims if claim.event == event), None)
            pruned = gone.get(identity)
            if (
                event in batch[identity]
                or (before is not None and (rank <= before.rank or before.is_final(epoch)))
                or (pruned is not None and pruned == PrunedClaim.of(event))
            ):
                duplicates += 1
                continue
            batch[identity].append(event)
            entries[index] = before
        refused = self._quotas.admit(events, entries, rank)
        for index in refused:
            del entries[index]
        return Sifted(entries, duplicates, refused)

    def settle(self, claims: Sequence[Claim], epoch: int) -> list[Move]:
        """Decide about claims; return those of them, and of others, that are new or move.

        Args:
            claims: what `sift` found new or raised, or known ones with another rank or reason.
            epoch: the open one.
        """
        touched = {claim.identity for claim in claims}
        for scope in self._quotas.passed:
            touched |= {claim.identity for claim in self._rows.in_scope(scope_of(*scope))}
        stored = self._known | self._claims_of(touched - self._sifted)
        before = {claim.seq: claim for i in touched & stored.keys() for claim in stored[i]}
        records, alone = _groups((before | {claim.seq: claim for claim in claims}).values())
        after, epochs = self._decided(records, epoch, {}), dict[bytes, int | None]()
        if self._waiting:
            epochs |= {task: _epoch_of(group) for task, group in _groups(after)[0].items()}
            epochs |= {task: claim.epoch for task, claim in self._pruned_of(records).items()}
            more = self._waiting_for(epochs, before.values(), alone)
            before |= {claim.seq: claim for group in more.values() for claim in group}
            alone |= more
            tasks = {claim.event.task for group in alone.values() for claim in group}
            others = self._rows.of([*(tasks - epochs.keys())], waiting=False)
            epochs |= {claim.identity: claim.event.epoch for claim in others}
            pruned = self._pruned_of(tasks - epochs.keys())
            epochs |= {task: claim.epoch for task, claim in pruned.items()}
        after += self._decided(alone, epoch, epochs)
        moves = [Move(before.get(claim.seq), claim) for claim in after]
        moves = [move for move in moves if move.before != move.after]
        self._write(moves)
        return moves

    def drop(self, claims: Iterable[Claim], epoch: int) -> list[Move]:
        """Decide against claims in quarantine: they stay known, and count no more."""
        dropped = [attrs.evolve(claim, reason=DROPPED) for claim in claims]
        for claim in dropped:
            self._quotas.add(claim.event, claim.rank, -1)
        return self.settle(dropped, epoch)

    def accept(self, claims: Iterable[Claim], epoch: int) -> list[Move]:
        """Decide for claims in quarantine."""
        accepted = []
        for claim in claims:
            rank = max(claim.rank, Rank.ACCEPTED)
            self._quotas.add(claim.event, claim.rank, 0 if claim.reason == DROPPED else -1)
            self._quotas.add(claim.event, rank, 1)
            accepted.append(attrs.evolve(claim, rank=rank, reason=None))
        return self.settle(accepted, epoch)

    def _waiting_for(
        self, epochs: Mapping[bytes, int | None], before: Iterable[Claim], alone: Collection[bytes]
    ) -> _Groups:
        """Return the events that came alone about tasks that are recorded now, or are no more."""
        identities = set[bytes]()
        if self._has_quarantine:
            tasks = [task for task, epoch in epochs.items() if epoch is not None]
            identities |= {claim.identity for claim in self._rows.waiting_for(tasks)}
        for claim in before:
            event = claim.event
            if event.is_record and claim.reason is None and epochs.get(event.task) != event.epoch:
                identities |= {about.identity for about in self._rows.about(event)}
        return self._claims_of(identities.difference(alone))

    def _decided(
        self, groups: _Groups, epoch: int, epochs: Mapping[bytes, int | None]
    ) -> list[Claim]:
        """Return the claims of some identities, each with what becomes of it.

        Args:
            groups: by identity, all claims.
            epoch: the open one.
            epochs: by task, the epoch of the record that is recorded of it.
        """
        decided, closed = list[Claim](), self._pruned_of(groups)
        for identity, group in groups.items():
            over = {c.seq for c in group if self._quotas.is_over(c.event, c.rank)}
            for claim, lost in contenders(group, epoch, over, is_closed=identity in closed):
                event, reason = claim.event, lost
                is_sure = claim.rank >= Rank.ACCEPTED or claim.is_final(epoch)
                waits = reason is None and not is_sure and self._waits(event)
                if waits and epochs.get(event.task) != event.epoch:
                    reason = UNKNOWN
                counted_in = epoch if claim.counted_in is None else claim.counted_in
                after = reason, None if reason else counted_in
                # most come as what they are, and to make one anew takes long
                if after == (claim.reason, claim.counted_in):
                    decided.append(claim)
                else:
                    decided.append(attrs.evolve(claim, reason=after[0], counted_in=after[1]))
        return decided

    def _write(self, moves: Sequence[Move]) -> None:
        self._rows.forget([move.before for move in moves if move.before is not None])
        self._rows.put(move.after for move in moves)
        self._has_quarantine |= any(move.after.reason is not None for move in moves)
        self._quotas.write()
        self._sifted, self._known = frozenset(), {}

    def _claims_of(self, identities: Collection[bytes]) -> _Groups:
        groups: _Groups = defaultdict(list)
        for claim in self._rows.of([*identities], waiting=self._has_quarantine):
            groups[claim.identity].append(claim)
        return dict(groups)

    def _pruned_of(self, identities: Collection[bytes]) -> Mapping[bytes, PrunedClaim]:
        return self._transaction.pruned_claims(identities) if self._has_pruned else {}

    def _waits(self, event: StateEvent) -> bool:
        """Return whether an event waits for its task, by the rules of its own epoch."""
        if event.is_record or not self._waiting:
            return False
        rules = self._in_force.of_type(event.skill_type, event.epoch)
        return rules is not None and claims_of(rules.rule_set).event_task == "recorded"


def _groups(claims: Iterable[Claim]) -> tuple[_Groups, _Groups]:
    """Return claims by identity: the records, and the events that came alone."""
    records, alone = defaultdict[bytes, list[Claim]](list), defaultdict[bytes, list[Claim]](list)
    for claim in claims:
        (records if claim.event.is_record else alone)[claim.identity].append(claim)
    return dict(records), dict(alone)


def _epoch_of(group: Iterable[Claim]) -> int | None:
    """Return the epoch of the record that is recorded of a group, if one is."""
    return next((claim.event.epoch for claim in group if claim.reason is None), None)
