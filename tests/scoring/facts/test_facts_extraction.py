"""What is taken of records: every fact that a rule set reads, and who they are."""

import json
import random

import pytest
from generators import SKILL_TYPES, record

import tallystick
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor

CATALOGUES = catalog_of(installed())


def test_every_installed_type_has_a_catalogue() -> None:
    assert tuple(CATALOGUES) == tuple(sorted((*SKILL_TYPES, "reward")))


def test_a_catalogue_has_every_fact_of_every_rule_set(
    scorers: dict[str, tallystick.Scorer],
) -> None:
    for scorer in scorers.values():
        for name, bound in scorer.types.items():
            assert {fact.digest for fact in bound.facts} <= set(CATALOGUES[name].by_digest)


@pytest.mark.parametrize("answered", [True, False])
def test_what_a_type_requires_is_enforced(answered: bool) -> None:
    whole = record(random.Random(5), "declarative")
    whole["task"] |= {"t_min_s": 50.0, "deadline_s": 50.0}
    if not answered:
        whole = {k: v for k, v in whole.items() if k not in ("submission", "checks")}
        whole["events"] = ["missed_deadline"]
    found = Extractor(CATALOGUES.values()).facts([json.dumps(whole).encode()], 7)
    assert not found.types
    assert [(r.line, r.code, r.value) for r in found.rejects] == [(7, "timing-window", "50")]
