"""What is taken of records: every fact that a rule set reads, and who they are."""

import json
import random
from typing import Any

import pytest
from generators import SKILL_TYPES, lines, record

import tallystick
from tallystick.formula.facts import is_opaque, reader_of
from tallystick.formula.tree import Node
from tallystick.plugins.registry import installed
from tallystick.records.decoding import Decoder
from tallystick.records.extraction import compile_extraction
from tallystick.records.struct_builder import is_answered
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor

CATALOGUES = catalog_of(installed())


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    return [line.rstrip(b"\n") for line in lines(21, 700)]


@pytest.fixture(scope="module")
def batch(records: list[bytes]) -> FactBatch:
    return Extractor(CATALOGUES.values()).facts(records)


def test_every_installed_type_has_a_catalogue() -> None:
    assert tuple(CATALOGUES) == tuple(sorted((*SKILL_TYPES, "reward")))


def test_a_catalogue_has_every_fact_of_every_rule_set(
    scorers: dict[str, tallystick.Scorer],
) -> None:
    for scorer in scorers.values():
        for name, bound in scorer.types.items():
            assert {fact.digest for fact in bound.facts} <= set(CATALOGUES[name].by_digest)


def test_who_the_records_are(records: list[bytes], batch: FactBatch) -> None:
    plain = [json.loads(line) for line in records]
    assert sum(map(len, batch.types.values())) == len(records) == batch.lines
    for name, rows in batch.types.items():
        mine = [plain[line - 1] for line in rows.record.tolist()]
        assert {each["skill_type"] for each in mine} == {name} == {rows.skill_type}
        assert rows.task_id.to_pylist() == [each["task_id"] for each in mine]
        assert rows.validator.to_pylist() == [each["validator"] for each in mine]
        assert rows.miner_hotkey.to_pylist() == [each["miner"]["hotkey"] for each in mine]
        assert rows.miner_uid.tolist() == [each["miner"]["uid"] for each in mine]
        assert rows.round.tolist() == [each["round"] for each in mine]
        assert rows.epoch.tolist() == [each["epoch"] for each in mine]
        assert rows.role.to_pylist() == [each["role"] for each in mine]
        assert rows.events.to_pylist() == [each.get("events", []) for each in mine]
        assert rows.missed.tolist() == [
            "missed_deadline" in each.get("events", ()) for each in mine
        ]
        assert rows.answered.tolist() == ["submission" in e and "checks" in e for e in mine]


def _of_task(fact: Node) -> bool:
    paths = reader_of(fact).paths(fact)
    return not is_opaque(fact) and not any(
        path.startswith(("submission", "checks")) for path in paths
    )


def test_facts_are_those_of_the_records_taken_alone(records: list[bytes], batch: FactBatch) -> None:
    decoder = Decoder({name: each.schema for name, each in CATALOGUES.items()})
    unanswered = 0
    for name, rows in batch.types.items():
        catalogue = CATALOGUES[name]
        alone = [compile_extraction([fact], catalogue.schema) for fact in catalogue.facts]
        for row, line in enumerate(rows.record.tolist()):
            found: Any = decoder.decode(records[line - 1], line)
            missed = not is_answered(found)
            unanswered += missed
            for fact, taken in zip(catalogue.facts, alone, strict=True):
                value = int(rows.facts[fact.digest][row])
                if missed and not _of_task(fact):
                    assert value == 0
                else:
                    assert taken(found) == {fact.digest: value}
    assert unanswered


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
