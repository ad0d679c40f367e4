"""Permutation test: how much changes hands where chance alone decides whom a change favours.

A share that changes hands is never below 0, so no interval can tell it from none. What can is a
history without a reason (Fisher 1935): of each epoch, what its miners have under the baseline and
under the candidate is dealt to them at random, the two amounts of one miner together. That a
candidate pays some tasks more than others stays as it is; that it pays the same miners more in one
epoch after another is then chance. The probability is that of a deal in which as much changes hands
as in the history, the history itself being one of the deals (Phipson and Smyth 2010).

Miners are dealt among those who have records of the epoch. Where miners are very unequal, more
changes hands by chance among equals than among them: the test then errs towards chance.

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

Matrix = npt.NDArray[np.int64]
Amounts = Sequence[Sequence[int]]
"""By stretch of epochs and miner, in nano."""

_DOMAIN = "tallystick/backtest/permutation/1"
_BITS = 58
"""Changes of shares are counted in parts of 2**58: their sums fit 64 bits."""
_DEALT = 1 << 25
"""Most amounts that are dealt; of a large history fewer deals are made."""
_FEWEST = 99
_TOGETHER = 1 << 20
"""Amounts that are dealt together, so that they fit the cache of most machines."""


@attrs.frozen
class Chance:
    """How much changes hands where miners are dealt at random.

    Attributes:
        deals: how many there are.
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


def share_changes(before: Amounts, after: Amounts) -> Matrix | None:
    """By stretch and miner, what it adds to the change of the share of the miner, in 2**-58.

    Args:
        before: the amounts under the baseline.
        after: the amounts under the candidate.

    Returns:
        None where nobody has anything under one of the two.
    """
    whole, other = (sum(map(sum, side)) for side in (before, after))
    if not whole or not other:
        return None
    unit = whole * other
    rows = [
        [
            ((new * whole - old * other << _BITS + 1) + unit) // (2 * unit)
            for old, new in zip(*pair, strict=True)
        ]
        for pair in zip(before, after, strict=True)
    ]
    return np.array(rows, np.int64)


def chances(
    seed: str, draws: int, present: npt.NDArray[np.bool_], changes: Sequence[Matrix | None]
) -> list[Chance | None]:
    """How much changes hands by chance under each of some candidates, by the same deals.

    Args:
        seed: any text; another one gives other deals.
        draws: how many deals, unless the history is too large for as many.
        present: by stretch and miner, who has records.
        changes: of each candidate, as `share_changes` gives them.

    Returns:
        None for a candidate without changes, and for all where no stretch has two miners.
    """
    crowded = present.sum(axis=1)
    if not draws or crowded.max(initial=0) < 2:
        return [None] * len(changes)
    deals = min(draws, max(_FEWEST, _DEALT // present.size))
    found = [np.zeros(deals, np.int64) for _ in changes]
    places = [np.flatnonzero(row) for row in present]
    step = max(1, _TOGETHER // present.size)
    for begin in range(0, deals, step):
        numbers = range(begin, min(begin + step, deals))
        sums = [np.zeros((len(numbers), present.shape[1]), np.int64) for _ in changes]
        for stretch, who in enumerate(places):
            dealt = who[_orders(seed, stretch, numbers, len(who))]
            for change, total in zip(changes, sums, strict=True):
                if change is not None:
                    total[:, who] += change[stretch][dealt]
        for moved, total in zip(found, sums, strict=True):
            moved[begin : numbers.stop] = np.abs(total).sum(axis=1)
    return [
        None if change is None else _chance(change, moved)
        for change, moved in zip(changes, found, strict=True)
    ]


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


def _chance(change: Matrix, dealt: Column) -> Chance:
    moved = int(np.abs(change.sum(axis=0)).sum())
    # what differs by less than the rounding of every amount is equal
    as_much = int(np.count_nonzero(dealt >= moved - change.size))
    median = int(np.sort(dealt)[len(dealt) // 2])
    return Chance(len(dealt), as_much, round_half_even(median * NANO, 2 << _BITS))
