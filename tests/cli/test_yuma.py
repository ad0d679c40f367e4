"""`tallystick yuma`: epochs of a case, to people and to machines."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli.command import ROOT, run

VECTORS = ROOT / "tests" / "vectors" / "yuma.json"


@pytest.fixture(scope="module")
def case() -> dict[str, Any]:
    cases: list[dict[str, Any]] = json.loads(VECTORS.read_text())["cases"]
    return next(each for each in cases if each["name"] == "kappa_moves_first")


@pytest.fixture
def file(tmp_path: Path, case: dict[str, Any]) -> Path:
    """A case as somebody else would write it: without a name, and without what is expected."""
    path = tmp_path / "case.json"
    inputs = [{"input": step["input"]} for step in case["steps"]]
    path.write_text(json.dumps({"params": case["params"], "steps": inputs}))
    return path


def test_a_machine_gets_every_step(file: Path, case: dict[str, Any]) -> None:
    found = run("yuma", file, "--json")
    assert found.status == 0
    assert found.json() == {"steps": [step["expect"] for step in case["steps"]]}


def test_people_see_the_last_step(file: Path, case: dict[str, Any]) -> None:
    found = run("yuma", file)
    assert "step 7 of 7" in found.out
    last = case["steps"][-1]["expect"]
    for uid, incentive in enumerate(last["incentive"]):
        (row,) = (line for line in found.out.splitlines() if line.startswith(f"{uid} "))
        cells = row.split()
        assert cells[1:3] == ["yes" if last["permits"][uid] else "no", "yes"]
        assert cells[6:] == [
            str(each) for each in (incentive, last["dividends"][uid], last["emission"][uid])
        ]


def test_vectors_are_computed_with_or_without_results(tmp_path: Path) -> None:
    functions = json.loads(VECTORS.read_text())["functions"]
    expected = {name: [row[-1] for row in rows] for name, rows in functions.items()}
    found, cases = run("yuma", VECTORS, "--json").json(), json.loads(VECTORS.read_text())["cases"]
    assert found["functions"] == expected
    assert [each["name"] for each in found["cases"]] == [each["name"] for each in cases]
    assert found["cases"][-1]["steps"] == [step["expect"] for step in cases[-1]["steps"]]
    path = tmp_path / "functions.json"
    bare = {name: [row[:-1] for row in rows] for name, rows in functions.items()}
    path.write_text(json.dumps({"functions": bare}))
    assert run("yuma", path, "--json").json() == {"cases": [], "functions": expected}
    checked = run("yuma", path, "--check")
    assert checked.status == 2
    assert "found nothing to compare, expected an expect in a step, or the result" in checked.err
    assert "\nmul " in run("yuma", path).out


def test_a_machine_is_checked_by_all_vectors() -> None:
    found = run("yuma", VECTORS, "--check")
    told = "39 cases, 145 steps, 107 values of functions: all as expected\n"
    assert (found.status, found.out) == (0, told)


def test_what_differs_is_told(tmp_path: Path, case: dict[str, Any]) -> None:
    path = tmp_path / "case.json"
    case = json.loads(json.dumps(case))
    right = case["steps"][2]["expect"]["incentive"]
    case["steps"][2]["expect"]["incentive"] = [0, *right[1:-1], right[-1] + 1]
    path.write_text(json.dumps(case))
    found = run("yuma", path, "--check")
    assert found.status == 1
    line, total = found.out.splitlines()
    assert line.startswith(f"kappa_moves_first: steps[2].incentive: found {right}, expected [0,")
    assert total == "1 case, 7 steps, 0 values of functions: 1 difference"
    (difference,) = run("yuma", path, "--check", "--json").json()["differences"]
    assert difference["path"] == "steps[2].incentive"


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"incentives": [1]}, "steps[0].incentives: found nothing, expected [1]"),
        ({}, "steps[0].active: found [True, True, True, True, True], expected nothing"),
        ([], "steps[0].expect: found [], expected an object or null"),
        (5, "steps[0].expect: found 5, expected an object or null"),
    ],
)
def test_what_is_expected_is_an_object(
    tmp_path: Path, case: dict[str, Any], expect: object, told: str
) -> None:
    path = tmp_path / "case.json"
    step = {"input": case["steps"][0]["input"], "expect": expect}
    path.write_text(json.dumps({"params": case["params"], "steps": [step]}))
    done = run("yuma", path, "--check")
    assert done.status == (1 if isinstance(expect, dict) else 2)
    assert told in done.out + done.err
