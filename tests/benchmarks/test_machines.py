"""Simulated runs take the time of what is scarce, which is known without a simulation."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

SCRIPT = Path(__file__).with_name("machines.py")


def table(cores: int, gbit: float, storage: float, **costs: float) -> list[list[str]]:
    """The rows of the table of a tiny run, of lines of 1000 bytes and parts of 100."""
    given = {"cores": cores, "gbit": gbit, "storage": storage, "line": 1000, "part": 100, **costs}
    options = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    command = (sys.executable, SCRIPT, "--tiny", *options)
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=SCRIPT.parent)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line[:1] == "|"]
    return rows[2:]


@pytest.mark.parametrize(
    ("site", "costs", "wall", "seconds"),
    [
        # each of the workers scores its share of 40 chunks of 25 166 lines, which begin at once
        ((10, 1e9, 1e9), {"cut": 0, "join": 0, "score": 1000}, "workers", [101, 25, 25, 25]),
        # nothing else takes time, and one thread does it all
        ((10, 1e9, 1e9), {"cut": 70, "join": 30, "score": 0}, "coordinator", [101] * 4),
        # 10⁶ lines of 1000 bytes and their parts, by 0.1 · 10⁹ bits a second: the first chunk
        # takes two seconds, before any part comes back
        ((10, 0.1, 1e9), {"cut": 0, "join": 0, "score": 0}, "its network", [90] * 4),
        # every line twice
        ((10, 1e9, 0.1), {"cut": 0, "join": 0, "score": 0}, "storage", [161] * 4),
    ],
)
def test_a_run_takes_the_time_of_what_is_scarce(
    site: tuple[int, float, float], costs: dict[str, float], wall: str, seconds: list[int]
) -> None:
    rows = table(*site, **costs)
    assert [row[4] for row in rows] == [wall] * 4
    assert [float(row[1]) for row in rows] == pytest.approx(seconds, abs=1)
