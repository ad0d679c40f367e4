"""The API that a validator embeds."""

import json
import pickle
from collections.abc import Iterator
from decimal import Decimal, getcontext, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from generators import SKILL_TYPES
from given import tier_of

import tallystick
from tallystick.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]


Scorers = dict[str, tallystick.Scorer]


def example(number: int) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8").splitlines()[number])
    return record


def test_a_mapping_a_text_and_bytes_score_the_same(scorers: Scorers) -> None:
    scorer, record = scorers["skills@1.0.0"], example(2)
    text = json.dumps(record)
    assert scorer.score(record) == scorer.score(text) == scorer.score(text.encode())


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("score_many", None, "found a Python NoneType, expected an iterable of records"),
        ("score_many", "records.jsonl", "found one str, expected an iterable of records"),
        ("score_many", {}, "found one dict, expected an iterable of records"),
        ("with_thresholds", None, "found a Python NoneType, expected thresholds by skill type"),
        ("with_thresholds", {"declarative": 1}, "a Python int, expected thresholds of declarative"),
    ],
)
def test_an_argument_of_another_kind_is_told(
    scorers: Scorers, kind: str, given: object, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        getattr(scorers["skills@1.0.0"], kind)(given)


def test_a_value_of_another_package_is_told_with_its_package(scorers: Scorers) -> None:
    with pytest.raises(tallystick.RecordError) as caught:
        scorers["skills@1.0.0"].score(example(2) | {"consensus": np.bool_(True)})
    assert "a Python numpy.bool" in caught.value.value


def test_many_records_are_scored_as_they_come(scorers: Scorers) -> None:
    def endless() -> Iterator[dict[str, Any]]:
        while True:
            yield example(0)

    results = scorers["skills@1.0.0"].score_many(endless())
    assert next(results) == scorers["skills@1.0.0"].score(example(0))


def test_a_table_of_records_is_refused_with_what_to_do(scorers: Scorers, tmp_path: Path) -> None:
    raw = tmp_path / "raw.parquet"
    pq.write_table(pa.Table.from_pylist([example(0)]), raw)
    with pytest.raises(InputError) as caught:
        scorers["skills@1.0.0"].score_file(raw, tmp_path / "results.jsonl")
    assert str(caught.value) == (
        f"{raw}: found Parquet without facts, expected records as JSONL, one JSON object a line, "
        "or their facts, as the command facts writes them: convert the table, as DuckDB does by "
        "COPY (FROM 'raw.parquet') TO 'raw.jsonl'"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["raw.parquet"]


def test_thresholds_move_the_tier_and_leave_the_other_scorer_alone(scorers: Scorers) -> None:
    scorer, record = scorers["skills@1.0.0"], example(2)
    moved = scorer.with_thresholds({"executable_python": {"baseline": "0.9", "novel": "1"}})
    assert scorer.score(record).tier != moved.score(record).tier
    assert tier_of(moved, "executable_python", "0.89") == "below_reference"
    own = {"baseline": 900_000_000, "optimised": 1_035_000_000, "novel": 1_000_000_000}
    assert moved.thresholds["executable_python"] == own
    assert moved.thresholds["mcp_server"] == scorer.thresholds["mcp_server"]


def test_numbers_are_exact_whatever_the_decimal_context(scorers: Scorers) -> None:
    record = example(2)
    wanted = scorers["skills@1.0.0"].score(record)
    with localcontext() as context:
        context.prec = 3
        assert getcontext().prec == 3
        found = scorers["skills@1.0.0"].score(record)
    assert found.emission == wanted.emission
    assert isinstance(found.emission, Decimal)
    assert found.emission.as_tuple().exponent == -9


def test_results_are_plain_values_that_can_be_sent_elsewhere(scorers: Scorers) -> None:
    result = scorers["skills@1.0.0"].score(example(4))
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301  # made here
    assert json.loads(result.to_json()) == result.to_dict()
