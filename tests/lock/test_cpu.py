"""A check costs little more than a start, so that it can stand before every command."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from test_layers import HEAVY

RUNS = 9
MOST = 2.5
"""So many times the CPU of `tallystick --version` a check may take."""
PROVING = ("tallystick.scoring.binding", "tallystick.rules.loading", "tallystick_skills")


def cpu(*arguments: str) -> float:
    """Seconds of CPU of a command, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "tallystick", *arguments], check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_a_check_takes_little_more_than_the_version(lock_file: Path) -> None:
    """By CPU time of alternating runs, the least of each: others on the machine do not count."""
    pairs = [(cpu("--version"), cpu("lock", "--check", str(lock_file))) for _ in range(RUNS)]
    version, check = (min(each) for each in zip(*pairs, strict=True))
    assert check <= MOST * version


def test_a_check_loads_nothing_heavy_and_no_plugin(lock_file: Path) -> None:
    program = (
        "import sys; from tallystick.cli.main import cli\n"
        f"cli(['lock', '--check', {str(lock_file)!r}], standalone_mode=False)\n"
        f"print(*[name for name in {(*HEAVY, *PROVING)!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == ""
    assert "everything is as it is locked" in done.stdout
