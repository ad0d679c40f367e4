"""The whole of ``tallystick score`` and ``facts`` by either front, beside a loop of floats.

Run as ``python tests/benchmarks/fronts.py [COUNT [TURNS]]`` on a quiet machine, with the native
front installed (`make native`). The loop is of ``json.loads`` and floats. Each way is a process of
its own, the ways take turns, and the least processor time and the least time by the clock are
printed. Bytecode is kept, as in an installation.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from score import SKILLS

from tallystick.plugins.front import front_of

RULES = "skills@1.2.0"
COMMAND = (sys.executable, "-m", "tallystick")
LOOP = Path(__file__).with_name("float_loop.py")


def ways(records: Path, output: Path) -> Iterator[tuple[str, Sequence[str | Path]]]:
    """Yield the commands by their names."""
    yield "json.loads and a float loop", (sys.executable, LOOP, records)
    fronts = {"Python": "python", "the native front": "native"}
    if front_of("auto") is None:
        del fronts["the native front"]
    for name, work in (("score", ("--rules", RULES)), ("facts", ())):
        for by, front in fronts.items():
            command = (*COMMAND, name, records, *work, "-o", output, "--front", front)
            yield f"{name}, by {by}", command


def timed(command: Sequence[str | Path]) -> tuple[float, float]:
    """The processor seconds and the seconds by the clock of a process."""
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode not in {0, 1}:
        sys.exit(done.stderr.decode())
    after = os.times()
    used = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return used, time.perf_counter() - begun


def least(records: Path, output: Path, turns: int) -> dict[str, tuple[float, float]]:
    """The least times of each way, which take turns."""
    found: dict[str, tuple[float, float]] = {}
    for _ in range(turns):
        for name, command in ways(records, output):
            times = timed(command)
            found[name] = tuple(map(min, found.get(name, times), times))  # type: ignore[assignment]
    return found


def main() -> None:
    """Print the table."""
    given = [*map(int, sys.argv[1:])]
    count, turns = (*given, *(200_000, 5)[len(given) :])
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        records, one = Path(folder, "records.jsonl"), Path(folder, "one.jsonl")
        making = (*COMMAND, "records", "generate", "--seed", "1", "--count", str(count))
        subprocess.run([*making, "--types", ",".join(SKILLS), "-o", records], check=True)
        with records.open("rb") as file:
            one.write_bytes(file.readline())
        output = Path(folder, "results.parquet")
        started, found = least(one, output, turns), least(records, output, turns)
    base, base_started = (times["json.loads and a float loop"] for times in (found, started))
    print(f"{'way':30} {'CPU s':>8} {'× loop':>8} {'after start':>12} {'s':>8} {'× loop':>8}")
    for name, (used, passed) in found.items():
        after = max(used - started[name][0], 0.001)
        print(
            f"{name:30} {used:8.2f} {base[0] / used:8.2f} "
            f"{(base[0] - base_started[0]) / after:12.2f} {passed:8.2f} {base[1] / passed:8.2f}"
        )


if __name__ == "__main__":
    main()
