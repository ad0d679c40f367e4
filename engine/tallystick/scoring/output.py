"""Output files: results as JSONL, Parquet or CSV, and rejects; whole or not at all.

Files are written under temporary names beside their places and renamed together when everything is
done and on the disk; what fails before leaves nothing, and what stood there as it was.
"""

from __future__ import annotations

import csv
import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

import attrs

from tallystick.canonical import PREFIX
from tallystick.errors import OutputError
from tallystick.scoring.result import DECIMALS, FIELDS

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


@attrs.frozen
class Staged:
    """A file that is written under a temporary name.

    Attributes:
        path: its final name, as it was given.
        place: where that leads, when it is a link.
        file: where its bytes go; they can be read back.
    """

    path: Path
    place: Path
    file: IO[bytes]

    def write(self, data: bytes) -> None:
        """Append some bytes."""
        with named(self.path):
            self.file.write(data)

    def digest(self) -> str:
        """``sha256:`` and the digest of what was written."""
        with named(self.path):
            self.file.flush()
            self.file.seek(0)
            return digest_of(self.file)

    def finish(self) -> None:
        """Bring everything to the disk."""
        with named(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            Path(self.file.name).chmod(0o666 & ~_umask())

    def take_name(self) -> None:
        """Stand under the final name, in the place of a file that was there."""
        with named(self.path):
            Path(self.file.name).replace(self.place)

    def give_up_name(self) -> None:
        """Vanish from under the final name, if it was taken."""
        if not Path(self.file.name).exists():
            self.place.unlink(missing_ok=True)


@contextmanager
def staged(*paths: Path) -> Iterator[tuple[Staged, ...]]:
    """Files that take their final names together, when the block ends without an error.

    Raises:
        OutputError: a file cannot be written; nothing was left under any of the names.
    """
    with ExitStack() as stack:
        files = tuple(stack.enter_context(_temporary(path)) for path in paths)
        yield files
        for each in files:
            each.finish()
        _name(files)


def _name(files: Sequence[Staged]) -> None:
    try:
        for each in files:
            each.take_name()
    except BaseException:
        for each in files:
            with suppress(OSError):
                each.give_up_name()
        raise


@contextmanager
def _temporary(path: Path) -> Iterator[Staged]:
    place = place_of(path)
    with named(path):
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  # closed and removed below
            dir=place.parent, prefix=f".{place.name}.", suffix=".part", delete=False
        )
    try:
        yield Staged(path, place, file)
    finally:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            Path(file.name).unlink(missing_ok=True)


def place_of(path: Path) -> Path:
    """Where a file of that name is written: where it leads, when it is a link.

    Raises:
        OutputError: the name cannot be one of a file, or something else has it.
    """
    with named(path):
        try:
            kind = stat.S_IFMT(path.stat().st_mode)
        except FileNotFoundError:
            kind = stat.S_IFREG
        except ValueError as error:
            raise OutputError(
                f"{path}: found a name that no file can have ({error}), expected the name of a file"
            ) from error
        if kind != stat.S_IFREG:
            found = "a folder" if kind == stat.S_IFDIR else "a pipe or a device"
            raise OutputError(f"{path}: {found}, expected the name of a file to write")
        return Path(os.path.realpath(path))


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Tells of an output that cannot be written, under the name that was given.

    Raises:
        OutputError: instead of an ``OSError`` of the block.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"{path}: the file cannot be written ({reason.lower()}): check the folder and the "
            "disk; nothing was left"
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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


def digest_of(file: IO[bytes]) -> str:
    """``sha256:`` and the digest of the rest of a file."""
    import hashlib  # noqa: PLC0415

    return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # the stub asks for more
