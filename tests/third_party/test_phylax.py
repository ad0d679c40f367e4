"""Phylax as a stranger's plugin: every public case, and what an oracle says of random ones."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest
from third_party import phylax_oracle as oracle
from third_party.phylax_answers import (
    ANSWERS,
    TRACKS,
    VERDICTS,
    allocation,
    behavioural,
    repositories,
    vote,
)
from third_party.real_projects import cases_of, nano

CASES = cases_of("phylax")
SHARES = "0", "0.000000001", "0.18", "0.999999999", "1", "1.5", "-0.1"
"""Shares that may be reserved; those at both ends and beyond reserve nothing."""


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_met(name: str) -> None:
    case = CASES[name]
    assert ANSWERS[case["kind"]](case["input"]) == case["exact_nano"]


def test_a_verdict_is_the_lower_median_of_what_was_completed() -> None:
    for length in range(5):
        for verdicts in product((None, *VERDICTS), repeat=length):
            assert vote({"repetitions": verdicts}) == {"verdict": oracle.verdict(verdicts)}


def test_random_tasks_score_as_the_oracle_says() -> None:
    random = Random(3)
    for _ in range(25):
        tasks = []
        for _ in range(random.randint(0, 5)):
            expected, reported = random.randint(0, 9), random.randint(0, 9)
            counts = [random.randint(0, min(expected, reported)), expected, reported]
            tasks.append(
                {
                    "malicious": random.choice([True, True, False, False, None]),
                    "verdict": random.choice(["ALLOW", "ALLOW", "WARN", "BLOCK", None]),
                    "findings": random.choice([counts, None]),
                    "times": random.choice([1, 2.0, random.randint(1, 12)]),
                }
            )
        assert behavioural({"tasks": tasks}) == {"score": oracle.behavioural(tasks)}


def test_random_repositories_score_as_the_oracle_says() -> None:
    random = Random(4)
    for _ in range(20):
        tasks = []
        for _ in range(random.randint(0, 4)):
            runs: list[Any] = []
            for _ in range(random.randint(0, 4)):
                names = random.sample([*oracle.DIMENSIONS], random.randint(1, 3))
                most = random.choice([1, 9, 900])
                sizes = {name: (random.randint(0, 9), random.randint(0, most)) for name in names}
                run = {n: [random.randint(0, min(e, r)), e, r] for n, (e, r) in sizes.items()}
                runs.append(run if random.random() < 0.8 else None)
            tasks.append(runs)
        assert repositories({"tasks": tasks}) == {"score": nano(oracle.repositories(tasks))}


def test_random_rounds_are_paid_as_the_oracle_says() -> None:
    """Scores on a cut and right below it, equal ones, tracks and rounds of nobody; every share."""
    random, scored = Random(5), [0, 0.199999999, 0.2, 0.499999999, 0.5, 0.9]
    reserved = [(hotkey, share) for hotkey in ("", "treasury", "m1") for share in SHARES]
    for _ in range(10):
        rounds = []
        for seed in range(3):
            scores = {
                track: {
                    f"m{n}": f"{random.choice([*scored, random.random()]):.9f}"
                    for n in random.sample(range(12), random.randint(0, 8))
                }
                for track in random.sample(TRACKS, random.randint(0, 4))
            }
            contributors = random.sample([f"m{n}" for n in range(12)], 3)
            seeds = {track: f"{seed}-{track}" for track in TRACKS}
            rounds.append({"scores": scores, "contributors": contributors, "seeds": seeds})
        hotkey, share = random.choice(reserved)
        expected, previous = [], dict[str, Fraction]()
        for each in rounds:
            columns = oracle.round_of(each, previous, (hotkey, Fraction(share)))
            previous = columns[1]
            named = zip(("new", "smoothed", "final"), columns, strict=True)
            expected.append({name: {h: nano(w) for h, w in c.items()} for name, c in named})
        given = {"rounds": rounds, "reserved": {"hotkey": hotkey, "share": share}}
        assert allocation(given) == expected
