"""Schedules: what a state has from epoch to epoch, as it began and as was decided since.

The rule sets of a line are one, and the pools are another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

from tallystick.rules.timeline import Timeline

if TYPE_CHECKING:
    from tallystick_state.trust.gate_receipt import GateReceipt


class Digested(Protocol):
    """A value that decisions name by its digest."""

    @property
    def digest(self) -> str:
        """The digest of what it means."""


Value = TypeVar("Value", bound=Digested | None)
Value_co = TypeVar("Value_co", bound=Digested | None, covariant=True)


@attrs.frozen
class Decision(Generic[Value_co]):
    """A rule set, or pools, that a state has from an epoch on, or will.

    Attributes:
        epoch: the first epoch with it.
        value: the rule set or the pools.
        previous: the digest of what the epoch before has; None where it has nothing.
        sequence: its number among the decisions and withdrawals of its schedule, from 1.
        major: whether a rule set may take away what others name.
        block: that its entry states; None where it states none.
        statement: the digest of the statement that was signed; None where the operator decided.
        signed_by: the names of those who signed it, as the trust file of then calls them.
        gate_receipt: that it passes the policy that the trust file of then names; None without.
    """

    epoch: int
    value: Value_co = attrs.field(eq=False)
    previous: str | None
    sequence: int
    major: bool = False
    block: int | None = None
    statement: str | None = None
    signed_by: tuple[str, ...] = ()
    gate_receipt: GateReceipt | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Schedule(Generic[Value]):
    """The values from epoch to epoch, and the decisions behind them.

    Attributes:
        first: what the state began with.
        decisions: those that hold or are scheduled, in the order of epochs.
        sequence: how many decisions and withdrawals the log has.
        timeline: the values from epoch to epoch.
    """

    first: Value
    decisions: tuple[Decision[Value], ...] = ()
    sequence: int = 0
    timeline: Timeline[Value] = attrs.field(init=False, repr=False, eq=False)

    @timeline.default
    def _timeline(self) -> Timeline[Value]:
        return Timeline(self.first, tuple((made.epoch, made.value) for made in self.decisions))

    def at(self, epoch: int) -> Value:
        """Return the value in force in an epoch."""
        return self.timeline.at(epoch)

    @property
    def last(self) -> int:
        """The epoch from which the last value holds."""
        return self.decisions[-1].epoch if self.decisions else 0

    def digest_at(self, epoch: int) -> str | None:
        """Return the digest of the value of an epoch; None where there is nothing."""
        value = self.at(epoch)
        return None if value is None else value.digest

    def before(self, epoch: int) -> Schedule[Value]:
        """Return the schedule without the decisions for an epoch and later ones."""
        kept = tuple(made for made in self.decisions if made.epoch < epoch)
        return attrs.evolve(self, decisions=kept)

    def decided(self, decision: Decision[Value]) -> Schedule[Value]:
        """Return the schedule with one more decision, behind all others.

        Raises:
            ValueError: it is not the next one.
        """
        expected = self.digest_at(decision.epoch), self.sequence + 1
        if (decision.previous, decision.sequence) != expected:
            raise ValueError(decision.sequence)
        return attrs.evolve(self, decisions=(*self.decisions, decision), sequence=decision.sequence)

    def withdrawn(self, sequence: int) -> Schedule[Value]:
        """Return the schedule without its last decision.

        Raises:
            ValueError: there is none, or the withdrawal is not the next change.
        """
        if not self.decisions or sequence != self.sequence + 1:
            raise ValueError(sequence)
        return attrs.evolve(self, decisions=self.decisions[:-1], sequence=sequence)


NO_POOLS: Schedule[Any] = Schedule(None)
"""The pools of a state whose lines share nothing."""
