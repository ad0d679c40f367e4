"""The journal of submissions: a file of lines that are only ever appended.

A line is the canonical JSON of an entry with its number and a checksum, which covers the checksum
of the line before: so no line can be changed, left out or moved. A line that a crash has torn has
no end; it is cut off, as nothing was done by it yet. Any other damage is refused.

One process writes a journal at a time. An entry is on the disk when `Journal.append` returns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tallystick.canonical import canonical_bytes, digest
from tallystick.errors import InputError, OutputError, TallystickError
from tallystick.io.atomic import sync_names
from tallystick.io.documents import parse_json
from tallystick.io.paths import PathLike, path_of
from tallystick_chain.submission import (
    Attempt,
    Entry,
    JournalOrderError,
    attempts_of,
    entry_of,
    entry_value,
)

FORMAT = 1
"""Version of the format of the lines."""
LARGEST = 1 << 28
"""Maximum size of a journal, in bytes: rows of 256 miners for some decades."""

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_BEGIN = "begin"


class JournalError(TallystickError):
    """A journal that is damaged, is of another validator or network, or is in use.

    ``code`` is the stable name of the reason: ``damaged``, ``other-journal`` or ``in-use``.
    """

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)


class Journal:
    """A journal that is open; use it as a context.

    Attributes:
        path: the file.
        torn: bytes of a torn last line that opening has cut off.
    """

    def __init__(self, path: Path, number: int, subject: Mapping[str, Any]) -> None:
        """Read the lines of an open file, which `open` has locked."""
        self.path, self._number = path, number
        self._checksum, self._lines = "", 0
        self._entries = list[Entry]()
        self.torn = self._read(subject)

    @classmethod
    def open(cls, path: PathLike, subject: Mapping[str, Any]) -> Self:
        """Open a journal, or begin one.

        Args:
            path: the file.
            subject: what it is about, as JSON: hotkey, subnet and network; one that was begun for
                another subject is refused.

        Raises:
            InputError: the file cannot be read.
            JournalError: it is damaged, about something else, or another process has it.
            OutputError: it cannot be written.
        """
        file = path_of(path, "a journal")
        is_new = not file.exists()
        try:
            number = os.open(file, _FLAGS, 0o600)
        except (OSError, ValueError) as error:
            raise OutputError(f"{file}: a journal cannot be opened ({error})") from error
        try:
            _lock(file, number)
            journal = cls(file, number, subject)
            if is_new:
                sync_names(file.parent)
        except BaseException:
            os.close(number)
            raise
        return journal

    def close(self) -> None:
        """Close the file, and let another process have it."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, in their order."""
        return tuple(self._entries)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts that the entries are about."""
        return attempts_of(self._entries)

    def append(self, entry: Entry) -> None:
        """Write an entry; it is on the disk when this returns.

        Raises:
            JournalOrderError: it cannot follow the entries before it; nothing is written.
            OutputError: it cannot be written; the journal is closed, so open it again.
        """
        attempts_of([*self._entries, entry])
        try:
            self._write(entry_value(entry))
        except OutputError:
            self.close()
            raise
        self._entries.append(entry)

    def _write(self, value: Mapping[str, Any]) -> None:
        line, checksum = _line(self._lines, value, self._checksum)
        try:
            written = os.write(self._number, line)
            os.fsync(self._number)
        except OSError as error:
            message = f"{self.path}: cannot be written ({error}): make room on the disk"
            raise OutputError(message) from error
        if written < len(line):
            raise OutputError(
                f"{self.path}: wrote {written} of {len(line)} bytes of a line: make room on the "
                "disk"
            )
        self._lines, self._checksum = self._lines + 1, checksum

    def _read(self, subject: Mapping[str, Any]) -> int:
        begin = {"kind": _BEGIN, "format": FORMAT, **subject}
        data = self._whole()
        complete = data[: data.rfind(b"\n") + 1]
        torn = len(data) - len(complete)
        if torn:
            os.ftruncate(self._number, len(complete))
            os.fsync(self._number)
        for line in complete.splitlines(keepends=True):
            self._take(line, begin)
        if not self._lines:
            self._write(begin)
        try:
            attempts_of(self._entries)
        except JournalOrderError as error:
            raise self._damaged(str(error)) from None
        return torn

    def _whole(self) -> bytes:
        try:
            size = os.fstat(self._number).st_size
            if size > LARGEST:
                raise InputError(f"{self.path}: found {size} bytes, expected at most {LARGEST}")
            with os.fdopen(os.dup(self._number), "rb") as file:
                file.seek(0)
                return file.read(LARGEST + 1)
        except OSError as error:
            raise InputError(f"{self.path}: a journal cannot be read ({error})") from error

    def _take(self, line: bytes, begin: Mapping[str, Any]) -> None:
        """Take a line that is whole.

        Raises:
            JournalError: it is damaged, or begins another journal.
        """
        try:
            value = parse_json(line, numbers="whole")
            entry = value["entry"]
            expected, checksum = _line(self._lines, entry, self._checksum)
            if expected != line:
                raise self._damaged("found a line with another checksum or form")
            if not self._lines:
                if entry != begin:
                    raise self._other(entry, begin)
            else:
                self._entries.append(entry_of(entry))
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(f"found a line that is none ({error})") from None
        self._lines, self._checksum = self._lines + 1, checksum

    def _damaged(self, problem: str) -> JournalError:
        return JournalError(
            f"{self.path}:{self._lines + 1}: {problem}, expected a journal as it was written: "
            "restore a copy of the file; without one, wait until no call of it can land, and begin "
            "another",
            code="damaged",
        )

    def _other(self, entry: Mapping[str, Any], begin: Mapping[str, Any]) -> JournalError:
        names = sorted({*entry, *begin})
        name = next(name for name in names if entry.get(name) != begin.get(name))
        remedy = "name another file"
        if name == "network":
            remedy = "put back the network file, or begin with another folder"
        message = (
            f"{self.path}: found a journal of {name} {str(entry.get(name))[:80]!r}, expected "
            f"{str(begin.get(name))[:80]!r}: {remedy}"
        )
        return JournalError(message, code="other-journal")


def _line(number: int, entry: Any, before: str) -> tuple[bytes, str]:  # noqa: ANN401  # any JSON value
    """Return the bytes of a line, and its checksum.

    Args:
        number: of the line, from 0.
        entry: the entry.
        before: the checksum of the line before.
    """
    checksum = digest({"before": before, "entry": entry, "line": number})
    return canonical_bytes({"entry": entry, "line": number, "sum": checksum}) + b"\n", checksum


def _lock(path: Path, number: int) -> None:
    """Lock an open file for this process.

    Raises:
        JournalError: another process has it.
    """
    import fcntl  # there is none on some systems, on which no validator runs

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise JournalError(
            f"{path}: found a journal that another process uses ({error}), expected one validator "
            "of a hotkey: stop the other",
            code="in-use",
        ) from error
