"""Silences: what they cover, what is wrong with them, and which of them count for a proposal.

The laws are those of one made-up check with a figure, one without, and one comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from governance.lint.linted import SOUND
from governance.revision import changed

from tallystick.diagnostics import Severity
from tallystick.plugins.registry import installed
from tallystick.rules.digest import canonical_form
from tallystick.rules.findings import Finding
from tallystick.rules.reading import read_text
from tallystick.scoring.lint import Check, check, comparison, more
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.catalog import Catalog, installed_lints
from tallystick_governance.lint.linting import MUCH_WEIGHT, Report, report

PATH = "skill_types.workflow.weights.success"
REASON = "as the subnet voted for"


def weights(scorer: Scorer) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    for name, rules in scorer.rule_set.skill_types.items():
        for axis, weight in rules.weights.items():
            yield ("skill_types", name, "weights", axis), Fraction(weight)


@check("heavy", "warning", more("weight"))
def heavy(scorer: Scorer) -> Iterator[Finding]:
    """An axis that weighs more than half.

    From nine tenths on it is an error.

    Remedy: spread the weights.
    """
    for path, weight in weights(scorer):
        if weight > Fraction(1, 2):
            severity = "error" if weight >= Fraction(9, 10) else None
            yield Finding(path, f"it weighs {weight}", {"weight": str(weight)}, severity)


@check("uneven", "warning")
def uneven(scorer: Scorer) -> Iterator[Finding]:
    """An axis that weighs more than half, without a figure.

    It is told in words alone.

    Remedy: spread the weights.
    """
    for path, weight in weights(scorer):
        if weight > Fraction(1, 2):
            yield Finding(path, f"it weighs {weight}")


@comparison("raised", "warning", more("weight"))
def raised(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An axis that weighs more than before.

    It compares weights.

    Remedy: leave the weight.
    """
    for (path, before), (_, weight) in zip(weights(old), weights(new), strict=True):
        if weight > before:
            yield Finding(path, f"{before}, now {weight}", {"weight": str(weight)})


OF_SILENCES = {
    c.code: c for c in installed_lints().checks.values() if c.code.startswith("silence-")
}


def rules(weight: str, *silences: str) -> str:
    other = 1 - Fraction(weight)
    shares = f"success = {weight}, reliability = {float(other):.9g}"
    return changed(SOUND, ("success = 0.6, reliability = 0.4", shares)) + "".join(silences)


def silence(code: str, path: str = "", figures: str = "", reason: str = REASON) -> str:
    place = f'path = "{path}"\n' if path else ""
    kept = f"figures = {{ {figures} }}\n" if figures else ""
    return f'\n[[lint.silence]]\ncode = "{code}"\n{place}reason = "{reason}"\n{kept}'


