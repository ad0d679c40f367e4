"""Chutes as a stranger's plugin: every public case, and what an oracle says of random ones."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from third_party import chutes_oracle as oracle
from third_party.chutes_answers import ANSWERS, features, record_of, weights
from third_party.real_projects import NANO, cases_of, rules

CASES = cases_of("chutes")


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_met(name: str) -> None:
    case = CASES[name]
    assert ANSWERS[case["kind"]](case["input"]) == case["exact_nano"]


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
    call = {
        "hotkey": "m1",
        "compute_multiplier": 2,
        "bounty": 0,
        "metrics": metrics,
        "started_at": "2025-10-01 10:00:00",
        "completed_at": "2025-10-01 10:00:01.5",
    }
    assert features({"invocations": [call], "confirmed_reports": []}) == {
        "m1": {"invocation_count": 1, "bounty_count": 0, "compute_units_nano": units}
    }


# ---------------------------------------------------------------------------- private instances

HOUR, WEEK = 3600, 7 * 24 * 3600
BALANCE = "job has been terminated due to insufficient user balance"


def instance(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """What an instance of an hour that ended an hour ago counts for; times are hours before now."""
    checks = {"activated_us": 2, "stop_billing_us": 1, "deleted_us": 1, "now_us": 0}
    checks |= {"billed": True, "deletion_reason": BALANCE, **changes}
    for name, hours in checks.items():
        if name.endswith("_us") and hours is not None:
            checks[name] = round((500_000 - hours) * HOUR * 10**6)
    task = {"compute_multiplier": 1.5}
    record = record_of("instance", "m1") | {"task": task, "submission": {}, "checks": checks}
    found = rules("chutes").score(record)
    return {name: float(value) for name, value in found.measures.items()}


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
    assert instance(**changes) == {
        "seconds": seconds,
        "instances": 1 if seconds else 0,
        "private_units": 1.5 * seconds,
    }


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
        return {"hotkey": f"m{number}", **changes}

    for _ in range(40):
        miners = [*map(some, range(random.randint(1, 9)))]
        found = weights({"miners": miners})
        assert found == oracle.weights(miners)
        assert found == weights({"miners": miners[::-1]})
