"""The linear blend over epochs: tracked thresholds, and a back-test of its history."""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest
from third_party import oracle

from tallystick.plugins.registry import Registry
from tallystick.scoring.scorer import Scorer
from tallystick_governance.backtest.candidates import candidates_of, parse_sweep
from tallystick_governance.backtest.run import backtest
from tallystick_state.ledger import Ledger

RULES = "blend@1.0.0"
HALF = Fraction(3, 2)


def read(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line, parse_float=Decimal)
    return found


def of_epoch(records: list[bytes], epoch: int) -> list[dict[str, Any]]:
    return [each for each in map(read, records) if each["epoch"] == epoch]


def after(
    records: list[dict[str, Any]], old: dict[str, dict[str, Fraction]]
) -> dict[str, dict[str, Fraction]]:
    """The baseline and the novel threshold of each type after an epoch with some records.

    The baseline is the median; novel follows the median of the five best of primaries by three
    tenths, if there are three, and is at least one and a half baselines.
    """
    found = {}
    for kind, before in old.items():
        name = f"blend/{kind}"
        mine = [
            (each["role"], oracle.score(each, before["baseline"], before["novel"]).quality)
            for each in records
            if each["skill_type"] == name and "submission" in each
        ]
        qualities = [quality for _, quality in mine]
        baseline = oracle.published(median(qualities)) if qualities else before["baseline"]
        best = sorted((q for role, q in mine if role == "primary"), reverse=True)[:5]
        tracked = before["novel"]
        if len(best) >= 3:
            tracked = oracle.published((3 * median(best) + 7 * before["novel"]) / 10)
        novel = max(tracked, oracle.published(HALF * baseline))
        found[kind] = {"baseline": baseline, "novel": novel}
    return found


def seeds() -> dict[str, dict[str, Fraction]]:
    return {
        kind: {"baseline": seed, "novel": oracle.published(HALF * seed)}
        for kind, seed in oracle.BASELINES.items()
    }


def shown(thresholds: Mapping[str, Mapping[str, Decimal]]) -> dict[str, dict[str, Fraction]]:
    return {
        name.removeprefix("blend/"): {key: Fraction(value) for key, value in values.items()}
        for name, values in thresholds.items()
    }


def test_thresholds_follow_the_results_and_pin_the_next_epoch(
    plugins: Registry, blend: Scorer, records: list[bytes], tmp_path: Path
) -> None:
    source, store = tmp_path / "records.jsonl", str(tmp_path / "state.db")
    expected = [seeds()]
    for epoch in (0, 1):
        expected.append(after(of_epoch(records, epoch), expected[-1]))
    with Ledger.create(store, RULES, registry=plugins) as ledger:
        miners = (read(line)["miner"] for line in records)
        for hotkey, uid in sorted({(each["hotkey"], each["uid"]) for each in miners}):
            ledger.register(hotkey, uid, blend.types)
        for epoch in (0, 1):
            lines = [line for line in records if read(line)["epoch"] == epoch]
            source.write_bytes(b"".join(lines))
            rounds, recorded = ledger.close_round(source)
            assert (recorded.events, len(rounds)) == (len(lines), 4)
            assert any(score for each in rounds for score in each.scores.values())
            closed = ledger.close_epoch()
            assert shown(closed.snapshot.thresholds) == expected[epoch + 1]
    rises = [v["novel"] > oracle.published(HALF * v["baseline"]) for v in expected[2].values()]
    assert True in rises
    with Ledger.open(store, registry=plugins) as ledger, ledger.scoring(blend) as pinned:
        tiers = set()
        for record in of_epoch(records, 1):
            if "submission" not in record:
                continue
            at = expected[1][record["skill_type"].removeprefix("blend/")]
            result = pinned.score(json.dumps(record, default=float))
            found = oracle.score(record, at["baseline"], at["novel"])
            assert (result.tier, result.emission) == (found.tier, Fraction(result.emission or 0))
            assert Fraction(result.emission or 0) == found.emission
            tiers.add(result.tier)
    assert tiers == {tier for tier, _ in oracle.LEVELS}


@pytest.mark.parametrize("low", [False, True])
def test_novel_is_the_larger_of_what_is_tracked_and_its_floor(
    plugins: Registry, blend: Scorer, records: list[bytes], tmp_path: Path, low: bool
) -> None:
    """Good results all alike lift the floor; poor ones pull what is tracked, above its floor."""
    source, kind = tmp_path / "records.jsonl", "blend/executable_python"
    sample = next(r for r in map(read, records) if r["skill_type"] == kind and "checks" in r)
    evidence = Decimal("0.2") if low else Decimal("0.9")
    sample["task"] |= {"provenance": "human"}
    sample["submission"]["verdict"] = sample["task"]["ground_truth"]
    sample["checks"] |= {"evidence": evidence, "policy": 1}
    made = [sample | {"task_id": f"t{n}", "epoch": 0, "round": 0} for n in range(5)]
    source.write_text("".join(json.dumps(each, default=float) + "\n" for each in made))
    with Ledger.create(str(tmp_path / "state.db"), RULES, registry=plugins) as ledger:
        ledger.register(sample["miner"]["hotkey"], sample["miner"]["uid"], blend.types)
        ledger.import_events(source)
        found = shown(ledger.close_epoch().snapshot.thresholds)["executable_python"]
    before = seeds()["executable_python"]
    assert found == after(made, {"executable_python": before})["executable_python"]
    at_floor = found["novel"] == oracle.published(HALF * found["baseline"])
    assert at_floor is not low
    assert (found["novel"] > before["novel"]) is not low


@pytest.mark.nightly
def test_its_history_is_back_tested(plugins: Registry, history: Path, tmp_path: Path) -> None:
    swept = 'skill_types."blend/rag_knowledge".parameters.policy=0.10:0.20:0.10'
    candidates = candidates_of([RULES], [parse_sweep(swept)], plugins)
    assert len(candidates) == 2
    _, written = backtest(history, candidates, tmp_path / "out", with_state=True)
    summary = json.loads((written.folder / "summary.json").read_text())
    change = summary["candidates"][0]["types"]
    assert set(change) == {f"blend/{kind}" for kind in oracle.WEIGHTS}
    moved = {
        name for name, each in change.items() if each["baseline_total"] != each["candidate_total"]
    }
    assert moved == {"blend/rag_knowledge"}
    for name in ("miners", "thresholds", "reputations"):
        table = pq.read_table(written.folder / f"{name}.parquet", columns=["skill_type"])
        named = set(table["skill_type"].to_pylist()) - {None}
        assert named == {f"blend/{kind}" for kind in oracle.WEIGHTS}
    report = (written.folder / "report.html").read_text()
    assert "blend/rag_knowledge" in report
    assert "skill_types.&#34;blend/rag_knowledge&#34;.parameters.policy" in report
    assert 'id="blend/' not in report
    assert 'href="#blend/' not in report
