"""The vectors in JavaScript: every answer is met, and mistakes that are planted there are found."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from portable.javascript import Json, node, shipped_rule_sets, shown
from portable.mutants import INTERPRETER, STATE, SURVIVORS, Mutant
from vectors import cases, engine

VECTORS = Path(__file__).parents[1] / "vectors"
AREAS = ("numbers", "composites", "tiers", "state", "states", "digests", "rows")
"""The quick ones first: a mutant is left alone at the first row that finds it."""
OF_OTHERS = {
    *("novel_threshold", "epoch_update", "group_selection", "round_score", "weight_cap"),
}
"""Operations of ``state.json`` that newer ones ask whole: close_epoch, group, round, weights."""


@cache
def asked() -> Json:
    read = (json.loads((VECTORS / f"{area}.json").read_text(encoding="utf-8")) for area in AREAS)
    cases = [case for area in read for case in area["cases"] if case["op"] not in OF_OTHERS]
    return {"shown": {name: shown(name) for name in shipped_rule_sets()}, "cases": cases}


def whole_rows() -> Iterator[Json]:
    """The vectors of one axis, term or sub-score, each by the row of the record that it stands for.

    The row is the engine's, which has the answer of the vector: see `vectors/test_vectors.py`.
    """
    for case in cases.load():
        if case.op in cases.RECORDS and case.rule_set is not None:
            lines = [json.dumps(cases.record(case, row)) for row in case.inputs]
            expected = [{case.rule_set: engine.row(case.rule_set, line)} for line in lines]
            yield {"id": case.id, "op": "row", "inputs": lines, "expected": expected}


def survivors(mutants: list[Mutant]) -> list[Mutant]:
    found = node("run.js", asked() | {"mutants": [asdict(each) for each in mutants]})
    return [mutant for mutant, first in zip(mutants, found, strict=True) if first is None]


@pytest.mark.process
def test_every_vector_has_its_answer() -> None:
    every = [*asked()["cases"], *whole_rows()]
    found = node("run.js", asked() | {"cases": every})
    assert found["differences"] == []
    assert {case["op"] for case in every} <= set(found["operations"])
    assert sum(len(case["inputs"]) for case in every) > 1000


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_every_planted_mistake_is_found(part: int) -> None:
    assert survivors([*INTERPRETER, *STATE][part::4]) == []


@pytest.mark.nightly
def test_two_mistakes_are_none() -> None:
    assert survivors(list(SURVIVORS)) == list(SURVIVORS)
