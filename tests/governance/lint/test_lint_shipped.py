"""Findings of the linter in shipped rule sets; the frozen corpus has every one of them."""

from __future__ import annotations

import tomllib
from decimal import Decimal

import pytest
from examples import fast_rows
from given import emission_of
from governance.lint.linted import found_by
from governance.revision import shipped as text_of

import tallystick
from tallystick.plugins.registry import installed
from tallystick.rules.loading import shipped
from tallystick_governance.lint.linting import report

PRINTED = {"skills@1.0.0", "workflow@1.0.0"}
"""Rule sets that do what the documents print, also where that cannot be right."""


@pytest.mark.parametrize("reference", fast_rows(sorted({*shipped(installed())} - PRINTED), 1, 2))
def test_what_is_accepted_is_silenced_with_a_reason(reference: str) -> None:
    found = report(reference)
    assert found.findings == ()
    assert all(len(each.silence.reason.split()) > 4 for each in found.silenced)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_e54_the_largest_emission(version: str) -> None:
    text = text_of(f"skills@{version}")
    (found,) = found_by(text, "emission-above-one")
    assert found.evidence["skill_type"] == "agent_composition"
    assert found.evidence["emission"] == found.evidence["at_most"] == "5.750000000"
    rules = tomllib.loads(text, parse_float=Decimal)
    factors = rules["emission"]["factors"]
    bonus = factors["bootstrap_bonus"]
    for name, kind in rules["skill_types"].items():
        most = Decimal(rules["tiers"]["levels"][-1]["multiplier"])
        most *= factors["early_bonus"]["early_bonus"] * factors["role_multiplier"]["primary"]
        raised = bonus["added_weight"] if name in bonus["skill_types"] else 0
        most *= kind["base_weight"] + raised
        assert Decimal(found.evidence["by_type"][name]) == most


@pytest.mark.nightly
def test_e54_the_combination_gives_the_largest_emission() -> None:
    (found,) = found_by(text_of("skills@1.0.0"), "emission-above-one")
    given = dict(found.evidence["combination"])
    quality, multiplier = given.pop("quality"), Decimal(given.pop("tier_multiplier"))
    scorer = tallystick.load("skills@1.0.0")
    levels = {level.multiplier: level.name for level in scorer.rule_set.tiers.levels}  # type: ignore[union-attr]
    tier = levels[multiplier.normalize() if multiplier % 1 else Decimal(int(multiplier))]
    emission = emission_of(scorer, "agent_composition", quality=quality, tier=tier, **given)
    assert str(emission) == found.evidence["emission"]
