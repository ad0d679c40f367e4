"""Closing a round: ``tallystick round close`` by either front, from records to the commit.

Run as ``python tests/benchmarks/rounds.py [COUNT [TURNS]]`` on a quiet machine, with the native
front installed (`make native`). Each closing is a process of its own with a store of its own, the
ways take turns, and the least processor time is printed. What a round of one record takes is left
out of the time of a record. All stores come to the same state.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tallystick.plugins.front import front_of
from tallystick_state.ledger import Ledger

RULES = ("skills@1.2.0", "workflow@1.2.0")
COMMAND = (sys.executable, "-m", "tallystick")


def run(*words: str | Path) -> float:
    """The processor seconds of a command."""
    before = os.times()
    done = subprocess.run([*COMMAND, *words], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


def begun(folder: Path, count: int) -> tuple[Path, Path]:
    """A store with every miner, and the records of one round."""
    records, miners, store = (folder / name for name in ("records.jsonl", "miners.csv", "new.db"))
    made = ("--seed", "1", "--count", str(count), "--epochs", "1", "--rounds", "1")
    run("records", "generate", *made, "-o", records, "--miner-list", miners)
    with Ledger.create(store, RULES) as ledger:
        ledger.sync_miners(miners)
    return store, records


def least(
    begin: Path, records: Path, fronts: Sequence[str], turns: int
) -> tuple[dict[str, float], set[str]]:
    """The least seconds by front, which take turns, and the digests of the states."""
    found, digests = dict[str, float](), set[str]()
    for _ in range(turns):
        for front in fronts:
            store = begin.with_name("store.db")
            shutil.copyfile(begin, store)
            closing = ("round", "close", records, "--state", store, "--json")
            used = run(*closing, "--front", front)
            found[front] = min(found.get(front, used), used)
            with Ledger.open(store) as ledger, ledger.queries() as queries:
                digests.add(queries.digest())
    return found, digests


def main() -> None:
    """Print the table."""
    given = [*map(int, sys.argv[1:])]
    count, turns = (*given, *(100_000, 3)[len(given) :])
    fronts = ("python", "native") if front_of("auto") is not None else ("python",)
    with tempfile.TemporaryDirectory() as name:
        begin, records = begun(Path(name), count)
        one = records.with_name("one.jsonl")
        with records.open("rb") as file:
            one.write_bytes(file.readline())
        started, _ = least(begin, one, fronts, turns)
        found, digests = least(begin, records, fronts, turns)
    if len(digests) > 1:
        sys.exit("the fronts come to different states")
    print(f"{count} records of one round under {' and '.join(RULES)}")
    print(f"{'front':10} {'CPU s':>8} {'of one record':>14} {'µs a record':>12}")
    for front, used in found.items():
        each = (used - started[front]) / count * 1e6
        print(f"{front:10} {used:8.2f} {started[front]:14.2f} {each:12.1f}")


if __name__ == "__main__":
    main()
