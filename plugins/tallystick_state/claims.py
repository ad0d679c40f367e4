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
        identity: see `StateEvent.identity`.
    """

    seq: int
    event: StateEvent
    rank: Rank
    reason: str | None = None
    counted_in: int | None = None
    # takes long
    identity: bytes = attrs.field(init=False, eq=False, repr=False)

    @identity.default
    def _identity(self) -> bytes:
        return self.event.identity

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
