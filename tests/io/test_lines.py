import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

import pytest
from work import calls

from tallystick.errors import InputError
from tallystick.io import lines as lines_module
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.sources import JsonLinesSource


def written(folder: Path, content: bytes) -> Path:
    path = folder / "records.jsonl"
    path.write_bytes(content)
    return path


def lines_of(path: Path) -> list[tuple[int, bytes]]:
    return [
        pair for chunk in JsonLinesSource(path) for pair in enumerate(chunk.items(), chunk.first)
    ]


def test_a_line_of_any_length_is_held_within_the_limit(tmp_path: Path) -> None:
    path = written(tmp_path, b"first\n" + b"x" * 5_000_000 + b"\nlast\n")
    found = lines_of(path)
    assert [line for _, line in found] == [b"first", b"x" * (MAX_LINE_BYTES + 1), b"last"]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file: check the name"):
        lines_of(tmp_path / "absent.jsonl")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder, expected a file"):
        lines_of(tmp_path)


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"{}")
    path.chmod(0)
    with as_nobody(), pytest.raises(InputError, match="may not be read: check its permissions"):
        lines_of(path)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the superuser's right to read everything."""
    user = os.geteuid()
    os.seteuid(user or 65_534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_file_that_fails_midway_says_how_far_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        reads = 0

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def read1(self, _size: int) -> bytes:
            self.reads += 1
            if self.reads > 1:
                raise OSError(5, "Input/output error")
            return b"a\nb\nc"

        def peek(self, _size: int) -> bytes:
            return b"a\nb\nc"

    monkeypatch.setattr(lines_module, "opened", lambda _: Failing())
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 5)
    with pytest.raises(InputError, match=r"after 5 bytes and 2 lines \(Input/output error\)"):
        lines_of(tmp_path / "records.jsonl")


def test_splitting_is_little_work(tmp_path: Path) -> None:
    path = written(tmp_path, (b"x" * 1100 + b"\n") * 20_000)
    assert calls(lambda: lines_of(path)) < 10_000, "a call for each block, not each line"


class HeardError(Exception):
    """Raised by the handler of a signal."""


class HearingAtSecondRead:
    """A file of which the second read comes after a signal, which a longer read would not hear."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.reads = file, 0

    def read1(self, size: int) -> bytes:
        self.reads += 1
        if self.reads > 1:
            raise HeardError
        return self.file.read1(size)


def test_a_signal_between_two_reads_of_a_pipe_is_heard_before_there_is_more() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x" * 1000)
    with os.fdopen(reading, "rb") as file, pytest.raises(HeardError):
        lines_module._Counted(HearingAtSecondRead(file)).read(50_000)
    os.close(writing)
