"""The back-test of types with measures alone: their means, and no quality that is not there."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from governance.backtest.histories import weights_of
from scoring import parcels
from scoring.parcels import EPOCHS, GROUPS, TEXT, expected, parcel
from scoring.test_measures import Record, random_parcels

from tallystick.errors import InputError
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.run import backtest
from tallystick_state.ledger import Ledger


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


def parcels_under(folder: Path, records: list[Record]) -> tuple[Path, list[Path], Scorer]:
    """Write records, and rules with groups and epochs beside others; the former are loaded."""
    scorer = parcels.load(folder, TEXT + GROUPS + EPOCHS)
    own, other = folder / "parcels.toml", folder / "other.toml"
    other.write_text(own.read_text().replace("rate = 0.5", "rate = 0.75"))
    source = folder / "records.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in records))
    return source, [own, other], scorer


def test_a_replay_weighs_measures_and_groups_as_a_state_does(tmp_path: Path) -> None:
    tracks = ("slow", "fast", "fast")
    lines = [parcel(n, lost=0, weight=n, track=tracks[n % 3]) for n in range(1, 13)]
    source, rules, scorer = parcels_under(tmp_path, lines)
    candidates, out = candidates_of(rules, (), scorer.registry), tmp_path / "out"
    backtest(source, candidates, out, with_state=True)
    for path, candidate in zip(rules, candidates, strict=True):
        state = str(tmp_path / f"{path.stem}.db")
        with Ledger.create(state, path, registry=scorer.registry) as ledger:
            for line in range(1, 13):
                ledger.register(f"hk-{line}", line, ["parcel"])
            ledger.import_events(source)
            with ledger.queries() as queries:
                wanted = queries.line_weights(queries.named_line(None)).weights
        assert weights_of(out, candidate.name) == {0: {key: n for key, n in wanted.items() if n}}


def test_facts_alone_have_no_groups_to_replay(tmp_path: Path) -> None:
    source, rules, scorer = parcels_under(tmp_path, random_parcels(14, 20))
    facts, candidates = tmp_path / "facts.parquet", candidates_of(rules, (), scorer.registry)
    extract_file(source, facts, scorer.registry)
    with pytest.raises(InputError, match="groups by the field track, which no facts file keeps"):
        backtest(facts, candidates, tmp_path / "out", with_state=True)


@pytest.mark.nightly
def test_without_groups_the_weights_are_not_known_and_emission_is_the_headline(
    tmp_path: Path,
) -> None:
    source, rules, scorer = parcels_under(tmp_path, random_parcels(14, 20))
    facts, candidates = tmp_path / "facts.parquet", candidates_of(rules, (), scorer.registry)
    extract_file(source, facts, scorer.registry)
    _, written = backtest(facts, candidates, tmp_path / "out")
    (compared,) = written.comparisons
    assert compared.weight is not None
    assert "groups by the field track, which no facts file keeps" in compared.weight.unknown
    assert compared.weight.distribution is None
    assert compared.headline is compared.overall
    assert "weights of the epochs are not known" in (tmp_path / "out" / "report.html").read_text()
    _, written = backtest(source, candidates, tmp_path / "out")
    assert written.comparisons[0].weight is not None
    assert written.comparisons[0].weight.unknown == ""
