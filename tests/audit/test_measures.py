"""An audit compares measures too: decimals by how far they are apart, ratios as they are."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from scoring import parcels
from scoring.parcels import GROUPS, TEXT
from scoring.test_measures import random_parcels

from tallystick.scoring.scorer import Scorer
from tallystick_state.audit.results_audit import ResultsAudit, audit_results


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return parcels.load(tmp_path_factory.mktemp("parcels"), TEXT + GROUPS)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in random_parcels(12, 40)))
    return path


@pytest.mark.parametrize("name", ["results.jsonl", "results.csv", "results.parquet"])
def test_results_of_the_engine_are_equal(
    name: str, scorer: Scorer, records: Path, tmp_path: Path
) -> None:
    scorer.score_file(records, tmp_path / name)
    found = audit_results(scorer, records, tmp_path / name)
    assert (found.verdict, found.equal) == ("equal", 40)
    assert {"measures.precision", "measures.units", "group"} <= set(found.fields)


def changed(scorer: Scorer, records: Path, folder: Path, **values: str) -> ResultsAudit:
    """The audit of results in which one row has other values."""
    scorer.score_file(records, folder / "results.jsonl")
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    row = next(each for each in rows if each["measures"])
    for name, value in values.items():
        row["measures"][name] = value
    (folder / "other.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    return audit_results(scorer, records, folder / "other.jsonl")


def test_another_measure_is_found_with_its_distance(
    scorer: Scorer, records: Path, tmp_path: Path
) -> None:
    found = changed(scorer, records, tmp_path, precision="101/100")
    assert found.verdict == "differs"
    assert found.first is not None
    assert (found.first.field, found.first.found) == ("measures.precision", "101/100")
    derived = Fraction(str(found.first.derived))
    assert found.first.distance == abs(Fraction(101, 100) - derived) == found.largest


def test_a_ratio_in_other_terms_is_equal(scorer: Scorer, records: Path, tmp_path: Path) -> None:
    first = changed(scorer, records, tmp_path, precision="5/4").first
    assert first is not None
    numerator, denominator = map(int, str(first.derived).split("/"))
    spelled = f"{3 * numerator}/{3 * denominator}"
    assert changed(scorer, records, tmp_path, precision=spelled).verdict == "equal"


@pytest.mark.parametrize("text", ["1/0", "x", "1/2/3"])
def test_what_is_no_number_is_another_value(
    text: str, scorer: Scorer, records: Path, tmp_path: Path
) -> None:
    found = changed(scorer, records, tmp_path, precision=text)
    assert found.first is not None
    assert (found.verdict, found.first.distance) == ("differs", None)
