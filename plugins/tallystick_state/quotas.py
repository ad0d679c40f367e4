"""Quotas: of how many claims of one validator a state takes, counted within one transaction.

A claim counts against those of its own rank and of the ranks below: what others put into the mouth
of a validator takes nothing from what it says itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Self

import attrs

from tallystick_state.claims import DROPPED, Claim, Counts, Rank
from tallystick_state.event import StateEvent, scope_of
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.sections.claims import Claims as Section
from tallystick_state.sections.claims import claims_of
from tallystick_state.store.transaction import ClaimRows

_EVERY_ROUND = -1
Scope = tuple[str, int]
"""A validator, and the epoch that claims of it are pinned to."""


@attrs.frozen
class Limits:
    """The most claims of one validator about a round and an epoch, and rounds; infinite without.

    Several lines in one state have these together, as claims count by validator, not by line: a
    validator may claim as much as the lines allow together, of as many rounds as one of them does;
    where one sets no limit there is none.
    """

    per_round: float = inf
    per_epoch: float = inf
    rounds_per_epoch: float = inf

    @classmethod
    def of(cls, sections: Sequence[Section]) -> Self:
        """Return the limits of some lines."""
        lines = [
            [inf if limit is None else limit for limit in limits]
            for limits in ((s.per_round, s.per_epoch, s.rounds_per_epoch) for s in sections)
        ]
        per_round, per_epoch, rounds = zip(*lines, strict=True)
        return cls(sum(per_round), sum(per_epoch), max(rounds))

    def exceeded(self, counts: Counts) -> frozenset[tuple[Rank, int]]:
        """Return the ranks and rounds of which a validator claims more than the limits allow.

        Of a round with too many claims one above the limit counts in the epoch, since no more are
        kept for sure; otherwise it would matter which came first.

        Args:
            counts: of one validator and one epoch.
        """
        above = set[tuple[Rank, int]]()
        for rank in Rank:
            rounds = Counter[int]()
            for (number, of_rank), claims in counts.items():
                if of_rank >= rank and claims:
                    rounds[number] += claims
            total = sum(min(claims, self.per_round + 1) for claims in rounds.values())
            if total > self.per_epoch or len(rounds) > self.rounds_per_epoch:
                above.add((rank, _EVERY_ROUND))
            above |= {
                (rank, number) for number, claims in rounds.items() if claims > self.per_round
            }
        return frozenset(above)


_UNLIMITED = Limits()


class Quotas:
    """The numbers of claims by validator and epoch, against the limits of the rules.

    Attributes:
        passed: scopes whose claims are above a limit now, or no longer.
    """

    def __init__(self, rows: ClaimRows, in_force: RulesInForce) -> None:
        """Read no counts yet."""
        self._rows, self._in_force = rows, in_force
        self._limits: dict[int, Limits] = {}
        self._counts: dict[Scope, Counter[tuple[int, int]]] = {}
        self._over: dict[Scope, frozenset[tuple[Rank, int]]] = {}
        self._changed, self.passed = set[Scope](), set[Scope]()

    def admit(
        self, events: Sequence[StateEvent], entries: Mapping[int, Claim | None], rank: Rank
    ) -> list[int]:
        """Count events of a batch; return the indexes of those above a limit, which do not count.

        Args:
            events: of the batch.
            entries: the indexes of those that come, with their claim if it had a lower rank before.
            rank: with which they come.
        """
        by_scope = defaultdict[Scope, list[int]](list)
        for index in entries:
            by_scope[events[index].validator, events[index].epoch].append(index)
        refused = list[int]()
        for scope, indexes in by_scope.items():
            limits = self._limits_of(scope)
            if limits == _UNLIMITED:
                continue
            trial = self._counts_of(scope) + Counter((events[n].round, int(rank)) for n in indexes)
            if not limits.exceeded(trial) and not any(entries[index] for index in indexes):
                self._counts[scope] = trial
                self._changed.add(scope)
                continue
            for index in indexes:
                event, before = events[index], entries[index]
                if self.is_over(event, rank):
                    refused.append(index)
                    continue
                if before is not None and before.reason != DROPPED:
                    self.add(event, before.rank, -1)
                self.add(event, rank, 1)
        return refused

    def add(self, event: StateEvent, rank: Rank, more: int) -> None:
        """Count so many claims of an event more."""
        scope = event.validator, event.epoch
        limits = self._limits_of(scope)
        if limits == _UNLIMITED:
            return
        before = self._over_of(scope)
        self._counts_of(scope)[event.round, int(rank)] += more
        self._over[scope] = limits.exceeded(self._counts[scope])
        self._changed.add(scope)
        if self._over[scope] != before:
            self.passed.add(scope)

    def is_over(self, event: StateEvent, rank: Rank) -> bool:
        """Return whether a claim is above a limit."""
        over = self._over_of((event.validator, event.epoch))
        return (rank, _EVERY_ROUND) in over or (rank, event.round) in over

    def write(self) -> None:
        """Keep the counts that have changed; a batch is settled."""
        for scope in self._changed:
            self._rows.put_counts(scope_of(*scope), self._counts[scope])
        self._changed, self.passed = set(), set()

    def _limits_of(self, scope: Scope) -> Limits:
        """Return the limits on a validator's claims of an epoch: those of the epoch's rules."""
        _, epoch = scope
        if epoch not in self._limits:
            lines = self._in_force.at(epoch).lines
            self._limits[epoch] = Limits.of([claims_of(rules.rule_set) for rules in lines])
        return self._limits[epoch]

    def _counts_of(self, scope: Scope) -> Counter[tuple[int, int]]:
        if scope not in self._counts:
            self._counts[scope] = Counter(self._rows.counts(scope_of(*scope)))
        return self._counts[scope]

    def _over_of(self, scope: Scope) -> frozenset[tuple[Rank, int]]:
        if scope not in self._over:
            limits = self._limits_of(scope)
            counts = {} if limits == _UNLIMITED else self._counts_of(scope)
            self._over[scope] = limits.exceeded(counts)
        return self._over[scope]
