"""Where the corrected line departs from the print, worked out by hand, row by row."""

from fractions import Fraction
from typing import Any

import pytest
from vectors.builders import RECORDS, base, finding

from oracle import refusals, score, text, thresholds
from oracle.tiers import BASELINES

Row = dict[str, Any]
SKILLS = ("skills@1.0.0", "skills@1.1.0")


def python_record(task: Row | None = None, submission: Row | None = None) -> Row:
    return base("executable_python", task=task or {}, submission=submission or {}, checks={})


def axis(record: Row, name: str, rule_set: str = "skills@1.1.0") -> str:
    value: str = score(record, rule_set)["axes"][name]
    return value


@pytest.mark.parametrize(
    ("verdict", "truth", "expected_risk", "alpha"),
    [
        ("BLOCK", "BLOCK", None, "1.000000000"),  # E1
        ("BLOCK", "BLOCK", 0.4, "0.950000000"),  # E1
        ("REVIEW", "ALLOW", 0.4, "0.800000000"),  # E6
        ("BLOCK", "ALLOW", None, "0.600000000"),  # E2
        ("BLOCK", "REVIEW", None, "0.800000000"),  # E5
        ("ALLOW", "REVIEW", None, "0.500000000"),  # E5
        ("REVIEW", "BLOCK", None, "0.500000000"),  # E2
        ("ALLOW", "BLOCK", 0.4, "0.000000000"),  # E2
    ],
)
def test_corrected_detection_goes_by_rank(
    verdict: str, truth: str, expected_risk: float | None, alpha: str
) -> None:
    task = {"ground_truth": truth}
    if expected_risk is not None:
        task["expected_risk"] = expected_risk
    record = python_record(task, {"verdict": verdict, "risk_score": 0.9})
    assert axis(record, "detection") == alpha


@pytest.mark.parametrize(
    ("checks", "printed", "corrected"),
    [
        ({}, "0.000000000", "0.000000000"),
        ({"probe_verified": True}, "0.300000000", "1.000000000"),
        ({"probe_verified": True, "findings_cited": False}, "0.300000000", "0.600000000"),
        ({"probe_verified": False, "findings_cited": True}, "0.200000000", "0.400000000"),
    ],
)
def test_a_check_that_is_left_out_is_not_counted(checks: Row, printed: str, corrected: str) -> None:
    record = python_record(submission={"findings": [finding(1, "data_leak")]})
    record["checks"] = checks
    assert [axis(record, "evidence", name) for name in SKILLS] == [printed, corrected]


def test_the_record_says_whether_citations_hold_also_without_findings() -> None:
    record = python_record()
    record["checks"] = {"findings_cited": True}
    assert [axis(record, "evidence", name) for name in SKILLS] == ["0.200000000", "1.000000000"]
    record["checks"] = {}
    assert [axis(record, "evidence", name) for name in SKILLS] == ["0.000000000", "0.000000000"]


@pytest.mark.parametrize(
    ("found", "printed", "corrected"),
    [
        (["a", "a"], "1.000000000", "0.500000000"),  # E14: one canary twice
        (["a", "b", "z"], "1.000000000", "1.000000000"),
        (["z", None], "1.000000000", "0.000000000"),
        ([], "0.000000000", "0.000000000"),
    ],
)
def test_corrected_injection_recall_matches_ids(
    found: list[str | None], printed: str, corrected: str
) -> None:
    findings = [
        finding(number, "canary_match") | {"canary_id": canary}
        for number, canary in enumerate(found)
    ]
    record = base(
        "rag_knowledge",
        task={"injected_canaries": ["a", "b", "a"]},
        submission={"findings": findings},
        checks={},
    )
    assert [axis(record, "injection_recall", name) for name in SKILLS] == [printed, corrected]


@pytest.mark.parametrize(
    ("recovered", "truth", "printed", "corrected"),
    [
        ("sha256:AB", "SHA256:ab", "0.000000000", "1.000000000"),
        ("ab", "ab", "1.000000000", "0.000000000"),
        (":ab", ":ab", "1.000000000", "0.000000000"),
        ("sha256:\u212a", "sha256:k", "0.000000000", "0.000000000"),  # the kelvin sign
        (None, "sha256:ab", "0.000000000", "0.000000000"),
        ("sha256:ab", None, "0.000000000", "0.000000000"),
    ],
)
def test_corrected_manifest_integrity_folds_ascii_case_and_needs_a_prefix(
    recovered: str | None, truth: str | None, printed: str, corrected: str
) -> None:
    record = base(
        "mcp_server",
        task={"expected_manifest_hash": truth},
        submission={"mcp_manifest_hash": recovered},
        checks={},
    )
    assert [axis(record, "manifest_integrity", name) for name in SKILLS] == [printed, corrected]


