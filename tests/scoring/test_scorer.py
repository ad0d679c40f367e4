"""The API that a validator embeds."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal, getcontext, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from generators import SKILL_TYPES, lines
from given import tier_of

import tallystick
from tallystick.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]

UNIFORM = (0, 1, 2, 4, 5)
"""Examples whose consensus is a number; a column has one type."""

Scorers = dict[str, tallystick.Scorer]


def example(number: int) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8").splitlines()[number])
    return record


def test_all_names_of_the_package_are_there_and_sorted() -> None:
    assert tallystick.__all__ == sorted(tallystick.__all__)
    assert all(hasattr(tallystick, name) for name in tallystick.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tallystick.nothing


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
    assert moved.thresholds["executable_python"]["optimised"] == 1_035_000_000
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.with_thresholds({"nothing": {}}), "skill type 'nothing'"),
        (lambda s: s.with_thresholds({"mcp_server": {"baseline": "1.5"}}), "baseline to be 1.5"),
    ],
)
def test_wrong_use_says_what_was_expected(
    scorers: Scorers, call: Callable[[tallystick.Scorer], object], message: str
) -> None:
    with pytest.raises(tallystick.TallystickError, match=message):
        call(scorers["skills@1.0.0"])


def test_results_are_plain_values_that_can_be_sent_elsewhere(scorers: Scorers) -> None:
    result = scorers["skills@1.0.0"].score(example(4))
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301  # made here
    assert json.loads(result.to_json()) == result.to_dict()


SCORE = """
import hashlib, sys
import numpy as np
import tallystick
lines = sys.stdin.buffer.read().splitlines()
digest = hashlib.sha256()
for name in ("skills@1.0.0", "skills@1.1.0", "workflow@1.0.0", "workflow@1.1.0"):
    for result in tallystick.load(name).score_lines(lines).results():
        digest.update(result.to_json().encode())
print(digest.hexdigest())
"""


def dispatch_levels() -> list[str]:
    """Settings that switch off ever more of what NumPy would use on this machine."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return ["", *(" ".join(found[start:]) for start in range(len(found)))]


@pytest.mark.nightly
def test_every_processor_gives_the_same_bytes() -> None:
    data = b"".join(line.rstrip(b"\n") + b"\n" for line in lines(3, 400))
    found = {}
    for disabled in dispatch_levels():
        environment = {"NPY_DISABLE_CPU_FEATURES": disabled, "PYTHONWARNINGS": "error"}
        run = subprocess.run(
            [sys.executable, "-c", SCORE],
            input=data,
            env=environment,
            capture_output=True,
            check=True,
        )
        found[disabled] = run.stdout
    assert len(set(found.values())) == 1, found
    assert found


def test_the_order_of_the_file_changes_no_byte(tmp_path: Path, scorers: Scorers) -> None:
    text = (ROOT / "rules/workflow/1.0.0.toml").read_text(encoding="utf-8")
    success, cost = text.index("[axes.success]"), text.index("[axes.cost]")
    latency = text.index("[axes.latency]")
    swapped = text[:success] + text[cost:latency] + text[success:cost] + text[latency:]
    (tmp_path / "swapped.toml").write_text(swapped, encoding="utf-8")
    other = tallystick.load(str(tmp_path / "swapped.toml"))
    line = (ROOT / "plugins/tallystick_workflow/examples.jsonl").read_bytes().splitlines()[0]
    assert other.digest == scorers["workflow@1.0.0"].digest
    assert other.score(line).to_json() == scorers["workflow@1.0.0"].score(line).to_json()
