"""Governance of rule sets with measures: differences, proofs and lint, with no quality made up."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from scoring import parcels
from scoring.parcels import AXES, HEAD, MEASURES, PAIR, TEXT

from tallystick.plugins.author import Node, Parameters, axis, less_is_better, measure, unrounded
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff import render
from tallystick_governance.diff.difference import difference
from tallystick_governance.lint.linting import report_of
from tallystick_governance.prove.proving import prove


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return parcels.load(tmp_path_factory.mktemp("parcels"))


def test_a_difference_bounds_how_far_a_measure_moves(scorer: Scorer, tmp_path: Path) -> None:
    """0.1 more of at most 1 000 000 by a care of at most 1."""
    new = parcels.load(tmp_path, TEXT.replace("rate = 0.5", "rate = 0.6"))
    (effect,) = difference(scorer, new).effects
    moved = {name: move for name, move in effect.measures.items() if move and not move.is_zero}
    assert moved.keys() == {"units"}
    assert moved["units"].low == 0
    assert 0 <= moved["units"].high - 100_000 <= Fraction(2, 10**9)
    told = render.as_json(difference(scorer, new))["effects"][0]
    assert told["quality"] is None
    assert "quality" not in render.as_text(difference(scorer, new))


def test_a_quality_that_comes_is_a_difference(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("without", "with")]
    for folder in folders:
        folder.mkdir()
    text = HEAD + AXES + MEASURES + PAIR
    bare = text.replace('composite = "arithmetic"\nweights = { care = 1 }', 'axes = ["care"]')
    old, new = (parcels.load(f, t) for f, t in zip(folders, (bare, text), strict=True))
    (effect,) = difference(old, new).effects
    assert (effect.had_quality, effect.has_quality, effect.is_none) == (False, True, False)
    assert difference(new, old).needed > difference(old, old).needed


def test_a_measure_that_goes_is_told_as_gone(scorer: Scorer, tmp_path: Path) -> None:
    less = parcels.load(tmp_path, TEXT.replace(', "delay"]', "]"))
    found = difference(scorer, less)
    assert found.gone == ("skill_types.parcel.measures.delay",)
    assert found.is_breaking


def test_nothing_is_asked_of_a_quality_that_is_not_there(scorer: Scorer) -> None:
    found = prove(scorer)
    assert {answer.axis for answer in found} == {"care", "precision", "recall", "units"}
    assert {answer.status for answer in found} == {"proved"}


def test_a_promise_about_facts_is_asked_of_measures(tmp_path: Path) -> None:
    """Fewer lost parcels lower no measure; a plugin that thinks otherwise is refuted."""
    scorer = parcels.load(tmp_path, directions=(less_is_better(parcels.lost),))
    found = {each.axis: each.status for each in prove(scorer, only="better-fact-never-lowers")}
    assert found == dict.fromkeys(("precision", "recall", "units"), "proved")
    wrong = parcels.load(tmp_path, directions=(less_is_better(parcels.sent),))
    (broken,) = (a for a in prove(wrong, only="better-fact-never-lowers") if a.axis == "precision")
    assert broken.status == "counterexample"


def test_a_sound_rule_set_of_measures_has_no_findings(scorer: Scorer) -> None:
    assert report_of(scorer).findings == ()


def test_a_measure_of_no_type_and_a_fact_without_effect_are_found(tmp_path: Path) -> None:
    spare = measure("parcels/spare@1", within=(0, 50), part=(0, 1))
    formula = spare(lambda p: parcels.sent * p.part + parcels.lost * (1 - p.part))
    text = TEXT.replace('["units"', '["spare", "units"')
    text += '[measures.spare]\nformula = "parcels/spare@1"\npart = 1\n'
    text += '[measures.other]\nformula = "parcels/spare@1"\npart = 0.5\n'
    found = {
        each.code: each
        for each in report_of(parcels.load(tmp_path, text, further=(formula,))).findings
    }
    assert found.keys() == {"axis-unused", "fact-without-effect"}
    assert found["axis-unused"].path == "measures.other"
    assert found["fact-without-effect"].path == "measures.spare"


def test_what_is_read_unrounded_is_used(tmp_path: Path) -> None:
    @axis("parcels/third@1")
    def third(_p: Parameters) -> Node:
        """A share."""
        return parcels.sent / 150

    @measure("parcels/thrice@1", within=(0, 3), factor=(0, 3))
    def thrice(p: Parameters) -> Node:
        """A multiple of it."""
        return unrounded("third") * p.factor

    text = HEAD + AXES + MEASURES + '[axes.third]\nformula = "parcels/third@1"\n'
    text += '[measures.thrice]\nformula = "parcels/thrice@1"\nfactor = 3\n'
    text += '[skill_types.parcel]\nmeasures = ["thrice", "precision", "recall", "units", "delay"]\n'
    scorer = parcels.load(tmp_path, text + 'axes = ["third", "care"]\n', further=(third, thrice))
    assert report_of(scorer).findings == ()


def test_a_difference_is_json(scorer: Scorer, tmp_path: Path) -> None:
    new = parcels.load(tmp_path, TEXT.replace("exact = true", ""))
    found = json.loads(json.dumps(render.as_json(difference(scorer, new))))
    assert [each["path"] for each in found["changes"]] == ["measures.precision.exact"]