@pytest.mark.parametrize(
    ("found", "want", "corrected"),
    [
        (["a", "b"], ["a", "b", "c"], "0.800000000"),
        (["a", "b", "c", "d"], ["a", "a"], "0.400000000"),
        (["a", "a"], ["a"], "1.000000000"),
        (["a"], [], "0.000000000"),
        ([], [], "1.000000000"),
        ([], ["a"], "0.000000000"),
    ],
)
def test_corrected_tool_poison_recall_is_an_f_score(
    found: list[str], want: list[str], corrected: str
) -> None:
    record = RECORDS["tau"]({"found": found, "want": want})
    assert axis(record, "tool_poison_recall") == corrected


def test_a_finding_without_a_tool_flags_none() -> None:
    record = RECORDS["tau"]({"found": ["a"], "want": []})
    record["submission"]["findings"][0]["tool"] = None
    assert axis(record, "tool_poison_recall") == "1.000000000"
    del record["submission"]["findings"][0]["tool"]
    assert axis(record, "tool_poison_recall") == "1.000000000"


@pytest.mark.parametrize(
    ("predicted", "executed", "coverage"),
    [
        (["a", "b", "c", "a"], ["b", "b", "z"], "0.333333333"),
        (["a", "b"], ["b"], "0.500000000"),
        (["a"], ["a "], "0.000000000"),
        ([], ["a"], "1.000000000"),
    ],
)
@pytest.mark.parametrize("rule_set", SKILLS)
def test_shell_coverage_is_over_distinct_commands(
    rule_set: str, predicted: list[str], executed: list[str], coverage: str
) -> None:
    record = RECORDS["sigma"]({"predicted": predicted, "executed": executed})
    assert axis(record, "shell_coverage", rule_set) == coverage


@pytest.mark.parametrize(
    ("skill_type", "bars"),
    [
        ("rag_knowledge", ("0.350000000", "0.402500000", "0.525000000")),
        ("declarative", ("0.400000000", "0.460000000", "0.600000000")),
        ("executable_python", ("0.500000000", "0.575000000", "0.750000000")),
        ("executable_script", ("0.480000000", "0.552000000", "0.720000000")),
        ("mcp_server", ("0.450000000", "0.517500000", "0.675000000")),
        ("agent_composition", ("0.400000000", "0.460000000", "0.600000000")),
    ],
)
@pytest.mark.parametrize("rule_set", SKILLS)
def test_seeds_lie_where_both_lines_agree(
    rule_set: str, skill_type: str, bars: tuple[str, str, str]
) -> None:
    assert tuple(map(text, thresholds(skill_type, rule_set))) == bars


def test_corrected_thresholds_leave_room_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BASELINES, "rag_knowledge", Fraction("0.68"))
    printed, corrected = (thresholds("rag_knowledge", name) for name in SKILLS)
    assert tuple(map(text, printed)) == ("0.680000000", "0.782000000", "1.020000000")
    assert tuple(map(text, corrected)) == ("0.680000000", "0.728000000", "0.840000000")


def workflow_record(task: Row | None = None, **checks: Any) -> Row:  # noqa: ANN401  # any JSON
    record = RECORDS["workflow_score"](
        {"q": "0.9", "done": 2, "total": 2, "cost": "1", "budget": "4", "secs": "1", "maxs": "4"}
    )
    record["task"] |= task or {}
    record["checks"] |= checks
    return record


def test_corrected_success_counts_the_steps_the_task_asks_for() -> None:
    record = workflow_record({"min_steps": 3})
    assert score(record, "workflow@1.0.0")["axes"]["success"] == "0.900000000"
    assert score(record, "workflow@1.1.0")["axes"]["success"] == "0.600000000"


def test_doing_nothing_earns_reliability_only_as_printed() -> None:
    record = workflow_record(steps_completed=0, total_steps=0)
    assert score(record, "workflow@1.0.0")["quality"] == "0.100000000"
    assert score(record, "workflow@1.1.0")["quality"] == "0.000000000"


def test_a_limit_of_zero_scores_zero_as_printed_and_is_refused_corrected() -> None:
    record = workflow_record({"max_budget_tao": 0, "max_latency_seconds": 4e-10})
    row = score(record, "workflow@1.0.0")
    assert (row["axes"]["cost"], row["axes"]["latency"]) == ("0.000000000", "0.000000000")
    assert refusals(record, "workflow@1.1.0") == ("budget-positive", "latency-limit-positive")
