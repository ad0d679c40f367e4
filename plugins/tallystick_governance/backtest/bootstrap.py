"""Bootstrap: how far what a candidate changes depends on which epochs the history has.

The epochs of the history are drawn again, with replacement, as many as there are; what the
candidate changes is computed for every such draw (Efron 1979). Whole epochs are drawn, as records
of one epoch are alike: they have its tasks and its thresholds. Of a long history, stretches of
consecutive epochs are drawn; of one that has one epoch, its rounds.

What the middle 95 of 100 draws lie between is too narrow where few are drawn from, and how much is
known: the ends are moved away from the value by what Student's t has beyond the normal distribution
(Hesterberg 2015, section 4.3, of the mean). A share that changes hands is a distance, which chance
makes larger and never smaller, so draws of it lie above it. Its interval is that of a distance
instead: no farther from the value than 95 of 100 draws are from the history.

The draws come from SHAKE-256 of a seed and everything else is whole numbers, so that the same
history and seed give the same intervals on every machine.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import TallystickError
from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO, round_half_even

Matrix = npt.NDArray[np.int64]
"""Whole numbers by stretch of epochs or rounds (or draw) and miner."""

PERCENT = 95
"""How many of 100 draws an interval holds."""
_FEWEST = 39
"""With fewer draws none lies outside of the middle 95 of 100, on either side."""
_DOMAIN = "tallystick/backtest/bootstrap/1"
_WORD = 32
_SUM_BITS = 59
"""Of the amounts of one draw: ten times as much still fits 64 bits."""
_MINERS = 1 << 8
"""How many miners are looked at together."""
_NORMAL = 1960
"""The quantile 0.975 of the normal distribution, in thousandths."""
_STUDENT = (
    *(12706, 4303, 3182, 2776, 2571, 2447, 2365, 2306, 2262, 2228),
    *(2201, 2179, 2160, 2145, 2131, 2120, 2110, 2101, 2093, 2086),
    *(2080, 2074, 2069, 2064, 2060, 2056, 2052, 2048, 2045, 2042),
)
"""The quantile 0.975 of Student's t for 1 to 30 degrees of freedom, in thousandths."""
_MILLION = 10**6


@attrs.frozen
class Bootstrap:
    """How the rounds are drawn.

    Attributes:
        draws: how often; 0 for not at all.
        seed: any text; another one gives other draws.
    """

    draws: int = attrs.field(default=999)
    seed: str = "tallystick"

    @draws.validator
    def _check(self, _: object, value: int) -> None:
        if value and value < _FEWEST:
            raise TallystickError(
                f"found {value} draws of a bootstrap, expected 0 for none, or at least {_FEWEST}: "
                f"fewer have no ends of {PERCENT} %"
            )


@attrs.frozen
class Interval:
    """Two ends, both included, between which a value lies in 95 of 100 histories of one kind."""

    low: int
    high: int

    @property
    def is_clear(self) -> bool:
        """Whether it has no 0: the sign does not depend on which epochs there are."""
        return self.low > 0 or self.high < 0


@attrs.frozen
class Chance:
    """How much changes hands where chance alone decides whom a candidate favours.

    Attributes:
        deals: how often it was decided.
        as_much: in how many of them as much changes hands as in the history, or more.
        median: what changes hands in the middle one of them, in nano.
    """

    deals: int
    as_much: int
    median: int

    @property
    def probability(self) -> int:
        """The probability of a deal in which as much changes hands, in nano, rounded once."""
        return round_half_even((self.as_much + 1) * NANO, self.deals + 1)


@attrs.frozen
class Uncertainty:
    """How far what one candidate changes depends on which epochs there are.

    Attributes:
        bootstrap: how the epochs were drawn.
        rounds: how many rounds there are.
        stretches: how many stretches draws were made of; each is one epoch if they are as many,
            or one round where there is one epoch.
        moved: the part of all shares that changes hands, in nano.
        flips: how many records change their tier or gate.
        shares: by hotkey, the change of its share, in nano.
        epochs: how many epochs there are.
        chance: how much changes hands by chance alone; None of one miner.
    """

    bootstrap: Bootstrap
    rounds: int
    stretches: int
    moved: Interval
    flips: Interval
    shares: Mapping[str, Interval] = attrs.field(repr=False)
    epochs: int = 1
    chance: Chance | None = None

    @property
    def clear(self) -> int:
        """How many miners gain, or lose, whichever epochs there are."""
        return sum(each.is_clear for each in self.shares.values())

    @property
    def unit(self) -> str:
        """The unit that is drawn: epochs, or rounds where there is one epoch."""
        return "epoch" if self.epochs > 1 else "round"

    @property
    def units(self) -> int:
        """How many epochs there are, or rounds where there is one epoch."""
        return self.epochs if self.epochs > 1 else self.rounds


