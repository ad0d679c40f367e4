"""The linear blend over epochs: tracked thresholds, and a back-test of its history."""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from third_party import oracle

from tallystick.plugins.registry import Registry
from tallystick.scoring.scorer import Scorer
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
