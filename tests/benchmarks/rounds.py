"""Closing a round: ``tallystick round close``, from records to the commit.

Run as ``python tests/benchmarks/rounds.py [COUNT [TURNS]]`` on a quiet machine. Each closing is a
process of its own with a store of its own, and the least processor time is printed. What a round of
one record takes is left out of the time of a record.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tallystick_state.ledger import Ledger

RULES = ("skills@1.2.0", "workflow@1.2.0", "reward@1.0.0")
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


def least(begin: Path, records: Path, turns: int) -> float:
    """The least seconds of several closings, each of a store of its own."""
    found = []
    for _ in range(turns):
        store = begin.with_name("store.db")
        shutil.copyfile(begin, store)
        found.append(run("round", "close", records, "--state", store, "--json"))
    return min(found)


def main() -> None:
    """Print the table."""
    given = [*map(int, sys.argv[1:])]
    count, turns = (*given, *(20_000, 3)[len(given) :])
    with tempfile.TemporaryDirectory() as name:
        begin, records = begun(Path(name), count)
        one = records.with_name("one.jsonl")
        with records.open("rb") as file:
            one.write_bytes(file.readline())
        started, used = least(begin, one, turns), least(begin, records, turns)
    print(f"{count} records of one round under {' and '.join(RULES)}")
    print(f"{'CPU s':>8} {'of one record':>14} {'µs a record':>12}")
    print(f"{used:8.2f} {started:14.2f} {(used - started) / count * 1e6:12.1f}")


if __name__ == "__main__":
    main()
