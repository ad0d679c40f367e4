"""Intervals: the epochs that are drawn, and what a draw comes to, once more in plain fractions."""

import hashlib
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from generators import lines
from governance.backtest.histories import few_epochs

from tallystick.errors import InputError, TallystickError
from tallystick.numbers.nano import NANO, round_half_even
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.executor import InProcess
from tallystick_governance.backtest.candidates import Candidate, candidates_of, parse_sweep
from tallystick_governance.backtest.history import RoundStretches, count, reader_of
from tallystick_governance.backtest.outcome import FlipRows, Outcome
from tallystick_governance.backtest.run import BacktestRun, backtest
from tallystick_governance.backtest.statistics import (
    Bootstrap,
    Interval,
    draws_of,
    uncertainty,
    widened,
)

BOOTSTRAP = Bootstrap(79, "seed")
Amounts = list[list[int]]


def drawn(bootstrap: Bootstrap, stretches: int) -> list[list[int]]:
    """The draws, a number at a time."""
    domain = f"tallystick/backtest/bootstrap/1\n{bootstrap.seed}".encode()
    stream = hashlib.shake_256(domain).digest(4 * bootstrap.draws * stretches)
    words = [int.from_bytes(stream[i : i + 4], "big") for i in range(0, len(stream), 4)]
    places = [word * stretches >> 32 for word in words]
    rows = [places[i : i + stretches] for i in range(0, len(places), stretches)]
    return [[row.count(place) for place in range(stretches)] for row in rows]


def shares(weights: list[int], amounts: Amounts) -> list[int]:
    sums = [
        sum(weight * row[miner] for weight, row in zip(weights, amounts, strict=True))
        for miner in range(len(amounts[0]))
    ]
    return [round_half_even(each * NANO, sum(sums)) for each in sums]


STUDENT = {2: Fraction(12706, 1000), 7: Fraction(2447, 1000), 30: Fraction(2045, 1000)}
"""The quantile 0.975 of Student's t with one degree of freedom less, from a printed table."""


