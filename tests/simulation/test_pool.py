"""Records of a pool are valid, of the same tasks, and do what their behaviour says."""

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import attrs
import jsonschema
import numpy as np
import pytest
from examples import fast_rows
from networks import key, pool_of, shipped

from tallystick.errors import SchemaError
from tallystick.plugins.generator import Generator
from tallystick.plugins.registry import Registry
from tallystick_simulation.assumptions import shipped_assumptions
from tallystick_simulation.behaviour import (
    BEHAVIOURS,
    SPRAYED,
    Behaviour,
    always,
    fill_one,
)
from tallystick_simulation.pool import Key, Pool
from tallystick_simulation.strategy import of_example

SKILLS = sorted(shipped("skills@1.2.0").types)
TYPES = [("skills@1.2.0", name) for name in SKILLS] + [
    ("reward@1.0.0", "reward"),
    ("workflow@1.2.0", "workflow"),
]
FINDINGS = "submission.findings"
SPRAYED_FINDINGS = Behaviour("spray findings", fill_one(FINDINGS, finds=True))
PADDED_FINDINGS = Behaviour("pad findings", fill_one(FINDINGS, finds=False))
EVERY = (
    *BEHAVIOURS.values(),
    Behaviour("always", always("REVIEW")),
    SPRAYED_FINDINGS,
    PADDED_FINDINGS,
)
Record = Mapping[str, Any]


def records(reference: str, skill_type: str, behaviour: str | Behaviour) -> list[Record]:
    """The records of one behaviour, or of one of every type by its name."""
    own = BEHAVIOURS[behaviour] if isinstance(behaviour, str) else behaviour
    return [*pool_of(reference).of(skill_type).block(Key(own, 75)).records]


@pytest.mark.parametrize(("reference", "skill_type"), fast_rows(TYPES, 0, -2, -1))
def test_every_record_is_valid_and_of_the_honest_task(reference: str, skill_type: str) -> None:
    pool = pool_of(reference, tasks=2).of(skill_type)
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(pool.profile.schema)))
    scorer = shipped(reference)
    honest = pool.block(key("honest", 75)).records
    for behaviour in EVERY:
        for own, plain in zip(pool.block(Key(behaviour, 75)).records, honest, strict=True):
            assert [*validator.iter_errors(own)] == [], behaviour
            assert own.get("task") == plain.get("task")
            scorer.score(own)  # type: ignore[attr-defined]  # `load` gives a scorer


def window(record: Record) -> tuple[float, float]:
    """The first and the last millisecond of a task."""
    task = record["task"]
    return 1000 * task["t_min_s"], 1000 * task["deadline_s"]


def latency(record: Record) -> int:
    """The milliseconds of an answer."""
    value: int = record["submission"]["latency_ms"]
    return value


@pytest.mark.parametrize("skill_type", SKILLS)
def test_times_are_moved_within_the_window_of_the_task(skill_type: str) -> None:
    def of(behaviour: str) -> list[Record]:
        return records("skills@1.2.0", skill_type, behaviour)

    for rushed, camped, late in zip(of("rush"), of("camp"), of("late"), strict=True):
        first, last = window(rushed)
        assert latency(rushed) == first
        assert last - (last - first) / 50 < latency(camped) < last
        assert latency(late) == last + 1
    moved = [
        (latency(model), latency(copy))
        for model, copy in zip(of("honest"), of("later"), strict=True)
        if latency(model) <= window(model)[1]
    ]
    assert all(before <= after for before, after in moved)
    assert any(before < after for before, after in moved)


@pytest.mark.parametrize("skill_type", SKILLS)
def test_who_is_idle_finds_nothing_and_has_nothing_verified(skill_type: str) -> None:
    for record in records("skills@1.2.0", skill_type, "idle"):
        assert not record["submission"].get("recommended_policy")
        found = [f["category"] for f in record["submission"].get("findings", [])]
        assert not {*found} & {"canary_match", "tool_poisoning"}
        assert True not in record["checks"].values()
        assert latency(record) == window(record)[0]


def test_an_idle_workflow_completes_and_spends_nothing() -> None:
    for record in records("workflow@1.2.0", "workflow", "idle"):
        checks = record["checks"]
        assert checks["steps_completed"] == checks["output_quality"] == 0
        assert checks["actual_tao"] == checks["actual_seconds"] == checks["hard_failures"] == 0


def test_what_is_sprayed_has_all_that_is_expected_and_much_more() -> None:
    for record in records("skills@1.2.0", "mcp_server", "spray"):
        task, submission = record["task"], record["submission"]
        policy = {json.dumps(rule, sort_keys=True) for rule in submission["recommended_policy"]}
        expected = {json.dumps(rule, sort_keys=True) for rule in task["expected_policy"]}
        assert expected < policy
        assert len(policy) == len(expected) + SPRAYED
        tools = {f["tool"] for f in submission["findings"] if f["category"] == "tool_poisoning"}
        assert {*task.get("expected_poisoned_tools", [])} < tools


def test_one_field_can_be_filled_alone() -> None:
    honest = records("skills@1.2.0", "mcp_server", "honest")
    for own, plain in zip(
        records("skills@1.2.0", "mcp_server", SPRAYED_FINDINGS), honest, strict=True
    ):
        assert len(own["submission"]["findings"]) > len(plain["submission"]["findings"])
        policy = "recommended_policy"
        assert own["submission"][policy] == plain["submission"][policy]
        assert own["submission"]["verdict"] == plain["submission"]["verdict"]


