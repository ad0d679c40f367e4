"""Claims: the statements of validators about records, and the rule which of them are recorded.

A claim is a record or an event that came alone, as it arrived. Claims of one identity that differ
conflict. Which of them is recorded depends on the set of claims alone, never on their order:

- a claim of a higher rank displaces those of a lower one;
- claims of the same, highest rank that conflict are all left out;
- a validator that claims more than a limit allows is taken nothing where it does;
- an event waits for its task, where the rule set says so;
- what an epoch that is closed has counted stays.

What is not recorded waits in quarantine, which is no part of the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType

import attrs

from tallystick.json_values import JsonKey, json_object
from tallystick_state.argument_checks import check_text
from tallystick_state.event import StateEvent
from tallystick_state.miners import check_hotkey
from tallystick_state.sections.claims import Claims as Limits

CONFLICT = "conflict"
OUTRANKED = "outranked"
CLOSED = "closed-epoch"
OVER = "over-quota"
UNKNOWN = "unknown-task"
DROPPED = "dropped"

REASONS: Mapping[str, str] = MappingProxyType(
    {
        CLOSED: "an epoch that is closed has counted something else, which stays",
        CONFLICT: "another record of the task, or another event of the id, by the same validator",
        DROPPED: "the operator has dropped it",
        OUTRANKED: "a claim of a higher rank contradicts it",
        OVER: "its validator claims more of the round or of the epoch than the rule set allows",
        UNKNOWN: "its validator has recorded no such task in this state: it waits for it",
    }
)
"""Reasons why a claim is in quarantine, each with its meaning."""

EVERY_ROUND = -1
"""The round of counts that are of a whole epoch."""
Counts = Mapping[tuple[int, int], int]
"""Numbers of claims of one validator and epoch, by round and rank."""


class Rank(IntEnum):
    """The weight of a claim against others."""

    IMPORTED = 1
    """Told by somebody else than the validator."""
    SIGNED = 2
    """Signed by the validator."""
    ACCEPTED = 3
    """Accepted by the operator of the state."""
    OWN = 4
    """Recorded by the state's own validator, by closing its round."""


@attrs.frozen
class Claim:
    """One claim.

    Attributes:
        seq: the number of the entry of the log with which it came.
        event: what is claimed.
        rank: the highest one with which it came.
        reason: why it is in quarantine; None while it is recorded.
        counted_in: the epoch that was open when it was recorded; None in quarantine.
    """

    seq: int
    event: StateEvent
    rank: Rank
    reason: str | None = None
    counted_in: int | None = None

    def is_final(self, epoch: int) -> bool:
        """Return whether an epoch before the open one has counted it."""
        return self.reason is None and self.counted_in is not None and self.counted_in < epoch


@json_object(JsonKey("validator", left_out="none"), JsonKey("hears", "heard", left_out="none"))
@attrs.frozen
class AllowedValidators:
    """The allowed validators of a state: those whose claims it takes.

    Attributes:
        validator: its own validator; None when it names none.
        heard: the validators that it hears beside its own; None: all.
    """

    validator: str | None = None
    heard: frozenset[str] | None = None

    @classmethod
    def named(cls, validator: str | None, heard: Collection[str]) -> AllowedValidators:
        """Return the validators of a state that begins; with nobody heard by name, all are.

        Raises:
            StateError: a hotkey is not possible.
        """
        for hotkey in sorted({*heard} if validator is None else {*heard, validator}):
            check_text(hotkey, "validator")
            check_hotkey(hotkey)
        return cls(validator, frozenset(heard) or None)

    def accepts(self, validator: str) -> bool:
        """Return whether the state takes the claims of a validator."""
        return self.heard is None or validator in self.heard or validator == self.validator

    def is_own(self, event: StateEvent) -> bool:
        """Return whether an event is of the state's own validator."""
        return self.validator is not None and event.validator == self.validator


