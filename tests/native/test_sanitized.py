"""The address sanitizer finds nothing when the native front reads hostile lines."""

import pytest
from native.sanitized import replayed, sanitizer
from needs import needed, tool


@pytest.mark.slow
def test_the_sanitizer_finds_nothing_in_hostile_lines() -> None:
    tool("cargo")
    needed("address-sanitizer", sanitizer())
    done = replayed(2_000)
    assert (done.returncode, done.stderr) == (0, "")
    ways = [line.split(": ") for line in done.stdout.splitlines()]
    assert [name for name, _ in ways] == [
        "one block",
        "lines",
        "blocks of 4093",
        "blocks of 65521",
    ]
    for _, told in ways:
        lines, declined, columns = (int(part.split()[0]) for part in told.split(", "))
        assert lines > 1_900
        assert lines // 2 < declined < lines * 19 // 20
        assert columns > 100_000
