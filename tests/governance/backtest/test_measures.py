"""The back-test of types with measures alone: their means, and no quality that is not there."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from scoring import parcels
from scoring.parcels import TEXT, expected
from scoring.test_measures import random_parcels

from tallystick.governance.backtest.candidates import candidates_of
from tallystick.governance.backtest.run import backtest


def published(values: list[Fraction]) -> str:
    """Their mean with nine places; `round` is half-even."""
    nano = round(sum(values) / len(values) * 10**9)
    return f"{'-' if nano < 0 else ''}{abs(nano) // 10**9}.{abs(nano) % 10**9:09d}"


def test_a_back_test_tells_the_mean_of_each_measure(tmp_path: Path) -> None:
    records = random_parcels(11, 250)
    history = tmp_path / "history.jsonl"
    history.write_text("".join(json.dumps(each) + "\n" for each in records))
    files = []
    for name, rate in (("old", "0.5"), ("new", "0.75")):
        (tmp_path / name).mkdir()
        text = TEXT.replace("rate = 0.5", f"rate = {rate}")
        scorer = parcels.load(tmp_path / name, text.replace("1.0.0", f"1.0.0-{name}"))
        files.append(tmp_path / name / "parcels.toml")
    backtest(history, candidates_of(files, (), scorer.registry), tmp_path / "out")

    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    (candidate,) = summary["candidates"]
    found = candidate["types"]["parcel"]
    assert (found["measure"], candidate["overall"]["measure"]) == ("none", "none")
    rows = [expected(each) for each in records if "submission" in each]
    for name, means in found["measures"].items():
        # results are published before they are added up, ratios too
        values = [Fraction(round(Fraction(row[name]) * 10**9), 10**9) for row in rows if row[name]]
        assert means["baseline_records"] == len(values)
        assert means["baseline_mean"] == published(values)
        assert (means["candidate_mean"] != means["baseline_mean"]) == (name == "units")
    report = (tmp_path / "out" / "report.html").read_text()
    assert "No type has an emission or a quality" in report
    assert "parcel, units" in report
    assert "total quality" not in report