def test_who_pads_finds_no_more_than_before() -> None:
    for own, plain in zip(
        records("skills@1.2.0", "rag_knowledge", PADDED_FINDINGS),
        records("skills@1.2.0", "rag_knowledge", "honest"),
        strict=True,
    ):
        injected = {*own["task"]["injected_canaries"]}
        found, before = (
            {f.get("canary_id") for f in r["submission"].get("findings", [])} & injected
            for r in (own, plain)
        )
        matches = [f for f in own["submission"]["findings"] if f["category"] == "canary_match"]
        assert len(found) == len(before)
        assert len(matches) >= SPRAYED


@pytest.mark.parametrize("choice", ["ALLOW", "BLOCK"])
def test_one_choice_is_given_to_every_task(choice: str) -> None:
    own = records("skills@1.2.0", "declarative", Behaviour(choice, always(choice)))
    assert {record["submission"]["verdict"] for record in own} == {choice}


def test_a_wrong_answer_has_another_choice_than_the_honest_one() -> None:
    pairs = zip(
        records("skills@1.2.0", "declarative", "wrong"),
        records("skills@1.2.0", "declarative", "honest"),
        strict=True,
    )
    assert all(a["submission"]["verdict"] != b["submission"]["verdict"] for a, b in pairs)


def test_of_checks_that_nobody_ran_one_is_left() -> None:
    own = records("skills@1.2.0", "executable_python", "unchecked")
    assert all(len(record["checks"]) <= 1 for record in own)
    assert any(record["checks"] for record in own)
    failed = records("skills@1.2.0", "executable_python", "no-sandbox")
    assert all([*record["checks"].values()].count(True) <= 1 for record in failed)
    assert all(len(record["checks"]) > 1 for record in failed)


def test_flags_that_nobody_calls_good_or_bad_are_raised_by_who_aborts() -> None:
    own = records("workflow@1.2.0", "workflow", "abort")
    assert all(record["checks"]["budget_aborted"] for record in own)


def test_a_better_miner_does_better_and_equal_ones_differ() -> None:
    pool = pool_of("skills@1.2.0").of("declarative")

    def right(accuracy: int) -> int:
        block = pool.block(key("honest", accuracy))
        return sum(r["submission"]["verdict"] == r["task"]["ground_truth"] for r in block.records)

    assert right(10) < right(100) == pool.tasks
    variants = [pool.block(key("honest", 75, variant)).records for variant in range(3)]
    assert all(one != other for one, other in combinations(variants, 2))


def test_a_block_does_not_depend_on_what_was_asked_for_before() -> None:
    registry = shipped("skills@1.2.0").registry
    one, other = (Pool(registry, seed=4, tasks=3).of("mcp_server") for _ in range(2))
    for behaviour in ("idle", "honest"):
        one.block(key(behaviour, 60))
    assert one.block(key("honest", 60)).records == other.block(key("honest", 60)).records
    again = Pool(registry, seed=5, tasks=3).of("mcp_server").block(key("honest", 60))
    assert again.records != one.block(key("honest", 60)).records


def generating(change: Callable[[Generator], Generator]) -> Registry:
    """The plugins of workflows, whose records are generated otherwise."""
    registry: Registry = shipped("workflow@1.2.0").registry
    kind = registry.skill_types["workflow"]
    assert kind.generator is not None
    other = attrs.evolve(kind, generator=change(kind.generator))
    return attrs.evolve(registry, skill_types={**registry.skill_types, "workflow": other})


def test_an_answer_is_made_once_when_it_is_asked_for() -> None:
    made = list[object]()

    def counting(own: Generator) -> Generator:
        def checks(*given: Any) -> Any:  # noqa: ANN401  # as the generator's own
            made.append(given)
            return own.checks(*given)

        return attrs.evolve(own, checks=checks)

    pool = Pool(generating(counting), tasks=8).of("workflow")
    block, honest = (pool.block(key(name, 50, 1)) for name in ("absent", "honest"))
    assert block.rows(np.array([5, 2, 5])).tolist() == [-1, -1, -1]
    assert honest.rows(np.array([1, 0, 1])).tolist() == [9, 8, 9]
    assert len(made) == 4
    assert block.records == honest.records
    assert len(made) == 16


def test_a_record_is_answered_like() -> None:
    honest = records("skills@1.2.0", "declarative", "honest")
    found, other = (
        of_example("found", record, shipped_assumptions()).behaviour for record in honest[5:7]
    )
    assert found != other
    own = records("skills@1.2.0", "declarative", found)
    assert {json.dumps(record["submission"]) for record in own} == {
        json.dumps(honest[5]["submission"])
    }
    assert [record["task"] for record in own] == [record["task"] for record in honest]


def test_a_generator_that_makes_no_valid_record_is_named() -> None:
    bad = generating(lambda own: attrs.evolve(own, checks=lambda *_: {"no": "check"}))
    pool = Pool(bad, tasks=2).of("workflow")
    with pytest.raises(SchemaError, match=r"found no valid record of 'workflow' in 20"):
        pool.block(key("honest", 50)).record(0)
