"""Every benchmark runs: on sizes that measure nothing, so that none rots."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

FOLDER = Path(__file__).parent
SHARED = {"by_hand.py", "floats.py", "paths.py"}
"""Modules that several benchmarks import."""
SMALL = {
    "history.py": ("--tiny", "--repeats", "1", "--part", "facts", "--part", "backtest"),
    "rounds.py": ("200", "1"),
    "score.py": ("200",),
}
"""How one is made small that has no ``--tiny``, or takes long with it."""
FILES = {path.name for path in FOLDER.glob("*.py") if not path.name.startswith("test_")}


def run(name: str, arguments: tuple[str, ...], folder: Path) -> str:
    """Run a benchmark and return its output."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(FILES - SHARED))
def test_a_benchmark_runs_on_a_small_size(name: str, tmp_path: Path) -> None:
    assert run(name, SMALL.get(name, ("--tiny",)), tmp_path).count("\n") > 2
