"""Whether intervals hold the truth as often as they say, over null histories.

In a null history no miner is favoured: every miner is as good as any other, and a candidate changes
some tiers. Tasks differ by epoch, and so does how well each miner copes with those of an epoch; by
chance, then, shares change. The truth is known: no share changes, and as many records flip as in
the mean of many epochs. All is whole numbers, so that every machine measures the same.
"""

import random
from bisect import bisect_right
from pathlib import Path

import attrs
import numpy as np
import pytest

from tallystick_governance.backtest.statistics import (
    Bootstrap,
    Uncertainty,
    uncertainty,
)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "backtest.md"
HISTORIES, EPOCHS, ROUNDS, MINERS, RECORDS = 300, (2, 3, 6, 12, 24), 8, 12, 2
BOOTSTRAP = Bootstrap(399, "coverage")
STARTS, PAID = (300, 600, 800), (2, 10, 14, 20)
CANDIDATE_STARTS, CANDIDATE_PAID = (300, 560, 800), (2, 10, 15, 20)
"""From which quality on a tier begins, and how many times a record of it is paid."""
HEADS = (
    "epochs",
    "share of a miner",
    "flips",
    "changes hands",
    "share, drawn by rounds",
    "flips, drawn by rounds",
)
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


def measured(epochs: int, flips_of_an_epoch: float) -> list[str]:
    """How often the truth is held, in per cent: by epochs, and by rounds for comparison."""
    chance = random.Random(epochs)
    counts = dict.fromkeys(HEADS[1:], 0.0)
    for _ in range(HISTORIES):
        drawn = draw(epochs, chance)
        truth = flips_of_an_epoch * epochs
        for unit, name in ((epochs, ""), (1, ", drawn by rounds")):
            found = known(drawn, unit)
            held = sum(each.low <= 0 <= each.high for each in found.shares.values())
            counts["share" + (name or " of a miner")] += held / MINERS
            counts["flips" + name] += found.flips.low <= truth <= found.flips.high
            if unit > 1:
                counts["changes hands"] += found.moved.low == 0
    return [str(epochs), *(f"{counts[name] * 100 / HISTORIES:.0f} %" for name in HEADS[1:])]


def table() -> list[list[str]]:
    many = 4000
    flips = sum(draw(many, random.Random(0)).flips) / many
    return [measured(epochs, flips) for epochs in EPOCHS]


@pytest.mark.nightly
def test_intervals_hold_the_truth_as_often_as_the_page_says() -> None:
    found = table()
    for row in found:
        share, flips, moved = (int(each.removesuffix(" %")) for each in row[1:4])
        assert 90 <= share <= 98
        assert flips >= 88
        assert moved >= 95
    lines = [f"| {' | '.join(row)} |" for row in (list(HEADS), *found)]
    text = PAGE.read_text(encoding="utf-8")
    assert [each for each in lines if each not in text] == []


if __name__ == "__main__":
    for row in (list(HEADS), *table()):
        print(f"| {' | '.join(row)} |")  # noqa: T201  # the table of the page
