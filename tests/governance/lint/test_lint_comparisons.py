"""Comparisons of two rule sets: when they are asked, where they are told, what silences them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from cli.command import run
from governance.lint.linted import SOUND
from governance.revision import changed

from tallystick.rules.findings import Finding
from tallystick.scoring.lint import comparison, more
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint import render
from tallystick_governance.lint.catalog import Catalog, installed_lints
from tallystick_governance.lint.linting import MUCH_WEIGHT, Report, report
from tallystick_governance.lint.sarif import as_sarif

CODE = "weight-raised"
PATH = "skill_types.workflow.weights.success"
HEAVIER = ("success = 0.6, reliability = 0.4", "success = 0.7, reliability = 0.3")
SILENCE = f"""
[[lint.silence]]
code = "{CODE}"
reason = "as the subnet voted for"
figures = {{ weight = 0.7 }}
"""


@comparison(CODE, "warning", more("weight"))
def weight_raised(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An axis that weighs more than before.

    It compares weights.

    Remedy: leave the weight.
    """
    for name, rules in new.rule_set.skill_types.items():
        for axis, weight in rules.weights.items():
            before = old.rule_set.skill_types[name].weights[axis]
            if weight > before:
                path = ("skill_types", name, "weights", axis)
                yield Finding(path, f"{before}, now {weight}", {"weight": str(weight)})


CATALOG = Catalog(
    {**installed_lints().checks, CODE: weight_raised},
    {},
)


def of_rules(folder: Path, name: str, text: str) -> Report:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return report(path, lints=CATALOG)


def compared(folder: Path, old: str, new: str, moved: Fraction | None = None) -> Report:
    beside = of_rules(folder, "old.toml", old)
    result = of_rules(folder, "new.toml", new).since(beside, lambda: moved)
    return result.of({CODE})


def test_a_comparison_is_asked_beside_another_rule_set_alone(tmp_path: Path) -> None:
    assert of_rules(tmp_path, "new.toml", changed(SOUND, HEAVIER)).of({CODE}).every == ()
    assert compared(tmp_path, SOUND, SOUND).every == ()
    (finding,) = compared(tmp_path, SOUND, changed(SOUND, HEAVIER)).findings
    assert (finding.code, finding.severity, finding.path) == (CODE, "warning", PATH)
    assert finding.message == "0.6, now 0.7"
    line = Path(finding.file).read_text(encoding="utf-8").splitlines()[finding.line - 1]
    assert line.startswith("weights")


def test_it_is_told_in_every_format(tmp_path: Path) -> None:
    result = compared(tmp_path, SOUND, changed(SOUND, HEAVIER))
    assert f"warning {CODE}: 0.6, now 0.7" in render.as_text(result)
    assert f"`{CODE}`" in render.as_markdown(result)
    assert [each["code"] for each in render.as_json(result)["findings"]] == [CODE]
    (told,) = as_sarif(result)["runs"][0]["results"]
    assert (told["ruleId"], told["baselineState"]) == (CODE, "new")


@pytest.mark.parametrize(
    ("before", "now", "codes"),
    [
        (SILENCE, SILENCE, []),
        ("", SILENCE, [CODE, "silence-new"]),
        (SILENCE.replace("0.7", "0.65"), SILENCE, [CODE, "silence-new"]),
        (SILENCE.replace("0.7", "0.65"), SILENCE.replace("0.7", "0.65"), [CODE]),
    ],
    ids=["both", "new alone", "lesser before", "beyond its figure"],
)
def test_a_silence_counts_if_the_older_rule_set_has_it(
    tmp_path: Path, before: str, now: str, codes: list[str]
) -> None:
    result = compared(tmp_path, SOUND + before, changed(SOUND, HEAVIER) + now)
    assert sorted(finding.code for finding in result.findings) == sorted(codes)
    assert [suppressed.finding.code for suppressed in result.silenced] == [CODE] * (not codes)


def test_a_silence_of_a_comparison_is_not_unneeded(tmp_path: Path) -> None:
    alone = of_rules(tmp_path, "new.toml", SOUND + SILENCE)
    assert [finding.code for finding in alone.findings] == []


@pytest.mark.parametrize(
    ("moved", "severity"),
    [(None, "warning"), (MUCH_WEIGHT, "warning"), (MUCH_WEIGHT * 2, "error")],
)
def test_a_warning_is_an_error_where_much_weight_moves(
    tmp_path: Path, moved: Fraction | None, severity: str
) -> None:
    (finding,) = compared(tmp_path, SOUND, changed(SOUND, HEAVIER), moved).findings
    assert finding.severity == severity
    assert finding.evidence.get("weight_moved") == (None if severity == "warning" else "0.2")


def test_a_note_stays_one_however_much_weight_moves(tmp_path: Path) -> None:
    note = attrs.evolve(weight_raised, severity="note")
    catalog = Catalog({**CATALOG.checks, CODE: note}, {})
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(SOUND, encoding="utf-8")
    new.write_text(changed(SOUND, HEAVIER), encoding="utf-8")
    result = report(new, lints=catalog).since(report(old, lints=catalog), lambda: Fraction(1))
    assert [f.severity for f in result.of({CODE}).findings] == ["note"]


def test_what_explains_a_comparison_says_what_it_is_asked_with() -> None:
    beside = [check for check in installed_lints().checks.values() if check.compare is not None]
    for check in beside:
        told = run("rules", "lint", "--explain", check.code).out
        assert "    Asked with --against alone.\n" in told
    assert beside


def test_a_comparison_that_takes_long_is_asked_by_its_code_alone(tmp_path: Path) -> None:
    slow = attrs.evolve(weight_raised, on_request=True)
    catalog = Catalog({**CATALOG.checks, CODE: slow}, {})
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(SOUND, encoding="utf-8")
    new.write_text(changed(SOUND, HEAVIER), encoding="utf-8")
    one, other = (report(path, lints=catalog) for path in (new, old))
    assert CODE not in {finding.code for finding in one.since(other).findings}
    asked = one.since(other, asked=(CODE,)).findings
    assert CODE in {finding.code for finding in asked}


def test_weights_are_compared_only_where_a_comparison_warns(tmp_path: Path) -> None:
    def moved() -> Fraction:
        raise AssertionError("nothing was found")

    same = of_rules(tmp_path, "same.toml", SOUND)
    assert same.since(of_rules(tmp_path, "old.toml", SOUND), moved).findings == ()
