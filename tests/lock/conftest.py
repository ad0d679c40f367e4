"""A lock of the installation that runs the tests."""

from pathlib import Path

import pytest

import tallystick
from tallystick.lock.lock_file import FILE, Lock
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
