"""Bad rows of Parquet are rejected; Parquet files that are none are refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command import SKILLS

import tallystick
from tallystick.errors import InputError

Scorers = dict[str, tallystick.Scorer]

S = "skills@1.0.0"
GOOD = SKILLS.read_bytes().splitlines()[2]


def test_a_parquet_file_is_known_in_capitals(scorers: Scorers, tmp_path: Path) -> None:
    path = tmp_path / "RECORDS.PARQUET"
    pq.write_table(table(), path)
    assert scorers[S].score_file(path, tmp_path / "out.jsonl").counts.scored == 1


def table() -> pa.Table:
    return pa.Table.from_pylist([json.loads(GOOD)])


def column(name: str, values: pa.Array) -> pa.Table:
    """The good record with other values in a column, or with one column more."""
    place = table().schema.get_field_index(name)
    found = table()
    return found.append_column(name, values) if place < 0 else found.set_column(place, name, values)


def not_utf8() -> pa.Array:
    ends = pa.py_buffer(b"\0\0\0\0\2\0\0\0")
    return pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(b"\xff\xfe")])


def twice() -> pa.Array:
    return pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["uid", "uid"])


TABLES = {
    "other columns": (lambda: pa.table({"a": [1]}), "missing-field", "skill_type"),
    "bytes": (lambda: column("task_id", pa.array([b"x"])), "wrong-type", "task_id"),
    "a time": (lambda: column("when", pa.array([1], pa.timestamp("us"))), "wrong-type", "when"),
    "NaN": (lambda: column("consensus", pa.array([float("nan")])), "not-finite", "consensus"),
    "a number as text": (lambda: column("round", pa.array(["5"])), "wrong-type", "round"),
    "a null text": (
        lambda: column("task_id", pa.array([None], pa.string())),
        "missing-field",
        "task_id",
    ),
}
HARD_TABLES: dict[str, Callable[[], pa.Table]] = {
    "a nanosecond": lambda: column("when", pa.array([1], pa.timestamp("ns"))),
    "a far time": lambda: column("when", pa.array([2**62], pa.timestamp("us"))),
    "a far day": lambda: column("when", pa.array([2**30], pa.date32())),
    "an unknown zone": lambda: column("when", pa.array([1], pa.timestamp("us", tz="No/Where"))),
    "a long duration": lambda: column("when", pa.array([2**62], pa.duration("s"))),
    "a name twice": lambda: column("miner", twice()),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_row_of_parquet_that_is_no_record_is_rejected(
    scorers: Scorers, tmp_path: Path, name: str
) -> None:
    make, code, path = TABLES[name]
    pq.write_table(make(), tmp_path / "records.parquet")
    output = tmp_path / "out.jsonl"
    counts = scorers[S].score_file(tmp_path / "records.parquet", output).counts
    assert (counts.records, counts.rejected) == (1, 1)
    reject = json.loads((tmp_path / "out.jsonl.rejects.jsonl").read_bytes())
    assert (reject["line"], reject["code"], reject["path"]) == (1, code, path)


def hotkey_not_utf8() -> pa.Table:
    # older releases of Arrow join structs by the order of their fields, which is sorted in `table`
    names = {"hotkey": not_utf8(), "uid": pa.array([1])}
    return column("miner", pa.StructArray.from_arrays(names.values(), names=[*names]))


@pytest.mark.parametrize("bad", [column("task_id", not_utf8()), hotkey_not_utf8()])
def test_text_that_is_not_utf8_rejects_its_row_alone(
    scorers: Scorers, tmp_path: Path, bad: pa.Table
) -> None:
    """A miner's text, which some writers of Parquet do not check."""
    source, output = tmp_path / "records.parquet", tmp_path / "out.jsonl"
    pq.write_table(pa.concat_tables([table(), bad, table()], promote_options="default"), source)
    counts = scorers[S].score_file(source, output).counts
    assert (counts.records, counts.scored, counts.rejected) == (3, 2, 1)
    reject = json.loads((tmp_path / "out.jsonl.rejects.jsonl").read_bytes())
    assert (reject["line"], reject["code"]) == (2, "invalid-utf8")
    assert "\\udcff" in reject["value"]


