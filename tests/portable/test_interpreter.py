"""The reference interpreter in JavaScript scores as the engine does, from the trees alone."""

import gzip
import json
from pathlib import Path

import pytest
from portable.javascript import Json, node, shipped_rule_sets, shown

import tallystick

ROOT = Path(tallystick.__file__).parents[2]
RECORDS = Path(__file__).parents[1] / "frozen" / "records.jsonl.gz"


def lines_of(reference: str, lines: list[str]) -> list[str]:
    types = shown(reference)["skill_types"]
    return [line for line in lines if json.loads(line)["skill_type"] in types]


def engine(reference: str, lines: list[str]) -> list[Json]:
    scorer = tallystick.load(reference)
    answers = scorer.score_many(line.encode() for line in lines)
    return [
        {"error": each.code} if isinstance(each, tallystick.Reject) else each.to_json()
        for each in answers
    ]


def agree(lines: list[str]) -> int:
    asked = {name: lines_of(name, lines) for name in shipped_rule_sets()}
    found = node("score.js", {"shown": {name: shown(name) for name in asked}, "lines": asked})
    for name, answers in found.items():
        assert answers == engine(name, asked[name]), name
    return sum(map(len, asked.values()))


@pytest.mark.nightly
def test_rows_have_the_bytes_of_the_engine() -> None:
    lines = gzip.decompress(RECORDS.read_bytes()).decode().splitlines()
    assert agree(lines) > 400


@pytest.mark.nightly
@pytest.mark.parametrize("part", ["canonical", "formulas", "requirements"])
def test_it_refuses_trees_that_the_digest_does_not_cover(part: str) -> None:
    spoiled = json.loads(json.dumps(shown("workflow@1.0.0")))
    if part == "canonical":
        spoiled["canonical"]["document"]["axes"]["cost"]["gate"] = "0.6"
    else:
        some = next(iter(spoiled[part].values()))
        some["tree"] = ["not", [], [some["tree"]]]
    asked = {"shown": {"workflow@1.0.0": spoiled}, "lines": {"workflow@1.0.0": []}}
    with pytest.raises(AssertionError, match=r"found .*, expected sha256:"):
        node("score.js", asked)
