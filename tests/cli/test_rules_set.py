"""`tallystick rules set`: a file with other values, whose version says how much they change."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import message_of, run

import tallystick

FREE = "workflow@1.1.0"


def written(reference: str, output: Path, *values: str) -> dict[str, str]:
    found = run("rules", "set", reference, *values, "-o", output, "--json")
    assert found.status == 0, found
    said: dict[str, str] = found.json()
    assert tallystick.load(str(output)).digest == said["digest"]
    return said


def test_the_file_is_the_old_one_but_for_the_values_and_the_version(tmp_path: Path) -> None:
    old = tallystick.load(FREE).loaded
    said = written(FREE, tmp_path / "new.toml", "axes.reliability.timeout=0.25")
    new = tallystick.load(str(tmp_path / "new.toml")).loaded
    expected = old.text.replace("timeout = 0.20", "timeout = 0.25")
    summary = old.rule_set.rule_set.summary
    assert summary
    # the words of the old rule set are about its own values
    expected = expected.replace(f'summary = "{summary}"\n', "")
    assert new.text == expected.replace('"1.1.0"', f'"{new.rule_set.rule_set.version}"')
    assert said["changes"] == [
        {"path": "axes.reliability.timeout", "kind": "changed", "old": "0.2", "new": "0.25"}
    ]


@pytest.mark.parametrize(
    ("values", "needed"),
    [
        (("axes.cost.gate=0.6",), "minor"),
        (("rule_set.summary=Another summary",), "patch"),
        (("rule_set.summary=Another summary", "allocation.steps[weight].share=0.2"), "minor"),
        (("allocation.steps[mean].last=50",), "minor"),
    ],
)
def test_the_version_is_raised_as_diff_asks_for(
    tmp_path: Path, values: tuple[str, ...], needed: str
) -> None:
    said = written(FREE, tmp_path / "new.toml", *values)
    found = run("rules", "diff", FREE, tmp_path / "new.toml", "--check", "--json")
    assert found.status == 0
    assert found.json()["raised"] == found.json()["needed"] == said["needed"] == needed


def test_a_summary_is_given_or_there_is_none(tmp_path: Path) -> None:
    value = "axes.cost.gate=0.6"
    found = run("rules", "set", FREE, value, "-o", tmp_path / "a.toml")
    assert "no summary of its own" in found.err
    diff = ("rules", "diff", FREE)
    assert run(*diff, tmp_path / "a.toml", "--json").json()["new"]["summary"] is None
    assert "no summary of its own" in run(*diff, tmp_path / "a.toml").out
    words = ("--summary", "Cheap work counts sooner")
    found = run("rules", "set", FREE, value, *words, "-o", tmp_path / "b.toml")
    assert found.err == ""
    assert tallystick.load(str(tmp_path / "b.toml")).rule_set.rule_set.summary == words[1]
    assert run(*diff, tmp_path / "b.toml", "--json").json()["new"]["summary"] == words[1]
    twice = run("rules", "set", FREE, f"rule_set.summary={words[1]}", *words, "-o", "c.toml")
    assert "found a summary beside rule_set.summary" in message_of(twice)


def test_no_version_is_taken_that_a_shipped_rule_set_has(tmp_path: Path) -> None:
    said = written("skills@1.0.0", tmp_path / "new.toml", "axes.policy.beta=0.6")
    listed = [each["name"] for each in run("rules", "list", "--json").json()["rule_sets"]]
    assert said["rule_set"] not in listed
    assert "skills@1.1.0" in listed


def test_a_version_that_is_given_and_far_enough_is_taken(tmp_path: Path) -> None:
    output = tmp_path / "new.toml"
    values = (FREE, "axes.cost.gate=0.6")
    assert written(*values[:1], output, values[1], "rule_set.version=4.0.0")["rule_set"] == (
        "workflow@4.0.0"
    )


def test_another_name_is_another_line_with_its_own_version(tmp_path: Path) -> None:
    values = ("axes.cost.gate=0.6", "rule_set.name=mine")
    assert written(FREE, tmp_path / "new.toml", *values)["rule_set"] == "mine@1.1.0"


def test_weights_are_scaled_and_shown(tmp_path: Path) -> None:
    found = run("rules", "set", FREE, "axes.success.weight=0.6", "-o", tmp_path / "new.toml")
    assert found.out.splitlines()[1:-1] == [
        "skill_types.workflow.weights.cost: 0.25 → 0.2",
        "skill_types.workflow.weights.latency: 0.15 → 0.12",
        "skill_types.workflow.weights.reliability: 0.1 → 0.08",
        "skill_types.workflow.weights.success: 0.5 → 0.6",
    ]
    assert "{ success = 0.60, cost = 0.20, latency = 0.12, reliability = 0.08 }" in (
        (tmp_path / "new.toml").read_text()
    )


def test_what_cannot_be_proved_is_refused_with_its_values(tmp_path: Path) -> None:
    value = "tiers.thresholds.novel.factor=1"
    found = run("rules", "set", "skills@1.0.0", value, "-o", tmp_path / "new.toml")
    assert f"error: skills@1.0.0[{value}]: tiers.thresholds" in found.err
    assert not list(tmp_path.iterdir())
