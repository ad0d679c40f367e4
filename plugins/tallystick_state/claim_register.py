"""The register of claims: which are recorded and which wait, within one transaction.

What becomes of a claim depends on other claims; so each that comes, is dropped or is accepted can
move others. Everything that it can move is looked at once more, whole:

- all claims of its identity;
- the events that are about it, where events wait for their tasks;
- all claims of its validator and epoch, where a limit is passed, or no longer is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import attrs

from tallystick_state.claims import (
    DROPPED,
    UNKNOWN,
    Claim,
    Rank,
    contenders,
    exceeded,
    has_limits,
    is_over,
    united,
)
from tallystick_state.event import StateEvent, scope_of
from tallystick_state.pruned import PrunedClaim
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.sections.claims import Claims as Limits
from tallystick_state.sections.claims import claims_of
from tallystick_state.store.transaction import Transaction

Numbered = tuple[int, StateEvent, bytes]
"""The number of an entry in the log, its event, and the identity of that, which takes long."""
_Scope = tuple[str, int]
"""A validator, and the epoch that claims of it are pinned to."""
_Groups = dict[bytes, list[Claim]]
"""Claims by their identity, or by what they are about."""
_NONE: Mapping[bytes, Claim] = MappingProxyType({})
# the reason, for a moment, of a claim about which is to decide
_UNDECIDED = "anew"


@attrs.frozen
class Sifted:
    """A batch of events, sorted into new, raised, known and refused; named by their indexes.

    Attributes:
        identities: of all events of the batch.
        new: those that nobody claimed before.
        raised: claims that are known, and come with a higher rank than before.
        duplicates: how many others are known.
        refused: those that are above a limit, and are not even kept.
    """

    identities: Sequence[bytes]
    new: tuple[int, ...]
    raised: Mapping[int, Claim]
    duplicates: int
    refused: tuple[int, ...]

    @property
    def entries(self) -> list[int]:
        """The events that have an entry of the log, in its order: new and raised ones."""
        return sorted([*self.new, *self.raised])


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
        self._in_force, self._limits_of = in_force, dict[int, Limits]()
        limits = [claims_of(rules.rule_set) for rules in in_force.rule_sets().values()]
        self._counting = any(map(has_limits, limits))
        self._waiting = any(limit.event_task == "recorded" for limit in limits)
        self._has_quarantine = self._rows.has_waiting()
        self._counts: dict[_Scope, Counter[tuple[int, int]]] = {}
        self._over: dict[_Scope, frozenset[tuple[Rank, int]]] = {}
        # until a batch is settled: what is known of its identities, also of pruned claims, whose
        # counts have changed, and whose claims are above a limit now, or no longer
        self._known: _Groups = {}
        self._pruned: Mapping[bytes, PrunedClaim] = {}
        self._changed, self._passed = set[_Scope](), set[_Scope]()
        self._has_pruned = transaction.pruned() is not None

    def sift(self, events: Sequence[StateEvent], rank: Rank, epoch: int) -> Sifted:
        """Sort the events of a batch into new ones, known ones and those above a limit.

        Args:
            events: those that the state admits.
            rank: with which all of them come.
            epoch: the open one.
        """
        identities = [event.identity for event in events]
        self._known, self._pruned = self._claims_of(identities), self._pruned_of(identities)
        new, raised, duplicates = list[int](), dict[int, Claim](), 0
        seen: dict[bytes, list[StateEvent]] = {}
        for index, (identity, event) in enumerate(zip(identities, events, strict=True)):
            if identity in self._pruned and self._pruned[identity] == PrunedClaim.of(event):
                duplicates += 1
                continue
            if identity not in seen and identity not in self._known:
                # nearly all
                seen[identity] = [event]
                new.append(index)
                continue
            claims = self._known.get(identity, ())
            before = next((earlier for earlier in claims if earlier.event == event), None)
            same = seen.setdefault(identity, [])
            stays = before is not None and (rank <= before.rank or before.is_final(epoch))
            if stays or event in same:
                duplicates += 1
                continue
            same.append(event)
            if before is None:
                new.append(index)
            else:
                raised[index] = before
        refused = self._count(events, new, raised, rank) if self._counting else set[int]()
        return Sifted(
            identities,
            tuple(index for index in new if index not in refused),
            {index: claim for index, claim in raised.items() if index not in refused},
            duplicates,
            tuple(sorted(refused)),
        )

    def settle(
        self, new: Sequence[Numbered], raised: Iterable[Claim], rank: Rank, epoch: int
    ) -> list[Move]:
        """Decide about the claims that `sift` found new or raised; return all that are new or move.

        Args:
            new: the new ones.
            raised: those that were known with a lower rank.
            rank: with which all of them came.
            epoch: the open one.
        """
        drafts = [attrs.evolve(claim, rank=rank, reason=_UNDECIDED) for claim in raised]
        times = Counter(identity for _, _, identity in new)
        sure = dict[bytes, Claim]()
        for seq, event, identity in new:
            known = identity in self._known or identity in self._pruned
            alone = times[identity] == 1 and not known
            ready = rank >= Rank.ACCEPTED or not self._waits(event)
            calm = not self._counting or not self._over_of((event.validator, event.epoch))
            if alone and ready and calm:
                sure[identity] = Claim(seq, event, rank, None, epoch)
            else:
                drafts.append(Claim(seq, event, rank, _UNDECIDED))
        return self._decide(drafts, epoch, sure)

    def drop(self, claims: Iterable[Claim], epoch: int) -> list[Move]:
        """Decide against claims in quarantine: they stay known, and count no more."""
        dropped = [attrs.evolve(claim, reason=DROPPED) for claim in claims]
        for claim in dropped:
            self._add(claim.event, claim.rank, -1)
        return self._decide(dropped, epoch)

    def accept(self, claims: Iterable[Claim], epoch: int) -> list[Move]:
        """Decide for claims in quarantine."""
        drafts = []
        for claim in claims:
            rank = max(claim.rank, Rank.ACCEPTED)
            self._add(claim.event, claim.rank, 0 if claim.reason == DROPPED else -1)
            self._add(claim.event, rank, 1)
            drafts.append(attrs.evolve(claim, rank=rank, reason=_UNDECIDED))
        return self._decide(drafts, epoch)

    def _decide(
        self, drafts: Sequence[Claim], epoch: int, sure: Mapping[bytes, Claim] = _NONE
    ) -> list[Move]:
        """Decide about claims; return them, and those that they move.

        Args:
            drafts: the claims.
            epoch: the open one.
            sure: new ones, by identity, that are recorded and move no other.
        """
        touched = {claim.event.identity for claim in drafts}
        for scope in self._passed:
            touched |= {claim.event.identity for claim in self._rows.in_scope(scope_of(*scope))}
        before = {
            claim.seq: claim for group in self._claims_of(touched).values() for claim in group
        }
        present = {**before, **{claim.seq: claim for claim in drafts}}
        records, alone = _groups(present.values())
        closed = self._pruned_of(records)
        after = [
            claim
            for identity, group in records.items()
            for claim in self._with_reasons(group, epoch, {}, is_closed=identity in closed)
        ]
        if self._waiting:
            epochs: dict[bytes, int | None] = {
                identity: claim.event.epoch
                for identity, claim in sure.items()
                if claim.event.is_record
            }
            epochs |= {task: _epoch_of(group) for task, group in _groups(after)[0].items()}
            epochs |= {task: claim.epoch for task, claim in closed.items()}
            more = self._waiting_for(epochs, before.values(), alone)
            before |= {claim.seq: claim for group in more.values() for claim in group}
            alone |= more
            tasks = {claim.event.task for group in alone.values() for claim in group}
            stored = self._rows.of([*(tasks - epochs.keys())], waiting=False)
            epochs |= {claim.event.task: claim.event.epoch for claim in stored}
            pruned = self._pruned_of(tasks - epochs.keys())
            epochs |= {task: claim.epoch for task, claim in pruned.items()}
        else:
            epochs = {}
        closed = self._pruned_of(alone)
        after += [
            claim
            for identity, group in alone.items()
            for claim in self._with_reasons(group, epoch, epochs, is_closed=identity in closed)
        ]
        moves = [Move(before.get(claim.seq), claim) for claim in after]
        moves = [move for move in moves if move.before != move.after]
        moves += [Move(None, claim) for claim in sure.values()]
        self._write(moves)
        return moves

    def _waiting_for(
        self, epochs: Mapping[bytes, int | None], before: Iterable[Claim], alone: Collection[bytes]
    ) -> _Groups:
        """Return the events that came alone about tasks that are recorded now, or are no more."""
        identities = set[bytes]()
        if self._has_quarantine:
            tasks = [task for task, epoch in epochs.items() if epoch is not None]
            identities |= {claim.event.identity for claim in self._rows.waiting_for(tasks)}
        for claim in before:
            event = claim.event
            if event.is_record and claim.reason is None and epochs.get(event.task) != event.epoch:
                identities |= {about.event.identity for about in self._rows.about(event)}
        return self._claims_of(identities.difference(alone))

    def _with_reasons(
        self,
        group: Sequence[Claim],
        epoch: int,
        epochs: Mapping[bytes, int | None],
        *,
        is_closed: bool,
    ) -> Iterator[Claim]:
        """Yield the claims of one identity, each with what becomes of it."""
        over = {claim.seq for claim in group if self._is_over(claim)}
        for claim, lost in contenders(group, epoch, over, is_closed=is_closed):
            if claim.is_final(epoch):
                yield claim
                continue
            reason = lost or self._waiting_reason(claim, epochs)
            counted_in = epoch if claim.counted_in is None else claim.counted_in
            yield attrs.evolve(
                claim, reason=reason, counted_in=counted_in if reason is None else None
            )

    def _waiting_reason(self, claim: Claim, epochs: Mapping[bytes, int | None]) -> str | None:
        """Return the reason why a claim without rivals is not recorded; None where it is."""
        event = claim.event
        waits = claim.rank < Rank.ACCEPTED and self._waits(event)
        return UNKNOWN if waits and epochs.get(event.task) != event.epoch else None

    def _is_over(self, claim: Claim) -> bool:
        if not self._counting:
            return False
        over = self._over_of((claim.event.validator, claim.event.epoch))
        return is_over(claim.event, claim.rank, over)

    def _write(self, moves: Sequence[Move]) -> None:
        self._rows.forget([move.before for move in moves if move.before is not None])
        self._rows.put(move.after for move in moves)
        self._has_quarantine |= any(move.after.reason is not None for move in moves)
        for scope in self._changed:
            self._rows.put_counts(scope_of(*scope), self._counts[scope])
        self._known = {}
        self._changed, self._passed = set(), set()

    def _claims_of(self, identities: Collection[bytes]) -> _Groups:
        groups: _Groups = defaultdict(list)
        for claim in self._rows.of([*identities], waiting=self._has_quarantine):
            groups[claim.event.identity].append(claim)
        return dict(groups)

    def _pruned_of(self, identities: Collection[bytes]) -> Mapping[bytes, PrunedClaim]:
        return self._transaction.pruned_claims(identities) if self._has_pruned else {}

    def _count(
        self,
        events: Sequence[StateEvent],
        new: Iterable[int],
        raised: Mapping[int, Claim],
        rank: Rank,
    ) -> set[int]:
        """Count the claims of a batch; return the indexes of those above a limit."""
        by_scope = defaultdict[_Scope, list[int]](list)
        for index in sorted([*new, *raised]):
            by_scope[events[index].validator, events[index].epoch].append(index)
        refused = set[int]()
        for scope, places in by_scope.items():
            if not has_limits(self._limits(scope)):
                continue
            trial = self._counts_of(scope) + Counter((events[n].round, int(rank)) for n in places)
            if not exceeded(trial, self._limits(scope)) and not raised:
                self._counts[scope] = trial
                self._changed.add(scope)
                continue
            for index in places:
                if is_over(events[index], rank, self._over_of(scope)):
                    refused.add(index)
                    continue
                before = raised.get(index)
                if before is not None and before.reason != DROPPED:
                    self._add(before.event, before.rank, -1)
                self._add(events[index], rank, 1)
        return refused

    def _add(self, event: StateEvent, rank: Rank, more: int) -> None:
        scope = event.validator, event.epoch
        if not has_limits(self._limits(scope)):
            return
        before = self._over_of(scope)
        self._counts_of(scope)[event.round, int(rank)] += more
        self._over[scope] = exceeded(self._counts[scope], self._limits(scope))
        self._changed.add(scope)
        if self._over[scope] != before:
            self._passed.add(scope)

    def _limits(self, scope: _Scope) -> Limits:
        """Return the limits on a validator's claims of an epoch: those of the epoch's rules."""
        _, epoch = scope
        if epoch not in self._limits_of:
            lines = self._in_force.at(epoch).lines
            self._limits_of[epoch] = united([claims_of(rules.rule_set) for rules in lines])
        return self._limits_of[epoch]

    def _waits(self, event: StateEvent) -> bool:
        """Return whether an event waits for its task, by the rules of its own epoch."""
        if event.is_record or not self._waiting:
            return False
        rules = self._in_force.of_type(event.skill_type, event.epoch)
        return rules is not None and claims_of(rules.rule_set).event_task == "recorded"

    def _counts_of(self, scope: _Scope) -> Counter[tuple[int, int]]:
        if scope not in self._counts:
            self._counts[scope] = Counter(self._rows.counts(scope_of(*scope)))
        return self._counts[scope]

    def _over_of(self, scope: _Scope) -> frozenset[tuple[Rank, int]]:
        if scope not in self._over:
            self._over[scope] = exceeded(self._counts_of(scope), self._limits(scope))
        return self._over[scope]


def _groups(claims: Iterable[Claim]) -> tuple[_Groups, _Groups]:
    """Return claims by identity: the records, and the events that came alone."""
    records, alone = defaultdict[bytes, list[Claim]](list), defaultdict[bytes, list[Claim]](list)
    for claim in claims:
        (records if claim.event.is_record else alone)[claim.event.identity].append(claim)
    return dict(records), dict(alone)


def _epoch_of(group: Iterable[Claim]) -> int | None:
    """Return the epoch of the record that is recorded of a group, if one is."""
    return next((claim.event.epoch for claim in group if claim.reason is None), None)
