"""The vectors in JavaScript: every answer is met."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from portable.javascript import Json, node, shipped_rule_sets, shown
from vectors import cases, engine

VECTORS = Path(__file__).parents[1] / "vectors"
AREAS = ("numbers", "composites", "tiers", "state", "states", "digests", "rows")
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


@pytest.mark.process
def test_every_vector_has_its_answer() -> None:
    every = [*asked()["cases"], *whole_rows()]
    found = node("run.js", asked() | {"cases": every})
    assert found["differences"] == []
    assert {case["op"] for case in every} <= set(found["operations"])
    assert sum(len(case["inputs"]) for case in every) > 1000


@pytest.mark.nightly
@pytest.mark.parametrize("part", ["canonical", "formulas", "requirements"])
def test_it_refuses_trees_that_the_digest_does_not_cover(part: str) -> None:
    spoiled = json.loads(json.dumps(shown("workflow@1.0.0")))
    if part == "canonical":
        spoiled["canonical"]["document"]["axes"]["cost"]["gate"] = "0.6"
    else:
        some = next(iter(spoiled[part].values()))
        some["tree"] = ["not", [], [some["tree"]]]
    with pytest.raises(AssertionError, match=r"found .*, expected sha256:"):
        node("run.js", {"shown": {"workflow@1.0.0": spoiled}, "cases": []})
