"""Statistics of a back-test: shares, concentration, rank correlation, bootstrap.

Everything is whole numbers or fractions, rounded half-even once where it is published; random
draws come from SHAKE-256 of a seed. So the same history and seed give the same statistics on every
machine.

**Bootstrap**: how far what a candidate changes depends on which epochs the history has. The epochs
of the history are drawn again, with replacement, as many as there are; what the candidate changes
is computed for every such draw (Efron 1979). Whole epochs are drawn, as records of one epoch are
alike: they have its tasks and its thresholds. Of a long history, stretches of consecutive epochs
are drawn; of one that has one epoch, its rounds. The interval of the middle 95 of 100 draws is too
narrow where few are drawn from, and how much is known: the ends are moved away from the value by
what Student's t has beyond the normal distribution (Hesterberg 2015, section 4.3, of the mean). A
share that changes hands is a distance, which chance makes larger and never smaller, so draws of it
lie above it. Its interval is that of a distance instead: no farther from the value than 95 of 100
draws are from the history.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import TallystickError
from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO, publish, round_half_even

Matrix = npt.NDArray[np.int64]
"""Whole numbers by stretch of epochs or rounds (or draw) and miner."""
Amounts = Sequence[Sequence[int]]
"""Amounts by stretch of epochs or rounds and miner, in nano."""

PERCENT = 95
"""Draws of 100 that an interval holds."""
_FEWEST_DRAWS = 39
"""Minimum number of draws: with fewer, none lies outside of the middle 95 of 100 on either side."""
_BOOTSTRAP = "tallystick/backtest/bootstrap/1"
_WORD = 32
_SUM_BITS = 59
"""Maximum bits of the amounts of one draw: ten times as much still fits 64 bits."""
_MINERS = 1 << 8
"""Miners whose draws are computed together."""
_NORMAL = 1960
"""The quantile 0.975 of the normal distribution, in thousandths."""
_STUDENT = (
    *(12706, 4303, 3182, 2776, 2571, 2447, 2365, 2306, 2262, 2228),
    *(2201, 2179, 2160, 2145, 2131, 2120, 2110, 2101, 2093, 2086),
    *(2080, 2074, 2069, 2064, 2060, 2056, 2052, 2048, 2045, 2042),
)
"""The quantile 0.975 of Student's t for 1 to 30 degrees of freedom, in thousandths."""
_MILLION = 10**6


def published_share(part: int, whole: int) -> int:
    """Return a part of a whole in nano, rounded once; 0 of nothing."""
    return round_half_even(part * NANO, whole) if whole else 0


def shares(amounts: Sequence[int]) -> list[int]:
    """Return the share of each amount in all of them, in nano, rounded once."""
    whole = sum(amounts)
    return [published_share(amount, whole) for amount in amounts]


def moved(before: Sequence[int], after: Sequence[int]) -> int | None:
    """Return the part of all shares that changes hands, in nano, rounded once.

    Half the sum of the absolute changes of all shares; None when nobody has anything under one of
    the two.
    """
    whole, other = sum(before), sum(after)
    if not whole or not other:
        return None
    apart = sum(abs(b * other - a * whole) for b, a in zip(before, after, strict=True))
    return publish(Fraction(apart, 2 * whole * other))


def ranks(amounts: Sequence[int]) -> list[int]:
    """Return the rank of each amount, the largest first, from 1.

    A rank is one more than the number of larger amounts: equals share one, as in 1, 2, 2, 4.
    """
    first: dict[int, int] = {}
    for position, amount in enumerate(sorted(amounts, reverse=True), 1):
        first.setdefault(amount, position)
    return [first[amount] for amount in amounts]


def gini(amounts: Sequence[int]) -> Fraction | None:
    """Return the Gini coefficient, half the mean absolute difference over the mean, in [0, 1).

    0 when all are equal, 1 − 1/n when one of n has everything. None when there is nothing to have.

    Args:
        amounts: not negative; amounts of 0 count.
    """
    whole, many = sum(amounts), len(amounts)
    if not whole:
        return None
    weighted = sum((2 * i - many - 1) * amount for i, amount in enumerate(sorted(amounts), 1))
    return Fraction(weighted, many * whole)


def hhi(amounts: Sequence[int]) -> Fraction | None:
    """Return the Herfindahl-Hirschman index, the sum of the squared shares, in [1/n, 1].

    Its inverse is the number of equal shares that would be as concentrated. None when there is
    nothing to have.
    """
    whole = sum(amounts)
    return Fraction(sum(amount * amount for amount in amounts), whole * whole) if whole else None


