"""The start of commands: their processor time with one record, or one miner.

Run as ``python tests/benchmarks/startup.py [RUNS | --tiny]``, by default of 10 runs that take
turns; the least of each counts. It is beside the start of Python, and of Python that loads NumPy
and pyarrow. Bytecode is kept, as an installation does, in a folder of its own.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

RULES = "skills@1.2.0"
TINY = "--tiny" in sys.argv
RUNS = 1 if TINY else int(sys.argv[1]) if len(sys.argv) > 1 else 10
PASS, LIBRARIES = "python -c pass", "python, NumPy and pyarrow"


def cpu(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Seconds of CPU of a process; one that fails ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tallystick(*arguments: str) -> list[str]:
    """A command line of this Python."""
    return [sys.executable, "-m", "tallystick", *arguments]


def commands() -> dict[str, list[str]]:
    """Return the commands that are measured, by name."""
    score = ("score", "record.jsonl", "--rules", RULES, "-o")
    miner = ("miner", "register", "hk-1", "--uid", "1", "--types", "mcp_server")
    return {
        PASS: [sys.executable, "-c", "pass"],
        LIBRARIES: [sys.executable, "-c", "import numpy, pyarrow"],
        "tallystick --version": tallystick("--version"),
        "tallystick rules show": tallystick("rules", "show", RULES),
        "tallystick score, to JSONL": tallystick(*score, "results.jsonl"),
        "tallystick score, to Parquet": tallystick(*score, "results.parquet"),
        "tallystick miner register": tallystick(*miner, "--state", "subnet.db"),
        "tallystick state show": tallystick("state", "show", "hk-1", "--state", "subnet.db"),
    }


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        environment = dict(os.environ)
        if not TINY:
            environment["PYTHONPYCACHEPREFIX"] = str(Path(place) / "bytecode")
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
        records = ("records", "generate", "--seed", "1", "--count", "1", "-o", "record.jsonl")
        state = ("state", "init", "--rules", RULES, "--state", "subnet.db")
        for arguments in (records, state):
            cpu(tallystick(*arguments), environment)
        # the first run of each writes the bytecode
        turns = [
            {name: cpu(command, environment) for name, command in commands().items()}
            for _ in range(RUNS if TINY else 1 + RUNS)
        ]
        turns = turns[-RUNS:]
        least = {name: min(turn[name] for turn in turns) for name in turns[0]}
        print(f"{'CPU seconds':<32} {'least':>7} {'× python':>9} {'× libraries':>12}")
        for name, seconds in least.items():
            ratios = seconds / least[PASS], seconds / least[LIBRARIES]
            print(f"{name:<32} {seconds:>7.3f} {ratios[0]:>9.1f} {ratios[1]:>12.2f}")
        os.chdir("/")


if __name__ == "__main__":
    main()
