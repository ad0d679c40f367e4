"""Facts that are Python functions: one that fails counts for the rule sets that read it alone."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from generators import record

from tallystick.errors import FormulaError
from tallystick.formula.facts import opaque
from tallystick.formula.tree import Node
from tallystick.plugins.author import Parameters, axis
from tallystick.plugins.registry import Registry, installed
from tallystick.rules.reading import read_text
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.results import ChunkScorer
from tallystick.scoring.scorer import Scorer, bind


@opaque("length of the task", low=0, high=16)
def length(record: Mapping[str, Any]) -> int:
    text = str(record["task_id"])
    if text == "fails":
        raise ValueError(text)
    return len(text)


@axis("test/length@1", symbol="λ")
def length_axis(_: Parameters) -> Node:
    """A sixteenth for each letter."""
    return length / 16


RULES = """
[rule_set]
name = "opaque"
version = "1.0.0"
format = 1
summary = "an opaque axis"
[axes.length]
formula = "test/length@1"
[skill_types.declarative]
composite = "arithmetic"
weights = { length = 1 }
"""


@pytest.fixture(scope="module")
def registry() -> Registry:
    found = installed()
    return attrs.evolve(found, formulas={**found.formulas, length_axis.name: length_axis})


@pytest.fixture(scope="module")
def scorer(registry: Registry) -> Scorer:
    return bind(read_text(RULES, Path("opaque.toml"), registry), registry)


def lines() -> list[bytes]:
    rng, found = random.Random(2), []
    for task in ("a", "fails", "x" * 17, "abcd"):
        whole = record(rng, "declarative") | {"task_id": task}
        found.append(json.dumps(whole).encode())
    return found


def test_a_fact_that_fails_is_rejected_where_it_is_read(registry: Registry, scorer: Scorer) -> None:
    facts = Extractor(catalog_of(registry).values()).facts(lines())
    assert not facts.rejects
    found, expected = ChunkScorer(scorer).facts(facts), scorer.score_lines(lines())
    assert list(found.results()) == list(expected.results())
    assert len(found) == 2
    same = [(r.line, r.code, r.path, r.expected) for r in expected.rejects]
    assert [(r.line, r.code, r.path, r.expected) for r in found.rejects] == same
    assert [line for line, *_ in same] == [2, 3]


def test_it_does_not_count_for_rule_sets_that_do_not_read_it(
    registry: Registry, scorers: dict[str, Scorer]
) -> None:
    facts = Extractor(catalog_of(registry).values()).facts(lines())
    assert len(ChunkScorer(scorers["skills@1.1.0"]).facts(facts)) == 4


def test_a_type_that_requires_what_its_records_lack_is_told(registry: Registry) -> None:
    types = registry.skill_types
    (own,) = types["workflow"].requirements
    wrong = attrs.evolve(types["mcp_server"], requirements=(own,))
    with pytest.raises(FormulaError, match="mcp_server: completed-exceeds-total: "):
        catalog_of(attrs.evolve(registry, skill_types={**types, "mcp_server": wrong}))