@pytest.mark.parametrize("name", HARD_TABLES)
def test_a_value_of_parquet_that_python_cannot_hold_is_told(
    scorers: Scorers, tmp_path: Path, name: str
) -> None:
    """Rejected by row, or the file refused with its name: either is clear."""
    source, output = tmp_path / "records.parquet", tmp_path / "out.jsonl"
    pq.write_table(HARD_TABLES[name](), source)
    assert outcome(scorers[S], source, output) in {"rejected", str(source)}


def outcome(scorer: tallystick.Scorer, source: Path, output: Path) -> str:
    """Of a file with one record: what became of it, or the file that is refused."""
    try:
        counts = scorer.score_file(source, output).counts
    except InputError as error:
        return str(error).partition(": ")[0]
    return "rejected" if counts.rejected else "scored"


def test_a_parquet_file_without_rows_is_refused(scorers: Scorers, tmp_path: Path) -> None:
    source = tmp_path / "records.parquet"
    pq.write_table(table().slice(0, 0), source)
    with pytest.raises(InputError, match="the file has no rows, expected records"):
        scorers[S].score_file(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]


@pytest.mark.nightly
def test_a_parquet_file_that_was_cut_is_refused(scorers: Scorers, tmp_path: Path) -> None:
    source = tmp_path / "records.parquet"
    pq.write_table(table(), source)
    whole = source.read_bytes()
    for size in range(0, len(whole), len(whole) // 40):
        source.write_bytes(whole[:size])
        with pytest.raises(InputError, match="cannot be read as Parquet"):
            scorers[S].score_file(source, tmp_path / "out.jsonl")
        assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]


def test_a_value_that_python_cannot_hold_is_told_with_its_row_and_column(
    scorers: Scorers, tmp_path: Path
) -> None:
    source = tmp_path / "records.parquet"
    bad = column("round", pa.array([2**62], pa.timestamp("us")))
    good = column("round", pa.array([0], pa.timestamp("us")))
    pq.write_table(pa.concat_tables([good] * 1500 + [bad] + [good] * 100), source)
    with pytest.raises(InputError) as caught:
        scorers[S].score_file(source, tmp_path / "out.jsonl")
    assert str(caught.value).startswith(f"{source}: row 1501: round: found a value")
    assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]


def test_a_map_whose_keys_are_objects_is_told(scorers: Scorers) -> None:
    keys = pa.map_(pa.struct({"a": pa.int64()}), pa.int64())
    rows = column("events", pa.array([[({"a": 1}, 1)]], keys))
    with pytest.raises(InputError, match="row 1: events: found a value"):
        scorers[S].score_table(rows)


def test_a_parquet_file_of_another_name_is_told(scorers: Scorers, tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    pq.write_table(table(), source)
    with pytest.raises(InputError, match="give the file the extension"):
        scorers[S].score_file(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


def test_a_column_whose_name_is_not_utf8_is_told(scorers: Scorers, tmp_path: Path) -> None:
    source = tmp_path / "records.parquet"
    pq.write_table(column("xxxxxxxx", pa.array([1])), source, store_schema=False)
    source.write_bytes(source.read_bytes().replace(b"xxxxxxxx", b"xxxx\xff\xffxx"))
    with pytest.raises(InputError, match=str(source)):
        scorers[S].score_file(source, tmp_path / "out.jsonl")


@pytest.mark.parametrize("value", [15, -15, 0, 10**15])
def test_a_reject_spells_a_number_of_parquet_as_one_of_json_lines(
    value: int, scorers: Scorers, tmp_path: Path
) -> None:
    scorer = scorers[S]
    texts = list[str]()
    for kind, name in ((int, "records.jsonl"), (float, "records.parquet")):
        # a column of doubles, as another row has a fraction
        good = json.loads(GOOD)
        rows = [{**good, "role": kind(value)}, {**good, "role": 0.5}]
        path = tmp_path / name
        if kind is int:
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        else:
            pq.write_table(pa.Table.from_pylist(rows), path)
        rejects = tmp_path / f"{name}.rejects"
        scorer.score_file(path, tmp_path / f"{name}.csv", rejects=rejects)
        told = json.loads(rejects.read_text(encoding="utf-8").splitlines()[0])["problems"]
        texts.append(json.dumps([(e["path"], e["value"]) for e in told]))
    assert texts[0] == texts[1]
    assert f'["role", "{value}"]' in texts[0]