EVERYONE = AllowedValidators()
"""The allowed validators of a state that names none: all."""


def contenders(
    claims: Sequence[Claim], epoch: int, over: Collection[int] = (), *, is_closed: bool = False
) -> Iterator[tuple[Claim, str | None]]:
    """Yield each claim of one identity, and why it is not recorded; None for the one that can be.

    Args:
        claims: all that there are of one identity, no two of which are the same.
        epoch: the open epoch.
        over: numbers of those that are above a limit. They stand against nothing: more of their
            kind may have come, which nobody kept.
        is_closed: whether a claim that was pruned since is the one that an epoch has counted.
    """
    final = next((claim for claim in claims if claim.is_final(epoch)), None)
    standing = [claim for claim in claims if claim.reason != DROPPED and claim.seq not in over]
    highest = max((claim.rank for claim in standing), default=None)
    rivals = sum(claim.rank == highest for claim in standing)
    for claim in claims:
        if claim.reason == DROPPED:
            yield claim, DROPPED
        elif is_closed or final is not None:
            yield claim, None if claim is final else CLOSED
        elif claim.seq in over:
            yield claim, OVER
        elif claim.rank != highest:
            yield claim, OUTRANKED
        else:
            yield claim, CONFLICT if rivals > 1 else None


def exceeded(counts: Counts, limits: Limits) -> frozenset[tuple[Rank, int]]:
    """Return the ranks and rounds of which a validator claims more than the limits allow.

    A claim counts against those of its own rank and of the ranks below: what others put into the
    mouth of a validator takes nothing from what it says itself. Of a round with too many claims one
    above the limit counts in the epoch, since no more are kept for sure; otherwise it would matter
    which came first.

    Args:
        counts: of one validator and one epoch.
        limits: of the rule set.
    """
    above = set[tuple[Rank, int]]()
    for rank in Rank:
        rounds: dict[int, int] = {}
        for (number, of_rank), claims in counts.items():
            if of_rank >= rank and claims:
                rounds[number] = rounds.get(number, 0) + claims
        cap = max(rounds.values(), default=0) if limits.per_round is None else limits.per_round + 1
        total = sum(min(claims, cap) for claims in rounds.values())
        if _above(total, limits.per_epoch) or _above(len(rounds), limits.rounds_per_epoch):
            above.add((rank, EVERY_ROUND))
        above |= {(rank, n) for n, claims in rounds.items() if _above(claims, limits.per_round)}
    return frozenset(above)


def is_over(event: StateEvent, rank: Rank, over: Collection[tuple[Rank, int]]) -> bool:
    """Return whether a claim is above a limit; see `exceeded`."""
    return (rank, EVERY_ROUND) in over or (rank, event.round) in over


def has_limits(limits: Limits) -> bool:
    """Return whether a limit counts claims."""
    return (limits.per_round, limits.per_epoch, limits.rounds_per_epoch) != (None, None, None)


def united(limits: Sequence[Limits]) -> Limits:
    """Return the limits of several lines in one state: claims count by validator, not by line.

    A validator may claim as much as the lines allow together, of as many rounds as one of them
    does; where one sets no limit there is none.
    """
    first, *others = limits
    if not others:
        return first
    rounds = [
        line_limits.rounds_per_epoch
        for line_limits in limits
        if line_limits.rounds_per_epoch is not None
    ]
    return attrs.evolve(
        first,
        per_round=_together([line_limits.per_round for line_limits in limits]),
        per_epoch=_together([line_limits.per_epoch for line_limits in limits]),
        rounds_per_epoch=max(rounds) if len(rounds) == len(limits) else None,
    )


def _together(limits: Sequence[int | None]) -> int | None:
    numbers = [limit for limit in limits if limit is not None]
    return sum(numbers) if len(numbers) == len(limits) else None


def _above(number: int, limit: int | None) -> bool:
    return limit is not None and number > limit
