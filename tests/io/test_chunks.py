"""A file is cut into the same pieces by everyone, and the pieces are the file."""

import hashlib
import os
import pickle
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.io import chunks as module
from tallystick.io.chunks import Held, Piece, PieceReader
from tallystick.io.lines import MAX_LINE_BYTES, LineReader
from tallystick.scoring.sources import JsonLinesSource

CONTENT = st.lists(st.sampled_from([b"", b"a", b"bb" * 9, b"\r", b"c" * 70, b"\n"]), max_size=40)


class Lines:
    """Takes the lines of a batch as its results."""

    def score_lines(self, lines: list[bytes], first: int = 1) -> tuple[int, list[bytes]]:
        return first, lines

    def score_rows(self, rows: object, first: int = 1) -> tuple[int, list[bytes]]:
        raise NotImplementedError


def cut(path: Path, chunk: int = 1 << 17, first: int = 1) -> tuple[list[Piece], PieceReader]:
    reader = PieceReader(LineReader(path, chunk_bytes=chunk), first)
    return list(reader.pieces()), reader


def plainly(content: bytes, size: int, count: int) -> list[list[bytes]]:
    """The pieces as the rule says, one line after the other."""
    lines = content.split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    pieces: list[list[bytes]] = [[]]
    for line in ended:
        pieces[-1].append(line)
        if sum(map(len, pieces[-1])) >= size or len(pieces[-1]) >= count:
            pieces.append([])
    return [piece for piece in pieces if piece]


@settings(deadline=None, max_examples=300)
@given(
    CONTENT.map(b"\n".join).filter(bool),
    st.integers(1, 60),
    st.integers(1, 8),
    st.integers(1, 100),
)
def test_pieces_are_a_function_of_the_bytes_alone(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int, count: int, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "records.jsonl"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE_BYTES", size)
        patch.setattr(module, "PIECE_LINES", count)
        found, reader = cut(path, chunk)
        held = list(PieceReader(LineReader(path, chunk_bytes=chunk)).lines())
    wanted = plainly(content, size, count)
    offset, line = 0, 1
    for piece, lines in zip(found, wanted, strict=True):
        assert (piece.offset, piece.size) == (offset, len(b"".join(lines)))
        assert piece.first == line
        assert piece.lines() == [each.removesuffix(b"\n") for each in lines]
        offset, line = offset + piece.size, line + len(lines)
    assert reader.next == line
    assert held == [(piece.first, piece.lines()) for piece in found]
    assert reader.reader.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_real_size_is_cut_by_bytes_and_by_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"x" * 999 + b"\n")
    long = b"".join((b"x" * 999 + b"\n") for _ in range(14_000))
    path.write_bytes(long + b"\n" * 40_000)
    found, reader = cut(path)
    assert [piece.size for piece in found[:2]] == [6_292_000, 6_292_000]
    assert [len(piece.lines()) for piece in found] == [6292, 6292, 16_384, 16_384, 8648]
    assert reader.next == 54_001


def test_numbers_begin_where_they_are_told_to(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"a\nb")
    found, reader = cut(path, first=41)
    assert [piece.first for piece in found] == [41]
    assert reader.next == 43


def test_a_line_that_is_too_long_is_cut_in_its_piece(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"a\n" + b"x" * (5 * MAX_LINE_BYTES) + b"\nb\n")
    found, _ = cut(path)
    lines = [line for piece in found for line in piece.lines()]
    assert [len(line) for line in lines] == [1, MAX_LINE_BYTES + 1, 1]


def test_a_piece_can_be_sent(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"a\nb\n")
    (piece,), _ = cut(path)
    assert pickle.loads(pickle.dumps(piece)).results(Lines()) == (1, [b"a", b"b"])  # noqa: S301  # its own


def test_a_piece_knows_its_file_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "records.jsonl").write_bytes(b"a\n")
    monkeypatch.chdir(tmp_path)
    (piece,), _ = cut(Path("records.jsonl"))
    monkeypatch.chdir("/")
    assert piece.lines() == [b"a"]


@pytest.mark.parametrize("content", [b"a\nX\n", b"a\nb", b"", b"aa\nb\n"])
def test_a_file_that_has_changed_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"a\nb\n")
    (piece,), _ = cut(path)
    path.write_bytes(content)
    if content.startswith(b"aa"):
        piece = Piece(piece.path, 1, 3, 1, piece.checksum)
    with pytest.raises(InputError, match=r"records\.jsonl: found other bytes from byte"):
        piece.lines()


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Piece(tmp_path / "records.jsonl", 0, 3, 1, 0).lines()


def test_an_empty_file_has_no_pieces(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.touch()
    with pytest.raises(InputError, match="the file is empty"):
        cut(path)
    with pytest.raises(InputError, match="the file is empty"):
        list(PieceReader(LineReader(path)).lines())


def test_a_pipe_gives_its_lines_themselves(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    feeder = threading.Thread(target=path.write_bytes, args=(b"a\nb\n" * 10_000,))
    feeder.start()
    source = JsonLinesSource(path)
    found = list(source.pieces())
    feeder.join()
    assert all(isinstance(piece, Held) for piece in found)
    assert [piece.results(Lines())[0] for piece in found] == [1, 16_385]
    assert sum(len(piece.results(Lines())[1]) for piece in found) == 20_000
    digits = hashlib.sha256(b"a\nb\n" * 10_000).hexdigest()
    assert source.digest == f"sha256:{digits}"
