"""Rule sets of real subnets: their public cases, exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from allocation.subnets import rules_of

import tallystick

HERE = Path(__file__).parent / "real_subnets"
CASES = json.loads((HERE.parents[1] / "vectors" / "subnets.json").read_bytes())["cases"]
NANO = 10**9


def cases_of(subnet: str, kind: str) -> list[Any]:
    found = [case for case in CASES if (case["subnet"], case["kind"]) == (subnet, kind)]
    assert found
    return [pytest.param(case["input"], case["exact_nano"], id=case["id"]) for case in found]


@pytest.fixture(scope="module")
def gittensor() -> tallystick.Scorer:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        return tallystick.load(HERE / "gittensor.toml", modules={"gittensor": "real_gittensor"})


# ---------------------------------------------------------------------------------------- C-SWON


@pytest.mark.parametrize(("given", "expected"), cases_of("cswon", "weights"))
def test_the_weights_of_cswon(given: dict[str, Any], expected: dict[str, int]) -> None:
    rows = [{"hotkey": hotkey, "scores": values} for hotkey, values in given["scores"].items()]
    for each in (rows, rows[::-1]):
        assert tallystick.allocate(rules_of("cswon"), each).weights == expected


# ------------------------------------------------------------------------------------- Gittensor


def measured(gittensor: tallystick.Scorer, name: str, **given: str) -> int:
    checks = {"source_token_score": 0, "total_score": 0, "hours_since_merge": 0}
    record = {
        "skill_type": "gittensor/pull",
        "task_id": "1",
        "round": 0,
        "epoch": 0,
        "validator": "5V",
        "miner": {"uid": 0, "hotkey": "5M"},
        "role": "primary",
        "task": {},
        "submission": {},
        "checks": checks | {key: float(value) for key, value in given.items()},
    }
    found = gittensor.score(record).measures[name]
    return int(Fraction(found) * NANO)


@pytest.mark.parametrize(("given", "expected"), cases_of("gittensor", "base"))
def test_the_base_of_a_pull_request(
    gittensor: tallystick.Scorer, given: dict[str, str], expected: dict[str, int]
) -> None:
    assert {"base_score": measured(gittensor, "base", **given)} == expected


@pytest.mark.parametrize(("given", "expected"), cases_of("gittensor", "decay"))
def test_the_age_of_a_pull_request(
    gittensor: tallystick.Scorer, given: dict[str, str], expected: dict[str, int]
) -> None:
    assert {"multiplier": measured(gittensor, "age", **given)} == expected
