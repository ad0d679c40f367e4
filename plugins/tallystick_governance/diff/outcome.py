"""An outcome: a published result of a rule set that a change can move, which way, and why.

A result is computed from records and from other results: the consensus of a group, the thresholds
of tiers, reputations, the scores of miners in a round, weights. An outcome is of one computation of
it, from the same submissions: other records are there only where other miners are selected.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import IntFlag
from fractions import Fraction
from typing import Literal

import attrs

from tallystick_governance.ranges import Interval

Result = Literal[
    "records",
    "consensus",
    "reruns",
    "flags",
    "scores",
    "emission",
    "thresholds",
    "reputation",
    "groups",
    "round scores",
    "weights",
    "views",
]


class Direction(IntFlag):
    """The ways in which a number can move; a result that is no number moves both ways."""

    NONE = 0
    RISE = 1
    FALL = 2
    BOTH = 3

    def __str__(self) -> str:
        return ("cannot move", "can rise", "can fall", "can move")[self]

    @property
    def opposite(self) -> Direction:
        """The direction of what falls where this rises."""
        return Direction((self & Direction.RISE) << 1 | (self & Direction.FALL) >> 1)

    @classmethod
    def of_step(cls, old: Decimal | Fraction | int, new: Decimal | Fraction | int) -> Direction:
        """Return the direction from one number to another."""
        if old == new:
            return cls.NONE
        return cls.RISE if new > old else cls.FALL

    @classmethod
    def of_interval(cls, difference: Interval | None) -> Direction:
        """Return the directions that bounds allow; both where there are none."""
        if difference is None:
            return cls.BOTH
        rises = cls.RISE if difference.high > 0 else cls.NONE
        return rises | (cls.FALL if difference.low < 0 else cls.NONE)


def joined(directions: Iterable[Direction]) -> Direction:
    """Return every way in which one of several numbers can move."""
    union = Direction.NONE
    for direction in directions:
        union |= direction
    return union


@attrs.frozen
class Cause:
    """A reason why a result can move, with the part of it that moves.

    Attributes:
        subject: the part, such as ``event probe_fail`` or ``step weight``.
        direction: which way.
        paths: the values that differ and move it.
        through: the results that move and that it is computed from.
        bound: how far it moves; None where no bound is known.
        note: how far or under which condition, in words; empty without any.
    """

    subject: str
    direction: Direction
    paths: tuple[str, ...] = ()
    through: tuple[Result, ...] = ()
    bound: Interval | None = None
    note: str = ""


@attrs.frozen
class Outcome:
    """A published result, and every reason why it can move.

    Attributes:
        result: its name.
        causes: those under which it moves; none where it cannot move.
        bound: how far it can move, for every reason together; None where no bound is known.
    """

    result: Result
    causes: tuple[Cause, ...] = ()
    bound: Interval | None = None

    @property
    def direction(self) -> Direction:
        """The ways in which it can move."""
        return joined(cause.direction for cause in self.causes)
