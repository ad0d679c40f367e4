"""A proposal that is linted beside the rules in force: it cannot silence what it makes worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.command import Finished, run
from examples import fast_rows
from governance.gate.worlds import FREE
from governance.gate.worlds import SILENCE as FREE_SILENCE
from governance.revision import changed, shipped

SKILLS = "skills@1.1.0"
EMISSION = "figures = { emission = 5.75, at_most = 5.75 }"
DECAY = ('mode = "drift"', 'mode = "replace"\nkeep = 0.9')


def beside(folder: Path, text: str, *options: str, old: str | Path = SKILLS) -> Finished:
    path = folder / "proposal.toml"
    path.write_text(text, encoding="utf-8")
    return run("rules", "lint", path, "--against", old, *options)


OF_EMISSION = ("--select", "emission-above-one")
"""Leaves out what comparisons of two rule sets find."""


def codes(result: Finished) -> list[str]:
    found: list[dict[str, Any]] = result.json()["findings"]
    return [each["code"] for each in found]


def silence(code: str, figures: str = "") -> str:
    kept = f"figures = {{ {figures} }}\n" if figures else ""
    return f'\n[[lint.silence]]\ncode = "{code}"\nreason = "as it should be"\n{kept}'


def grown(text: str) -> str:
    return changed(text, ("multiplier = 2.0", "multiplier = 400"))


@pytest.mark.nightly
def test_a_silenced_finding_that_worsens_is_told_and_fails(tmp_path: Path) -> None:
    result = beside(tmp_path, grown(shipped(SKILLS)), "--json", *OF_EMISSION)
    assert result.status == 1
    assert sorted(codes(result)) == ["emission-above-one", "silence-outgrown"]
    assert result.json()["gone"] == []
    text = beside(tmp_path, grown(shipped(SKILLS)), *OF_EMISSION).out
    assert "emission is 1150, silenced up to 5.75" in text
    assert "new since skills@1.1.0: 1 error, 1 warning" in text


@pytest.mark.nightly
def test_figures_that_are_raised_in_the_proposal_are_a_silence_of_its_own(tmp_path: Path) -> None:
    raised = changed(shipped(SKILLS), (EMISSION, "figures = { emission = 9999, at_most = 9999 }"))
    result = beside(tmp_path, grown(raised), "--json", *OF_EMISSION)
    assert result.status == 1
    assert sorted(codes(result)) == ["emission-above-one", "silence-new"]
    left_out = changed(shipped(SKILLS), (EMISSION, ""))
    assert beside(tmp_path, left_out).status == 1
    lower = changed(shipped(SKILLS), (EMISSION, "figures = { emission = 5.75, at_most = 5.75 }\n"))
    assert beside(tmp_path, lower).status == 0


def test_a_proposal_cannot_silence_its_own_errors(tmp_path: Path) -> None:
    decays = changed(shipped(SKILLS), DECAY)
    own = ("reputation-decays", "pool-extinction", "reputation-horizon")
    text = decays + "".join(map(silence, own))
    result = beside(tmp_path, text, "--json", "--select", ",".join(own))
    assert result.status == 1
    assert {"reputation-decays", "pool-extinction", "silence-new"} <= set(codes(result))


@pytest.mark.nightly
def test_a_silence_of_the_old_rule_set_is_for_what_that_one_has(tmp_path: Path) -> None:
    old = tmp_path / "old.toml"
    wide = "".join(map(silence, ("reputation-decays", "pool-extinction")))
    old.write_text(shipped(SKILLS) + wide, encoding="utf-8")
    # the older one silences the code in vain: its figures were written for nothing
    result = beside(tmp_path, changed(shipped(SKILLS), DECAY) + wide, "--json", old=old)
    assert result.status == 1
    assert {"reputation-decays", "pool-extinction"} <= set(codes(result))
    old.write_text(changed(shipped(SKILLS), DECAY) + wide, encoding="utf-8")
    text = changed(shipped(SKILLS), DECAY) + wide
    assert beside(tmp_path, text, old=old).status == 0
    faster = changed(text, ("minimum_reputation = 0.20", "minimum_reputation = 0.40"))
    result = beside(tmp_path, faster, "--json", old=old)
    assert result.status == 1
    assert "silence-outgrown" in codes(result)


def test_what_has_no_figures_has_to_be_the_same(tmp_path: Path) -> None:
    old = tmp_path / "old.toml"
    zero = (
        "success = 0.50, cost = 0.25, latency = 0.15, reliability = 0.10",
        "success = 0.60, cost = 0.25, latency = 0.15, reliability = 0",
    )
    text = changed(shipped("workflow@1.0.0"), zero) + silence("weight-zero")
    old.write_text(text, encoding="utf-8")
    assert beside(tmp_path, text, old=old).status == 0


def test_another_reason_is_no_new_silence_and_a_wider_one_is(tmp_path: Path) -> None:
    old = tmp_path / "old.toml"
    old.write_text(FREE + FREE_SILENCE, encoding="utf-8")
    text = changed(FREE + FREE_SILENCE, ("what the subnet voted for", "known"))
    assert beside(tmp_path, text, old=old).status == 0
    wider = changed(FREE + FREE_SILENCE, ('"skill_types.workflow"', '"skill_types"'))
    result = beside(tmp_path, wider, "--json", old=old)
    assert (result.status, codes(result)) == (1, ["silence-new"])


@pytest.mark.nightly
@pytest.mark.parametrize("option", fast_rows(["--select", "--ignore"], 0))
def test_what_is_wrong_with_a_silence_goes_with_its_code(tmp_path: Path, option: str) -> None:
    result = beside(tmp_path, grown(shipped(SKILLS)), option, "emission-above-one")
    assert result.status == (1 if option == "--select" else 0)


@pytest.mark.parametrize(
    ("bonus", "severities"),
    fast_rows(
        [
            pytest.param("1.16", {"note"}, marks=pytest.mark.nightly, id="a little"),
            pytest.param("1.43", {"note"}, id="a quarter"),
            pytest.param("1.44", {"error", "warning", "note"}, id="more"),
        ],
        2,
    ),
)
def test_what_is_a_little_beyond_a_silence_of_both_is_a_note(
    tmp_path: Path, bonus: str, severities: set[str]
) -> None:
    raised = changed(shipped(SKILLS), ("early_bonus = 1.15", f"early_bonus = {bonus}"))
    codes_of_silences = "emission-above-one,factor-above-one"
    result = beside(tmp_path, raised, "--json", "--select", codes_of_silences)
    assert {each["severity"] for each in result.json()["findings"]} == severities
    assert result.status == int("error" in severities)


@pytest.mark.nightly
def test_a_little_beyond_a_silence_of_its_own_is_an_error(tmp_path: Path) -> None:
    raised = changed(shipped(SKILLS), ("early_bonus = 1.15", "early_bonus = 1.16"))
    old = changed(shipped(SKILLS), (EMISSION, "figures = { emission = 5, at_most = 5 }"))
    older = tmp_path / "old.toml"
    older.write_text(old, encoding="utf-8")
    newer = tmp_path / "new.toml"
    newer.write_text(raised, encoding="utf-8")
    result = run("rules", "lint", newer, "--against", older, "--json", *OF_EMISSION)
    assert result.status == 1
    assert {"emission-above-one", "silence-new", "silence-outgrown"} == set(codes(result))