def draws_of(bootstrap: Bootstrap, stretches: int) -> Matrix:
    """How often each draw has each stretch: a row for each draw.

    A stretch is the whole part of ``u · stretches / 2³²``, for ``u`` the next four bytes, most
    significant first, of SHAKE-256 of the domain, a line feed, and the seed.
    """
    size = bootstrap.draws * stretches
    stream = hashlib.shake_256(f"{_DOMAIN}\n{bootstrap.seed}".encode())
    words = np.frombuffer(stream.digest(_WORD // 8 * size), ">u4").astype(np.int64)
    drawn = (words * stretches >> _WORD).reshape(bootstrap.draws, stretches)
    drawn += np.arange(bootstrap.draws)[:, None] * stretches
    counts = np.bincount(drawn.reshape(-1), minlength=size)
    return counts.reshape(bootstrap.draws, stretches)


def uncertainty(  # noqa: PLR0913  # what it is made of
    bootstrap: Bootstrap,
    hotkeys: Sequence[str],
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
    flips: Column,
    *,
    rounds: int,
    epochs: int = 1,
) -> Uncertainty | None:
    """The uncertainty of what a candidate changes.

    Args:
        bootstrap: how the epochs are drawn.
        hotkeys: of the miners.
        before: by stretch and miner, the amounts under the baseline, in nano, not negative.
        after: the same under the candidate.
        flips: by stretch, how many records flip.
        rounds: how many rounds there are.
        epochs: how many epochs there are; of one, stretches are of rounds.

    Returns:
        None where there are fewer than two stretches, or a draw in which nobody has anything.
    """
    stretches = len(flips)
    if stretches < 2 or not bootstrap.draws:
        return None
    # the first row is the history itself, which has every stretch once
    draws = np.vstack([np.ones((1, stretches), np.int64), draws_of(bootstrap, stretches)])
    sides = [_fitting(each) for each in (before, after)]
    totals = [draws @ side.sum(axis=1) for side in sides]
    if not all(total.all() for total in totals):
        return None
    moved, apart = 0, np.zeros(bootstrap.draws, np.int64)
    intervals: dict[str, Interval] = {}
    for begin in range(0, len(hotkeys), _MINERS):
        part = slice(begin, begin + _MINERS)
        old, new = (
            _shares(draws @ side[:, part], total) for side, total in zip(sides, totals, strict=True)
        )
        change = new - old
        moved += int(np.abs(change[0]).sum())
        apart += np.abs(change[1:] - change[0]).sum(axis=1)
        intervals |= dict(zip(hotkeys[part], _intervals(change, stretches, -NANO), strict=True))
    return Uncertainty(
        bootstrap,
        rounds,
        stretches,
        _around(moved // 2, apart // 2, stretches),
        _intervals((draws @ flips)[:, None], stretches, 0)[0],
        intervals,
        epochs,
    )


def _fitting(amounts: Sequence[Sequence[int]]) -> Matrix:
    """The amounts, or all of them in a unit of a power of two, such that every draw fits."""
    largest = len(amounts) * max(map(sum, amounts))
    unit = max(0, largest.bit_length() - _SUM_BITS)
    return np.array([[each >> unit for each in row] for row in amounts], np.int64)


def _shares(amounts: Matrix, totals: Column) -> Matrix:
    """The share of each in the total of its draw, in nano, rounded half-even once."""
    whole = totals[:, None]
    # long division, digit by digit, as the amounts in nano would not fit
    share, rest = np.divmod(amounts, whole)
    for _ in range(9):
        digit, rest = np.divmod(rest * 10, whole)
        share = share * 10 + digit
    twice = 2 * rest
    up: Matrix = share + ((twice > whole) | ((twice == whole) & (share & 1 == 1)))
    return up


def _intervals(values: Matrix, stretches: int, least: int) -> list[Interval]:
    """The interval of each column, whose first row is the value itself and the others draws of it.

    The k-th smallest and the k-th largest draw, each as much farther from the value as so few
    stretches ask for; no end is below what the value can be at least.
    """
    draws = len(values) - 1
    tail = (draws + 1) * (100 - PERCENT) // 200
    ordered = np.partition(values[1:], (tail - 1, draws - tail), axis=0)
    rows = (values[0], ordered[tail - 1], ordered[draws - tail])
    return [
        Interval(
            max(least, value - widened(max(0, value - low), stretches)),
            value + widened(max(0, high - value), stretches),
        )
        for value, low, high in zip(*(row.tolist() for row in rows), strict=True)
    ]


def _around(value: int, apart: Column, stretches: int) -> Interval:
    """The interval of a distance, from how far draws are apart from the history."""
    tail = (len(apart) + 1) * (100 - PERCENT) // 100
    far = widened(int(np.partition(apart, len(apart) - tail)[len(apart) - tail]), stretches)
    return Interval(max(0, value - far), min(NANO, value + far))


def widened(far: int, stretches: int) -> int:
    """How far an end is from the value that is ``far`` from it among draws of so many stretches.

    Multiplied by t / 1.96 · √(n / (n − 1)) for n stretches: t of n − 1 degrees of freedom, as a
    spread is estimated of n values, and the root, as draws of n values spread less by it.
    """
    freedom = stretches - 1
    # beyond the table the first term of the expansion of t is exact to a thousandth
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL + 2400 // freedom
    square = student**2 * stretches * _MILLION**2 // (_NORMAL**2 * freedom)
    return round_half_even(far * math.isqrt(square), _MILLION)
