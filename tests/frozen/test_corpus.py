"""What fixed inputs come to is what it was before the engine was restructured."""

from pathlib import Path

import pytest
from frozen.generate import EXPECTED, differences, generate


def report(found: dict[str, str]) -> str:
    return "".join(f"\n=== {name}\n{lines}" for name, lines in found.items())


@pytest.mark.slow
def test_the_corpus_is_as_it_was(tmp_path: Path) -> None:
    generate(EXPECTED.parents[2], tmp_path)
    found = differences(EXPECTED, tmp_path)
    words = {name: lines for name, lines in found.items() if name.startswith("words/")}
    machine = {name: lines for name, lines in found.items() if name not in words}
    assert not machine, f"what programs read has changed:{report(machine)}\n{sorted(words)}"
    assert not words, (
        f"what people read has changed; if it is meant, take it by name:{report(words)}"
    )
