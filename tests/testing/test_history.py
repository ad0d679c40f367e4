"""A made-up history is valid, the same everywhere, and such as a network leaves behind."""

import hashlib
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import attrs
import pytest
from records.making import FILES

import tallystick
from tallystick.errors import SchemaError
from tallystick.formula.formula import Requirement
from tallystick.formula.tree import const
from tallystick.plugins.author import Generator, SkillType
from tallystick.plugins.registry import installed
from tallystick.records.rejects import Reject
from tallystick_conformance.testing.history import history_of

TYPES = installed().skill_types
COUNT = 3000
DIGEST = "647c571ae7d7308b6107c4ea9e3b170e944964a835b411cf36248d7a08049341"
SIZES = {"miners": 20, "validators": 3, "epochs": 4, "rounds": 5}

Record = dict[str, Any]


@cache
def lines(
    count: int, seed: int = 1, names: tuple[str, ...] = (*TYPES,), **sizes: int
) -> list[bytes]:
    types = [TYPES[name] for name in names]
    return list(history_of(seed, types, **(SIZES | sizes)).lines(count))


@pytest.fixture(scope="module")
def history() -> list[Record]:
    return [json.loads(line) for line in lines(COUNT)]


def test_the_bytes_are_these_on_every_machine() -> None:
    found = b"".join(lines(2000, seed=7, names=tuple(TYPES.keys() - {"reward"})))
    assert hashlib.sha256(found).hexdigest() == DIGEST


def test_seeds_differ_and_the_order_of_types_does_not_matter() -> None:
    names = (*TYPES,)
    assert lines(100) == lines(100, names=names[::-1])
    assert lines(100) != lines(100, seed=2)
    assert not set(lines(500)) & set(lines(500, seed=2))


@pytest.mark.parametrize("rules", ["skills@1.1.0", "workflow@1.1.0", "reward@1.0.0"])
def test_every_record_is_scored_and_better_miners_do_better(
    history: list[Record], rules: str
) -> None:
    scorer = tallystick.load(rules)
    own = [record for record in history if record["skill_type"] in scorer.types]
    scores = defaultdict(list)
    for result in scorer.score_many(own):
        assert not isinstance(result, tallystick.Reject)
        if result.quality is not None:
            scores[result.miner_hotkey].append(float(result.quality))
    means = sorted(mean(each) for each in scores.values() if len(each) > 20)
    assert means[-1] > means[0] + 0.2


