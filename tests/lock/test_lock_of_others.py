"""A lock that somebody else can write is none, unless it is named."""

from pathlib import Path

import pytest
from cli.command import run
from cli.others import WAYS, Way

from tallystick.lock.lock_file import Lock
from tallystick.lock.write import write


@pytest.fixture
def inner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    folder = tmp_path / "parent" / "inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_a_lock_that_another_can_write_holds_nobody(inner: Path, lock: Lock, way: Way) -> None:
    write(lock, inner / "tallystick.lock")
    assert run("lock", "--check").status == 0
    reason = way(inner)
    found = run("lock", "--check")
    assert found.status == 2
    assert "error: found no tallystick.lock of your own in the working folder" in found.err
    assert f"warning: {inner / 'tallystick.lock'}: ignored, {reason}" in found.err
    # a lock that is named is the one that is meant
    assert run("lock", "--check", inner / "tallystick.lock").status == 0
