"""The formats of results: JSONL, Parquet and CSV, each written batch after batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

import attrs

from tallystick.errors import OutputError
from tallystick.scoring.result import DECIMALS, FIELDS
from tallystick.scoring.staging import Staged, named

if TYPE_CHECKING:
    from tallystick.scoring.batch import ResultBatch

FORMATS = ("jsonl", "parquet", "csv")
"""The formats of results, by file name extension."""


class Writer(Protocol):
    """Takes batches of results, then is closed."""

    def write(self, batch: ResultBatch) -> None:
        """Append the results of a batch."""

    def close(self) -> None:
        """Finish what the format needs at its end; the file itself stays open."""


def format_of(path: Path, wanted: str | None) -> str:
    """The format that was asked for, or the one of the file name's extension.

    Raises:
        OutputError: neither says one.
    """
    found = wanted or path.suffix.lower().removeprefix(".")
    if found not in FORMATS:
        raise OutputError(
            f"{path}: found no format in the name, expected .{', .'.join(FORMATS)}, or --format"
        )
    return found


@attrs.define
class JsonLines:
    """One JSON object a line, fields and axes in order, decimals as text of nine places."""

    file: IO[bytes]

    def write(self, batch: ResultBatch) -> None:
        """Append the results of a batch."""
        self.file.write("".join(f"{result.to_json()}\n" for result in batch.results()).encode())

    def close(self) -> None:
        """Nothing is left to write."""


@attrs.define
class Table:
    """Comma-separated values (RFC 4180): a column for each axis, ``axes.NAME``; null is empty."""

    file: IO[bytes]
    axes: Sequence[str]

    def __attrs_post_init__(self) -> None:
        """Write the header."""
        flat = [name for name in FIELDS if name != "axes"]
        place = FIELDS.index("axes")
        self._append([[*flat[:place], *(f"axes.{axis}" for axis in self.axes), *flat[place:]]])

    def write(self, batch: ResultBatch) -> None:
        """Append the results of a batch."""
        rows = []
        for result in batch.results():
            row = result.to_dict()
            axes = row.pop("axes")
            flat = list(row.values())
            place = FIELDS.index("axes")
            rows.append([*flat[:place], *(axes.get(axis) for axis in self.axes), *flat[place:]])
        self._append(rows)

    def close(self) -> None:
        """Nothing is left to write."""

    def _append(self, rows: Sequence[Sequence[object]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n").writerows(rows)
        self.file.write(text.getvalue().encode())


class Parquet:
    """Parquet with decimals as decimal128 of nine places."""

    def __init__(self, file: IO[bytes], axes: Sequence[str]) -> None:
        """Open the file with the schema of the results."""
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        from tallystick.scoring.table import schema_of, to_arrow  # noqa: PLC0415  # heavy

        self._to_arrow = to_arrow
        self._writer = pq.ParquetWriter(
            file, schema_of(axes), compression="zstd", use_dictionary=_TEXTS
        )

    def write(self, batch: ResultBatch) -> None:
        """Append the results of a batch."""
        self._writer.write_batch(self._to_arrow(batch))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


_TEXTS = [n for n in FIELDS if n not in ("record", "axes", "miner_uid", *DECIMALS)]


@contextmanager
def writing(format_name: str, results: Staged, axes: Sequence[str]) -> Iterator[Writer]:
    """The writer of a format, closed at the end of the block."""
    with named(results.path):
        out = _writer(format_name, results.file, axes)
    try:
        yield out
    except BaseException:
        # the file is thrown away, but a writer that is left open complains when it is collected
        with suppress(Exception):
            out.close()
        raise
    with named(results.path):
        out.close()


def _writer(format_name: str, file: IO[bytes], axes: Sequence[str]) -> Writer:
    makers: dict[str, Callable[[], Writer]] = {
        "jsonl": lambda: JsonLines(file),
        "csv": lambda: Table(file, axes),
        "parquet": lambda: Parquet(file, axes),
    }
    return makers[format_name]()