def tau_b(first: Sequence[int], second: Sequence[int]) -> int | None:
    """Return Kendall's rank correlation with ties (tau-b) of two lists, in nano, in [−1, 1].

    (P − Q) / √((n0 − n1)(n0 − n2)), with P and Q the pairs in the same and in the opposite order,
    n0 all pairs, n1 and n2 those tied in one list; by merge sort in O(n log n) (Knight 1966), with
    whole numbers up to the root, whose rounding whole numbers decide too. None when all amounts of
    a list are equal: then there is no order to compare.
    """
    pairs = sorted(zip(first, second, strict=True))
    every = math.comb(len(pairs), 2)
    tied_first, tied_second = _tied(first), _tied(second)
    discordant, _ = _inversions([b for _, b in pairs])
    # every pair is concordant, discordant, or tied in one of the lists, or in both
    concordant = every - tied_first - tied_second + _tied(pairs) - discordant
    square = (every - tied_first) * (every - tied_second)
    if not square:
        return None
    scaled = ((concordant - discordant) * NANO) ** 2
    below = math.isqrt(scaled // square)
    # compare the exact value with the middle between `below` and the next
    excess = 4 * scaled - (2 * below + 1) ** 2 * square
    nearest = below + (excess > 0 or (excess == 0 and below & 1))
    return nearest if concordant >= discordant else -nearest


def _tied(values: Iterable[object]) -> int:
    """Count the pairs of equal values."""
    ordered = sorted(values)  # type: ignore[type-var]  # amounts, or pairs of them
    return sum(math.comb(sum(1 for _ in group), 2) for _, group in groupby(ordered))


def _inversions(values: list[int]) -> tuple[int, list[int]]:
    """Count pairs in strictly descending order; return the values ascending, too."""
    if len(values) < 2:
        return 0, values
    middle = len(values) // 2
    left_count, left = _inversions(values[:middle])
    right_count, right = _inversions(values[middle:])
    crossing, position = 0, 0
    for value in left:
        while position < len(right) and right[position] < value:
            position += 1
        crossing += position
    return left_count + right_count + crossing, sorted(left + right)


@attrs.frozen
class Bootstrap:
    """The number and the seed of the draws of a bootstrap.

    Attributes:
        draws: how often; 0 for not at all.
        seed: any text; another one gives other draws.
    """

    draws: int = attrs.field(default=999)
    seed: str = "tallystick"

    @draws.validator
    def _check(self, _: object, value: int) -> None:
        if value and value < _FEWEST_DRAWS:
            raise TallystickError(
                f"found {value} draws of a bootstrap, expected 0 for none, or at least "
                f"{_FEWEST_DRAWS}: fewer have no ends of {PERCENT} %"
            )


@attrs.frozen
class Interval:
    """Interval, both ends included, that holds a value in 95 of 100 histories of one kind."""

    low: int
    high: int

    @property
    def is_clear(self) -> bool:
        """True where it has no 0: the sign does not depend on which epochs there are."""
        return self.low > 0 or self.high < 0


@attrs.frozen
class Uncertainty:
    """The dependence of a candidate's changes on which epochs there are.

    Attributes:
        bootstrap: how the epochs were drawn.
        rounds: how many rounds there are.
        stretches: how many stretches draws were made of; each is one epoch if they are as many,
            or one round where there is one epoch.
        moved: the part of all shares that changes hands, in nano.
        flips: how many records change their tier or gate.
        shares: by hotkey, the change of its share, in nano.
        epochs: how many epochs there are.
    """

    bootstrap: Bootstrap
    rounds: int
    stretches: int
    moved: Interval
    flips: Interval
    shares: Mapping[str, Interval] = attrs.field(repr=False)
    epochs: int = 1

    @property
    def clear(self) -> int:
        """The number of miners that gain, or lose, whichever epochs there are."""
        return sum(interval.is_clear for interval in self.shares.values())

    @property
    def unit(self) -> str:
        """The unit that is drawn: epochs, or rounds where there is one epoch."""
        return "epoch" if self.epochs > 1 else "round"

    @property
    def units(self) -> int:
        """The number of epochs, or of rounds where there is one epoch."""
        return self.epochs if self.epochs > 1 else self.rounds


def draws_of(bootstrap: Bootstrap, stretches: int) -> Matrix:
    """Count how often each draw has each stretch: a row for each draw, after one for the history.

    The history itself has every stretch once. A stretch is the whole part of
    ``u · stretches / 2³²``, for ``u`` the next four bytes, most significant first, of SHAKE-256 of
    the domain, a line feed, and the seed.
    """
    size = bootstrap.draws * stretches
    stream = hashlib.shake_256(f"{_BOOTSTRAP}\n{bootstrap.seed}".encode())
    words = np.frombuffer(stream.digest(_WORD // 8 * size), ">u4").astype(np.int64)
    drawn = (words * stretches >> _WORD).reshape(bootstrap.draws, stretches)
    drawn += np.arange(bootstrap.draws)[:, None] * stretches
    counts = np.bincount(drawn.reshape(-1), minlength=size).reshape(bootstrap.draws, stretches)
    return np.vstack([np.ones((1, stretches), np.int64), counts])


def uncertainty(  # noqa: PLR0913  # what it is made of
    bootstrap: Bootstrap,
    hotkeys: Sequence[str],
    before: Amounts,
    after: Amounts,
    flips: Column,
    *,
    rounds: int,
    epochs: int = 1,
) -> Uncertainty | None:
    """Compute the uncertainty of a candidate's changes.

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
    draws = draws_of(bootstrap, stretches)
    sides = [_fitting(amounts) for amounts in (before, after)]
    totals = [draws @ side.sum(axis=1) for side in sides]
    if not all(total.all() for total in totals):
        return None
    moved, apart = 0, np.zeros(bootstrap.draws, np.int64)
    intervals: dict[str, Interval] = {}
    for begin in range(0, len(hotkeys), _MINERS):
        part = slice(begin, begin + _MINERS)
        old, new = (
            _draw_shares(draws @ side[:, part], total)
            for side, total in zip(sides, totals, strict=True)
        )
        change = new - old
        moved += int(np.abs(change[0]).sum())
        apart += np.abs(change[1:] - change[0]).sum(axis=1)
        intervals |= dict(zip(hotkeys[part], intervals_of(change, stretches, -NANO), strict=True))
    # 95 of 100 draws are at most so far from the history
    tail = (bootstrap.draws + 1) * (100 - PERCENT) // 100
    farthest = np.partition(apart // 2, bootstrap.draws - tail)[bootstrap.draws - tail]
    far = widened(int(farthest), stretches)
    return Uncertainty(
        bootstrap,
        rounds,
        stretches,
        Interval(max(0, moved // 2 - far), min(NANO, moved // 2 + far)),
        intervals_of((draws @ flips)[:, None], stretches, 0)[0],
        intervals,
        epochs,
    )


def _fitting(amounts: Amounts) -> Matrix:
    """Return the amounts in a unit of a power of two, such that every draw fits 64 bits."""
    largest = len(amounts) * max(map(sum, amounts))
    unit = max(0, largest.bit_length() - _SUM_BITS)
    return np.array([[amount >> unit for amount in row] for row in amounts], np.int64)


def _draw_shares(amounts: Matrix, totals: Column) -> Matrix:
    """Return the shares in the total of each draw, in nano, rounded half-even once."""
    whole = totals[:, None]
    # long division, digit by digit, as the amounts in nano would not fit
    share, rest = np.divmod(amounts, whole)
    for _ in range(9):
        digit, rest = np.divmod(rest * 10, whole)
        share = share * 10 + digit
    twice = 2 * rest
    up: Matrix = share + ((twice > whole) | ((twice == whole) & (share & 1 == 1)))
    return up


def intervals_of(values: Matrix, stretches: int, least: int) -> list[Interval]:
    """Return the interval of each column: its first row is the value, the others are draws.

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


def widened(far: int, stretches: int) -> int:
    """Move an end away from the value that is ``far`` from it among draws of few stretches.

    Multiplied by t / 1.96 · √(n / (n − 1)) for n stretches: t of n − 1 degrees of freedom, as a
    spread is estimated of n values, and the root, as draws of n values spread less by it.
    """
    freedom = stretches - 1
    # beyond the table the first term of the expansion of t is exact to a thousandth
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL + 2400 // freedom
    square = student**2 * stretches * _MILLION**2 // (_NORMAL**2 * freedom)
    return round_half_even(far * math.isqrt(square), _MILLION)
