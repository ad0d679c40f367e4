"""Blocks of lines: the same lines wherever they are cut, and never much of a line too long."""

from hypothesis import given
from hypothesis import strategies as st

from tallystick.io.lines import LineBlock, Shortener

LIMIT = 5
BLOCKS = st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\x00", b"\n")), max_size=9)


def plain(data: bytes) -> list[bytes]:
    """The lines of a text, too long ones cut."""
    lines = data.split(b"\n")
    return [line[: LIMIT + 1] for line in (lines if lines[-1] else lines[:-1])]


@given(BLOCKS)
def test_lines_are_those_of_the_joined_blocks(blocks: list[bytes]) -> None:
    kept = Shortener(LIMIT)
    for block in blocks:
        kept.add(block)
    lines = LineBlock(kept.text(), LIMIT)
    expected = plain(b"".join(blocks))
    assert [*lines] == expected
    assert len(lines) == len(expected)
    assert lines == expected
    assert lines == LineBlock(b"\n".join([*expected, b""]), LIMIT)
    assert lines != [*expected, b"more"]
    assert [lines[index] for index in range(len(lines))] == lines[:] == expected


@given(st.lists(st.binary(min_size=1, max_size=20).filter(lambda data: b"\n" not in data)))
def test_of_a_line_without_an_end_little_is_held(blocks: list[bytes]) -> None:
    kept = Shortener(LIMIT)
    for block in blocks:
        kept.add(block)
    assert len(kept.text()) <= LIMIT + 20
    kept.add(b"abc\n")
    assert kept.text() == b"abc\n"


def test_no_bytes_are_no_lines() -> None:
    assert [*LineBlock(b"")] == []
    assert not LineBlock(b"")
    assert [*LineBlock(b"\n")] == [b""]
