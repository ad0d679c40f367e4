"""A few bytes that stand for very many are refused or rejected, and take little memory."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command import COMMAND, SKILLS
from examples import fast_rows
from pool import counting_pool

import tallystick
from tallystick.errors import InputError, RecordError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.pages import BUDGET
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.metadata import KEY
from tallystick.scoring.facts.run import extract_file

Scorers = dict[str, tallystick.Scorer]
S = "skills@1.0.0"
GOOD: dict[str, Any] = json.loads(SKILLS.read_bytes().splitlines()[2])
MILLION = 10**6


def repeated(value: pa.Scalar | str, times: int) -> pa.Array:
    """A value very many times, which takes little memory here."""
    return pa.DictionaryArray.from_arrays(pa.array([0], "int8"), pa.array([value])).take(
        pa.array([0] * times, "int32")
    )


def lists(items: pa.Array, rows: int) -> pa.ChunkedArray:
    """Rows that are lists of the same items."""
    one = pa.LargeListArray.from_arrays(pa.array([0, len(items)], pa.int64()), items)
    return pa.chunked_array([pa.concat_arrays([one] * rows)])


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    # 655 bytes, of which Arrow made 2.1 GB
    "a long list": (lambda: lists(pa.array([5] * (2 * MILLION), "int8"), 1), {}, "task_id.list"),
    "an empty list": (lambda: lists(pa.array([[]] * (2 * MILLION)), 1), {}, "task_id.list"),
    "a large page": (
        lambda: pa.array(["x" * (1 << 20)] * 32),
        {"use_dictionary": False},
        "column task_id",
    ),
    "an encoding by prefixes": (
        lambda: pa.array(["x" * (1 << 20)] * 20),
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
        "found the encoding 7 in the column task_id, expected one of PLAIN",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_row_group_that_may_fill_the_memory_is_refused_before_it_is_read(
    scorers: Scorers, tmp_path: Path, name: str
) -> None:
    make, options, said = REFUSED[name]
    source = tmp_path / "records.parquet"
    pq.write_table(pa.table({"task_id": make()}), source, compression="zstd", **options)
    assert source.stat().st_size < 10_000
    with counting_pool() as pool, pytest.raises(InputError) as caught:
        scorers[S].score_file(source, tmp_path / "out.jsonl")
    assert str(caught.value).startswith(f"{source}: row group 0: found ")
    assert said in str(caught.value)
    assert pool.max_memory() < MILLION
    assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]


def test_rows_that_a_dictionary_makes_long_are_rejected_and_good_ones_scored(
    scorers: Scorers, tmp_path: Path
) -> None:
    """9 kB, of which Arrow made 3.7 GB."""
    source, output = tmp_path / "records.parquet", tmp_path / "out.jsonl"
    good = pa.Table.from_pylist([GOOD])
    place = good.schema.get_field_index("task_id")
    bomb = pa.concat_tables([good] * 200).set_column(
        place, "task_id", repeated("x" * (1 << 20), 200).cast(pa.dictionary("int32", "string"))
    )
    schema = good.schema.set(place, pa.field("task_id", pa.dictionary("int32", "string")))
    with pq.ParquetWriter(source, schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(good.cast(schema))
        writer.write_table(bomb.cast(schema))
        writer.write_table(good.cast(schema))
    assert source.stat().st_size < 40_000
    with counting_pool() as pool:
        counts = scorers[S].score_file(source, output).counts
    assert (counts.scored, counts.rejected) == (2, 200)
    rejects = (tmp_path / "out.jsonl.rejects.jsonl").read_bytes().splitlines()
    assert {json.loads(line)["code"] for line in rejects} == {"line-too-long"}
    assert pool.max_memory() < 3 * BUDGET


def test_a_row_is_as_long_as_the_line_that_it_would_be(scorers: Scorers) -> None:
    """At the limit both are judged by what they hold; beyond it both are too long."""
    spare = MAX_LINE_BYTES - len(json.dumps(GOOD | {"task_id": ""}, separators=(",", ":")))
    for length, expected in ((spare, "too-long"), (spare + 1, "line-too-long")):
        record = GOOD | {"task_id": "x" * length}
        with pytest.raises(RecordError) as caught:
            scorers[S].score(json.dumps(record, separators=(",", ":")))
        _, (reject,) = scorers[S].score_table(pa.Table.from_pylist([record]))
        assert reject.code == caught.value.code == expected


def views(items: Any, rows: int) -> pa.Array:  # noqa: ANN401  # an array
    """Lists that all have all of the items."""
    starts, sizes = pa.array([0] * rows, "int32"), pa.array([len(items)] * rows, "int32")
    return pa.ListViewArray.from_arrays(starts, sizes, items)


TEXT = pa.array(["x" * 1000])
SHARED: dict[str, Callable[[], pa.Array]] = {
    "views of views": lambda: views(views(views(TEXT, 500), 500), 20),
    "a dictionary": lambda: repeated("x" * (2 << 20), 20),
    "lists of a dictionary": lambda: lists(repeated("x" * 1000, 4000), 20).combine_chunks(),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([20], "int32"), pa.array(["x" * (2 << 20)])
    ),
    "a list of a run": lambda: pa.ListArray.from_arrays(
        pa.array([MILLION * n for n in range(21)], "int32"),
        pa.RunEndEncodedArray.from_arrays(pa.array([20 * MILLION], "int32"), TEXT),
    ),
    "objects": lambda: pa.StructArray.from_arrays(
        [repeated("x" * (2 << 19), 20)] * 40, names=[f"f{n}" for n in range(40)]
    ),
}


@pytest.mark.parametrize("name", fast_rows(SHARED, 0, -1))
def test_rows_of_a_table_that_share_their_values_are_rejected_without_being_made(
    scorers: Scorers, name: str
) -> None:
    table = pa.Table.from_pylist([GOOD] * 20).append_column("more", SHARED[name]())
    with counting_pool() as pool:
        _, rejects = scorers[S].score_table(table)
    assert [reject.code for reject in rejects] == ["line-too-long"] * 20
    assert GOOD["skill_type"] in rejects[0].value
    assert pool.max_memory() < BUDGET


def test_a_list_of_more_nothing_than_memory_holds_is_rejected(scorers: Scorers) -> None:
    nothing = pa.NullArray.from_buffers(pa.null(), 1 << 40, [None])
    rows = pa.LargeListArray.from_arrays(pa.array([0, 1 << 40], "int64"), nothing)
    table = pa.Table.from_pylist([GOOD]).append_column("more", rows)
    _, (reject,) = scorers[S].score_table(table)
    assert reject.code == "line-too-long"


def test_places_outside_of_a_dictionary_are_told(scorers: Scorers) -> None:
    """Looked up, they would be whatever stands in memory."""
    places = pa.array([7], "int8")
    outside = pa.DictionaryArray.from_arrays(places, pa.array(["x"]), safe=False)
    with pytest.raises(InputError, match="row 1: more: found a place outside of the dictionary"):
        scorers[S].score_rows(pa.record_batch([outside], ["more"]))


def test_a_facts_file_whose_texts_may_fill_the_memory_is_refused(
    scorers: Scorers, tmp_path: Path
) -> None:
    records, facts = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    records.write_bytes(json.dumps(GOOD).encode() + b"\n")
    records.write_bytes(records.read_bytes() * 200)
    extract_file(records, facts, installed())
    said = {KEY: pq.read_metadata(facts).metadata[KEY]}
    table = pq.read_table(facts).replace_schema_metadata(said)
    place = table.schema.get_field_index("miner_hotkey")
    long = repeated("x" * (1 << 20), 200).cast(pa.dictionary("int32", "string"))
    bomb = table.set_column(place, "miner_hotkey", long)
    pq.write_table(bomb, facts, compression="zstd")
    with (
        counting_pool() as pool,
        pytest.raises(InputError, match=r"row group 0: .* most for the column miner_hotkey"),
    ):
        scorers[S].score_file(facts, tmp_path / "out.jsonl")
    assert pool.max_memory() < MILLION


def test_a_footer_without_an_end_is_refused(scorers: Scorers, tmp_path: Path) -> None:
    source = tmp_path / "records.parquet"
    source.write_bytes(b"PAR1" + bytes(6 << 20) + (5 << 20).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(InputError, match="found a footer of 5242880 bytes, expected at most"):
        scorers[S].score_file(source, tmp_path / "out.jsonl")


BOMBS = {
    "records.jsonl.gz": lambda path: path.write_bytes(gzipped()),
    "list.parquet": lambda path: write(path, REFUSED["a long list"][0]()),
    "text.parquet": lambda path: write(path, repeated("x" * (1 << 20), 1024)),
    "short.parquet": lambda path: write(path, repeated("x" * 900_000, 512)),
}


def gzipped() -> bytes:
    return gzip.compress(b"{}\n" + b" " * (1 << 28))


def write(path: Path, column: Any) -> None:  # noqa: ANN401  # an array
    pq.write_table(pa.table({"task_id": column}), path, compression="zstd", store_schema=False)


@pytest.mark.nightly
@pytest.mark.parametrize("name", BOMBS)
def test_a_whole_run_stays_under_300_mb(name: str, tmp_path: Path) -> None:
    """In a process of its own, with all that is loaded."""
    path = tmp_path / name
    BOMBS[name](path)
    measured = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [*COMMAND, "score", str(path), "--rules", S, "-o", str(tmp_path / "out.jsonl")]
    found = subprocess.run(
        [sys.executable, "-c", measured, *command], capture_output=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(found.stdout.split()[-1]) * unit < 300 * MILLION
