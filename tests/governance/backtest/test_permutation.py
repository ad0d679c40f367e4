"""How much changes hands by chance: the deals, once more in plain fractions, and what they tell."""

import hashlib
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from tallystick.numbers.nano import NANO, round_half_even
from tallystick_governance.backtest.statistics import Chance, ShareChanges, chances_of

Amounts = list[list[int]]


def orders(seed: str, stretch: int, deal: int, miners: int) -> list[int]:
    head = f"tallystick/backtest/permutation/1\n{stretch}\n{deal}\n{seed}".encode()
    stream = hashlib.shake_256(head).digest(4 * miners)
    words = [int.from_bytes(stream[4 * n : 4 * n + 4], "big") for n in range(miners)]
    return sorted(range(miners), key=lambda n: (words[n], n))


def parts(before: Amounts, after: Amounts) -> list[list[Fraction]]:
    """What each epoch adds to the change of the share of each miner."""
    whole, other = sum(map(sum, before)), sum(map(sum, after))
    means = [
        (Fraction(sum(old), whole) + Fraction(sum(new), other)) / 2
        for old, new in zip(zip(*before, strict=True), zip(*after, strict=True), strict=True)
    ]
    return [
        [
            (new - mean * sum(news)) / other - (old - mean * sum(olds)) / whole
            for old, new, mean in zip(olds, news, means, strict=True)
        ]
        for olds, news in zip(before, after, strict=True)
    ]


def by_hand(seed: str, deals: int, before: Amounts, after: Amounts) -> tuple[int, Fraction]:
    """In how many deals as much changes hands, and what does in the middle one."""
    exact = parts(before, after)
    moved = []
    for deal in range(deals):
        dealt = [list(row) for row in exact]
        for stretch, row in enumerate(exact):
            who = [n for n in range(len(row)) if before[stretch][n] or after[stretch][n]]
            for place, source in zip(who, orders(seed, stretch, deal, len(who)), strict=True):
                dealt[stretch][place] = row[who[source]]
        moved.append(sum(abs(sum(column)) for column in zip(*dealt, strict=True)) / 2)
    own = sum(abs(sum(column)) for column in zip(*exact, strict=True)) / 2
    return sum(each >= own for each in moved), sorted(moved)[deals // 2]


def found_of(
    before: Sequence[Sequence[int]], after: Sequence[Sequence[int]], deals: int = 99
) -> Chance | None:
    changes = ShareChanges.of(before, after)
    return chances_of("seed", deals, [changes])[0]


@pytest.mark.parametrize(("stretches", "miners"), [(2, 2), (2, 6), (5, 4), (9, 13)])
def test_the_deals_are_those_of_a_deal_at_a_time(stretches: int, miners: int) -> None:
    chance = random.Random(stretches)

    def side() -> Amounts:
        return [
            [chance.choice([0, 1, 3, 3]) * chance.randrange(NANO) for _ in range(miners)]
            for _ in range(stretches)
        ]

    before, after = side(), side()
    as_much, median = by_hand("seed", 99, before, after)
    found = found_of(before, after)
    assert found is not None
    assert (found.deals, found.as_much) == (99, as_much)
    assert abs(found.median - median * NANO) <= 1
    assert found.probability == round_half_even((as_much + 1) * NANO, 100)


def test_what_each_epoch_adds_sums_to_the_change_of_the_share() -> None:
    before, after = [[1, 2, 0], [5, 1, 1]], [[2, 2, 1], [4, 0, 3]]
    changes = [sum(column) for column in zip(*parts(before, after), strict=True)]
    assert changes == [
        Fraction(6, 12) - Fraction(6, 10),
        Fraction(2, 12) - Fraction(3, 10),
        Fraction(4, 12) - Fraction(1, 10),
    ]
    found = ShareChanges.of(before, after)
    assert found is not None
    for part, change in zip(found.parts.sum(axis=0).tolist(), changes, strict=True):
        assert abs(Fraction(part, 2**58) - change) < Fraction(1, 2**50)


def test_a_miner_who_gains_in_every_epoch_is_no_chance_and_one_who_gains_once_is() -> None:
    before = [[100] * 8 for _ in range(6)]
    always = [[130, *[100] * 7] for _ in range(6)]
    in_turn = [[130 if n == epoch else 100 for n in range(8)] for epoch in range(6)]
    found = [found_of(before, after, 999) for after in (always, in_turn)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].as_much == 0
    assert found[0].probability == NANO // 1000
    # no deal moves more than one in which everyone gains once, and some deals do as much
    assert found[1].probability > NANO // 20


def test_what_changes_nothing_is_always_as_much() -> None:
    before = [[3, 1, 4], [1, 5, 9]]
    assert found_of(before, before) == Chance(99, 99, 0)


def test_amounts_of_any_size_have_the_same_chance() -> None:
    before, after = [[3, 1, 4], [1, 5, 9], [2, 6, 5]], [[3, 5, 8], [9, 7, 9], [3, 2, 3]]
    huge = [[[each << 200 for each in row] for row in side] for side in (before, after)]
    assert found_of(*huge) == found_of(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [([[0, 0], [0, 0]], [[1, 2], [3, 4]]), ([[1, 0], [0, 1]], [[2, 0], [0, 1]])],
)
def test_without_two_miners_to_deal_to_there_is_no_chance(before: Amounts, after: Amounts) -> None:
    assert found_of(before, after) is None


@pytest.mark.nightly
def test_a_large_history_is_dealt_less_often() -> None:
    before = [[1 + n % 3 for n in range(600)] for _ in range(256)]
    after = [[1 + n % 5 for n in range(600)] for _ in range(256)]
    found = found_of(before, after, 999)
    assert found is not None
    assert found.deals == 2**25 // (600 * 256)
    assert found.as_much == 0


def test_a_seed_deals_the_same_everywhere_and_another_one_deals_otherwise() -> None:
    before, after = [[3, 1, 4, 1, 5]] * 4, [[2, 7, 1, 8, 2], [8, 1, 8, 2, 8]] * 2
    changes = ShareChanges.of(before, after)
    assert changes is not None
    first, again, other = (chances_of(seed, 199, [changes]) for seed in ("a", "a", "b"))
    assert first == again != other


def test_candidates_together_have_the_chances_that_each_has_alone() -> None:
    before = [[3, 1, 0, 1, 5], [0, 0, 4, 4, 1], [2, 6, 5, 3, 5]]
    others = [[[2, 7, 1, 8, 2], [8, 0, 8, 2, 8], [1, 1, 1, 1, 1]], before, [[0] * 5] * 3]
    changes = [ShareChanges.of(before, after) for after in others]
    chances = chances_of("seed", 99, changes)
    assert chances == [found_of(before, after) for after in others]
    assert chances[0] != chances[1]
    assert chances[2] is None
