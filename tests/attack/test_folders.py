"""No settings file of another user counts, in whatever folder it lies, and each is told."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.folder_attack import attack
from attack.scale import CASES, SEED


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that every user can reach and nobody else can write to."""
    path = Path(tempfile.mkdtemp()).resolve()
    path.chmod(0o755)
    yield path
    for folder, _, _ in os.walk(path):
        # who is not root empties no folder without the right to write
        Path(folder).chmod(0o755)
    shutil.rmtree(path)


@pytest.mark.nightly
def test_settings_of_others_are_ignored_and_named(base: Path) -> None:
    outcomes = attack(base, CASES // 25, SEED)
    assert all(outcomes.values()), f"the trees have become tame: {outcomes}"


@pytest.mark.nightly
def test_settings_of_others_are_ignored_in_ten_thousand_trees(base: Path) -> None:
    assert all(attack(base, CASES, SEED + 1).values())
