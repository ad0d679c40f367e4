"""A lock of the installation that runs the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lock.tree import Tree, copied

import tallystick
from tallystick.cli.locked import FILE
from tallystick.lock.lock_file import Lock
from tallystick.lock.write import lock_of, write


@pytest.fixture(scope="session")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Lock:
    """The lock of two shipped rule sets."""
    scorers = map(tallystick.load, ("skills@1.1.0", "workflow@1.1.0"))
    return lock_of(scorers, tmp_path_factory.mktemp("lock"))


@pytest.fixture
def lock_file(lock: Lock, tmp_path: Path) -> Path:
    """The file of it, in the folder of the test."""
    write(lock, tmp_path / FILE)
    return tmp_path / FILE


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of the project with a lock."""
    return copied(tmp_path_factory.mktemp("tree"))


@pytest.fixture
def tree(original: Tree) -> Iterator[Tree]:
    """The copy, in which a test may change what is put back at its end."""
    yield original
    original.put_back()
