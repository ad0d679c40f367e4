"""Every value of a back-test is what scoring the records one by one gives."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from examples import fast_rows
from generators import lines
from governance.backtest.histories import few_epochs

from tallystick.numbers.nano import from_decimal
from tallystick.plugins.registry import installed
from tallystick.records.rejects import Reject
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.result import Result
from tallystick.scoring.scorer import Scorer, bind
from tallystick_governance.backtest.candidates import Candidate, candidates_of, parse_sweep
from tallystick_governance.backtest.history import reader_of
from tallystick_governance.backtest.outcome import FlipRows, Outcome
from tallystick_governance.backtest.run import BacktestRun

CASES = {
    "skills": (
        ["skills@1.0.0", "skills@1.1.0"],
        ["axes.policy.weight=0.05:0.30:0.25", "skill_types.mcp_server.gates[0].below=0.1:0.5:0.4"],
    ),
    "tiers": (
        ["skills@1.1.0", "skills@1.0.0"],
        ["tiers.levels[3].multiplier=1.7:2.3:0.3", "skill_types.declarative.baseline=0.2:0.6:0.2"],
    ),
    "parameters": (["skills@1.0.0"], ["axes.detection.review=0.1:0.9:0.2"]),
    "weights": (["skills@1.0.0"], ["skill_types.declarative.weights.ml_agreement=0:1:0.5"]),
    "workflow": (
        ["workflow@1.0.0", "workflow@1.1.0"],
        ["axes.cost.gate=0.5:0.7:0.1", "axes.latency.weight=0:0.4:0.2"],
    ),
    "requirements": (["workflow@1.1.0", "workflow@1.0.0"], []),
}
Flip = dict[str, Any]
Counted = tuple[Outcome, dict[int, dict[int, Flip]]]


@cache
def records() -> list[bytes]:
    """Lines of every type, in whose second half miners have other slots, and two refused ones."""
    good = [*few_epochs(lines(5, 360))]
    for place in range(180, 360):
        record = json.loads(good[place])
        record["miner"]["uid"] += 1000
        good[place] = json.dumps(record).encode() + b"\n"
    return [*good, b'{"skill_type": "workflow"}\n', b"[]\n"]


@pytest.fixture(
    scope="module",
    params=fast_rows(CASES, -2, -1),
)
def candidates(request: pytest.FixtureRequest) -> tuple[Candidate, ...]:
    references, sweeps = CASES[request.param]
    return candidates_of(references, [parse_sweep(text) for text in sweeps], installed())


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "records.jsonl"
    path.write_bytes(b"".join(records()))
    return path


@cache
def scorer_of(candidate: Candidate) -> Scorer:
    return bind(candidate.rules.loaded, candidate.rules.registry)


@cache
def scored(candidate: Candidate) -> dict[int, Result | Reject]:
    found = scorer_of(candidate).score_many(records())
    return {each.line if isinstance(each, Reject) else each.record: each for each in found}


def good(results: dict[int, Result | Reject]) -> dict[int, Result]:
    return {
        line: each
        for line, each in results.items()
        if isinstance(each, Result) and each.quality is not None
    }


def counted(history: Path, candidates: Sequence[Candidate]) -> Counted:
    flips = defaultdict[int, dict[int, Flip]](dict)

    def keep(rows: FlipRows) -> None:
        assert len(rows)
        assert all(a < b for a, b in pairwise(rows.record.tolist()))
        columns = {
            name: [None] * len(rows) if column is None else column.tolist()
            for name in rows.__slots__
            if name not in ("candidate", "skill_type", "__weakref__")
            for column in [getattr(rows, name)]
        }
        for place, line in enumerate(columns["record"]):
            assert line not in flips[rows.candidate]
            row = {name: values[place] for name, values in columns.items()}
            flips[rows.candidate][line] = row | {"skill_type": rows.skill_type}

    outcome = BacktestRun(reader_of(history, candidates)).outcome(on_flips=keep)
    return outcome, {position: flips[position] for position in range(len(candidates))}


@pytest.fixture(scope="module")
def told(history: Path, candidates: tuple[Candidate, ...]) -> Counted:
    return counted(history, candidates)


def nano(value: Any) -> int | None:  # noqa: ANN401  # a decimal or none
    return None if value is None else from_decimal(value)


def deciding(candidate: Candidate, result: Result) -> str | None:
    gates = candidate.rules.rule_set.skill_types[result.skill_type].gates
    axes = [gate.axis for gate in gates if result.axes[gate.axis] < gate.below]
    return axes[-1] if axes else None


def test_sums_are_those_of_scoring_one_by_one(
    told: Counted, candidates: tuple[Candidate, ...]
) -> None:
    outcome, _ = told
    assert [each.identity for each in outcome.candidates] == [each.identity for each in candidates]
    for candidate, found in zip(candidates, outcome.candidates, strict=True):
        records, quality, emission = Counter[Any](), Counter[Any](), Counter[Any]()
        for result in good(scored(candidate)).values():
            key = result.skill_type, result.miner_hotkey
            records[key] += 1
            quality[key] += nano(result.quality) or 0
            emission[key] += nano(result.emission) or 0
        assert found.types.keys() == candidates[0].rules.types.keys()
        for name, each in found.types.items():
            own = [
                Counter({hotkey: n for (of_type, hotkey), n in amounts.items() if of_type == name})
                for amounts in (records, quality, emission)
            ]
            assert [each.records, each.quality, each.emission] == own
            assert each.has_emission is (candidate.rules.types[name].emission is not None)


def test_flips_and_tiers_are_those_of_comparing_one_by_one(
    told: Counted, candidates: tuple[Candidate, ...]
) -> None:
    outcome, flips = told
    before = good(scored(candidates[0]))
    for place, (candidate, found) in enumerate(zip(candidates, outcome.candidates, strict=True)):
        after = good(scored(candidate))
        both = sorted(before.keys() & after.keys())
        expected = {
            line
            for line in both
            if before[line].tier != after[line].tier
            or deciding(candidates[0], before[line]) != deciding(candidate, after[line])
        }
        assert flips[place].keys() == expected
        assert sum(each.flips.records for each in found.types.values()) == len(expected)
        for name, each in found.types.items():
            lines = [line for line in both if after[line].skill_type == name]
            moved = Counter((before[line].tier, after[line].tier) for line in lines)
            if each.tiers is not None:
                assert each.migration == moved
            assert each.flips.compared == len(lines)
            assert each.flips.tier == sum(n for (a, b), n in moved.items() if a != b)
        for line, flip in flips[place].items():
            check_flip(flip, candidates[0], candidate, before[line], after[line])


def check_flip(
    flip: Flip, baseline: Candidate, candidate: Candidate, before: Result, after: Result
) -> None:
    assert flip["skill_type"] == after.skill_type
    assert (flip["task_id"], flip["miner_hotkey"]) == (after.task_id, after.miner_hotkey)
    assert flip["miner_uid"] == after.miner_uid
    assert flip["baseline_quality"] == nano(before.quality)
    assert flip["candidate_quality"] == nano(after.quality)
    assert flip["baseline_emission"] == nano(before.emission)
    assert flip["candidate_emission"] == nano(after.emission)
    assert (flip["baseline_tier"], flip["candidate_tier"]) == (before.tier, after.tier)
    gates = deciding(baseline, before), deciding(candidate, after)
    assert (flip["baseline_gate"], flip["candidate_gate"]) == gates
    assert flip["tier_distance"] == distance(candidate, before, after)
    if gates[0] == gates[1]:
        assert flip["gate_distance"] is None
    else:
        rules = candidate.rules.rule_set.skill_types[after.skill_type]
        axis = gates[1] or gates[0]
        limit = next(gate.below for gate in rules.gates if gate.axis == axis)
        assert flip["gate_distance"] == nano(after.axes[axis] - limit if axis else None)


def distance(candidate: Candidate, before: Result, after: Result) -> int | None:
    """To the nearest of the thresholds between the two tiers."""
    tiers = candidate.rules.types[after.skill_type].tiers
    if tiers is None or before.tier == after.tier:
        return None
    came, went = tiers.levels.index(before.tier or ""), tiers.levels.index(after.tier or "")
    thresholds = candidate.rules.thresholds[after.skill_type]
    crossed = [thresholds[name] for name in tiers.cuts[min(came, went) : max(came, went)]]
    quality = nano(after.quality) or 0
    return min((quality - each for each in crossed), key=abs)


def test_what_is_missed_or_rejected_is_counted(
    told: Counted, candidates: tuple[Candidate, ...]
) -> None:
    outcome, _ = told
    for candidate, found in zip(candidates, outcome.candidates, strict=True):
        results = scored(candidate)
        missed = [
            each for each in results.values() if isinstance(each, Result) and each.quality is None
        ]
        codes = Counter(each.code for each in results.values() if isinstance(each, Reject))
        own = sum((Counter(each.rejected) for each in found.types.values()), Counter[str]())
        assert all(codes[code] == count for code, count in own.items())
        scorable = sum(outcome.history.records[name] for name in found.types)
        assert sum(each.scored for each in found.types.values()) == (
            scorable - len(missed) - sum(own.values())
        )
    assert sum(outcome.history.rejects.values()) == 2
    assert outcome.history.lines == len(records())


def test_the_form_of_the_history_does_not_matter(
    told: Counted, history: Path, candidates: tuple[Candidate, ...], tmp_path: Path
) -> None:
    extract_file(history, tmp_path / "facts.parquet", installed(), chunk=150)
    folder = tmp_path / "folder"
    folder.mkdir()
    for part in range(3):
        some = records()[part * 120 : 120 + part * 120 if part < 2 else None]
        (folder / f"{part}.jsonl").write_bytes(b"".join(some))
    first, extract = folder / "1.jsonl", folder / "1.parquet"
    extract_file(first, tmp_path / "1.parquet", installed(), chunk=90)
    (tmp_path / "1.parquet").rename(extract)
    first.unlink()
    outcome, flips = told
    for other in (tmp_path / "facts.parquet", folder):
        again, flips_again = counted(other, candidates)
        assert again.miners == outcome.miners
        assert again.candidates == outcome.candidates
        assert flips_again == flips
        assert again.history.records == outcome.history.records


def test_the_uid_is_that_of_the_last_record(
    told: Counted, candidates: tuple[Candidate, ...]
) -> None:
    """Also of a record of a type that no candidate scores."""
    miners = [json.loads(line)["miner"] for line in records()[:-2]]
    last = {miner["hotkey"]: miner["uid"] for miner in miners}
    results = [each for each in scored(candidates[0]).values() if isinstance(each, Result)]
    found = {miner.hotkey: miner.uid for miner in told[0].miners}
    hotkeys = sorted({each.miner_hotkey for each in results})
    assert list(found.items()) == [(hotkey, last[hotkey]) for hotkey in hotkeys]
    assert any(found[each.miner_hotkey] != each.miner_uid for each in results)
