"""Aggregates from the record to the score: one by one, in columns, and through a facts file."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from governance.prove.sample import SCHEMA, sample
from scoring.facts.alike import Record, axes_in_every_way, essay

from tallystick.plugins.author import (
    Node,
    Parameters,
    axis,
    cases,
    clip,
    count,
    largest,
    smallest,
    total,
)
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.type_probe import TypeProbe

MARKS, ERRORS = "checks.marks", "checks.segments[].errors"


@axis("mine/spread@1")
def spread(_p: Parameters) -> Node:
    """How near the ends of the marks are; 0 without marks."""
    ends = 1 - (largest(MARKS, empty=10) - smallest(MARKS)) / 10
    return cases((count(MARKS) == 0, 0), otherwise=ends)


@axis("mine/even@1")
def even(_p: Parameters) -> Node:
    """The share of the errors that are not in the worst segment."""
    errors = total(ERRORS)
    return cases((errors == 0, 1), otherwise=clip(1 - largest(ERRORS) / errors))


def record(number: int) -> Record:
    marks = [(number * step) % 11 for step in range(number % 5)]
    segments = [{"errors": (number + step) % 4} for step in range(number % 4)]
    return essay(number, {}, {"marks": marks, "segments": segments})


def by_hand(made: Record) -> tuple[Decimal, Decimal]:
    marks = sorted(made["checks"]["marks"])
    errors = sorted(each["errors"] for each in made["checks"]["segments"])
    ends = (marks[0], marks[-1]) if marks else (0, 10)
    share = Decimal(1)
    if sum(errors):
        share = 1 - Decimal(errors[-1]) / sum(errors)
    return 1 - Decimal(ends[1] - ends[0]) / 10, round(share, 9)


@pytest.fixture
def scorer(tmp_path: Path) -> Scorer:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    checks = schema["properties"]["checks"]["properties"]
    checks["marks"] = {
        "type": "array",
        "maxItems": 8,
        "items": {"type": "integer", "minimum": 0, "maximum": 10},
    }
    segment = {
        "type": "object",
        "additionalProperties": False,
        "required": ["errors"],
        "properties": {"errors": {"type": "integer", "minimum": 0, "maximum": 20}},
    }
    checks["segments"] = {"type": "array", "maxItems": 6, "items": segment}
    path = tmp_path / "essay.schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return sample(
        tmp_path,
        style="mine/spread",
        coverage="mine/even",
        further=(spread, even),
        schema=path,
    )


def test_aggregates_are_scored_alike_in_every_way(scorer: Scorer, tmp_path: Path) -> None:
    records = [record(number) for number in range(60)]
    wanted = [by_hand(made) for made in records]
    for axes in axes_in_every_way(scorer, records, tmp_path):
        assert [(each["style"], each["coverage"]) for each in axes] == wanted


def test_the_linter_tries_no_ends_of_nothing(scorer: Scorer) -> None:
    probe = TypeProbe(scorer.types["essay"])
    low, high = smallest(MARKS).digest, largest(MARKS, empty=10).digest
    marks = count(MARKS).digest
    facts = {digest: domain.low for digest, domain in probe.domains.items()}
    facts[marks], facts[low], facts[high] = 2, 3, 5
    assert probe.allows(facts)
    facts[low] = 6
    assert not probe.allows(facts)
    facts[marks], facts[low], facts[high] = 0, 0, 10
    assert probe.allows(facts)
    facts[low], facts[high] = 3, 5
    assert not probe.allows(facts)
