"""Differences are sound: nothing moves further, the other way, or where it cannot."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from generators import lines as made_up_lines
from governance.backtest.histories import made, written
from governance.diff.soundness import (
    LINES,
    RELEASES,
    changed,
    compare,
    extreme_facts,
    facts,
    results,
    scorer,
    thresholds_of_a_state,
    weights_moved,
)

from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.difference import difference

FEW, MANY = 300, 20_000
CHANGES = 29 - len(RELEASES)
EXTREME = range(100, 126)


def line_of(rules: Scorer) -> str:
    return rules.rule_set.rule_set.name


@pytest.mark.parametrize(
    ("count", "releases", "seeds"),
    [
        (FEW, RELEASES[:1], range(4)),
        pytest.param(MANY, RELEASES, range(CHANGES), marks=pytest.mark.nightly),
    ],
)
def test_no_record_moves_where_or_further_than_a_difference_says(
    tmp_path: Path, count: int, releases: tuple[tuple[str, str], ...], seeds: range
) -> None:
    pairs = [(scorer(old), scorer(new)) for old, new in releases]
    pairs += [changed(seed, tmp_path) for seed in seeds]
    moved = fixed = 0
    for seed, (old, new) in enumerate(pairs):
        choices = random.Random(seed)
        compared = compare(old, new, difference(old, new), facts(line_of(old), count), choices)
        assert compared.records > count * 0.9
        moved += compared.moved > 0
        fixed += compared.fixed > 0
    assert moved > len(pairs) // 3
    assert fixed > len(pairs) // 3


@pytest.mark.nightly
def test_no_extreme_record_moves_where_or_further_than_a_difference_says(tmp_path: Path) -> None:
    """Records at the boundaries of their schemas, also in parts."""
    moved = 0
    for seed in EXTREME:
        old, new = changed(seed, tmp_path)
        records = extreme_facts(line_of(old), MANY // 10)
        compared = compare(old, new, difference(old, new), records, random.Random(seed))
        assert compared.records > 500
        moved += compared.moved > 0
    assert moved > len(EXTREME) // 4


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [6, 14, 16, 48, 52, 54])
def test_no_record_moves_further_by_the_thresholds_of_a_state(tmp_path: Path, seed: int) -> None:
    """Changes by which records of skills move."""
    old, new = changed(seed, tmp_path)
    choices = random.Random(seed)
    given = thresholds_of_a_state(old, new, choices)
    found = difference(old, new, given, 3)
    assert compare(old, new, found, facts("skills", MANY // 5), choices, given).moved


@pytest.mark.nightly
@pytest.mark.parametrize(
    "seeds", [range(200, 202), pytest.param(range(200, 214), marks=pytest.mark.nightly)]
)
def test_no_result_of_groups_and_epochs_moves_that_cannot(tmp_path: Path, seeds: range) -> None:
    histories = {
        "skills": written(tmp_path / "skills.jsonl", made(5)),
        "workflow": tmp_path / "workflow.jsonl",
    }
    histories["workflow"].write_bytes(b"".join(made_up_lines(3, 300, ["workflow"])))
    assert set(histories) == set(LINES)
    moved, fixed = Counter[str](), Counter[str]()
    for seed in seeds:
        old, new = changed(seed, tmp_path)
        history = histories[line_of(old)]
        before, after = (results(rules, history, seed) for rules in (old, new))
        for outcome in difference(old, new).outcomes:
            if outcome.result == "weights":
                differs = bool(weights_moved(old, new, history))
            elif outcome.result in before.keys() & after.keys():
                differs = before[outcome.result] != after[outcome.result]
            else:
                continue
            assert outcome.direction or not differs, (seed, outcome.result)
            moved[outcome.result] += differs
            fixed[outcome.result] += not outcome.direction
    assert sum(moved.values()) > 0
    assert sum(fixed.values()) > 0
