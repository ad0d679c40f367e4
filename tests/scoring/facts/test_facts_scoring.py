"""Scoring from facts gives what scoring the records gives, under every rule set."""

import json
import random
from pathlib import Path

import pytest
from examples import fast_rows
from generators import SKILL_TYPES, lines, record
from records.making import spoil

import tallystick
from tallystick.errors import InputError
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.results import ChunkScorer
from tallystick.scoring.facts.run import extract_file

COUNT = 200


@pytest.fixture(scope="module")
def history() -> list[bytes]:
    """Good records of every type, missed deadlines, records with a defect, and no records."""
    rng = random.Random(3)
    bad = [
        json.dumps(spoil(record(rng, rng.choice(SKILL_TYPES)), seed)).encode() for seed in range(40)
    ]
    missed = [json.dumps(_without_answer(rng)).encode() for _ in range(20)]
    found = [*(line.rstrip(b"\n") for line in lines(8, COUNT)), *bad, *missed, b"", b"[]", b"{"]
    rng.shuffle(found)
    return found


def _without_answer(rng: random.Random) -> dict[str, object]:
    whole = record(rng, rng.choice(SKILL_TYPES))
    left = {name: value for name, value in whole.items() if name not in ("submission", "checks")}
    return left | {"events": ["probe_fail", "missed_deadline"]}


def test_a_requirement_of_the_rule_set_rejects_with_what_the_facts_hold(
    scorers: dict[str, tallystick.Scorer],
) -> None:
    rng = random.Random(1)
    free = record(rng, "workflow")
    free["task"]["max_budget_tao"] = 0.0
    missed = {name: value for name, value in free.items() if name not in ("submission", "checks")}
    missed["events"] = ["missed_deadline"]
    both = [json.dumps(each).encode() for each in (free, missed)]
    facts = Extractor(catalog_of(installed()).values()).facts(both)
    assert not facts.rejects
    scorer = scorers["workflow@1.1.0"]
    assert ChunkScorer(scorer).facts(facts).rejects == scorer.score_lines(both).rejects
    assert len(ChunkScorer(scorer).facts(facts).rejects) == 2
    assert not ChunkScorer(scorers["workflow@1.0.0"]).facts(facts).rejects


@pytest.mark.parametrize("rule_set", fast_rows(["skills@1.1.0", "workflow@1.1.0"], 1))
def test_facts_in_several_chunks_score_to_the_same_lines(
    scorers: dict[str, tallystick.Scorer], history: list[bytes], tmp_path: Path, rule_set: str
) -> None:
    source, facts = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    source.write_bytes(b"\n".join(history) + b"\n")
    extract_file(source, facts, installed(), chunk=100)
    scorer = scorers[rule_set]
    scorer.score_file(facts, tmp_path / "a.jsonl")
    scorer.score_file(source, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    of_facts = rejected(facts) + rejected(tmp_path / "a.jsonl")
    assert sorted(of_facts) == rejected(tmp_path / "b.jsonl") != []


def rejected(output: Path) -> list[int]:
    """The lines that are rejected beside an output."""
    rejects = output.with_name(f"{output.name}.rejects.jsonl").read_bytes().splitlines()
    return [json.loads(each)["line"] for each in rejects]


def test_facts_are_no_records_to_explain_or_to_take_facts_of(
    scorers: dict[str, tallystick.Scorer], history: list[bytes], tmp_path: Path
) -> None:
    from tallystick.scoring.sources import source_of
    from tallystick_state.event_decoder import events_of

    source, facts = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    source.write_bytes(b"\n".join(history) + b"\n")
    extract_file(source, facts, installed())
    with pytest.raises(InputError, match="facts alone, expected records"):
        next(iter(source_of(facts))).items()
    with pytest.raises(InputError, match="facts alone, expected records"):
        extract_file(facts, tmp_path / "again.parquet", installed())
    with pytest.raises(InputError, match="facts alone, expected records"):
        next(iter(events_of(source_of(facts), scorers["skills@1.0.0"])))
    assert not (tmp_path / "again.parquet").exists()
