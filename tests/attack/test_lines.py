"""No line of a stranger stops a run, changes another line's row, or means something else elsewhere.

The laws are in `line_attack`. A failure names the rule set and the seed of its file.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.hostile_lines import TYPES, mixed
from attack.line_attack import Target
from attack.scale import CASES, FILE, SEED

PARTS = max(5, CASES // 20_000)
"""Shares of the lines of a rule set: each is a test, so that they run side by side."""


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    made = Target.of(tmp_path, request.param)
    yield made
    made.close()


def _attack(target: Target, cases: int, seed: object) -> None:
    rules = target.scorer.rule_set.reference
    for number in range(max(1, cases // FILE)):
        target.attack(mixed(f"{rules} {seed} {number}", FILE, TYPES[rules]))
    target.verify()
    assert target.found["row"] > cases / 4
    assert len(target.found) > 10, "hardly any code: the mutator has become tame"


@pytest.mark.parametrize("target", TYPES, indirect=True)
def test_some_hostile_lines_are_rows_or_rejects(target: Target) -> None:
    target.attack(mixed(SEED, FILE // 4, TYPES[target.scorer.rule_set.reference]))


@pytest.mark.nightly
@pytest.mark.parametrize("target", TYPES, indirect=True)
@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_lines_are_rows_or_rejects_and_good_ones_stay_as_they_are(
    target: Target, part: int
) -> None:
    _attack(target, 2 * CASES // PARTS // len(TYPES), f"more {SEED} {part}")
