"""The vectors in JavaScript: every answer is met, and mistakes that are planted there are found."""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from portable.javascript import Json, node, shipped_rule_sets, shown
from portable.mutants import INTERPRETER, STATE, SURVIVORS, Mutant

VECTORS = Path(__file__).parents[1] / "vectors"
AREAS = ("numbers", "composites", "tiers", "state", "states", "digests", "rows")
"""The quick ones first: a mutant is left alone at the first row that finds it."""
OF_OTHERS = {
    *("novel_threshold", "epoch_update", "group_selection", "round_score", "weight_cap"),
}
"""Operations of ``state.json`` that newer ones ask whole: close_epoch, group, round, weights."""
LEAN = 11
"""Of the planted mistakes one in so many is tried by default."""


@cache
def asked() -> Json:
    read = (json.loads((VECTORS / f"{area}.json").read_text(encoding="utf-8")) for area in AREAS)
    cases = [case for area in read for case in area["cases"] if case["op"] not in OF_OTHERS]
    return {"shown": {name: shown(name) for name in shipped_rule_sets()}, "cases": cases}


def survivors(mutants: list[Mutant]) -> list[Mutant]:
    found = node("run.js", asked() | {"mutants": [asdict(each) for each in mutants]})
    return [mutant for mutant, first in zip(mutants, found, strict=True) if first is None]


def test_every_vector_has_its_answer() -> None:
    found = node("run.js", asked())
    assert found["differences"] == []
    assert {case["op"] for case in asked()["cases"]} <= set(found["operations"])
    assert sum(len(case["inputs"]) for case in asked()["cases"]) > 1000


def test_there_are_mistakes_of_every_part() -> None:
    assert len({(each.file, each.old, each.new) for each in (*INTERPRETER, *STATE)}) >= 100
    assert len(SURVIVORS) == 2
    assert all(each.reason for each in SURVIVORS)


def test_some_planted_mistakes_are_found() -> None:
    assert survivors([*INTERPRETER, *STATE][::LEAN]) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_planted_mistake_is_found(part: int) -> None:
    assert survivors([*INTERPRETER, *STATE][part::4]) == []


@pytest.mark.slow
def test_two_mistakes_are_none() -> None:
    assert survivors(list(SURVIVORS)) == list(SURVIVORS)
