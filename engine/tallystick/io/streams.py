"""The streams of a process, where a name of a file is ``-`` or one such as ``/dev/stdout``.

What is written to a stream is seen at once and cannot be taken back. A terminal is shown text that
does nothing to it, whatever the format leaves in it.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

import attrs

from tallystick.canonical import PREFIX
from tallystick.errors import InputError, OutputError
from tallystick.io.text import printable

if TYPE_CHECKING:
    from hashlib import _Hash

STANDARD = Path("-")
"""The standard input where something is read, the standard output where something is written."""


_UTF8 = partial(codecs.getincrementaldecoder("utf-8"), errors="replace")
_OF_DESCRIPTOR = re.compile(r"/dev/(?:stdout|stderr|fd/(\d+))")


def is_stream(path: Path) -> bool:
    """Return whether a name is that of a stream: one that the process was given, no file."""
    return path == STANDARD or _OF_DESCRIPTOR.fullmatch(str(path)) is not None


@contextmanager
def output_stream(path: Path) -> Iterator[StreamFile]:
    """Yield the stream that a name means, to be written in the block; see `is_stream`.

    Raises:
        OutputError: the process has none of that number, or may not write to it.
    """
    match = _OF_DESCRIPTOR.fullmatch(str(path))
    number = None if match is None else match[1]
    if number is None:
        yield (standard_error if path.name == "stderr" else standard_output)(path)
        return
    try:
        stream = os.fdopen(os.dup(int(number)), "wb")
    except (OSError, OverflowError) as error:
        raise OutputError(f"{path}: found no such stream, expected one to write to") from error
    with stream:
        yield StreamFile(path, stream)


def standard_input() -> BinaryIO:
    """Return the standard input, to be read once; closing it leaves the process's own open.

    Raises:
        InputError: the process has none.
    """
    try:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except (AttributeError, OSError, ValueError) as error:
        raise InputError(f"{STANDARD}: found no standard input, expected records there") from error


@attrs.define
class StreamFile:
    """An output without a place: an ``AtomicFile`` that is written at once, and a file of bytes.

    Attributes:
        path: its name, for errors.
        stream: where the bytes go; None throws them away.
    """

    path: Path
    stream: IO[bytes] | None
    _hash: _Hash = attrs.field(factory=hashlib.sha256, init=False)
    _decoder: codecs.IncrementalDecoder = attrs.field(factory=_UTF8, init=False)

    @property
    def file(self) -> IO[bytes]:
        """The binary file that writers write to."""
        return self  # type: ignore[return-value]  # they write, and nothing else

    def write(self, data: bytes) -> int:
        """Write some bytes, so that a reader of the stream has them at once."""
        self._hash.update(data)
        if self.stream is not None:
            self.stream.write(self._shown(data) if self.stream.isatty() else data)
            self.stream.flush()
        return len(data)

    def _shown(self, data: bytes) -> bytes:
        """Return bytes as a terminal may have them."""
        text = self._decoder.decode(data).replace("\r\n", "\n")
        return printable(text).encode("utf-8", "backslashreplace")

    def digest(self) -> str:
        """Return ``sha256:`` and the digest of the bytes that were written."""
        return PREFIX + self._hash.hexdigest()


def standard_output(path: Path = STANDARD) -> StreamFile:
    """Return the standard output."""
    return StreamFile(path, getattr(sys.stdout, "buffer", None))


def standard_error(path: Path = Path("standard error")) -> StreamFile:
    """Return the error output."""
    return StreamFile(path, getattr(sys.stderr, "buffer", None))


def nowhere() -> StreamFile:
    """Return an output that nobody asked for."""
    return StreamFile(STANDARD, None)
