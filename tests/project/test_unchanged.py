"""What the check of the checkout after a run of the tests sees."""

import compileall
from pathlib import Path

import pytest
from project.unchanged import SOURCES, broken_bytecode, changed, digests


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("NUMBER = [n for n in range(7)]\n", encoding="utf-8")
    assert compileall.compile_dir(tmp_path, quiet=1)
    return tmp_path


def test_files_that_came_went_or_changed_are_seen(sources: Path) -> None:
    before = digests(sources)
    assert changed(before, digests(sources)) == []
    (sources / "a.py").write_text("NUMBER = 8\n", encoding="utf-8")
    (sources / "b.py").unlink()
    (sources / "c.json").touch()
    assert [path.name for path in changed(before, digests(sources))] == ["a.py", "b.py", "c.json"]


@pytest.mark.parametrize("size", [0, 10, 16, 60])
def test_bytecode_that_was_cut_off_is_seen(sources: Path, size: int) -> None:
    assert broken_bytecode(sources) == []
    path = next((sources / "__pycache__").glob("b.*"))
    path.write_bytes(path.read_bytes()[:size])
    assert broken_bytecode(sources) == [path]


def test_the_bytecode_of_the_checkout_is_whole() -> None:
    assert broken_bytecode(*SOURCES) == []
