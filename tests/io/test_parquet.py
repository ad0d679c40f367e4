"""Parquet files are read as rows within what their footers say, or refused in one line."""

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallystick.errors import InputError
from tallystick.io import parquet
from tallystick.io.parquet import ParquetReader

Rows = list[dict[str, Any]]


def written(path: Path, table: pa.Table, **options: Any) -> Path:  # noqa: ANN401  # those of pyarrow
    pq.write_table(table, path, **options)
    return path


def rows_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    with ParquetReader(path) as reader:
        return list(reader.rows())


def test_a_struct_and_a_map_are_objects_and_null_is_left_out_at_every_level(
    tmp_path: Path,
) -> None:
    miner = pa.struct({"uid": pa.int64(), "hotkey": pa.string()})
    table = pa.table(
        {
            "miner": pa.array([{"uid": 1, "hotkey": "a"}, {"uid": None, "hotkey": "b"}], miner),
            "axes": pa.array([[("x", 1), ("y", None)], None], pa.map_(pa.string(), pa.int64())),
            "list": pa.array([[None, {"uid": 2, "hotkey": None}], []], pa.list_(miner)),
        }
    )
    assert rows_of(written(tmp_path / "t.parquet", table)) == [
        (1, {"miner": {"uid": 1, "hotkey": "a"}, "axes": {"x": 1}, "list": [None, {"uid": 2}]}),
        (2, {"miner": {"hotkey": "b"}, "list": []}),
    ]


def test_rows_are_numbered_over_all_groups_however_few_are_made_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "t.parquet", pa.table({"n": range(500)}), row_group_size=70)
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 100)
    assert rows_of(path) == [(n + 1, {"n": n}) for n in range(500)]


def not_utf8() -> pa.Array:
    ends = pa.py_buffer(b"\0\0\0\0\2\0\0\0")
    return pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(b"\xff\xfe")])


HARD: dict[str, Callable[[], pa.Array]] = {
    "a far time": lambda: pa.array([2**62], pa.timestamp("us")),
    "a far day": lambda: pa.array([2**30], pa.date32()),
    "an unknown zone": lambda: pa.array([1], pa.timestamp("us", tz="No/Where")),
    "text that is not UTF-8": not_utf8,
    "a map whose keys are objects": lambda: pa.array(
        [[({"a": 1}, 1)]], pa.map_(pa.struct({"a": pa.int64()}), pa.int64())
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_a_value_that_python_cannot_hold_is_told_with_its_rows(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "t.parquet", pa.table({"x": HARD[name]()}))
    with pytest.raises(InputError, match="rows 1 to 1: found a value that Python cannot hold"):
        rows_of(path)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"x" * 100])
def test_what_is_no_parquet_is_told_with_its_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"^{path}: the file cannot be read as Parquet"):
        rows_of(path)


def test_a_row_group_that_is_too_large_by_the_footer_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"small": range(1000), "large": ["x" * 1000] * 1000})
    path = written(tmp_path / "t.parquet", table, use_dictionary=False)
    monkeypatch.setattr(parquet, "LARGEST_GROUP", 100_000)
    with pytest.raises(InputError, match=r"row group 0: found 10\d{5} bytes by the footer"):
        rows_of(path)
    with ParquetReader(path) as reader, pytest.raises(InputError, match="row group 0"):
        reader.group(0, ["small"])


def test_a_footer_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + bytes(6 << 20) + (5 << 20).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(InputError, match="found a footer of 5242880 bytes, expected at most"):
        rows_of(path)


def test_a_file_is_read_by_the_thread_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread of Arrow that still reads a file at the end of a process ends it by a signal."""
    readers = set[int]()

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            readers.add(threading.get_ident())
            return super().read(size)

    path = written(tmp_path / "t.parquet", pa.table({"a": range(5_000), "b": range(5_000)}))
    data = path.read_bytes()
    monkeypatch.setattr(parquet, "opened", lambda _: Watched(data))
    with ParquetReader(path) as reader:
        assert reader.group(0, ["a", "b"]).num_rows == len(list(reader.rows())) == 5_000
    assert readers == {threading.get_ident()}
