"""`rules lint --against OLD`, for people, for machines and for hosts of code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from examples import fast_rows
from governance.lint.linted import SOUND, written
from governance.revision import changed, shipped

from tallystick_governance.lint.catalog import installed_lints
from tallystick_governance.lint.linting import report
from tallystick_governance.lint.render import as_json, as_markdown, as_text
from tallystick_governance.lint.sarif import as_sarif

CHECKS = installed_lints().checks

OLD = "workflow@1.0.0"
KEPT = ("kept as published:", "kept | as published:")
LOW_CAP = ("share = 0.15", "share = 0.05")
_PART = '  { name = "part"'
_NONE = '  { name = "none", do = "filter", of = "mean", above = 1, others = "zero" },\n'
NOBODY = ((_PART, _NONE + _PART), ('of = "mean", zero', 'of = "none", zero'))
"""Steps that give nobody a weight, which is an error."""


def linted(*arguments: str | Path) -> Any:  # noqa: ANN401  # any JSON value
    return run("rules", "lint", *arguments, "--json").json()


def identities(found: list[dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(each["code"], each["path"], each["message"]) for each in found}


def test_a_rule_set_beside_itself_has_nothing_new_and_nothing_gone(tmp_path: Path) -> None:
    path = written(tmp_path, f"# a line more\n{shipped(OLD)}")
    assert run("rules", "lint", path, "--against", OLD).out == (
        f"new since {OLD}: nothing; 0 gone\n"
    )


def test_what_is_new_and_what_is_gone_are_the_differences_of_both_reports(tmp_path: Path) -> None:
    path = written(tmp_path, changed(shipped("workflow@1.1.0"), LOW_CAP))
    sides = report(OLD), report(path)
    old, new = (identities(as_json(each)["findings"]) for each in sides)
    beside = sides[1].since(sides[0])
    found = as_json(beside)
    assert found["against"] == OLD
    found["findings"] = [f for f in found["findings"] if CHECKS[f["code"]].compare is None]
    of_silences = {each for each in identities(found["findings"]) if each[0] == "silence-new"}
    assert len(of_silences) == 2
    assert identities(found["findings"]) - of_silences == new - old != set()
    gone = identities(found["gone"])
    assert gone < old
    # what is at the same place with other figures is not gone
    assert {code for code, _, _ in old - gone} == {"cap-infeasible", "cliff"}
    text = as_text(beside)
    assert f"\ngone since {OLD}:\n" in text
    assert "warning cap-infeasible" in text


@pytest.mark.nightly
def test_other_figures_are_another_finding(tmp_path: Path) -> None:
    path = written(tmp_path, changed(shipped(OLD), ("share = 0.15", "share = 0.16")))
    found = linted(path, "--against", OLD)
    (finding,) = found["findings"]
    assert finding["code"] == "cap-infeasible"
    assert "a cap of 0.150000000" in finding["evidence"]["before"]
    assert found["gone"] == []
    assert "    before: a cap of 0.150000000" in run("rules", "lint", path, "--against", OLD).out


def test_a_step_before_another_changes_nothing_of_what_is_found_there(tmp_path: Path) -> None:
    path = written(tmp_path, changed(shipped(OLD), (_PART, _NONE + _PART)))
    found = linted(path, "--against", OLD, "--select", "cap-infeasible")
    assert (found["findings"], found["gone"]) == ([], [])


@pytest.mark.nightly
def test_an_error_that_was_there_before_does_not_fail(tmp_path: Path) -> None:
    bad = written(tmp_path, changed(shipped(OLD), *NOBODY))
    assert run("rules", "lint", bad).status == 1
    assert run("rules", "lint", bad, "--against", bad).status == 0
    assert run("rules", "lint", bad, "--against", OLD).status == 1


@pytest.mark.nightly
def test_codes_are_selected_on_both_sides(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND)
    found = linted(path, "--against", OLD, "--select", "free-points")
    assert {each["code"] for each in found["gone"]} == {"free-points"}


def test_the_old_one_has_to_load(tmp_path: Path) -> None:
    path = written(tmp_path, changed(SOUND, ("success = 0.6", "success = 0.7")))
    found = run("rules", "lint", OLD, "--against", path)
    assert (found.status, found.out) == (2, "")
    assert "found a sum of 1.1" in found.err
    assert run("rules", "lint", path, "--against", OLD).status == 1


@pytest.mark.nightly
def test_markdown_has_every_reason_of_what_types_share(tmp_path: Path) -> None:
    code, place = 'code = "gate-never-binds"\npath = "skill_types.', '.gates[0]"\nreason = '
    before = f'{code}*{place}"kept as published; it changes no score (E8)"'
    after = f'{code}mcp_server{place}"one"\n\n[[lint.silence]]\n{code}*{place}"the * other"'
    path = written(tmp_path, changed(shipped("skills@1.1.0"), (before, after)))
    (row,) = (
        line
        for line in run("rules", "lint", path, "--markdown").out.splitlines()
        if line.startswith("| `gate-never-binds` |")
    )
    assert row.endswith("| the \\* other; one |")


@pytest.mark.nightly
def test_markdown_has_what_is_new_gone_and_silenced(tmp_path: Path) -> None:
    path = written(tmp_path, changed(shipped("workflow@1.1.0"), LOW_CAP, KEPT))
    lines = as_markdown(report(path).since(report(OLD))).splitlines()
    assert lines[0] == f"# Lint of workflow@1.1.0, against {OLD}"
    assert [line for line in lines if line.startswith("## ")] == [
        "## New",
        f"## Gone since {OLD}",
        "## Silenced",
    ]
    assert any(line.startswith("| warning | `cap-infeasible` |") for line in lines)
    assert any(line.startswith("| `cliff` | `axes.cost` | kept \\| as pub") for line in lines)
    rows = [line.replace("\\|", "") for line in lines if line.startswith("|")]
    assert {row.count("|") for row in rows} == {4, 5}


def test_markdown_without_findings_says_so(tmp_path: Path) -> None:
    found = run("rules", "lint", written(tmp_path, SOUND), "--markdown").out
    assert found == "# Lint of sound@1.0.0\n\nnothing found.\n"


ALLOWED: Mapping[str, set[str]] = {
    "": {"$schema", "version", "runs"},
    "runs": {"tool", "columnKind", "results"},
    "tool": {"driver"},
    "driver": {"name", "version", "rules"},
    "rules": {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration"},
    "shortDescription": {"text"},
    "fullDescription": {"text"},
    "help": {"text"},
    "defaultConfiguration": {"level"},
    "results": {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"}
    | {"baselineState", "suppressions", "properties"},
    "message": {"text"},
    "locations": {"physicalLocation", "logicalLocations"},
    "physicalLocation": {"artifactLocation", "region"},
    "artifactLocation": {"uri"},
    "region": {"startLine"},
    "logicalLocations": {"fullyQualifiedName"},
    "suppressions": {"kind", "status", "justification"},
}
"""The keys that SARIF 2.1.0 allows of the objects that are used: it closes all of them."""
VALUES = {
    "version": {"2.1.0", version("tallystick")},
    "columnKind": {"utf16CodeUnits", "unicodeCodePoints"},
    "level": {"none", "note", "warning", "error"},
    "baselineState": {"new", "unchanged", "updated", "absent"},
    "kind": {"inSource", "external"},
    "status": {"accepted", "underReview", "rejected"},
}


def check_shape(value: Any, name: str = "") -> None:  # noqa: ANN401  # any JSON value
    """Hold a part of a log to the standard; bags of properties are free."""
    if name in {"properties", "partialFingerprints"}:
        assert isinstance(value, dict)
    elif isinstance(value, dict):
        assert value.keys() <= ALLOWED[name], name
        for key, inner in value.items():
            check_shape(inner, key)
    elif isinstance(value, list):
        for inner in value:
            check_shape(inner, name)
    else:
        assert value in VALUES.get(name, {value}), name
        assert type(value) is (int if name in {"startLine", "ruleIndex"} else str), name


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    "kind", fast_rows([pytest.param("shipped", marks=pytest.mark.nightly), "silenced", "broken"], 2)
)
def test_sarif_has_every_finding_in_the_shape_of_the_standard(
    tmp_path: Path, kind: str, *, beside: bool
) -> None:
    text = {
        "shipped": shipped("skills@1.0.0"),
        "silenced": changed(shipped("workflow@1.1.0"), LOW_CAP),
        "broken": "[rule_set]\nname = 3\n",
    }[kind]
    path = written(tmp_path, text)
    found = report(path)
    if beside:
        found = found.since(report(OLD))
    log, said = json.loads(json.dumps(as_sarif(found))), as_json(found)
    check_shape(log)
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    (log_run,) = log["runs"]
    rules, results = log_run["tool"]["driver"]["rules"], log_run["results"]
    every = [*said["findings"], *said["silenced"], *said.get("gone", [])]
    assert len(results) == len(every) > 0
    for each, finding in zip(results, every, strict=True):
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"] == finding["code"]
        assert each["message"]["text"] == finding["message"]
        place = each["locations"][0]["physicalLocation"]
        assert place.get("region", {"startLine": 0})["startLine"] == finding["line"]
        justified = [s["justification"] for s in each.get("suppressions", [])]
        assert justified == ([finding["reason"]] if "reason" in finding else [])
    states = [each.get("baselineState") for each in results]
    gone = len(said.get("gone", []))
    state = "new" if beside else None
    assert states == [state] * (len(every) - gone) + ["absent"] * gone
    assert len({str(each["partialFingerprints"]) for each in results}) > len(every) // 2


def test_sarif_names_files_below_the_working_directory_as_a_repository_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    path = written(folder, shipped(OLD))
    for here, expected in [
        (tmp_path, "a%20folder/rules.toml"),
        (folder, "rules.toml"),
        (Path("/"), str(path).removeprefix("/").replace(" ", "%20")),
    ]:
        monkeypatch.chdir(here)
        (log,) = run("rules", "lint", path, "--sarif").json()["runs"]
        uris = {
            each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for each in log["results"]
        }
        assert uris == {expected}
    monkeypatch.chdir(folder)
    (log,) = run("rules", "lint", OLD, "--sarif").json()["runs"]
    uri = log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
