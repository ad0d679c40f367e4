"""A rule set silences a code with a written reason; its digest stays the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import fast_rows
from governance.lint.linted import SOUND, report_on
from governance.revision import changed, shipped

from tallystick.plugins.registry import installed
from tallystick.rules.digest import canonical_form
from tallystick.rules.reading import read_text

PATH = Path("rules.toml")
REASON = "as published, and kept so"


def silence(code: str, path: str = "", reason: str = REASON, figures: str = "") -> str:
    place = f'path = "{path}"\n' if path else ""
    kept = f"figures = {{ {figures} }}\n" if figures else ""
    return f'\n[[lint.silence]]\ncode = "{code}"\n{place}reason = "{reason}"\n{kept}'


def told(text: str) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in report_on(text).findings]


def silenced(text: str) -> list[tuple[str, str, str]]:
    found = report_on(text).silenced
    return [(each.finding.code, each.finding.path, each.reason) for each in found]


def test_a_silence_everywhere_leaves_out_every_finding_of_its_code() -> None:
    text = shipped("workflow@1.0.0")
    cliffs = [each for each in told(text) if each[0] == "cliff"]
    assert len(cliffs) == 3
    quiet = text + silence("cliff", figures="height = 0.4")
    assert told(quiet) == [each for each in told(text) if each[0] != "cliff"]
    assert silenced(quiet) == [(*each, REASON) for each in cliffs]


@pytest.mark.parametrize("path", ["axes.latency", "axes"])
def test_a_silence_with_a_path_is_for_that_place_and_below(path: str) -> None:
    quiet = shipped("workflow@1.0.0") + silence("cliff", path)
    assert ("cliff", "axes.latency", REASON) in silenced(quiet)
    assert (("cliff", "axes.cost") in told(quiet)) is (path != "axes")


def test_a_path_that_only_begins_alike_is_another_place() -> None:
    quiet = shipped("workflow@1.0.0") + silence("cliff", "axes.lat")
    assert silenced(quiet) == []
    assert ("silence-unneeded", "lint.silence[0]") in told(quiet)


@pytest.mark.nightly
def test_a_star_stands_for_any_one_name() -> None:
    text = shipped("skills@1.0.0")
    for path, number in (("skill_types.*", 0), ("skill_types.*_knowledge", 5), ("*.gates", 6)):
        found = told(text + silence("gate-never-binds", path))
        assert len({p for code, p in found if code == "gate-never-binds"}) == number


@pytest.mark.nightly
def test_what_is_more_severe_than_usual_is_told_all_the_same() -> None:
    code, path = "tiers-out-of-order", "tiers.levels[3].multiplier"
    text = changed(shipped("skills@1.1.0"), ("multiplier = 2.0 ", "multiplier = 0.9 "))
    text += silence(code, path)
    assert (code, path) in told(text)
    assert [each.severity for each in report_on(text).findings if each.code == code] == ["error"]


def test_a_silence_of_an_unknown_code_and_one_of_nothing_are_told() -> None:
    assert told(SOUND + silence("cliffs") + silence("cliff")) == [
        ("silence-unknown", "lint.silence[0].code"),
        ("silence-unneeded", "lint.silence[1]"),
    ]


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_silence_needs_a_reason(reason: str) -> None:
    (found,) = report_on(SOUND + silence("cliff", reason=reason)).findings
    assert (found.code, found.path) == ("does-not-load", "lint.silence[0].reason")
    assert "why" in found.message
    missing = changed(SOUND + silence("cliff"), (f'reason = "{REASON}"', ""))
    assert [each.path for each in report_on(missing).findings] == ["lint.silence[0].reason"]


def test_a_silence_is_no_part_of_the_digest() -> None:
    registry = installed()
    plain = read_text(SOUND, PATH, registry)
    quiet = read_text(SOUND + silence("cliff", "axes"), PATH, registry)
    assert quiet.rule_set.lint.silence[0].reason == REASON
    assert quiet.digest == plain.digest
    forms = [canonical_form(each.rule_set, registry) for each in (plain, quiet)]
    assert forms[0] == forms[1]


EMISSION = silence("emission-above-one", "emission", figures="emission = 5.75, at_most = 5.75")


def test_a_finding_that_outgrows_the_figures_of_its_silence_is_told() -> None:
    plain = shipped("skills@1.0.0")
    assert "emission-above-one" not in {code for code, _ in told(plain + EMISSION)}
    grown = changed(plain + EMISSION, ("multiplier = 2.0", "multiplier = 400"))
    found = {each.code: each for each in report_on(grown).findings}
    assert found["emission-above-one"].severity == "warning"
    outgrown = found["silence-outgrown"]
    assert (outgrown.severity, outgrown.path) == ("error", "emission.formula")
    assert "emission is 1150, silenced up to 5.75" in outgrown.message
    smaller = changed(plain + EMISSION, ("multiplier = 2.0", "multiplier = 1.9"))
    assert not {"emission-above-one", "silence-outgrown"} & {code for code, _ in told(smaller)}


@pytest.mark.nightly
def test_a_silence_without_figures_is_told_with_those_to_write() -> None:
    text = shipped("skills@1.0.0")
    (found,) = (
        each
        for each in report_on(text + silence("emission-above-one")).findings
        if each.code == "silence-unbounded"
    )
    assert found.evidence["figures"] == "{ emission = 5.75, at_most = 5.75 }"
    half = silence("emission-above-one", figures="emission = 6")
    (found,) = (e for e in report_on(text + half).findings if e.code == "silence-unbounded")
    assert "keeps no at_most" in found.message
    assert found.evidence["figures"] == "{ emission = 6, at_most = 5.75 }"
    assert "silence-unbounded" not in {c for c, _ in told(text + silence("gate-never-binds"))}


def test_figures_that_a_check_does_not_have_are_told() -> None:
    wrong = silence("cap-infeasible", figures="miners = 7, miner = 7")
    (unknown,) = (
        each
        for each in report_on(shipped("workflow@1.0.0") + wrong).findings
        if each.code == "silence-unknown"
    )
    assert unknown.path == "lint.silence[0].figures.miner"
    assert "did you mean 'miners'?" in unknown.message


@pytest.mark.parametrize("code", fast_rows(["silence-new", "silence-outgrown"], 0))
def test_what_is_wrong_with_a_silence_cannot_be_silenced(code: str) -> None:
    text = changed(shipped("skills@1.0.0") + EMISSION, ("multiplier = 2.0", "multiplier = 400"))
    codes = [each for each, _ in told(text + silence(code))]
    assert "silence-outgrown" in codes
    assert "silence-unneeded" in codes


def test_a_path_of_many_stars_takes_no_longer_than_its_length() -> None:
    # as one pattern with a choice for each star this ran for longer than a life
    stars = "*a" * 400
    assert "silence-unneeded" in {c for c, _ in told(SOUND + silence("cliff", f"axes.{stars}"))}
    for path, matches in [("ax*s.*y", True), ("a*x*es", False), ("axes.*c*", True)]:
        text = shipped("workflow@1.0.0") + silence("cliff", path)
        assert (("cliff", "axes.latency") not in told(text)) is matches, path
