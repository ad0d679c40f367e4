"""A plugin that a third party wrote, from its module to its scores."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from installations import entry

import tallystick
from tallystick.errors import RecordError
from tallystick.plugins.registry import Registry, registry
from tallystick.scoring.scorer import Scorer

ESSAYS = Path(__file__).parent / "essays"


def essay(**changes: dict[str, Any]) -> dict[str, Any]:
    """A record; each part can be changed field by field."""
    record: dict[str, Any] = {
        "skill_type": "essay",
        "task_id": "e-1",
        "round": 1,
        "epoch": 0,
        "validator": "5V",
        "miner": {"uid": 7, "hotkey": "5M"},
        "role": "primary",
        "task": {"least_words": 1000, "most_words": 2000, "topics": ["tally", "stick", "notch"]},
        "submission": {"words": 750, "topics": ["stick", "tally", "stick", "tree"]},
        "checks": {"style": 0.9},
    }
    return {
        name: part | changes[name] if name in changes else part for name, part in record.items()
    }


@pytest.fixture(scope="module")
def plugins() -> Registry:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ESSAYS)
        patch.delitem(sys.modules, "essays_plugin", raising=False)
        found = registry([entry("essays", "essays_plugin", "acme-essays")])
        patch.delitem(sys.modules, "essays_plugin", raising=False)
    assert found.refused == {}
    return found


@pytest.fixture(scope="module")
def scorer(plugins: Registry) -> Scorer:
    return tallystick.load(str(ESSAYS / "rules" / "essays" / "1.0.0.toml"), registry=plugins)


def test_a_record_of_a_new_type_is_scored(scorer: Scorer) -> None:
    result = scorer.score(essay())
    assert result.axes == {
        "length": Decimal("0.750000000"),
        "style": Decimal("0.900000000"),
        "coverage": Decimal("0.666666667"),
    }
    # 0.25 · 0.75 + 0.75 · (0.666666667 · 0.9) = 0.637500000225, then · 0.8 · 1
    assert result.quality == Decimal("0.637500000")
    assert (result.tier, result.tier_multiplier) == ("good", Decimal(1))
    assert result.emission == Decimal("0.510000000")


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"task": {"most_words": 1000}}, "words-in-order", "task.most_words"),
        ({"task": {"topics": []}}, "some-topic", "task.topics"),
        ({"submission": {"words": -1}}, "out-of-range", "submission.words"),
    ],
)
def test_a_record_that_breaks_its_requirements_is_rejected(
    scorer: Scorer, changes: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(RecordError) as caught:
        scorer.score(essay(**changes))
    assert (caught.value.code, caught.value.path) == (code, path)
