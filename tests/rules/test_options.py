"""Options of a rule set that an axis reads: the budget abort, on and off, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vectors.builders import RECORDS

import tallystick
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import installed
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep
from tallystick_governance.lint.linting import report_of

ON = "budget_abort_enabled = 1 "
COST = "budget_abort_cost = 0 "
ROW = {"q": "0.9", "done": 1, "total": 1, "cost": "1", "budget": "4", "secs": "1", "maxs": "4"}
ABORTED, RAN = (RECORDS["workflow_score"]({**ROW, "aborted": each}) for each in (True, False))


@pytest.fixture
def loaded(tmp_path: Path, shipped_text: Callable[[str], str]) -> Callable[..., tallystick.Scorer]:
    """A shipped rule set of workflows with some of its text replaced."""

    def load(*changes: tuple[str, str], version: str = "1.2.0") -> tallystick.Scorer:
        text = shipped_text(f"workflow@{version}")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "rules.toml"
        path.write_text(text, encoding="utf-8")
        return tallystick.load(str(path))

    return load


def cost(scorer: tallystick.Scorer, record: dict[str, Any]) -> str:
    return f"{scorer.score(record).axes['cost']:.9f}"


def test_an_aborted_run_has_the_cost_of_the_option(
    loaded: Callable[..., tallystick.Scorer],
) -> None:
    assert (cost(loaded(), ABORTED), cost(loaded(), RAN)) == ("0.000000000", "0.750000000")
    quarter = loaded((COST, "budget_abort_cost = 0.25 "))
    assert (cost(quarter, ABORTED), cost(quarter, RAN)) == ("0.250000000", "0.750000000")
    poor = RECORDS["workflow_score"]({**ROW, "q": "0.1", "aborted": True})
    assert cost(quarter, poor) == "0.250000000"


def test_an_option_that_is_off_changes_nothing(loaded: Callable[..., tallystick.Scorer]) -> None:
    off = loaded((ON, "budget_abort_enabled = 0 "))
    assert cost(off, ABORTED) == cost(off, RAN) == "0.750000000"
    assert off.digest != loaded().digest
    for version in ("1.0.0", "1.1.0"):
        assert cost(tallystick.load(f"workflow@{version}"), ABORTED) == "0.750000000"


def test_a_record_that_says_nothing_was_not_aborted() -> None:
    scorer = tallystick.load("workflow@1.2.0")
    silent = RECORDS["workflow_score"](ROW)
    assert "budget_aborted" not in silent["checks"]
    null = {**silent, "checks": {**silent["checks"], "budget_aborted": None}}
    assert cost(scorer, silent) == cost(scorer, null) == "0.750000000"


def test_an_option_can_be_swept() -> None:
    sweep = parse_sweep("axes.cost.budget_abort_cost=0:0.2:0.1")
    candidates = candidates_of(["workflow@1.2.0"], [sweep], installed())[1:]
    costs = []
    for each in candidates:
        bound = each.rules.types["workflow"]
        (axis,) = (value for value in bound.axes if value.name == "cost")
        costs.append(axis.tree.digest)
    assert len(set(costs)) == len(candidates) >= 2


@pytest.mark.parametrize(
    ("changes", "path", "expected"),
    [
        (
            [("workflow/cost@2", "workflow/cost@1")],
            "axes.cost.budget_abort_enabled",
            "a parameter of workflow/cost@1: gate",
        ),
        ([(ON, "# ")], "axes.cost.budget_abort_enabled", "a number from 0 to 1, a parameter that"),
        ([(ON, "budget_abort_enabled = 2 ")], "axes.cost.budget_abort_enabled", "a number from 0"),
        ([(ON, "budget_abort_enabled = true ")], "axes.cost.budget_abort_enabled", "a number"),
    ],
)
def test_an_option_is_a_parameter_of_the_axis_that_reads_it(
    changes: list[tuple[str, str]],
    path: str,
    expected: str,
    loaded: Callable[..., tallystick.Scorer],
) -> None:
    with pytest.raises(RuleSetError) as caught:
        loaded(*changes)
    problem = next(each for each in caught.value.problems if each.path == path)
    assert problem.evidence["expected"].startswith(expected)
    assert problem.line > 0


def test_the_arm_of_a_switch_that_is_off_is_not_reported(
    loaded: Callable[..., tallystick.Scorer],
) -> None:
    for scorer in (loaded(), loaded((ON, "budget_abort_enabled = 0 "))):
        codes = {finding.code for finding in report_of(scorer).findings}
        assert not codes & {"arm-never-reached", "fact-without-effect"}
