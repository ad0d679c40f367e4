"""Bootstrap: how far what a candidate changes depends on which rounds the history has.

The rounds of the history are drawn again, with replacement, as many as there are; what the
candidate changes is computed for every such draw (Efron 1979). The interval is what the middle 95
of 100 draws lie between. Whole rounds are drawn, as records of one round are alike: they have its
tasks and its miners. Of a long history, stretches of consecutive rounds are drawn.

The draws come from SHAKE-256 of a seed and everything else is whole numbers, so that the same
history and seed give the same intervals on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import TallystickError
from tallystick.formula.columns import Column

Matrix = npt.NDArray[np.int64]
"""Whole numbers by stretch of rounds (or draw) and miner."""

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
    """What the middle 95 of 100 draws lie between, both ends included."""

    low: int
    high: int

    @property
    def is_clear(self) -> bool:
        """Whether it has no 0: the sign does not depend on which rounds there are."""
        return self.low > 0 or self.high < 0


@attrs.frozen
class Uncertainty:
    """How far what one candidate changes depends on which rounds there are.

    Attributes:
        bootstrap: how the rounds were drawn.
        rounds: how many rounds there are.
        stretches: of how many stretches of them draws were made; each is one round if they are
            as many.
        moved: the part of all shares that changes hands, in nano.
        flips: how many records change their tier or gate.
        shares: by hotkey, the change of its share, in nano.
    """

    bootstrap: Bootstrap
    rounds: int
    stretches: int
    moved: Interval
    flips: Interval
    shares: Mapping[str, Interval] = attrs.field(repr=False)

    @property
    def clear(self) -> int:
        """How many miners gain, or lose, whichever rounds there are."""
        return sum(each.is_clear for each in self.shares.values())


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
) -> Uncertainty | None:
    """The uncertainty of what a candidate changes.

    Args:
        bootstrap: how the rounds are drawn.
        hotkeys: of the miners.
        before: by stretch and miner, the amounts under the baseline, in nano, not negative.
        after: the same under the candidate.
        flips: by stretch, how many records flip.
        rounds: how many rounds there are.

    Returns:
        None where there are fewer than two stretches, or a draw in which nobody has anything.
    """
    stretches = len(flips)
    if stretches < 2 or not bootstrap.draws:
        return None
    draws = draws_of(bootstrap, stretches)
    sides = [_fitting(each) for each in (before, after)]
    totals = [draws @ side.sum(axis=1) for side in sides]
    if not all(total.all() for total in totals):
        return None
    moved = np.zeros(bootstrap.draws, np.int64)
    shares: dict[str, Interval] = {}
    for begin in range(0, len(hotkeys), _MINERS):
        part = slice(begin, begin + _MINERS)
        old, new = (
            _shares(draws @ side[:, part], total) for side, total in zip(sides, totals, strict=True)
        )
        change = new - old
        moved += np.abs(change).sum(axis=1)
        shares |= dict(zip(hotkeys[part], _intervals(change), strict=True))
    return Uncertainty(
        bootstrap,
        rounds,
        stretches,
        _intervals(moved[:, None] // 2)[0],
        _intervals((draws @ flips)[:, None])[0],
        shares,
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


def _intervals(values: Matrix) -> list[Interval]:
    """The interval of each column: its k-th smallest and its k-th largest value."""
    draws = len(values)
    tail = (draws + 1) * (100 - PERCENT) // 200
    ordered = np.partition(values, (tail - 1, draws - tail), axis=0)
    ends = zip(ordered[tail - 1].tolist(), ordered[draws - tail].tolist(), strict=True)
    return [Interval(low, high) for low, high in ends]