@pytest.mark.parametrize("count", [1, 7, 20, 333])
def test_records_are_spread_over_the_rounds_in_order(count: int) -> None:
    made = [json.loads(line) for line in lines(count)]
    rounds = [record["round"] for record in made]
    assert rounds == sorted(rounds)
    assert all(record["epoch"] == record["round"] // 5 for record in made)
    each = Counter(rounds)
    assert each.total() == count
    assert set(each) <= set(range(20))
    assert len(each) == min(count, 20)
    assert max(each.values()) - min(each.values()) <= 1


def test_validators_see_the_same_task_and_answer_and_verify_it_themselves(
    history: list[Record],
) -> None:
    seen = defaultdict(list)
    for record in history:
        seen[record["task_id"], record["miner"]["uid"]].append(record)
    several = [group for group in seen.values() if len(group) > 1]
    assert len(several) > len(seen) // 2
    for group in several:
        for field in ("task", "submission", "consensus", "role", "skill_type"):
            assert len({json.dumps(each.get(field)) for each in group}) == 1
    assert any(len({json.dumps(each.get("checks")) for each in group}) > 1 for group in several)


def test_everything_that_happens_in_a_network_happens(history: list[Record]) -> None:
    assert {record["skill_type"] for record in history} == set(TYPES)
    assert len({record["validator"] for record in history}) == 3
    assert {type(record.get("consensus")) for record in history} == {float, dict, type(None)}
    events = Counter(event for record in history for event in record.get("events", []))
    assert {"rerun_pass", "rerun_fail", "probe_fail", "digest_mismatch"} <= set(events)
    missed = [record for record in history if "missed_deadline" in record.get("events", [])]
    assert all("submission" not in r and "checks" not in r for r in missed)
    assert 0.01 < len(missed) / len(history) < 0.15
    misses = Counter(record["miner"]["uid"] for record in missed)
    assert max(misses.values()) > 3 * min(misses.get(uid, 0) for uid in range(20))


def test_a_miner_is_the_same_in_a_larger_network() -> None:
    few = {r["miner"]["uid"]: r["miner"]["hotkey"] for r in map(json.loads, lines(300, miners=5))}
    many = {r["miner"]["uid"]: r["miner"]["hotkey"] for r in map(json.loads, lines(COUNT))}
    assert len(few) == 5
    assert few.items() <= many.items()


def test_the_smallest_network_has_no_consensus() -> None:
    found = [json.loads(line) for line in lines(50, miners=1, validators=1, epochs=1, rounds=1)]
    assert not [record for record in found if "consensus" in record]


def test_a_history_is_made_as_it_is_read() -> None:
    endless = history_of(1, list(TYPES.values()), **SIZES | {"epochs": 10**6}).lines(10**12)
    assert json.loads(next(endless))["round"] == 0


def plain(name: str, generator: Generator | None = None) -> SkillType:
    return SkillType(name, TYPES[name].schema, generator=generator)


@pytest.mark.parametrize("skill_type", TYPES)
def test_a_type_without_a_generator_gets_records_that_meet_its_requirements(
    skill_type: str,
) -> None:
    alone = {"workflow": "workflow@1.0.0", "reward": "reward@1.0.0"}
    scorer = tallystick.load(alone.get(skill_type, "skills@1.0.0"))
    # those of the rule set too
    required = tuple(scorer.types[skill_type].required)
    assert required
    bare = attrs.evolve(TYPES[skill_type], generator=None, requirements=required)
    made = list(history_of(3, [bare], **SIZES).lines(60))
    assert not [each for each in scorer.score_many(made) if isinstance(each, Reject)]
    assert sum(b"missed_deadline" not in line for line in made) > 30


def test_a_requirement_that_no_record_of_the_schema_meets_is_named() -> None:
    never = Requirement("never", const(1) == const(2), "task", "nothing")
    bare = attrs.evolve(TYPES["workflow"], generator=None, requirements=(never,))
    with pytest.raises(SchemaError, match=r"no task of the skill type 'workflow' .* \(never\)"):
        history_of(1, [bare], **SIZES)


def test_a_schema_that_allows_no_missed_deadline_gets_none(tmp_path: Path) -> None:
    schema = json.loads(FILES["workflow"].read_text())
    del schema["if"], schema["else"]
    schema["required"] += ["submission", "checks"]
    file = tmp_path / "workflow.schema.json"
    file.write_text(json.dumps(schema))
    strict = attrs.evolve(TYPES["workflow"], schema=file)
    made = list(history_of(3, [strict], **SIZES).lines(1000))
    assert not [line for line in made if b"missed_deadline" in line]


def test_a_generator_whose_records_the_schema_refuses_is_named() -> None:
    good = TYPES["workflow"].generator
    assert good is not None
    bad = attrs.evolve(good, task=lambda _draw: {"max_budget_tao": -1, "max_latency_seconds": 1})
    with pytest.raises(SchemaError, match="made-up record of 'workflow' that its schema refuses"):
        history_of(1, [plain("workflow", bad)], **SIZES)


@pytest.mark.parametrize("is_given", [True, False])
def test_fields_of_the_type_alone_are_made_too(tmp_path: Path, is_given: bool) -> None:
    found = installed().skill_types["workflow"]
    schema = json.loads(found.schema.read_text(encoding="utf-8"))
    schema["properties"]["skill_type"] = {"const": "acme/flow"}
    schema["properties"]["track"] = {"type": "string", "enum": ["fast", "slow"]}
    schema["required"].append("track")
    path = tmp_path / "flow.schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    assert found.generator is not None
    own = attrs.evolve(found.generator, fields=lambda draw, _task: {"track": draw.one(["slow"])})
    kind = SkillType("acme/flow", path, generator=own if is_given else None)
    made = [json.loads(line) for line in history_of(1, [kind], **SIZES).lines(300)]
    of_tasks = {(each["task_id"], each["track"]) for each in made}
    assert len(of_tasks) == len({each["task_id"] for each in made})
    assert {each["track"] for each in made} == ({"slow"} if is_given else {"fast", "slow"})
