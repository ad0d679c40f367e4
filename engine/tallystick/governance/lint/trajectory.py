"""Where a behaviour leads a reputation, epoch by epoch, by the engine's own transition.

A behaviour is what every record of a miner comes to. The trajectory is exact: each epoch is
published before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs

from tallystick.numbers.nano import from_decimal, to_text
from tallystick.rules.sections import Band, ReputationEvent
from tallystick.state.reputation import damped, record_delta
from tallystick.state.rules import StateRules

_LONGEST = 20_000
"""After so many epochs a trajectory that still moves is left: some years of epochs."""


@attrs.frozen
class Trajectory:
    """The reputation of a miner that behaves in one way, from epoch 0 on.

    Attributes:
        events: what each of its records comes to.
        values: the reputation in nano before each epoch; the last is where it rests.
    """

    events: tuple[str, ...]
    values: tuple[int, ...]

    @property
    def rests_at(self) -> int:
        """The fixed point that it reaches, in nano."""
        return self.values[-1]

    def below(self, limit: int) -> int | None:
        """After how many epochs it is below a limit in nano; None if it never is."""
        return next((epoch for epoch, value in enumerate(self.values) if value < limit), None)

    def figures(self, filter_: int, floor: int) -> dict[str, Any]:
        """What a reader wants to know of it; reputations as text of nine places."""
        below = self.below(filter_)
        return {
            "events": list(self.events),
            "from": to_text(self.values[0]),
            "rests_at": to_text(self.rests_at),
            "epochs_to_rest": len(self.values) - 1,
            "epochs_until_below_filter": below,
            "reputation_then": None if below is None else to_text(self.values[below]),
            "epochs_until_floor": self.below(floor + 1),
        }


def trajectory(law: StateRules, start: int, events: tuple[str, ...]) -> Trajectory:
    """What a reputation in nano becomes while every record has the same events."""
    values = [start]
    while len(values) <= _LONGEST:
        following = damped(law, values[-1], record_delta(law, values[-1], events))
        if following == values[-1]:
            break
        values.append(following)
    return Trajectory(events, tuple(values))


def best_and_worst(law: StateRules) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The single event that raises a reputation most, and the one that lowers it most.

    Both are asked at the reputation of a newcomer; of equal ones the first in the file counts.
    """
    start = from_decimal(law.reputation.initial)
    events = [name for name, event in law.reputation.events.items() if event.in_mean]
    deltas = {name: record_delta(law, start, (name,)) for name in events}
    if not deltas:
        return (), ()
    return (max(deltas, key=deltas.__getitem__),), (min(deltas, key=deltas.__getitem__),)


def rewards(law: StateRules) -> tuple[str, ...]:
    """Every event that can raise a reputation, at most one of those that bands exclude."""
    table = law.reputation.events
    adding = [name for name, event in table.items() if gain(event) > 0 and event.in_mean]
    banded = [name for name in adding if table[name].consensus is not None]
    best = max(banded, key=lambda name: gain(table[name]), default=None)
    return tuple(name for name in adding if name not in banded or name == best)


def gain(event: ReputationEvent) -> Fraction:
    """What an event adds, or what it multiplies beyond 1."""
    return Fraction(event.add or 0) + Fraction(1 if event.multiply is None else event.multiply) - 1


def does_nothing(event: ReputationEvent) -> bool:
    """Whether an event neither adds nor multiplies."""
    return not event.add and event.multiply in (None, 1)


def uncovered(events: Mapping[str, ReputationEvent]) -> Iterable[tuple[Fraction, Fraction]]:
    """The parts of [0, 1] that no band covers, each from its low end to its high end."""
    bands = [event.consensus for event in events.values() if event.consensus is not None]
    if not bands:
        return
    ends = {Fraction(0), Fraction(1)}
    ends |= {Fraction(e) for b in bands for e in (b.at_least, b.below) if e is not None}
    for low, high in pairwise(sorted(ends)):
        middle = (low + high) / 2
        if not any(_holds(band, middle) for band in bands):
            yield low, high


def _holds(band: Band, value: Fraction) -> bool:
    above = band.at_least is None or value >= band.at_least
    return above and (band.below is None or value < band.below)
