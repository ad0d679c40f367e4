"""Rule sets of real subnets that need no plugin of their own: their public cases, exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tallystick

HERE = Path(__file__).parent / "real_subnets"
CASES = json.loads((HERE.parents[1] / "vectors" / "subnets.json").read_bytes())["cases"]
NANO = 10**9


def cases_of(subnet: str, kind: str) -> list[Any]:
    found = [case for case in CASES if (case["subnet"], case["kind"]) == (subnet, kind)]
    assert found
    return [pytest.param(case["input"], case["exact_nano"], id=case["id"]) for case in found]


def scorer_of(name: str) -> tallystick.Scorer:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        return tallystick.load(HERE / f"{name}.toml", modules={name: f"real_{name}"})


@pytest.fixture(scope="module")
def cswon() -> tallystick.Scorer:
    return scorer_of("cswon")


@pytest.fixture(scope="module")
def gittensor() -> tallystick.Scorer:
    return scorer_of("gittensor")


# ---------------------------------------------------------------------------------------- C-SWON


def weights(
    cswon: tallystick.Scorer, scores: dict[str, list[str]], immune: tuple[str, ...] = ()
) -> dict[str, int]:
    rows = [{"hotkey": hotkey, "score": values} for hotkey, values in scores.items()]
    miners = {hotkey: {"immune": True} for hotkey in immune}
    given = {"format": 1, "round": {}, "miners": miners}
    found = tallystick.allocate(cswon, rows, round=given).weights
    assert found == tallystick.allocate(cswon, rows[::-1], round=given).weights
    return dict(found)


@pytest.mark.parametrize(("given", "expected"), cases_of("cswon", "weights"))
def test_the_weights_of_cswon(
    cswon: tallystick.Scorer, given: dict[str, Any], expected: dict[str, int]
) -> None:
    assert weights(cswon, given["scores"]) == expected


def test_a_new_miner_of_cswon_counts_by_its_tasks(cswon: tallystick.Scorer) -> None:
    others = {f"m{n}": [f"0.{n}5"] * 20 for n in range(1, 9)}
    new = {"new": ["0.9"] * 10}
    half = {"new": ["0.45"] * 10}
    assert weights(cswon, others | new, ("new",)) == weights(cswon, others | half)
    assert weights(cswon, others | new) != weights(cswon, others | half)
    warm = {"new": ["0.9"] * 20}
    assert weights(cswon, others | warm, ("new",)) == weights(cswon, others | warm)
    # 0.9 * 1 / 20 is below 0.05, which counts as 0
    one = {"new": ["0.9"]}
    assert weights(cswon, others | one, ("new",)) == weights(cswon, others | {"new": []})


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
