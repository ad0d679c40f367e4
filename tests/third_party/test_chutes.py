"""Chutes as a stranger's plugin: every public case, every sentence of its rules, every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from third_party import chutes_oracle as oracle
from third_party.real_projects import (
    GONE,
    VECTORS,
    answer,
    cases_of,
    module,
    mutated,
    project,
    rules,
    told,
)

import tallystick

SUBNET = "chutes"
CASES = cases_of(SUBNET)
NANO = 10**9
EXEMPT = "561e4875-254d-588f-a36f-57c9cdef8961"
STARTED = "2025-10-01 10:00:00"


def call(metrics: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """A call of a second and a half, with a multiplier of 2."""
    return {
        "hotkey": "m1",
        "compute_multiplier": 2,
        "bounty": 0,
        "metrics": metrics,
        "started_at": STARTED,
        "completed_at": "2025-10-01 10:00:01.5",
        **changes,
    }


def features(*calls: dict[str, Any], reports: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = answer(
        SUBNET, "features", {"invocations": calls, "confirmed_reports": reports}
    )
    return found


def counted(calls: int, bounties: int, units: int) -> dict[str, int]:
    return {"invocation_count": calls, "bounty_count": bounties, "compute_units_nano": units}


def miner(hotkey: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "hotkey": hotkey,
        "coldkey": f"cold of {hotkey}",
        "invocation_count": 10,
        "bounty_count": 1,
        "compute_units": "100",
        "unique": [10, 1],
        **changes,
    }


def weights(*miners: dict[str, Any]) -> dict[str, int] | None:
    """What the rules make of some miners, which is what the oracle says, in any order of rows."""
    found: dict[str, int] | None = answer(SUBNET, "weights", {"miners": miners})
    assert found == oracle.weights(miners)
    assert found == answer(SUBNET, "weights", {"miners": miners[::-1]})
    return found


# ------------------------------------------------------------------------------------ the cases


@pytest.mark.nightly
def test_every_case_is_met_by_the_command() -> None:
    kept = {name: value for name, value in os.environ.items() if name != "TALLYSTICK_PLUGINS"}
    done = subprocess.run(
        [sys.executable, "-m", "tallystick_chutes", str(VECTORS)],
        cwd=project(SUBNET),
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [{"id": name, "exact_nano": case["exact_nano"]} for name, case in CASES.items()]
    assert len(found) == 14


@pytest.mark.parametrize(
    ("name", "path", "value", "where"),
    [
        ("chutes-weights-02", "kind", "shares", "kind"),
        ("chutes-weights-02", "input", GONE, "input"),
        ("chutes-weights-02", "input.miners", {}, "input.miners"),
        ("chutes-weights-02", "input.miners.1.coldkey", GONE, "input.miners[1].coldkey"),
        (
            "chutes-weights-02",
            "input.miners.1.compute_units",
            "1e3",
            "input.miners[1].compute_units",
        ),
        (
            "chutes-weights-02",
            "input.miners.1.invocation_count",
            -1,
            "input.miners[1].invocation_count",
        ),
        ("chutes-weights-02", "input.miners.1.unique", [3], "input.miners[1].unique"),
        ("chutes-weights-02", "input.miners.1.hotkey", "a", "input.miners"),
        (
            "chutes-weights-09",
            "input.miners.0.private.seconds",
            None,
            "input.miners[0].private.seconds",
        ),
        ("chutes-features-02", "input.invocations.0.bounty", GONE, "input.invocations[0].bounty"),
        (
            "chutes-features-02",
            "input.invocations.0.metrics.nc",
            "4",
            "input.invocations[0].metrics.nc",
        ),
        (
            "chutes-features-02",
            "input.invocations.0.metrics.nc",
            float("inf"),
            "input.invocations[0].metrics.nc",
        ),
        (
            "chutes-features-02",
            "input.invocations.0.started_at",
            "yesterday",
            "input.invocations[0].started_at",
        ),
        (
            "chutes-features-02",
            "input.invocations.0.started_at",
            "2025-13-01 10:00:00",
            "input.invocations[0]",
        ),
        (
            "chutes-features-02",
            "input.invocations.0.metrics",
            {"nc": 10**9},
            "input.invocations[0]",
        ),
        (
            "chutes-features-02",
            "input.invocations.0.metrics",
            {"nc": -(10**9)},
            "input.invocations[0]",
        ),
        ("chutes-features-05", "input.confirmed_reports", "bad", "input.confirmed_reports"),
    ],
)
def test_a_malformed_case_is_refused_by_its_name_and_path(  # noqa: PLR0913, PLR0917  # a case
    name: str,
    path: str,
    value: object,
    where: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, case = CASES["chutes-weights-12"], mutated(CASES[name], path, value)
    if value in ({"nc": 10**9}, {"nc": -(10**9)}):
        case = mutated(case, "input.invocations.0.compute_multiplier", 10)
    status, found, said = told(SUBNET, {"cases": [case, good]}, tmp_path, capsys)
    assert status == 2
    assert found == {"chutes-weights-12": None}
    (line,) = said
    assert line.startswith(f"{name}: {where}: ")


# ------------------------------------------------------------------------------------- features


@pytest.mark.parametrize(
    ("metrics", "basis"),
    [
        (None, "1.5"),
        ({}, "1.5"),
        ({"nc": 4}, "4"),
        ({"nc": 4, "steps": 9, "masps": 9}, "4"),
        ({"nc": 0, "steps": 3, "masps": 0.5}, "1.5"),
        ({"nc": None, "steps": 10, "masps": 0.25}, "2.5"),
        ({"steps": 10, "masps": 0}, "0"),
        ({"steps": 10}, "1.5"),
        ({"steps": 10, "it": 1, "ot": 2, "maspt": 5}, "15"),
        ({"steps": 0, "masps": 9, "it": 1, "ot": 2, "maspt": 5}, "15"),
        ({"it": 1, "ot": 0, "maspt": 5}, "1.5"),
        ({"it": 0, "ot": 1, "maspt": 5}, "1.5"),
        ({"it": 1, "ot": 1}, "1.5"),
        ({"it": 1, "ot": 1, "maspt": 0}, "0"),
        ({"nc": -4, "steps": -1, "masps": 3, "it": -1, "ot": 2, "maspt": 5}, "1.5"),
        ({"steps": 2, "masps": -3}, "-6"),
        ({"p": False, "tps": 11, "nc": 2}, "2"),
    ],
)
def test_compute_is_the_first_basis_that_there_is(metrics: Any, basis: str) -> None:  # noqa: ANN401
    units = round(2 * float(basis) * NANO)
    assert features(call(metrics)) == {"m1": counted(1, 0, units)}


def test_nothing_forbids_a_negative_time() -> None:
    found = features(call(completed_at="2025-10-01 09:59:59"))
    assert found == {"m1": counted(1, 0, -2 * NANO)}


@pytest.mark.parametrize(
    "changes",
    [
        {"error": "boom"},
        {"error_message": "boom"},
        {"completed_at": None},
        {"metrics": {"p": True, "nc": 5}},
    ],
)
def test_a_call_that_failed_or_is_private_has_its_bounty_and_no_compute(
    changes: dict[str, Any],
) -> None:
    is_private = "metrics" in changes
    found = features(call(bounty=7, **changes))
    assert found == {"m1": counted(0, 0 if is_private else 1, 7 * NANO)}


def test_an_empty_error_is_none() -> None:
    assert features(call({"nc": 1}, error="")) == {"m1": counted(1, 0, 2 * NANO)}


def test_the_exempt_chute_is_public_whatever_its_metrics_say() -> None:
    private = call({"p": True, "nc": 3}, bounty=1)
    assert features(private | {"chute_id": EXEMPT}) == {"m1": counted(1, 1, 7 * NANO)}
    assert features(private | {"chute_id": "another"}) == {"m1": counted(0, 0, NANO)}


def test_calls_of_no_slot_and_under_a_confirmed_report_are_left_out() -> None:
    good, gone = call({"nc": 1}), call({"nc": 50}, bounty=3)
    for left_out in (gone | {"uid": -1}, gone | {"miner_uid": -3}, gone | {"parent": "bad"}):
        assert features(good, left_out, reports=("bad",)) == {"m1": counted(1, 0, 2 * NANO)}
    # who has no other call is no part of the population
    assert features(good, gone | {"hotkey": "m2", "parent": "bad"}, reports=("bad",)).keys() == {
        "m1"
    }
    assert features() == {}


def test_a_hotkey_may_have_had_several_slots() -> None:
    calls = (call({"nc": 1}, **changes) for changes in ({"uid": 4}, {"uid": 7}, {}))
    assert features(*calls) == {"m1": counted(3, 0, 6 * NANO)}


def test_times_may_be_missing() -> None:
    never = {name: value for name, value in call(bounty=3).items() if name != "completed_at"}
    assert features(never) == {"m1": counted(0, 1, 3 * NANO)}
    timeless = {name: value for name, value in call(bounty=3).items() if name != "started_at"}
    assert features(timeless) == {"m1": counted(1, 1, 3 * NANO)}


def test_a_call_counts_as_often_as_it_stands_there() -> None:
    assert features(*[call({"nc": 1})] * 3) == {"m1": counted(3, 0, 6 * NANO)}


def test_units_of_a_call_are_rounded_once_to_nine_places() -> None:
    odd = call({"steps": 0.000000003, "masps": 0.5}, compute_multiplier=1)
    # 1.5e-9 is half-way: to the even neighbour, each for itself
    assert features(odd, odd) == {"m1": counted(2, 0, 4)}


# ---------------------------------------------------------------------------- private instances

WEEK = 7 * 24 * 3600
NOW = datetime.fromisoformat("2026-05-01T11:00:00+00:00")
BALANCE = "job has been terminated due to insufficient user balance"


def instance(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """What an instance of an hour that ended an hour ago counts for; times are hours before now."""
    times = {"activated_us": 2, "stop_billing_us": 1, "deleted_us": 1, **changes}
    checks = {
        name: None if hours is None else _microseconds(hours) if name.endswith("_us") else hours
        for name, hours in {"billed": True, "deletion_reason": BALANCE, **times}.items()
    }
    record = module(SUBNET, "__main__")._record("instance", "m1", 0, 1)
    record |= {"task": {"compute_multiplier": 1.5}, "submission": {}}
    found = rules(SUBNET).score(record | {"checks": checks | {"now_us": _microseconds(0)}})
    return {name: float(value) for name, value in found.measures.items()}


def _microseconds(hours_ago: float) -> int:
    epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return (NOW - timedelta(hours=hours_ago) - epoch) // timedelta(microseconds=1)


def amounts(seconds: float) -> dict[str, float]:
    return {
        "seconds": seconds,
        "instances": 1 if seconds else 0,
        "private_units": 1.5 * seconds,
    }


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 3600),
        ({"stop_billing_us": None}, 3600),
        ({"deleted_us": None}, 3600),
        ({"deleted_us": 1.5}, 1800),
        ({"stop_billing_us": None, "deleted_us": None}, 7200),
        ({"stop_billing_us": 0, "deleted_us": -5}, 7200),
        ({"activated_us": 9 * 24}, WEEK - 3600),
        ({"activated_us": 9 * 24, "stop_billing_us": 0, "deleted_us": 0}, WEEK),
        ({"activated_us": 9 * 24, "stop_billing_us": 7 * 24, "deleted_us": 1}, 0),
        ({"activated_us": 9 * 24, "stop_billing_us": 8 * 24, "deleted_us": 1}, 0),
        ({"activated_us": 1, "stop_billing_us": 2}, 0),
        ({"activated_us": None}, 0),
        ({"billed": False}, 0),
        ({"deletion_reason": None}, 0),
        ({"deletion_reason": "it failed"}, 0),
        ({"deletion_reason": f"{BALANCE}!"}, 0),
        ({"deletion_reason": "user has zero/negative balance (private chute)"}, 3600),
        ({"deletion_reason": "the chute has an old version\nof something"}, 3600),
    ],
)
def test_a_private_instance_counts_by_its_billed_seconds_of_seven_days(
    changes: dict[str, Any], seconds: float
) -> None:
    assert instance(**changes) == amounts(seconds)


# -------------------------------------------------------------------------------------- weights


def test_without_a_unique_chute_there_are_no_weights() -> None:
    assert weights(miner("a", unique=None), miner("b", unique=[0, 5])) is None
    assert weights(miner("a", unique=[3, 4])) is None  # 0.75 is cut to 0


def test_a_weight_below_0_leaves_all_without_one() -> None:
    debtor = miner("b", compute_units="-99")
    assert weights(miner("a"), debtor) is None
    # of a coldkey the best is paid, and the others have nothing
    assert weights(miner("a"), debtor, miner("c", coldkey=debtor["coldkey"])) is not None


def test_random_miners_are_paid_as_the_oracle_says() -> None:
    """Also equal ones, several of a coldkey, amounts of nothing and below 0."""
    random = Random(6)

    def some(number: int) -> dict[str, Any]:
        units = f"{random.randint(-9, 10**12)}.{random.randint(0, 10**9 - 1):09}"
        hours = random.choice([1, 10, 169])
        changes = {
            "coldkey": f"c{random.randint(0, 6)}",
            "invocation_count": random.choice([0, 10, random.randint(0, 10**6)]),
            "bounty_count": random.choice([0, 1, random.randint(0, 99)]),
            "compute_units": random.choice(["0", "100", "-0.5", units]),
            "unique": random.choice([None, [0, 5], [random.randint(0, 9999), hours]]),
        }
        if random.random() < 0.3:
            private = {"instances": 3, "seconds": "59.999999999", "compute_units": "12.000000001"}
            changes["private"] = random.choice([None, private])
        return miner(f"m{number}", **changes)

    for _ in range(40):
        weights(*map(some, range(random.randint(1, 9))))


def test_who_has_no_call_is_no_part_of_the_population() -> None:
    driver = module(SUBNET, "__main__")
    record = driver._record("unique", "private only", 0, 1)
    records = [record | {"task": {}, "submission": {}, "checks": {"gpus": 90, "hours": 1}}]
    for name, gpus in (("a", 8), ("b", 4)):
        records.append(driver._call(call({"nc": 1}, hotkey=name), 1, frozenset()))
        record = driver._record("unique", name, 0, 2)
        checks = {"gpus": gpus, "hours": 1}
        records.append(record | {"task": {}, "submission": {}, "checks": checks})
    found = [rules(SUBNET).score(record).to_dict() for record in records]
    miners = {name: {"coldkey": name} for name in ("a", "b", "private only")}
    done = tallystick.allocate(
        rules(SUBNET), found, round={"format": 1, "round": {}, "miners": miners}
    )
    assert done.weights.keys() == {"a", "b"}
    assert done.nano("largest") == 8 * NANO
