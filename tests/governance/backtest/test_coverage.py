"""Whether intervals hold the truth as often as they say, over null histories.

In a null history no miner is favoured: every miner is as good as any other, and a candidate changes
some tiers. Tasks differ by epoch, and so does how well each miner copes with those of an epoch; by
chance, then, shares change. The truth is known: no share changes, and as many records flip as in
the mean of many epochs. All is whole numbers, so that every machine measures the same.
"""

import random
from bisect import bisect_right
from collections import Counter

import attrs
import numpy as np
import pytest

from tallystick_governance.backtest.statistics import (
    Bootstrap,
    Uncertainty,
    uncertainty,
)

HISTORIES, EPOCHS, ROUNDS, MINERS, RECORDS = 300, (2, 3, 6, 12, 24), 8, 12, 2
BOOTSTRAP = Bootstrap(399, "coverage")
STARTS, PAID = (300, 600, 800), (2, 10, 14, 20)
CANDIDATE_STARTS, CANDIDATE_PAID = (300, 560, 800), (2, 10, 15, 20)
"""From which quality on a tier begins, and how many times a record of it is paid."""
Rows = list[list[int]]


@attrs.frozen
class Drawn:
    """The rounds of some epochs, in their order, by miner; and the flips of each.

    Attributes:
        before: what the baseline pays.
        after: what the candidate pays.
        flips: how many records change their tier.
    """

    before: Rows
    after: Rows
    flips: list[int]


def draw(epochs: int, chance: random.Random) -> Drawn:
    """A null history."""
    found = Drawn([], [], [])
    for _ in range(epochs):
        hardness = sum(chance.randrange(-90, 91) for _ in range(3))
        copes = [sum(chance.randrange(-90, 91) for _ in range(3)) for _ in range(MINERS)]
        for _ in range(ROUNDS):
            before, after, flips = [], [], 0
            for able in copes:
                old = new = 0
                for _ in range(RECORDS):
                    noise = sum(chance.randrange(-40, 41) for _ in range(4))
                    quality = min(1000, max(1, 560 + hardness + able + noise))
                    tier = bisect_right(STARTS, quality)
                    other = bisect_right(CANDIDATE_STARTS, quality)
                    flips += tier != other
                    old += quality * PAID[tier]
                    new += quality * CANDIDATE_PAID[other]
                before.append(old)
                after.append(new)
            found.before.append(before)
            found.after.append(after)
            found.flips.append(flips)
    return found


def by_epoch(rows: Rows) -> Rows:
    """The sums of the rounds of each epoch."""
    return [
        [sum(column) for column in zip(*rows[n : n + ROUNDS], strict=True)]
        for n in range(0, len(rows), ROUNDS)
    ]


def known(drawn: Drawn, epochs: int) -> Uncertainty:
    """The intervals of a history from its epochs; of one "epoch" from its rounds."""
    keys = [f"miner {n}" for n in range(MINERS)]
    sides, flips = (drawn.before, drawn.after), [[each] for each in drawn.flips]
    if epochs > 1:
        sides, flips = (by_epoch(drawn.before), by_epoch(drawn.after)), by_epoch(flips)
    found = uncertainty(
        BOOTSTRAP,
        keys,
        *sides,
        np.array([each for (each,) in flips]),
        rounds=len(drawn.flips),
        epochs=epochs,
    )
    assert found is not None
    return found


def measured(epochs: int, flips_of_an_epoch: float) -> dict[str, float]:
    """How often the truth is held, in per cent: by epochs, and by rounds for comparison."""
    chance = random.Random(epochs)
    held: Counter[str] = Counter()
    for _ in range(HISTORIES):
        drawn = draw(epochs, chance)
        truth = flips_of_an_epoch * epochs
        for unit, name in ((epochs, "epochs"), (1, "rounds")):
            found = known(drawn, unit)
            held[f"shares by {name}"] += sum(
                each.low <= 0 <= each.high for each in found.shares.values()
            )
            held[f"flips by {name}"] += MINERS * (found.flips.low <= truth <= found.flips.high)
            held[f"moved by {name}"] += MINERS * (found.moved.low == 0)
    return {name: count * 100 / (HISTORIES * MINERS) for name, count in held.items()}


@pytest.mark.nightly
def test_intervals_hold_the_truth_as_often_as_the_page_says() -> None:
    many = 4000
    flips = sum(draw(many, random.Random(0)).flips) / many
    for found in (measured(epochs, flips) for epochs in EPOCHS):
        assert 90 <= found["shares by epochs"] <= 98
        assert 90 <= found["flips by epochs"] <= 98
        assert found["moved by epochs"] >= 95
        assert min(found["shares by rounds"], found["flips by rounds"]) >= 65
        assert max(found["shares by rounds"], found["flips by rounds"]) <= 75
