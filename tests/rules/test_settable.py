"""The paths that `rules paths` lists: each can be set, within its range, and only those."""

from __future__ import annotations

from decimal import Decimal

import pytest
from cli.command import message_of, run
from examples import fast_rows

import tallystick
from tallystick.errors import TallystickError
from tallystick.plugins.registry import installed
from tallystick.rules.edit import edited, edits, read_value
from tallystick.rules.loading import shipped
from tallystick.rules.settable import settable_paths
from tallystick.rules.toml import parse

REFERENCES = sorted(shipped(installed()))


@pytest.mark.parametrize("reference", fast_rows(REFERENCES, 0, 3, 4, 5))
def test_every_listed_path_takes_its_own_value(reference: str) -> None:
    scorer = tallystick.load(reference)
    data = parse(scorer.loaded.text, reference).data
    found = settable_paths(scorer.loaded, scorer.registry)
    assert len({each.path for each in found}) == len(found) > 30
    for each in found:
        if each.value is None:
            continue
        value = read_value(data, each.path, each.value)
        if not each.path.startswith("axes.") or not each.path.endswith(".weight"):
            assert edited(data, edits(data, [(each.path, value)])) == data, each.path


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_number_lies_in_its_range_and_every_text_is_a_choice(reference: str) -> None:
    scorer = tallystick.load(reference)
    for each in settable_paths(scorer.loaded, scorer.registry):
        assert each.meaning, each.path
        if each.value is not None and each.kind == "number":
            assert each.at_least is None or Decimal(each.at_least) <= Decimal(each.value)
            assert each.at_most is None or Decimal(each.value) <= Decimal(each.at_most)
        if each.choices:
            assert each.value in each.choices, each.path


def test_a_parameter_has_the_range_and_the_words_of_its_formula() -> None:
    (found,) = run("rules", "paths", "skills@1.1.0", "policy.beta", "--json").json()["paths"]
    assert (found["path"], found["value"]) == ("axes.policy.beta", "0.5")
    assert (found["at_least"], found["at_most"], found["sweep"]) == ("0", "10", True)
    assert found["meaning"].startswith("beta of skills/policy@1: ")


def test_a_word_selects_and_the_table_has_headings() -> None:
    lines = run("rules", "paths", "skills@1.1.0", "tier_3_novel").out.splitlines()
    assert lines[0].split() == ["path", "value", "range", "meaning"]
    assert any(line.startswith("tiers.levels[tier_3_novel].multiplier  2 ") for line in lines)
    assert "found no path with 'zzz'" in message_of(run("rules", "paths", "skills@1.1.0", "zzz"))


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("axes.policy.bta", "axes.policy.beta"),
        ("tiers.levels[tier_3].multiplier", "tiers.levels[tier_3_novel].multiplier"),
        ("policy.beta", "axes.policy.beta"),
        ("weights.policy.declarative", "skill_types.declarative.weights.policy"),
    ],
)
def test_a_wrong_path_names_paths_that_work(path: str, nearest: str) -> None:
    scorer = tallystick.load("skills@1.1.0")
    data = parse(scorer.loaded.text, "").data
    with pytest.raises(TallystickError) as error:
        read_value(data, path, "1")
    assert repr(nearest) in str(error.value)
    assert "tallystick rules paths RULES" in str(error.value)
    proposed = str(error.value).partition("did you mean ")[2].rstrip("?").split(" or ")
    known = {each.path for each in settable_paths(scorer.loaded, scorer.registry)}
    assert {each.strip("'") for each in proposed} <= known
