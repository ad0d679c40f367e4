"""Inputs: files as they are opened and decompressed, so that none of them is read without an end.

A device is refused: what it gives ends nowhere. A pipe is read, once somebody writes to it. Of a
compressed file no more is decompressed than is asked for.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from tallystick.errors import InputError
from tallystick.io.streams import STANDARD, standard_input

WRITER_SECONDS = 60
"""Longest wait for a writer of a pipe, in seconds."""
CODECS = {".jsonl.gz": "gzip", ".jsonl.zst": "zstd"}
"""The compression of files of records, by the end of their names."""

_LOG = logging.getLogger(__name__)
_PATIENCE = 1
"""After a second it is told that a pipe is waited for."""
_TRIES = 100
"""Number of attempts within that second to end a wait that was given up."""
_STARTS = {
    b"PAR1": ("Parquet", "give the file the extension .parquet"),
    b"\x1f\x8b": ("gzip", "give the file the extension .jsonl.gz, or decompress it first"),
    b"\x28\xb5\x2f\xfd": ("zstd", "give the file the extension .jsonl.zst, or decompress it first"),
    b"BZh": ("bzip2", "decompress it first"),
    b"\xfd7zXZ\0": ("xz", "decompress it first"),
    b"PK\3\4": ("a ZIP archive", "unpack it first"),
}
"""First bytes of files that are no lines of JSON, each with the name of the format and a remedy."""


def opened(path: Path) -> BinaryIO:
    """Return the file, open for reading; ``-`` is the standard input.

    Raises:
        InputError: there is no such file, it cannot be opened, has no end, or is a pipe that nobody
            writes to.
    """
    try:
        return _opened(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {_reason(error)}") from error


def start_of(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, as many as it has of ``size``.

    Raises:
        OSError: there is no such file, it cannot be read, or ``opened`` would refuse it.
        ValueError: no file can have the name.
    """
    with _opened(path) as file:
        return file.read(size)


def whole(path: Path, largest: int, expected: str) -> bytes:
    """Return all bytes of a file that is read at once.

    Args:
        path: the file; ``-`` is the standard input.
        largest: the most bytes that it may have.
        expected: what it should be, for the error.

    Raises:
        InputError: it cannot be read, or is larger.
    """
    with opened(path) as file:
        try:
            data = file.read(largest + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(data) > largest:
        raise InputError(f"{path}: found more than {largest} bytes, expected {expected}")
    return data


def codec_of(path: Path) -> str | None:
    """Return the compression of a file of records, by its name: ``gzip``, ``zstd`` or none."""
    name = path.name.lower()
    return next((codec for end, codec in CODECS.items() if name.endswith(end)), None)


def decompressed(path: Path, file: IO[bytes]) -> IO[bytes]:
    """Return a file of records as a file of its content, decompressed as it is read.

    Errors of what is compressed are an ``OSError``, as those of a disk.

    Args:
        path: its name, which says how it is compressed.
        file: it, at its start.
    """
    codec = codec_of(path)
    if codec is None:
        return file
    import pyarrow as pa

    return cast("IO[bytes]", pa.CompressedInputStream(file, codec))


def check_start(path: Path, start: bytes) -> None:
    """Refuse a file that begins as no file of its name does.

    Raises:
        InputError: it is compressed or Parquet where it should be JSON lines, or the other way.
    """
    codec = codec_of(path)
    format_name, remedy = next(
        (description for s, description in _STARTS.items() if start.startswith(s)), ("", "")
    )
    # of a pipe there may be less than it takes to tell
    if format_name == (codec or "") or any(prefix.startswith(start) for prefix in _STARTS):
        return
    if codec is None:
        if path.name.lower().endswith(".parquet"):
            remedy = "only JSON lines are read here"
        raise InputError(f"{path}: found {format_name}, expected one JSON record a line: {remedy}")
    actual = format_name or "no compressed file"
    raise InputError(
        f"{path}: found {actual}, expected {codec}, as its name ends: {remedy or 'rename the file'}"
    )


def _opened(path: Path) -> BinaryIO:
    if path == STANDARD:
        return _checked(standard_input())
    if stat.S_ISFIFO(path.stat().st_mode):
        return _pipe(path)
    return _checked(path.open("rb"))


def _checked(file: BinaryIO) -> BinaryIO:
    """Return a file that has an end; of the devices a terminal does, and the empty one."""
    status = os.fstat(file.fileno())
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    if is_device and not file.isatty() and not _is_empty_device(status):
        file.close()
        raise io.UnsupportedOperation(
            "found a device, which may have no end, expected a file or a pipe"
        )
    return file


def _is_empty_device(found: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(found, Path(os.devnull).stat())
    return False


def _pipe(path: Path) -> BinaryIO:
    """Return a named pipe, as soon as somebody writes to it."""
    opening = list[BinaryIO | OSError]()

    def wait() -> None:
        # returns when there is a writer
        try:
            opening.append(path.open("rb"))
        except OSError as error:
            opening.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(min(_PATIENCE, WRITER_SECONDS))
    if waiting.is_alive():
        message = "waiting up to %g seconds for a writer of the pipe %s"
        _LOG.warning(message, WRITER_SECONDS, path)
        waiting.join(WRITER_SECONDS - _PATIENCE)
    if waiting.is_alive():
        _release(path, waiting, opening)
        raise io.UnsupportedOperation(
            f"found a pipe that nobody writes to, expected a writer within {WRITER_SECONDS:g} "
            "seconds: start what writes to it first"
        )
    (file,) = opening
    if isinstance(file, OSError):
        raise file
    return file


def _release(path: Path, waiting: threading.Thread, found: list[BinaryIO | OSError]) -> None:
    """End the wait for a writer by being one, for a moment."""
    for _ in range(_TRIES):
        # a thread that has not come to its wait yet is nobody to write to
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        waiting.join(_PATIENCE / _TRIES)
        if not waiting.is_alive():
            break
    for file in found:
        if not isinstance(file, OSError):
            file.close()


def _reason(error: Exception) -> str:
    match error:
        case io.UnsupportedOperation():
            return str(error)
        case FileNotFoundError():
            return "no such file: check the name"
        case IsADirectoryError():
            return "a folder, expected a file: name one file of records in it"
        case PermissionError():
            return "the file may not be read: check its permissions"
        case OSError(errno=errno.ENXIO):
            return "found a socket, expected a file or a pipe"
        case OSError():
            return f"the file cannot be read ({error.strerror or error}): check the name"
        case _:
            return f"found a name that no file can have ({error}), expected the name of a file"
