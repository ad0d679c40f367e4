"""The rule set with every key of the schemas goes through every tool."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from consensus.vectors import cases
from generators import record as generated
from portable.javascript import node, shown_of
from rules import every_key
from rules.test_digest import DOCUMENTATION, said
from scoring.parcels import missed
from scoring.test_measures import random_parcels
from state.subnet import written

import tallystick
from tallystick.cli import rule_text
from tallystick.formula.facts import READERS
from tallystick.formula.summed import SummedOver
from tallystick.plugins.registry import Plugin
from tallystick.rules.digest import canonical_form
from tallystick.rules.settable import settable_paths
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.trees import trees_of
from tallystick_conformance import allocations, backend_equivalence, batches
from tallystick_conformance.loading import Subject
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.run import backtest
from tallystick_governance.diff import render as diff_render
from tallystick_governance.diff.difference import difference
from tallystick_governance.lint import render as lint_render
from tallystick_governance.lint.linting import report_of
from tallystick_governance.lint.sarif import as_sarif
from tallystick_governance.prove.allocation import LAWS as OF_WEIGHTS
from tallystick_governance.prove.built_in_properties import MONOTONE, RANGE
from tallystick_governance.prove.proving import MILLION, outline, prove
from tallystick_state.ledger import Ledger

TYPES = {"parcel", "mcp_server", "workflow"}
ROUND = {"format": 1, "round": {"salt": "s", "owner": "the-owner", "cut": "0.1"}}

MINERS = {
    "miners": {
        f"hk-{uid}": {"owner": f"owner-{uid % 3}", "active": uid % 4 != 0} for uid in range(8)
    }
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("every-key")


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Scorer:
    return every_key.load(folder)


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """Records of every type, some of them of missed deadlines."""
    random = Random(7)
    own = [*random_parcels(7, 60), missed(61)]
    others = [generated(random, name) for name in ("mcp_server", "workflow") for _ in range(12)]
    for number, record in enumerate((*own, *others)):
        record |= {"task_id": f"task-{number}", "epoch": 0, "round": number // 20}
        record["role"] = ("primary", "auditor")[number % 2]
        if "task" in record and "max_budget_tao" in record["task"]:
            record["task"]["max_budget_tao"] = 1.5
        record["miner"] = {"uid": number % 8, "hotkey": f"hk-{number % 8}"}
    return [*own, *others]


@pytest.fixture(scope="module")
def lines(records: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(record) for record in records]


def test_it_has_every_key_of_the_schemas() -> None:
    """A key that is added to a schema is added to the rule set, or this fails with its name."""
    used = {key for document in every_key.documents() for key in every_key.used_keys(document)}
    assert every_key.every_key() - used == set()
    assert len(every_key.every_key()) > 200


def test_every_word_of_steps_is_used() -> None:
    steps = every_key.documents()[0]["allocation"]["steps"]
    words = every_key.schema()["$defs"]["step"]["properties"]["do"]["enum"]
    assert {step["do"] for step in steps} == set(words)


DEFAULTS = {
    "below": "refuse",
    "carry": "True",
    "drop_zero": "False",
    "empty": "leave",
    "event_task": "any",
    "exact": "False",
    "flat": "0",
    "miners": "slots",
    "others": "drop",
    "publish": "False",
    "records": "window",
    "short": "normalise",
    "ties": "order",
}


def test_its_digest_covers_every_value_but_documentation_and_defaults(scorer: Scorer) -> None:
    covered = said(canonical_form(scorer.rule_set, scorer.registry)["document"])
    written = said(every_key.documents()[0])
    assert covered.items() <= written.items()
    left = [each for each in written.keys() - covered.keys() if not DOCUMENTATION.fullmatch(each)]
    assert {(each.rpartition(".")[2], written[each]) for each in left} == set(DEFAULTS.items())


def test_it_is_shown_with_every_value_and_step(scorer: Scorer) -> None:
    text = "\n".join(rule_text.lines_of(scorer))
    view = json.dumps(rule_text.view_of(scorer), default=str)
    for bound in scorer.types.values():
        for value in bound.values:
            if value.role in {"axis", "measure"}:
                assert value.name in text
    for step in every_key.documents()[0]["allocation"]["steps"]:
        assert step["name"] in text
        assert step["name"] in view
    assert set(trees_of(scorer)["skill_types"]) == TYPES


def test_its_numbers_can_be_set(scorer: Scorer) -> None:
    paths = {each.path for each in settable_paths(scorer.loaded, scorer.registry)}
    assert {"skill_types.parcel.parameters.part", "emission.scale", "claims.per_round"} <= paths


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (every_key.WITHIN, "consensus"),
        (("part = 0.75", "part = 0.5"), "quality"),
        (("scale = 0.5", "scale = 0.25"), "emission"),
        (('idle = "burn", burn = 0, ', 'idle = "equal", '), "allocation"),
        (("least = 0.0001", "least = 0.0002"), "allocation"),
        (("flag_window_resets = true", "flag_window_resets = false"), "reputation"),
    ],
)
def test_a_change_of_it_is_told(
    scorer: Scorer, folder: Path, change: tuple[str, str], told: str
) -> None:
    found = difference(scorer, every_key.load(folder, change))
    text = diff_render.as_text(found)
    assert told in text
    assert not found.unknown
    assert json.dumps(diff_render.as_json(found))
    assert diff_render.as_markdown(found)
    assert "no difference in meaning" not in text


def test_it_is_linted(scorer: Scorer) -> None:
    report = report_of(scorer)
    assert not report.refused
    assert lint_render.as_text(report)
    assert lint_render.as_markdown(report)
    assert json.dumps(as_sarif(report))


@pytest.mark.parametrize("name", [RANGE, MONOTONE, *OF_WEIGHTS.summaries])
def test_it_is_proved_as_far_as_a_small_budget_goes(scorer: Scorer, name: str) -> None:
    answers = prove(scorer, only=name, budget=MILLION)
    assert len(answers) == len(outline(scorer, name)) > 0


@pytest.mark.process
def test_one_record_columns_and_javascript_score_alike(scorer: Scorer, lines: list[str]) -> None:
    rows = [scorer.score(line, line=number).to_json() for number, line in enumerate(lines, 1)]
    many = [each.to_json() for each in scorer.score_many(line.encode() for line in lines)]
    assert many == rows
    assert node("score_measures.js", {"shown": shown_of(scorer), "lines": lines}) == rows


@pytest.mark.process
def test_the_readers_of_javascript_are_those_of_the_engine() -> None:
    """An opaque fact is code, which no other language has."""
    engine = {*READERS, SummedOver.name} - {"opaque"}
    table = set(node("readers.js", None))
    assert {"missing": engine - table, "extra": table - engine} == {
        "missing": set(),
        "extra": set(),
    }


def test_every_record_is_explained(scorer: Scorer, lines: list[str]) -> None:
    for line in lines:
        explanation = scorer.explain(line)
        assert json.dumps(explanation.to_dict())
        if explanation.composite is not None:
            assert explanation.composite.quality == explanation.result.quality


def test_groups_have_a_consensus(scorer: Scorer, folder: Path) -> None:
    groups = [case["group"] | {"skill_type": "mcp_server"} for case in cases("consensus")]
    for rules in (scorer, every_key.load(folder, every_key.WITHIN)):
        found = list(tallystick.consensus(groups, rules))
        assert found
        assert not any(isinstance(each, tallystick.Reject) for each in found)


@pytest.mark.parametrize(
    "modules",
    [
        [allocations],
        pytest.param([batches, backend_equivalence], marks=pytest.mark.nightly),
    ],
    ids=["allocations", "batches"],
)
def test_the_conformance_kit_takes_it(
    scorer: Scorer, folder: Path, modules: list[ModuleType]
) -> None:
    own = scorer.registry.skill_types["parcel"]
    plugin = Plugin("parcels", "parcels", "1", skill_types=(own,), formulas=every_key.FORMULAS)
    subject = Subject(plugin, scorer.registry, folder, {scorer.rule_set.reference: scorer})
    for module in modules:
        assert not [each for each in module.check(subject) if each.severity == "error"]


def test_a_state_goes_by_it_for_an_epoch(
    scorer: Scorer, folder: Path, records: list[dict[str, Any]]
) -> None:
    source = written(folder / "records.jsonl", records)
    with Ledger.create(
        str(folder / "state.db"), scorer.loaded.path, registry=scorer.registry
    ) as ledger:
        for uid in range(8):
            ledger.register(f"hk-{uid}", uid, TYPES)
        ledger.import_events(source)
        ledger.close_epoch(round=ROUND | MINERS)
        assert ledger.verify()


@pytest.mark.nightly
def test_a_back_test_compares_it(scorer: Scorer, folder: Path, lines: list[str]) -> None:
    history, other = folder / "history.jsonl", folder / "other.toml"
    history.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text = every_key.RULES.read_text(encoding="utf-8")
    other.write_text(text.replace("part = 0.75", "part = 0.5"), encoding="utf-8")
    candidates = candidates_of([scorer.loaded.path, other], (), scorer.registry)
    outcome, _ = backtest(history, candidates, folder / "back-test")
    assert len(outcome.candidates) == len(candidates)