def moved_away(far: int, stretches: int) -> int:
    """How far an end is from the value: t / 1.96 · √(n / (n − 1)) times as far as in the draws."""
    square = (STUDENT[stretches] / Fraction(196, 100)) ** 2 * Fraction(stretches, stretches - 1)
    millionths = math.isqrt(square.numerator * 10**12 // square.denominator)
    return round_half_even(far * millionths, 10**6)


def middle(value: int, values: list[int], stretches: int) -> Interval:
    """Of 79 values the second smallest and the second largest: 2.5 of 100 lie on either side."""
    ordered = sorted(values)
    return Interval(
        value - moved_away(max(0, value - ordered[1]), stretches),
        value + moved_away(max(0, ordered[-2] - value), stretches),
    )


def made_up(stretches: int, miners: int, most: int, seed: int) -> Amounts:
    chance = random.Random(seed)
    return [[chance.randrange(most) for _ in range(miners)] for _ in range(stretches)]


def keys(miners: int) -> list[str]:
    return [f"miner {n}" for n in range(miners)]


def test_a_seed_draws_the_same_rounds_on_every_machine() -> None:
    found = draws_of(Bootstrap(39, "a seed"), 3)
    assert found.tolist() == [[1, 1, 1], *drawn(Bootstrap(39, "a seed"), 3)]
    assert found[1:7].tolist() == PINNED
    assert draws_of(Bootstrap(39, "another"), 3).tolist() != found.tolist()


PINNED = [[3, 0, 0], [1, 0, 2], [2, 1, 0], [1, 1, 1], [2, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(("stretches", "miners"), [(2, 1), (7, 5), (30, 300)])
def test_the_intervals_are_those_of_a_draw_at_a_time(stretches: int, miners: int) -> None:
    before = made_up(stretches, miners, 3 * NANO, 1)
    after = made_up(stretches, miners, 3 * NANO, 2)
    flips = [n % 4 for n in range(stretches)]
    found = uncertainty(BOOTSTRAP, keys(miners), before, after, np.array(flips), rounds=stretches)
    assert found is not None
    rows = [[1] * stretches, *drawn(BOOTSTRAP, stretches)]
    changes = [
        [a - b for b, a in zip(shares(row, before), shares(row, after), strict=True)]
        for row in rows
    ]
    assert list(found.shares) == keys(miners)
    assert list(found.shares.values()) == [
        clipped(middle(c[0], list(c[1:]), stretches), -NANO) for c in zip(*changes, strict=True)
    ]
    # 5 of 100 draws are farther from the history than the fourth of 79
    apart = [
        sum(abs(a - b) for a, b in zip(draw, changes[0], strict=True)) // 2 for draw in changes[1:]
    ]
    far = moved_away(sorted(apart)[-4], stretches)
    value = sum(map(abs, changes[0])) // 2
    assert found.moved == Interval(max(0, value - far), min(NANO, value + far))
    counts = [sum(w * f for w, f in zip(row, flips, strict=True)) for row in rows]
    assert found.flips == clipped(middle(counts[0], counts[1:], stretches), 0)


def clipped(interval: Interval, least: int) -> Interval:
    return Interval(max(least, interval.low), interval.high)


def test_amounts_of_any_size_keep_their_shares() -> None:
    before, after = made_up(6, 4, NANO, 1), made_up(6, 4, NANO, 2)
    huge = [[[each << 60 for each in row] for row in side] for side in (before, after)]
    flips = np.zeros(6, np.int64)
    small = uncertainty(BOOTSTRAP, keys(4), before, after, flips, rounds=6)
    large = uncertainty(BOOTSTRAP, keys(4), huge[0], huge[1], flips, rounds=6)
    assert large is not None
    assert large == small


def test_what_changes_nothing_has_intervals_of_nothing() -> None:
    before = made_up(9, 3, NANO, 1)
    found = uncertainty(BOOTSTRAP, keys(3), before, before, np.zeros(9, np.int64), rounds=9)
    assert found is not None
    assert {found.moved, found.flips, *found.shares.values()} == {Interval(0, 0)}
    assert found.clear == 0


def test_a_change_that_every_round_has_is_clear_and_one_that_a_round_has_is_not() -> None:
    before = [[100, 100, 100]] * 40
    after = [[150, 50, 100]] * 40
    flips = np.array([1] + [0] * 39)
    every = uncertainty(BOOTSTRAP, keys(3), before, after, flips, rounds=40)
    once = uncertainty(BOOTSTRAP, keys(3), before, [*after[:1], *before[1:]], flips, rounds=40)
    assert every is not None
    assert once is not None
    assert every.clear == 2
    assert every.shares["miner 0"].low > 0 > every.shares["miner 1"].high
    assert once.clear == 0
    # a third of all draws do not have the round of the flip
    assert once.flips.low == 0


@pytest.mark.parametrize(
    ("before", "draws"), [([[1, 2]], 79), ([[1, 2], [3, 4]], 0), ([[0, 0], [0, 0]], 79)]
)
def test_what_has_no_interval_has_none(before: Amounts, draws: int) -> None:
    flips = np.zeros(len(before), np.int64)
    found = uncertainty(Bootstrap(draws), keys(2), before, before, flips, rounds=len(before))
    assert found is None


@pytest.mark.parametrize("draws", [1, 38, -1])
def test_too_few_draws_are_refused(draws: int) -> None:
    with pytest.raises(TallystickError, match=f"found {draws} draws .* at least 39"):
        Bootstrap(draws)


@pytest.mark.parametrize(("units", "miners", "many"), [(5, 3, 5), (1000, 3, 256), (90, 10**6, 16)])
@pytest.mark.parametrize("by_epoch", [True, False])
def test_stretches_are_epochs_or_else_rounds_until_there_are_too_many(
    units: int, miners: int, many: int, *, by_epoch: bool
) -> None:
    rounds = [unit << 31 | round_ for unit in range(units) for round_ in (1, 2)]
    found = RoundStretches.of(rounds if by_epoch else range(units), miners)
    assert (found.count, found.by_epoch, len(found.keys)) == (many, by_epoch, units)
    assert (found.epochs, found.rounds) == ((units, 2 * units) if by_epoch else (1, units))


def test_the_ends_of_few_draws_are_farther_away_and_of_many_they_are_not() -> None:
    far = [widened(NANO, stretches) for stretches in range(2, 257)]
    assert far == sorted(far, reverse=True)
    assert far[0] > 9 * NANO
    assert NANO < far[-1] < NANO * 101 // 100


CANDIDATES = (["skills@1.0.0", "skills@1.1.0"], ["axes.policy.weight=0.1:0.2:0.1"])


@pytest.fixture(scope="module")
def candidates() -> tuple[Candidate, ...]:
    references, sweeps = CANDIDATES
    return candidates_of(references, [parse_sweep(text) for text in sweeps], installed())


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "records.jsonl"
    path.write_bytes(b"".join(few_epochs(lines(5, 600))) + b"[]\n")
    return path


def test_the_stretches_sum_to_the_whole_history(
    history: Path, candidates: tuple[Candidate, ...]
) -> None:
    reader = reader_of(history, candidates)
    whole: Outcome = BacktestRun(reader).outcome()
    period = whole.history.period
    assert period is not None
    stretches = RoundStretches.of(period.keys, len(whole.miners))
    stretches = attrs.evolve(stretches, count=min(4, stretches.count))
    flips = np.zeros((len(candidates), stretches.count), np.int64)

    def add(rows: FlipRows) -> None:
        flips[rows.candidate] += np.bincount(rows.miner_uid, minlength=stretches.count)

    counts = count(reader, InProcess(), on_flips=add, stretches=stretches)
    hotkeys = [miner.hotkey for miner in whole.miners]
    for place, candidate in enumerate(whole.candidates):
        amounts = stretches.amounts(counts, place, "emission", hotkeys)
        assert sum(any(row) for row in amounts) == stretches.count > 1
        expected = sum((each.emission for each in candidate.types.values()), Counter[str]())
        assert [sum(each) for each in zip(*amounts, strict=True)] == [
            expected[hotkey] for hotkey in hotkeys
        ]
        expected_flips = sum(each.flips.records for each in candidate.types.values())
        assert flips[place].sum() == expected_flips
        assert bool(expected_flips) is bool(place)


def test_a_history_that_changes_between_the_passes_is_told(
    history: Path, candidates: tuple[Candidate, ...], tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(history.read_bytes())
    grown = [False]

    def grow(_: int) -> None:
        if not grown[0]:
            grown[0] = True
            with path.open("ab") as file:
                file.write(b"[]\n")

    with pytest.raises(InputError, match="found another history than before"):
        backtest(path, candidates, tmp_path / "out", progress=grow)
    assert not (tmp_path / "out").exists()
