"""A file is cut into the same chunks by everyone, and the chunks are the file."""

import hashlib
import os
import threading
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.io import lines as lines_module
from tallystick.io import sources as module
from tallystick.io.lines import BLOCK_BYTES
from tallystick.io.sources import FileChunk, ItemChunk, JsonLinesSource

CONTENT = st.lists(st.sampled_from([b"", b"a", b"bb" * 9, b"\r", b"c" * 70, b"\n"]), max_size=40)


def cut(path: Path, first: int = 1) -> tuple[list[FileChunk], JsonLinesSource]:
    source = JsonLinesSource(path, first)
    return [chunk for chunk in source.places() if isinstance(chunk, FileChunk)], source


@examples(150)
@given(
    CONTENT.map(b"\n".join).filter(bool),
    st.integers(1, 60),
    st.integers(1, 8),
    st.integers(1, 100),
)
def test_the_chunks_of_a_file_are_its_lines_here_and_by_place(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int, count: int, block: int
) -> None:
    path = tmp_path_factory.mktemp("chunks") / "records.jsonl"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_BYTES", size)
        patch.setattr(module, "CHUNK_LINES", count)
        patch.setattr(lines_module, "BLOCK_BYTES", block)
        found, source = cut(path)
        held = list(JsonLinesSource(path))
    wanted = content.removesuffix(b"\n").split(b"\n")
    for chunks in (found, held):
        assert [line for chunk in chunks for line in chunk.items()] == wanted
        line = 1
        for chunk in chunks:
            assert chunk.first == line
            line += len(chunk.items())
        assert source.next == line
    assert source.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_real_size_is_cut_by_bytes_and_by_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    long = b"".join((b"x" * 999 + b"\n") for _ in range(26_000))
    path.write_bytes(long + b"\n" * 140_000)
    for chunks in (cut(path)[0], list(JsonLinesSource(path))):
        counts = [len(chunk.items()) for chunk in chunks]
        assert 25_166 <= counts[0] < 25_300  # a block more than the least
        assert 32_768 <= counts[1] < 32_768 + BLOCK_BYTES
        assert sum(counts) == 166_000


def test_numbers_begin_where_they_are_told_to(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"a\nb")
    found, source = cut(path, first=41)
    assert [chunk.first for chunk in found] == [41]
    assert source.next == 43


def test_a_chunk_knows_its_file_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "records.jsonl").write_bytes(b"a\n")
    monkeypatch.chdir(tmp_path)
    (chunk,), _ = cut(Path("records.jsonl"))
    monkeypatch.chdir("/")
    assert list(chunk.items()) == [b"a"]


@pytest.mark.parametrize("content", [b"a\nX\n", b"a\nb", b"", b"aa\nb\n"])
def test_a_file_that_has_changed_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"a\nb\n")
    (chunk,), _ = cut(path)
    path.write_bytes(content)
    if content.startswith(b"aa"):
        chunk = FileChunk(chunk.path, 1, 3, 1, chunk.checksum)
    with pytest.raises(InputError, match=r"records\.jsonl: found other bytes from byte"):
        list(chunk.items())


def test_a_pipe_gives_its_lines_themselves(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    feeder = threading.Thread(target=path.write_bytes, args=(b"a\nb\n" * 40_000,))
    feeder.start()
    source = JsonLinesSource(path)
    found = list(source.places())
    feeder.join()
    assert all(isinstance(chunk, ItemChunk) for chunk in found)
    assert [chunk.first for chunk in found] == [1, 65_537]
    assert sum(len(chunk.items()) for chunk in found) == 80_000
    digits = hashlib.sha256(b"a\nb\n" * 40_000).hexdigest()
    assert source.digest == f"sha256:{digits}"
