"""Moves: each is scored by the engine, none is better, none goes the wrong way."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import pytest
from examples import fast_rows

import tallystick
from tallystick.errors import RecordError
from tallystick.formula.evaluate import Facts
from tallystick.json_values import json_value
from tallystick.numbers.nano import from_decimal, from_text
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.scores import Scores
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_service import what_next as module
from tallystick_service.advice import advice, sentence
from tallystick_service.what_next import Move, Outcome, what_next

JsonRecord = dict[str, Any]
SCALARS = ("number", "integer", "flag", "choice")
POLICY = ("submission.recommended_policy", "distinct")


@cache
def scorer(reference: str = "skills@1.2.0") -> Scorer:
    return tallystick.load(reference)


def examples_in(reference: str) -> Iterator[JsonRecord]:
    rules = scorer(reference)
    for name in rules.types:
        path = rules.registry.skill_types[name].examples
        assert path is not None
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["skill_type"] == name and "submission" in record:
                yield record


EXAMPLES = [
    pytest.param(
        reference,
        record,
        id=f"{reference}-{record['task_id']}",
        marks=[pytest.mark.nightly] if reference == "skills@1.0.0" else [],
    )
    for reference in ("skills@1.0.0", "skills@1.2.0", "workflow@1.2.0")
    for record in examples_in(reference)
]


def scored(rules: Scorer, record: Mapping[str, Any]) -> Outcome:
    result = rules.score(record)
    quality = None if result.quality is None else from_decimal(result.quality)
    emission = getattr(result, "emission", None)
    return Outcome(quality, result.tier, None if emission is None else from_decimal(emission))


def value_of(move: Move) -> bool | str | int | float:
    match move.reader:
        case "flag":
            return move.after == "yes"
        case "choice":
            return move.after
        case "integer":
            return int(move.after)
        case _:
            return float(move.after)


def moved(record: JsonRecord, path: str, value: object) -> JsonRecord:
    changed = copy.deepcopy(record)
    *way, last = path.split(".")
    place = changed
    for name in way:
        place = place.setdefault(name, {})
    place[last] = value
    return changed


@pytest.mark.parametrize(("reference", "record"), EXAMPLES)
def test_a_move_is_what_the_engine_scores(
    reference: str, record: JsonRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = scorer(reference)
    now = scored(rules, record)
    calls, score = list[int](), module.score_facts

    def counting(bound: BoundType, facts: Facts, thresholds: Thresholds) -> Scores:
        calls.append(1)
        return score(bound, facts, thresholds)

    monkeypatch.setattr(module, "score_facts", counting)
    moves = what_next(rules, record)
    # the search is bounded
    assert len(calls) < 4000
    for move in moves:
        assert move.outcome.worth > now.worth
        assert (move.outcome.quality or 0) - (now.quality or 0) == move.quality_gain
        assert (move.outcome.emission or 0) - (now.emission or 0) == move.emission_gain
        if move.reader in SCALARS:
            assert scored(rules, moved(record, move.path, value_of(move))) == move.outcome
    gains = [(move.emission_gain, move.quality_gain) for move in moves]
    assert gains == sorted(gains, reverse=True)
    assert len({(move.fact, move.path, move.reader) for move in moves}) == len(moves)
    # a fact with a direction moves in that direction
    directions = rules.registry.skill_types[record["skill_type"]].directions
    better = {
        (str(d.fact.data[0]), str(d.fact.data[1])): d.better for d in directions if d.where is None
    }
    for move in moves:
        wanted = better.get((move.reader, move.path))
        if wanted is not None:
            assert (move.direction, move.promised) == (wanted, True)
    view = json.loads(json.dumps(advice(rules, record)))
    assert view["outcome"] == json_value(now)
    for move, shown in zip(moves, view["moves"], strict=True):
        assert shown["sentence"] == sentence(move)
        assert move.path in sentence(move)
        assert from_text(shown["quality_gain"]) == move.quality_gain


def example(skill_type: str) -> JsonRecord:
    return next(r for r in examples_in("skills@1.2.0") if r["skill_type"] == skill_type)


def found(moves: list[Move], reader: str, path: str) -> Move | None:
    return next((m for m in moves if (m.reader, m.path) == (reader, path)), None)


WINDOW = ({"t_min_s": 2, "deadline_s": 3}, {"latency_ms": 2950})
"""A task and a submission of a window of one second, in which the submission came late."""
RISKS = [risk / 1000 for risk in range(1001)]


@pytest.mark.parametrize(
    ("skill_type", "changes", "path", "candidates"),
    fast_rows(
        [
            # every latency of the window, and what lies around it
            ("declarative", WINDOW, "submission.latency_ms", range(1900, 3100)),
            ("rag_knowledge", WINDOW, "submission.latency_ms", range(1900, 3100)),
            # between three places the axis is a line to the value that is asked
            ("declarative", ({}, {}), "submission.risk_score", RISKS),
            ("rag_knowledge", ({}, {}), "submission.risk_score", RISKS),
            ("agent_composition", ({}, {}), "submission.risk_score", RISKS),
            (
                "declarative",
                ({"ground_truth": "REVIEW"}, {}),
                "submission.verdict",
                ("ALLOW", "REVIEW", "BLOCK"),
            ),
        ],
        0,
        2,
        5,
    ),
)
def test_no_other_value_earns_more(
    skill_type: str,
    changes: tuple[JsonRecord, JsonRecord],
    path: str,
    candidates: Sequence[object],
) -> None:
    """Brute force over the candidates."""
    record = example(skill_type)
    record["task"] |= changes[0]
    record["submission"] |= changes[1]
    best = max(scored(scorer(), moved(record, path, value)).worth for value in candidates)
    moves = [m for m in what_next(scorer(), record) if m.path == path and m.reader in SCALARS]
    reached = max([m.outcome.worth for m in moves], default=scored(scorer(), record).worth)
    assert reached == best


def test_no_list_with_another_count_earns_more() -> None:
    """Brute force over real lists: every choice of some expected and some other items."""
    expected = [
        {"resource": "network", "action": "connect", "pattern": f"h{n}:443"} for n in range(3)
    ]
    others = [
        {"resource": "filesystem", "action": "read", "pattern": f"/o{n}/**"} for n in range(3)
    ]
    record = example("rag_knowledge")
    record["task"]["expected_policy"] = expected
    record["submission"]["recommended_policy"] = [expected[0], *others]

    def facts(policy: list[Any]) -> tuple[int, int]:
        return len(policy), sum(item in expected for item in policy)

    outcomes: dict[tuple[int, int], tuple[int, int]] = {}
    pool = [*expected, *others]
    for size in range(len(pool) + 1):
        for chosen in combinations(pool, size):
            worth = scored(
                scorer(), moved(record, "submission.recommended_policy", [*chosen])
            ).worth
            outcomes[facts([*chosen])] = worth
    moves = what_next(scorer(), record)
    fewer = found(moves, "distinct", POLICY[0])
    shared = found(moves, "overlap", POLICY[0])
    assert fewer is not None
    assert fewer.outcome.worth == max(w for (_, both), w in outcomes.items() if both == 1)
    assert shared is not None
    assert shared.outcome.worth == max(w for (size, _), w in outcomes.items() if size == 4)


@pytest.mark.parametrize("total", [1, 2, 3, 40])
def test_the_edge_of_what_is_valid_is_tried(total: int) -> None:
    """Few values of a wide range are valid: no more steps are completed than planned."""
    rules = scorer("workflow@1.2.0")
    record = next(examples_in("workflow@1.2.0"))
    record["checks"] |= {"steps_completed": 0, "total_steps": total}
    move = found(what_next(rules, record), "integer", "checks.steps_completed")
    assert move is not None
    assert move.after == str(total)


def test_what_must_change_with_a_fact_is_named() -> None:
    """One more shared item in a list that has no other to give up makes the list longer."""
    record = example("rag_knowledge")
    item = record["task"]["expected_policy"][0]
    record["submission"]["recommended_policy"] = [item]
    move = found(what_next(scorer(), record), "overlap", POLICY[0])
    assert move is not None
    assert [(each.before, each.after) for each in move.along] == [("1", "2")]
    longer = moved(record, POLICY[0], record["task"]["expected_policy"])
    assert scored(scorer(), longer) == move.outcome


def test_the_nearest_value_that_reaches_a_tier_is_the_nearest() -> None:
    record = example("executable_python")
    rules = scorer().with_thresholds({"executable_python": {"novel": "0.9"}})
    move = found(what_next(rules, record), "number", "submission.latency_ms") or found(
        what_next(rules, record), "integer", "submission.latency_ms"
    )
    assert move is not None
    assert move.tier_from is not None
    latency = int(move.tier_from)
    tier = scored(rules, record).tier
    assert scored(rules, moved(record, move.path, latency)).tier != tier
    assert scored(rules, moved(record, move.path, latency + 1)).tier == tier


def test_thresholds_of_a_state_decide() -> None:
    record = example("rag_knowledge")
    high = scorer().with_thresholds({"rag_knowledge": {"novel": "0.99"}})
    tiers = {advice(rules, record)["outcome"]["tier"] for rules in (high, scorer())}
    assert len(tiers) == 2


def test_a_missed_deadline_has_no_move() -> None:
    record = example("rag_knowledge")
    del record["submission"], record["checks"]
    record.pop("consensus", None)
    assert what_next(scorer(), {**record, "events": ["missed_deadline"]}) == []


def test_a_record_that_cannot_be_scored_is_refused() -> None:
    with pytest.raises(RecordError):
        what_next(scorer(), "{}")
