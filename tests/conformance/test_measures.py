"""The kit on plugins with measures: a good one passes, and what is wrong with one has its code."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.broken import FORMULAS, RULES, broken, loaded

from tallystick.scoring.value import Value
from tallystick_conformance.backend_equivalence import check as check_backends
from tallystick_conformance.checks import every
from tallystick_conformance.loading import Subject
from tallystick_conformance.rule_sets import check_proofs

MEASURES = '''
from tallystick.plugins.author import clip, given, measure, number, unrounded


@measure("acme/share@1", within=(0, 1))
def share(p):
    """The share of what was allowed."""
    return cases((most == 0, 0), otherwise=clip(grams / most))


@measure("acme/double@1", within=(0, 1), factor=(0, 2))
def double(p):
    """A multiple of the share before it is published, at most 1."""
    return clip(p.factor * unrounded("share"))


@measure("acme/sum@1", within=(0, 2))
def total(p):
    """The published multiple and the care."""
    return published("double") + published("care")


@measure("acme/places@1", within=(0, 20), applies=given("consensus"))
def places(p):
    """The stops, where there is a consensus."""
    return stops
'''
RULES_OF_MEASURES = (
    RULES.partition("[axes.load]")[0]
    + """
[measures.share]
formula = "acme/share@1"
exact = true

[measures.double]
formula = "acme/double@1"
factor = 1.5

[measures.sum]
formula = "acme/sum@1"

[measures.places]
formula = "acme/places@1"

[skill_types.parcel]
measures = ["share", "double", "sum", "places"]
axes = ["care"]
"""
)


def measured(folder: Path, **changes: str) -> Path:
    """The plugin, its record types without a quality."""
    formulas = f"{FORMULAS}\n{MEASURES}"
    for before, after in changes.items():
        assert before in formulas
        formulas = formulas.replace(before, after)
    return broken(folder, formulas=formulas, rules=RULES_OF_MEASURES)


@pytest.mark.nightly
def test_a_plugin_with_measures_alone_passes(tmp_path: Path) -> None:
    with loaded(measured(tmp_path)) as subject:
        assert isinstance(subject, Subject)
        assert [found for kind, found in every(subject) if kind == "found"] == []
        (scorer,) = (s for name, s in subject.scorers.items() if name == "acme@1.0.0")
    assert not scorer.types["parcel"].has_quality


def test_each_measure_that_is_not_proved_is_found_with_a_record(tmp_path: Path) -> None:
    folder = measured(
        tmp_path,
        **{
            "within=(0, 20), applies": "within=(0, 19), applies",
            "within=(0, 2))": "within=(0, 1))",
        },
    )
    with loaded(folder) as subject:
        assert isinstance(subject, Subject)
        found = {each.where.partition(" ")[0]: each for each in check_proofs(subject)}
    assert {name: each.code for name, each in found.items()} == dict.fromkeys(
        ("acme/places@1", "acme/sum@1"), "axis-out-of-range"
    )
    record = found["acme/places@1"].evidence["record"]
    assert record["submission"]["stops"] == 20
    assert "consensus" in record
    assert float(found["acme/sum@1"].evidence["value"]) > 1


def test_a_ratio_that_the_generated_function_gets_wrong_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Value.ratio
    with loaded(measured(tmp_path)) as subject:
        assert isinstance(subject, Subject)
        monkeypatch.setattr(Value, "ratio", lambda self, *read: right(self, *read) + 1)
        found = list(check_backends(subject))
    assert [(each.code, each.where.rpartition(": ")[2]) for each in found] == [
        ("readers-disagree", "share, as a ratio")
    ]