def told(folder: Path, text: str, check: Check, *, name: str = "new.toml") -> Report:
    """Return what one check and those of silences find in a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return report(path, lints=Catalog({**OF_SILENCES, check.code: check}, {}))


def kept(path: str = "", weight: str = "0.6") -> str:
    return silence("heavy", path, f"weight = {weight}")


@pytest.mark.parametrize(
    ("weight", "silences", "codes"),
    [
        ("0.6", "", ["heavy"]),
        ("0.6", kept(), []),
        ("0.6", kept(PATH), []),
        ("0.6", kept("skill_types"), []),
        ("0.6", kept("*.*.weights"), []),
        ("0.6", kept("sk*l_*.w*w"), []),
        # a path that only begins alike is another place, and a star stands for a letter or more
        ("0.6", kept("skill_types.work"), ["heavy", "silence-unneeded"]),
        ("0.6", kept("s*skill_types"), ["heavy", "silence-unneeded"]),
        ("0.6", kept("t*.workflow"), ["heavy", "silence-unneeded"]),
        # of many stars in linear time
        ("0.6", kept("skill_types." + "*w" * 400), ["heavy", "silence-unneeded"]),
        ("0.6", silence("heavy"), ["silence-unbounded"]),
        ("0.5", kept(), ["silence-unneeded"]),
        ("0.6", silence("hevy"), ["heavy", "silence-unknown"]),
        ("0.6", silence("heavy", "", "weight = 1, weigth = 1"), ["silence-unknown"]),
        ("0.7", kept(), ["heavy", "silence-outgrown"]),
        # what is wrong with a silence cannot be silenced
        (
            "0.7",
            kept() + silence("silence-outgrown"),
            ["heavy", "silence-outgrown", "silence-unneeded"],
        ),
        # what is more severe than its code usually is, is told
        ("0.9", kept(weight="1"), ["heavy"]),
    ],
)
def test_a_silence_covers_its_code_at_its_place_up_to_its_figures(
    tmp_path: Path, weight: str, silences: str, codes: list[str]
) -> None:
    found = told(tmp_path, rules(weight, silences), heavy)
    assert sorted(each.code for each in found.findings) == codes
    hidden = [] if "heavy" in codes or weight == "0.5" else ["heavy"]
    assert [each.finding.code for each in found.silenced] == hidden
    assert {each.silence.reason for each in found.silenced} <= {REASON}


@pytest.mark.parametrize(
    ("silences", "path", "message"),
    [
        (silence("hevy"), "lint.silence[0].code", "there is no check hevy to silence"),
        (kept("axes"), "lint.silence[0]", "nothing is found of heavy at axes"),
        (
            silence("heavy"),
            "lint.silence[0]",
            "keeps no weight, so that it covers any; as it is: figures = { weight = 0.6 }",
        ),
        (
            silence("heavy", "", "weigth = 1"),
            "lint.silence[0].figures.weigth",
            "did you mean 'weight'?",
        ),
        (kept(weight="0.5"), PATH, "weight is 0.6, silenced up to 0.5"),
    ],
)
def test_what_is_wrong_with_a_silence_is_told_with_what_to_write(
    tmp_path: Path, silences: str, path: str, message: str
) -> None:
    found = told(tmp_path, rules("0.6", silences), heavy).findings
    assert any(each.path == path and message in each.message for each in found)


@pytest.mark.parametrize("reason", ['reason = ""', 'reason = "  "', ""])
def test_a_silence_needs_a_reason(tmp_path: Path, reason: str) -> None:
    text = rules("0.6", changed(kept(), (f'reason = "{REASON}"', reason)))
    (found,) = told(tmp_path, text, heavy).findings
    assert (found.code, found.path) == ("does-not-load", "lint.silence[0].reason")


def test_a_silence_is_no_part_of_the_digest() -> None:
    registry = installed()
    plain, quiet = (
        read_text(text, Path("rules.toml"), registry) for text in (SOUND, SOUND + kept())
    )
    assert quiet.rule_set.lint.silence[0].reason == REASON
    assert quiet.digest == plain.digest
    assert canonical_form(quiet.rule_set, registry) == canonical_form(plain.rule_set, registry)


WIDE, WORDS = silence("heavy"), silence("uneven")


@pytest.mark.parametrize(
    ("old", "new", "found", "silenced"),
    [
        # what is as it was is not new, silenced or not
        (("0.6", ""), ("0.6", ""), [], []),
        (("0.6", kept()), ("0.6", kept()), [], []),
        (("0.6", ""), ("0.7", ""), ["heavy"], []),
        (("0.5", ""), ("0.6", ""), ["heavy"], []),
        # a silence that OLD does not have hides nothing new, and is told
        (("0.6", ""), ("0.6", kept()), ["silence-new"], ["heavy"]),
        (("0.5", ""), ("0.6", kept()), ["heavy", "silence-new"], []),
        (("0.6", ""), ("0.7", kept(weight="1")), ["heavy", "silence-new"], []),
        # nor one of greater figures, or for more places; for fewer it may be
        (("0.6", kept()), ("0.6", kept(weight="1")), ["silence-new"], []),
        (("0.6", kept()), ("0.8", kept(weight="1")), ["heavy", "silence-new"], []),
        (("0.6", kept(PATH)), ("0.6", kept("skill_types")), ["silence-new"], []),
        (("0.6", kept("skill_types")), ("0.6", kept(PATH)), [], []),
        (("0.6", kept()), ("0.6", kept(weight="0.6").replace(REASON, "known")), [], []),
        # one that is gone
        (("0.6", kept()), ("0.6", ""), ["heavy"], []),
        # one of both covers what OLD keeps, or without figures what is found there
        (("0.6", kept(weight="0.8")), ("0.7", kept(weight="0.8")), [], ["heavy"]),
        (("0.6", WIDE), ("0.55", WIDE), ["silence-unbounded"], ["heavy"]),
        (("0.6", WIDE), ("0.8", WIDE), ["heavy", "silence-outgrown", "silence-unbounded"], []),
        (("0.5", kept(weight="0.8")), ("0.7", kept(weight="0.8")), ["heavy"], []),
        # a little beyond both is a note
        (("0.6", kept()), ("0.75", kept()), ["heavy note", "silence-outgrown note"], []),
        (("0.6", kept()), ("0.76", kept()), ["heavy", "silence-outgrown"], []),
        (
            ("0.5", kept(weight="0.55")),
            ("0.65", kept()),
            ["heavy", "silence-new", "silence-outgrown"],
            [],
        ),
    ],
)
def test_a_silence_counts_for_what_the_older_rule_set_silences(
    tmp_path: Path,
    old: tuple[str, str],
    new: tuple[str, str],
    found: list[str],
    silenced: list[str],
) -> None:
    before, after = (
        told(tmp_path, rules(*each), heavy, name=name)
        for each, name in ((old, "old.toml"), (new, "new.toml"))
    )
    result = after.since(before)
    notes = [f"{f.code} note" if f.severity == "note" else f.code for f in result.findings]
    assert sorted(notes) == found
    assert [each.finding.code for each in result.silenced] == silenced
    # what is at the same place is not gone
    assert [each.code for each in result.gone if each.code == "heavy"] == []


def test_what_has_no_figures_has_to_be_the_same(tmp_path: Path) -> None:
    old = told(tmp_path, rules("0.6", WORDS), uneven, name="old.toml")
    assert told(tmp_path, rules("0.6", WORDS), uneven).since(old).findings == ()
    other = told(tmp_path, rules("0.7", WORDS), uneven).since(old).findings
    assert {each.code for each in other} == {"uneven", "silence-outgrown"}


@pytest.mark.parametrize(
    ("before", "now", "codes"),
    [
        (silence("raised", "", "weight = 0.7"), silence("raised", "", "weight = 0.7"), []),
        ("", silence("raised", "", "weight = 0.7"), ["raised", "silence-new"]),
        (
            silence("raised", "", "weight = 0.65"),
            silence("raised", "", "weight = 0.7"),
            ["raised", "silence-new"],
        ),
        (
            silence("raised", "", "weight = 0.65"),
            silence("raised", "", "weight = 0.65"),
            ["raised"],
        ),
    ],
)
def test_a_comparison_is_silenced_if_the_older_rule_set_does(
    tmp_path: Path, before: str, now: str, codes: list[str]
) -> None:
    old = told(tmp_path, rules("0.6", before), raised, name="old.toml")
    new = told(tmp_path, rules("0.7", now), raised)
    assert new.every == ()
    result = new.since(old)
    assert sorted(each.code for each in result.findings) == codes
    assert [each.finding.code for each in result.silenced] == ["raised"] * (not codes)
    assert new.since(new).every == ()


def test_what_is_wrong_with_a_silence_goes_with_its_code(tmp_path: Path) -> None:
    grown = told(tmp_path, rules("0.7", kept()), heavy)
    assert len(grown.of({"heavy"}).findings) == 2
    assert grown.of(None, {"heavy"}).findings == ()
    assert grown.of({"silence-outgrown"}).findings == grown.findings[1:]


@pytest.mark.parametrize(
    ("severity", "moved", "expected"),
    [
        ("warning", None, "warning"),
        ("warning", MUCH_WEIGHT, "warning"),
        ("warning", MUCH_WEIGHT * 2, "error"),
        ("note", Fraction(1), "note"),
    ],
)
def test_a_warning_of_a_comparison_is_an_error_where_much_weight_moves(
    tmp_path: Path, severity: Severity, moved: Fraction | None, expected: str
) -> None:
    check = attrs.evolve(raised, severity=severity)
    old = told(tmp_path, rules("0.6"), check, name="old.toml")
    (found,) = told(tmp_path, rules("0.7"), check).since(old, lambda: moved).findings
    assert (found.severity, found.path) == (expected, PATH)
    assert found.evidence.get("weight_moved") == ("0.2" if expected == "error" else None)


def test_weights_are_compared_only_where_a_comparison_warns(tmp_path: Path) -> None:
    def moved() -> Fraction:
        raise AssertionError("nothing was found")

    same = told(tmp_path, SOUND, raised)
    assert same.since(same, moved).findings == ()


def test_a_comparison_that_takes_long_is_asked_by_its_code_alone(tmp_path: Path) -> None:
    slow = attrs.evolve(raised, on_request=True)
    old = told(tmp_path, rules("0.6"), slow, name="old.toml")
    new = told(tmp_path, rules("0.7"), slow)
    assert new.since(old).findings == ()
    assert [each.code for each in new.since(old, asked=("raised",)).findings] == ["raised"]
