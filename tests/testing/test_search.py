"""A search over columns of facts keeps ranges and constraints, and moves what a miner writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tallystick
from tallystick.formula.domain import Domain
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.search import (
    Effort,
    Points,
    Ranks,
    Space,
    Unknown,
    best_moves,
    climb,
)
from tallystick_conformance.testing.concrete_record import bases
from tallystick_conformance.testing.fact_conditions import FactConditions
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_conformance.testing.samples import examples_of

SMALL = Effort(points=128, rounds=6)
REFERENCES = ("skills@1.2.0", "workflow@1.2.0")


def test_an_unknown_that_does_not_move_stays_and_all_stay_in_their_range() -> None:
    seen: list[Points] = []

    def rank(points: Points) -> Ranks:
        seen.append(points)
        return Ranks(np.zeros(points.shape[1], np.int64), points[0])

    unknowns = [
        Unknown(Domain(0, 90, unit=10), 1, (0, 90)),
        Unknown(Domain(0, 100), 1, (0, 100), moves=False),
    ]
    for _ in climb(unknowns, np.array([[50], [42]]), rank, 3, SMALL):
        pass
    moved, still = np.concatenate(seen, axis=1)
    assert {*still.tolist()} == {42}
    assert {*moved.tolist()} == {*range(0, 91, 10)}
    assert len(seen) == SMALL.rounds + 1


@pytest.mark.parametrize("reference", REFERENCES)
def test_no_valid_record_breaks_the_constraints_between_its_facts(reference: str) -> None:
    scorer = tallystick.load(reference)
    for name, bound in scorer.types.items():
        reader = FactReader(bound.schema, bound.facts)
        records = [*bases(scorer.registry.skill_types[name], reader)]
        rows = [facts for r in records if (facts := reader.integers(r)) is not None]
        assert len(rows) >= 10
        conditions = FactConditions({f.digest: f for f in bound.facts}, bound.domains, ())
        assert not any(map(conditions.faults, rows))


def test_facts_that_no_record_has_break_a_constraint() -> None:
    bound = tallystick.load("workflow@1.2.0").types["workflow"]
    space = Space(bound, {}, bound.facts, (bound.quality,))
    low = {digest: np.array([domain.low]) for digest, domain in bound.domains.items()}
    high = {digest: np.array([domain.high]) for digest, domain in bound.domains.items()}
    # of counts that bound each other the small one is at its highest, the large one at its lowest
    broken = [
        digest
        for digest in bound.domains
        if space.faults({**low, digest: high[digest]}, 1)[0] > space.faults(low, 1)[0]
    ]
    assert broken


def example(scorer: Scorer, name: str) -> Mapping[str, Any]:
    return next(examples_of(scorer.registry.skill_types[name]))


def value_of(scorer: Scorer, record: Mapping[str, Any]) -> int:
    quality = scorer.score(json.dumps(record)).quality
    assert quality is not None
    return int(quality * 10**9)


def test_a_miner_who_is_wrong_finds_what_pays_and_changes_the_submission_alone() -> None:
    scorer = tallystick.load("skills@1.2.0")
    honest = example(scorer, "rag_knowledge")
    wrong = {**honest, "submission": {**honest["submission"], "verdict": "ALLOW", "findings": []}}
    quality = scorer.types["rag_knowledge"].quality
    found = best_moves(scorer, wrong, quality, 0, SMALL)
    before = value_of(scorer, wrong)
    assert found
    assert found == best_moves(scorer, wrong, quality, 0, SMALL)
    assert [move.value for move in found] == sorted((m.value for m in found), reverse=True)
    for move in found:
        assert value_of(scorer, move.record) == move.value > before
        assert {**move.record, "submission": 0} == {**wrong, "submission": 0}


def test_without_a_better_submission_there_are_no_moves() -> None:
    scorer = tallystick.load("skills@1.2.0")
    record = example(scorer, "rag_knowledge")
    quality = scorer.types["rag_knowledge"].quality
    best = best_moves(scorer, record, quality, 0, SMALL)
    assert all(move.value <= 10**9 for move in best)
    silent = {k: v for k, v in record.items() if k != "submission"}
    assert best_moves(scorer, silent, quality, 0, SMALL) == ()
