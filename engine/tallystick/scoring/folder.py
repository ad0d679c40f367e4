"""Folders: the files of records in one folder as one input.

Files come in the order of the bytes of their names. Records are numbered over all of them, as if
the files were one. Hidden files are passed over; anything else that is not a file of records is
refused, because what is left out in silence is missed by nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallystick.canonical import digest_of_bytes
from tallystick.errors import InputError
from tallystick.io.chunks import Results_co, Scorable, ScoresBatches
from tallystick.scoring.sources import Source, source_of

SUFFIXES = (".jsonl", ".parquet")
"""The extensions of files of records, in either case."""


class FolderSource:
    """The records of every file of a folder."""

    def __init__(self, path: Path, first: int = 1) -> None:
        """Look which files there are; read none yet.

        Raises:
            InputError: the folder cannot be read, has no file of records, or has something else.
        """
        self._paths = files_of(path)
        self._done: list[Source] = []
        self._first = first
        self.size = sum(path.stat().st_size for path in self._paths)

    @property
    def next(self) -> int:
        """The number of the record after the last that was read in batches or pieces."""
        return self._done[-1].next if self._done else self._first

    @property
    def bytes_read(self) -> int:
        """How many bytes were read so far, of all files."""
        return sum(source.bytes_read for source in self._done)

    @property
    def digest(self) -> str:
        """``sha256:`` and the digest of what ``sha256sum`` prints of the files, in their order.

        Two spaces stand between the digits of a file and its name, and each ends its line.
        """
        found = zip(self._done, self._paths, strict=False)
        lines = (_checked(source.digest, path) for source, path in found)
        return digest_of_bytes(b"".join(lines))

    def items(self) -> Iterator[Any]:
        """The records as they are: lines, or rows as mappings."""
        for path in self._paths:
            yield from source_of(path).items()

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the records, file after file."""
        for source in self._sources():
            yield from source.batches(scorer)

    def pieces(self) -> Iterator[Scorable]:
        """The pieces of the files."""
        for source in self._sources():
            yield from source.pieces()

    def _sources(self) -> Iterator[Source]:
        self._done = []
        for path in self._paths:
            source = source_of(path, self.next)
            self._done.append(source)
            yield source


def files_of(folder: Path) -> tuple[Path, ...]:
    """The files of records in a folder, in the order of the bytes of their names.

    Raises:
        InputError: the folder cannot be read, has no file of records, or has something else.
    """
    try:
        paths = sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name))
    except OSError as error:
        raise InputError(
            f"{folder}: the folder cannot be read ({error.strerror or error}): check its "
            "permissions"
        ) from error
    shown = tuple(path for path in paths if not path.name.startswith("."))
    for path in shown:
        _check(path)
    if not shown:
        raise InputError(f"{folder}: the folder is empty, expected .jsonl or .parquet files")
    return shown


def _check(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"{path}: found something else than a file, expected .jsonl or .parquet files alone: "
            "move it out of the folder"
        )
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path}: found the extension {path.suffix or 'of no name'!r}, expected "
            f"{' or '.join(SUFFIXES)}: move the file out of the folder"
        )
    if "\n" in path.name or "\\" in path.name:
        raise InputError(
            f"{str(path)!r}: found a line end or a backslash in the name, expected neither in the "
            "names of a folder, as its digest covers them"
        )


def _checked(digest: str, path: Path) -> bytes:
    """A line as ``sha256sum`` prints it."""
    digits = digest.partition(":")[2]
    return digits.encode() + b"  " + os.fsencode(path.name) + b"\n"
