"""Options of a rule set that an axis reads: the budget abort, on and off, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vectors.builders import RECORDS

import tallystick
from tallystick.errors import RuleSetError
from tallystick.plugins.registry import installed
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.sweep import parse_sweep

ON = "enabled = true                          # terms"
OFF = "enabled = false                         # terms, workflow aggregation"
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
    quarter = loaded(("cost = 0  ", "cost = 0.25  "))
    assert (cost(quarter, ABORTED), cost(quarter, RAN)) == ("0.250000000", "0.750000000")
    poor = RECORDS["workflow_score"]({**ROW, "q": "0.1", "aborted": True})
    assert cost(quarter, poor) == "0.250000000"


def test_an_option_that_is_off_changes_nothing(loaded: Callable[..., tallystick.Scorer]) -> None:
    off = loaded((ON, "enabled = false # terms"))
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
    sweep = parse_sweep("aggregation.options.budget_abort.cost=0:0.2:0.1")
    candidates = candidates_of(["workflow@1.2.0"], [sweep], installed())[1:]
    costs = []
    for each in candidates:
        bound = each.rules.types["workflow"]
        (axis,) = (value for value in bound.axes if value.name == "cost")
        costs.append(axis.compiled.tree.digest)
    assert len(set(costs)) == len(candidates) >= 2


@pytest.mark.parametrize(
    ("changes", "version", "path", "expected"),
    [
        (
            [(f"{OFF}\ncost", "enabled = true\ncost")],
            "1.1.0",
            "aggregation.options.budget_abort.enabled",
            "false, or an axis whose formula reads it: workflow/cost@2",
        ),
        (
            [("workflow/cost@2", "workflow/cost@1")],
            "1.2.0",
            "aggregation.options.budget_abort.enabled",
            "false, or an axis whose formula reads it: workflow/cost@2",
        ),
        (
            [('workflow/cost@2"', 'workflow/cost@2"\nbudget_abort_cost = 0.1')],
            "1.2.0",
            "axes.cost.budget_abort_cost",
            "no such key: workflow/cost@2 takes it from aggregation.options.budget_abort.cost",
        ),
    ],
)
def test_an_option_that_nothing_reads_is_refused(
    changes: list[tuple[str, str]],
    version: str,
    path: str,
    expected: str,
    loaded: Callable[..., tallystick.Scorer],
) -> None:
    with pytest.raises(RuleSetError) as caught:
        loaded(*changes, version=version)
    problem = next(each for each in caught.value.problems if each.path == path)
    assert problem.evidence["expected"].startswith(expected)
    assert problem.line > 0


def test_an_axis_that_reads_an_option_needs_it(
    shipped_text: Callable[[str], str], tmp_path: Path
) -> None:
    text = shipped_text("workflow@1.2.0")
    without = text[: text.index("[aggregation.options.budget_abort]")]
    path = tmp_path / "rules.toml"
    path.write_text(without, encoding="utf-8")
    with pytest.raises(RuleSetError) as caught:
        tallystick.load(str(path))
    found = {each.path: each.evidence["expected"] for each in caught.value.problems}
    wanted = "a value, which workflow/cost@2 reads"
    assert found == {
        "aggregation.options.budget_abort.enabled": wanted,
        "aggregation.options.budget_abort.cost": wanted,
    }


@pytest.mark.parametrize("option", ["warm_up", "zero_average"])
def test_an_option_of_the_window_needs_one(
    option: str, shipped_text: Callable[[str], str], tmp_path: Path
) -> None:
    text = shipped_text("workflow@1.2.0")
    begin, end = text.index("[aggregation.window]"), text.index("[aggregation.cap]")
    text = text[:begin] + text[end:]
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    tallystick.load(str(path))
    place = f"[aggregation.options.{option}]"
    start = text.index("enabled = false", text.index(place))
    path.write_text(f"{text[:start]}enabled = true{text[start + 15 :]}", encoding="utf-8")
    with pytest.raises(RuleSetError) as caught:
        tallystick.load(str(path))
    (problem,) = caught.value.problems
    assert problem.path == f"aggregation.options.{option}.enabled"
    assert "[aggregation.window]" in problem.evidence["expected"]
