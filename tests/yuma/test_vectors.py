"""Every vector that the chain's own code computed, bit for bit."""

import json
from typing import Any

import numpy as np
import pytest
from cli.command import ROOT
from oracle.yuma import steps_of

import tallystick
from tallystick_yuma import fixed
from tallystick_yuma.vectors import check

VECTORS = json.loads((ROOT / "tests" / "vectors" / "yuma.json").read_text())
CASES = VECTORS["cases"]


def test_no_vector_is_lost() -> None:
    functions = {name: len(rows) for name, rows in VECTORS["functions"].items()}
    assert functions == {
        "exp": 25,
        "upscale_weights": 12,
        "stake_bits": 7,
        "alpha_of": 31,
        "mul": 16,
        "div": 16,
    }
    assert (len(CASES), sum(len(case["steps"]) for case in CASES)) == (39, 145)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_epoch_is_the_chains(case: dict[str, Any]) -> None:
    given = {"params": case["params"], "steps": [{"input": s["input"]} for s in case["steps"]]}
    expected = [step["expect"] for step in case["steps"]]
    assert tallystick.yuma(given) == {"steps": expected}
    # what the columns are compared with elsewhere is the chain's too
    assert steps_of(given) == expected


def test_functions_are_the_chains() -> None:
    found = check(VECTORS, "yuma.json")
    assert (found.values, found.differences) == (107, [])
    assert [fixed.exponential(x) for x, _ in VECTORS["functions"]["exp"]] == [
        expected for _, expected in VECTORS["functions"]["exp"]
    ]


@pytest.mark.parametrize(("name", "change"), [("exp", 1), ("mul", 1), ("div", 1), ("alpha_of", 1)])
def test_a_wrong_value_of_a_function_is_found(name: str, change: int) -> None:
    row = list(VECTORS["functions"][name][0])
    row[-1] += change
    document = {"format": "yuma-vectors/1", "cases": [], "functions": {name: [row]}}
    (difference,) = check(document, "yuma.json").differences
    assert (difference.case, difference.path) == (name, "[0]")
    assert difference.expected == difference.found + change


OPERANDS = np.array(
    [
        *(0, 1, 2, 3, 100, 65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32),
        *((1 << 32) + 1, (1 << 47) - 1, 1 << 47, 1 << 61, (1 << 63) - 1, 12345678901234567),
    ],
    np.int64,
)
SIGNED = np.concatenate([OPERANDS, -OPERANDS, [-(1 << 63)]])


def test_columns_multiply_and_divide_as_one_number_does() -> None:
    """Whatever the magnitudes, alone or together in a column: each way of computing is reached."""
    a, b = (x.ravel() for x in np.meshgrid(SIGNED, SIGNED))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for columns, single in (
        (fixed.products, fixed.product),
        (fixed.quotients, fixed.quotient),
    ):
        expected = [single(*pair) for pair in pairs]
        assert columns(a, b).tolist() == expected
        one_by_one = [int(columns(a[i : i + 1], b[i : i + 1])[0]) for i in range(len(a))]
        assert one_by_one == expected


def test_columns_have_the_exponential_of_each() -> None:
    draw = np.random.default_rng(1)
    near = np.array([x * fixed.ONE + d for x in range(-21, 22) for d in (-1, 0, 1)], np.int64)
    x = np.concatenate([near, draw.integers(-(22 << 32), 22 << 32, 6000), SIGNED])
    assert fixed.exponentials(x).tolist() == [fixed.exponential(each) for each in x.tolist()]
