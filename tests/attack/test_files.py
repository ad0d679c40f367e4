"""No file of a stranger, and no store that was edited, ends in anything but an error of the engine.

The laws of each kind are in `file_attack`. A failure names the kind and the seed of its file.
"""

from pathlib import Path

import pytest
from attack.file_attack import KINDS, Files
from attack.scale import CASES, SEED
from examples import fast_rows

COSTLY = "table", "compressed", "events", "store"
"""What takes longer to read than all else."""


@pytest.mark.parametrize(
    "kind", fast_rows([kind for kind in KINDS if kind not in COSTLY], 0, 2, 3, 7, 8)
)
def test_some_hostile_files_are_read_or_refused(tmp_path: Path, kind: str) -> None:
    files = Files(tmp_path)
    for number in range(5):
        files.attack(kind, f"{SEED} {number}")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_files_are_read_or_refused(tmp_path: Path, kind: str) -> None:
    files = Files(tmp_path)
    for number in range(200 + CASES // 1000):
        files.attack(kind, f"more {SEED} {number}")
    assert len(files.found) > 1, "all of one outcome: the mutator has become tame"
