"""Permutation test: how much changes hands where chance alone decides whom a change favours.

A share that changes hands is never below 0, so no interval can tell it from none. What can is a
history without a reason (Fisher 1935). The change of the share of a miner is a sum over epochs: of
each, how much more than its share in the whole history it has of the epoch under the candidate,
less the same under the baseline. In each epoch these parts are dealt at random to the miners who
have something in it. Whatever an epoch does to some of its miners stays as it is; that it is the
same miners in one epoch after another is then chance.

The probability is that of a deal in which as much changes hands as in the history, the history
itself being one of the deals (Phipson and Smyth 2010). Where there is one epoch, its rounds take
the place of epochs.

The deals come from SHAKE-256 of a seed and everything else is whole numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column
from tallystick.numbers.nano import NANO, round_half_even
from tallystick_governance.backtest.bootstrap import Chance, Matrix

Amounts = Sequence[Sequence[int]]
"""By stretch of epochs or rounds and miner, in nano."""

_DOMAIN = "tallystick/backtest/permutation/1"
_BITS = 58
"""Changes of shares are counted in units of 2**-58: their sums fit 64 bits."""
_DEALT = 1 << 25
"""Most parts that are dealt; of a large history fewer deals are made."""
_FEWEST = 99
_TOGETHER = 1 << 18
"""Parts that are dealt together, so that they stay in the cache."""


@attrs.frozen(eq=False)
class ShareChanges:
    """The changes of the shares of miners as sums over stretches of epochs.

    Attributes:
        parts: by stretch and miner, in units of 2**-58.
        dealt: by stretch and miner, whether the miner has something in the stretch.
    """

    parts: Matrix
    dealt: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, before: Amounts, after: Amounts) -> ShareChanges | None:
        """The changes of shares from some amounts to others.

        Returns:
            None where nobody has anything under one of the two.
        """
        whole, other = (sum(map(sum, side)) for side in (before, after))
        if not whole or not other:
            return None
        unit = whole * other
        sums = [[sum(column) for column in zip(*side, strict=True)] for side in (before, after)]
        # twice the mean of the two shares of each miner
        means = [old * other + new * whole for old, new in zip(*sums, strict=True)]
        parts, dealt = [], []
        for olds, news in zip(before, after, strict=True):
            epoch = sum(news) * whole - sum(olds) * other
            pairs = list(zip(olds, news, strict=True))
            exact = (
                2 * unit * (new * whole - old * other) - mean * epoch
                for (old, new), mean in zip(pairs, means, strict=True)
            )
            parts.append([((each << _BITS) + unit**2) // (2 * unit**2) for each in exact])
            dealt.append([bool(old or new) for old, new in pairs])
        return cls(np.array(parts, np.int64), np.array(dealt, np.bool_))


def chances(
    seed: str, draws: int, candidates: Sequence[ShareChanges | None]
) -> list[Chance | None]:
    """How much changes hands by chance under each of some candidates.

    Args:
        seed: any text; another one gives other deals.
        draws: how many deals, unless the history is too large for as many.
        candidates: how shares change under each.

    Returns:
        None for a candidate that is None, and where no stretch has two miners to deal to.
    """
    return [None if each is None else _chance(seed, draws, each) for each in candidates]


def _chance(seed: str, draws: int, found: ShareChanges) -> Chance | None:
    places = [np.flatnonzero(row) for row in found.dealt]
    if not draws or max(map(len, places), default=0) < 2:
        return None
    cells, own = found.parts.size, found.parts.sum(axis=0)
    deals, step = min(draws, max(_FEWEST, _DEALT // cells)), max(1, _TOGETHER // cells)
    moved = np.zeros(deals, np.int64)
    for begin in range(0, deals, step):
        numbers = range(begin, min(begin + step, deals))
        sums: Matrix = np.tile(own, (len(numbers), 1))
        for stretch, who in enumerate(places):
            parts = found.parts[stretch]
            dealt = who[_orders(seed, stretch, numbers, len(who))]
            sums[:, who] += parts[dealt] - parts[who]
        moved[begin : numbers.stop] = np.abs(sums).sum(axis=1)
    # what differs by less than the rounding of every part is equal
    as_much = int(np.count_nonzero(moved >= int(np.abs(own).sum()) - cells))
    return Chance(deals, as_much, _published(moved))


def _published(moved: Column) -> int:
    """The middle one of what changes hands twice in each deal, in nano."""
    return round_half_even(int(np.sort(moved)[len(moved) // 2]) * NANO, 2 << _BITS)


def _orders(seed: str, stretch: int, deals: Sequence[int], miners: int) -> npt.NDArray[np.intp]:
    """Random orders of the miners of one stretch, a row for each deal.

    An order is that of as many words of four bytes, most significant first, of SHAKE-256 over the
    domain, the number of the stretch, that of the deal, both from 0, and the seed, a line each.
    """
    heads = (f"{_DOMAIN}\n{stretch}\n{deal}\n{seed}".encode() for deal in deals)
    words = b"".join(hashlib.shake_256(head).digest(4 * miners) for head in heads)
    rows = np.frombuffer(words, ">u4").reshape(len(deals), miners)
    # the few equal words keep their order, everywhere alike
    return np.argsort(rows, axis=1, kind="stable")
