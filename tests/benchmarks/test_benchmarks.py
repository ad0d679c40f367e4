"""Every benchmark runs: on sizes that measure nothing, so that none rots."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
MAKEFILE = FOLDER.parents[1] / "Makefile"
TESTS = {Path(__file__).name, "test_machines.py"}
MODULES = {"by_hand.py", "float_loop.py", "floats.py", "paths.py", *TESTS}
"""Files that are no benchmarks: what several of them import, and tests."""
SMALL = {
    "consensus.py": ("--tiny",),
    "dispute.py": ("300",),
    "geometric_mean.py": ("--tiny",),
    "load.py": ("--rate", "5", "--seconds", "1", "--miners", "4", "--epochs", "2"),
    "machines.py": ("--tiny",),
    "population.py": ("--tiny",),
    "score.py": ("200",),
    "state.py": ("--tiny",),
    "yuma.py": ("--tiny",),
}
SLOW = {
    "history.py": ("--tiny", "--repeats", "1", "--part", "results", "--part", "backtest"),
    "rounds.py": ("200", "1"),
    "rules_in_force.py": ("--tiny",),
    "simulation.py": ("--tiny",),
    "startup.py": ("--tiny",),
}
"""Those that start many processes; of the history, the parts that import the most."""


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


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_on_a_small_size(name: str, tmp_path: Path) -> None:
    assert run(name, SMALL[name], tmp_path).count("\n") > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_benchmark_of_many_processes_runs_on_a_small_size(name: str, tmp_path: Path) -> None:
    assert run(name, SLOW[name], tmp_path).count("\n") > 2


def test_every_benchmark_is_run_here_and_by_make() -> None:
    benchmarks = {path.name for path in FOLDER.glob("*.py")} - MODULES
    assert benchmarks == SMALL.keys() | SLOW.keys()
    lines = MAKEFILE.read_text(encoding="utf-8").splitlines()
    started = {word.rpartition("/")[2] for line in lines for word in line.split() if ".py" in word}
    assert benchmarks <= started
