"""The folder of a back-test: what is in it, that it is whole, and that its bytes repeat."""

import hashlib
import json
from decimal import Decimal
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from governance.backtest.made_up import (
    PLAIN,
    TIERS,
    TYPES,
    adopted,
    compared,
    flips,
    outcome,
)

from tallystick_governance.backtest.comparison import compare
from tallystick_governance.backtest.outcome import Outcome
from tallystick_governance.backtest.report import ALWAYS, FILES, SOMETIMES, Written, building

COMMAND = "tallystick backtest year.parquet --rules rules@1.0.0 --rules rules@1.0.1 -o DIR"


def write(folder: Path, found: Outcome, *, many: int = 40) -> Written:
    names = [each.identity.name for each in found.candidates]
    with building(folder, names) as out:
        for position in range(1, len(names)):
            out.flips(flips(found, position, many=many))
        for each in found.candidates:
            if each.state is not None:
                out.epoch(each.state.final)
        shown = [compare(found, n, out.distances) for n in range(1, len(names))]
        if found.baseline.state is not None:
            shown = [adopted(each) for each in shown]
        return out.finish(found, shown, COMMAND)


@pytest.fixture(scope="module")
def found() -> Outcome:
    return outcome(candidates=2, many=30, replayed=True)


@pytest.fixture(scope="module")
def folder(found: Outcome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "out"
    write(path, found)
    return path


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_every_file_is_there_and_nothing_else(folder: Path) -> None:
    assert names_in(folder) == FILES
    assert names_in(folder.parent) == {folder.name}


def test_the_same_outcome_gives_the_same_bytes(
    folder: Path, found: Outcome, tmp_path: Path
) -> None:
    written = write(tmp_path / "again", found)
    for path in sorted(folder.iterdir()):
        data = (tmp_path / "again" / path.name).read_bytes()
        assert path.read_bytes() == data, path.name
        assert written.digests[path.name] == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_without_a_replay_and_validators_there_are_no_files_of_them(tmp_path: Path) -> None:
    write(tmp_path / "out", outcome())
    assert names_in(tmp_path / "out") == FILES - set(SOMETIMES)


def test_the_summary_has_sorted_keys_text_decimals_and_every_digest(
    folder: Path, found: Outcome
) -> None:
    text = (folder / "summary.json").read_text(encoding="utf-8")
    summary = json.loads(text, parse_float=lambda number: pytest.fail(f"a float: {number}"))
    assert text == json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert summary["baseline"]["digest"] == found.baseline.identity.digest
    assert summary["history"]["digest"] == found.history.digest
    assert summary["command"] == COMMAND
    assert set(summary["files"]) == FILES - {"summary.json"}
    assert [each["digest"] for each in summary["candidates"]] == [
        each.identity.digest for each in found.candidates[1:]
    ]
    first = summary["candidates"][0]
    assert first["types"][PLAIN]["migration"] is None
    assert first["types"][TYPES[0]]["migration"]["baseline_tiers"] == list(TIERS)
    total = found.baseline.types[TYPES[0]].emission.total()
    assert Decimal(first["types"][TYPES[0]]["baseline_total"]) == Decimal(total).scaleb(-9)


def test_many_small_parts_become_large_row_groups(tmp_path: Path) -> None:
    found = outcome(many=8)
    names = [each.identity.name for each in found.candidates]
    part = flips(found, 1, many=30_000)
    with building(tmp_path / "out", names) as out:
        for _ in range(5):
            out.flips(part)
        out.finish(found, compared(found), COMMAND)
    metadata = pq.read_metadata(tmp_path / "out" / "flips.parquet")
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [65536, 65536, 150_000 - 2 * 65536]


def test_a_history_without_flips_has_an_empty_file_of_them(tmp_path: Path) -> None:
    found = outcome(many=8)
    with building(tmp_path / "out", ["a", "b"]) as out:
        out.finish(found, compared(found), COMMAND)
    table = pq.read_table(tmp_path / "out" / "flips.parquet")
    assert (len(table), table.schema.names) == (0, ALWAYS["flips.parquet"].names)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    found, part = outcome(), flips(outcome(), 1)
    broken = attrs.evolve(part, task_id=part.task_id.slice(1))

    def fail() -> None:
        with building(tmp_path / "out", [each.identity.name for each in found.candidates]) as out:
            out.flips(part)
            out.flips(broken)

    with pytest.raises(pa.ArrowException):
        fail()
    assert names_in(tmp_path) == set()


@pytest.mark.nightly
def test_an_earlier_back_test_is_replaced_and_kept_when_the_next_fails(tmp_path: Path) -> None:
    write(tmp_path / "out", outcome(replayed=True))
    before = (tmp_path / "out" / "summary.json").read_bytes()
    with pytest.raises(KeyError), building(tmp_path / "out", ["a", "b"]):
        raise KeyError
    assert (tmp_path / "out" / "summary.json").read_bytes() == before
    write(tmp_path / "out", outcome(seed=2))
    assert names_in(tmp_path / "out") == FILES - set(SOMETIMES)
    assert (tmp_path / "out" / "summary.json").read_bytes() != before
    assert names_in(tmp_path) == {"out"}
