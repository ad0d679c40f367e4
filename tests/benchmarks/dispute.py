"""A dispute beside comparing all rows: how long it takes to find one nano in so many records.

Run as ``python tests/benchmarks/dispute.py [RECORDS]``; by default a million. In each step in turn
one value is changed in the evidence of one side. Seconds of CPU, each measured once; locating is
repeated, and the least is told.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
# this folder has a module of the name of a package of the tests
sys.path.remove(str(Path(__file__).resolve().parent))

from audit.large import write_large
from audit.planted import at, planted
from audit.test_dispute_scale import PLANTED, place_of

from tallystick_state.audit.side import Side, opened_side
from tallystick_state.audit.step_rows import first_difference
from tallystick_state.step_roots import STEPS, RootedStep

REPEATS = 20


def seconds(work: Callable[[], object]) -> float:
    """The CPU of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def loaded(path: Path) -> Iterator[tuple[Side, float]]:
    """A side, and the CPU of reading it."""
    start = time.process_time()
    with opened_side(path) as side:
        yield side, time.process_time() - start


def compared(mine: Side, theirs: Side) -> list[tuple[RootedStep, int]]:
    """Where rows differ, found by comparing all of them."""
    found = list[tuple[RootedStep, int]]()
    for epoch in range(len(mine.leaves)):
        for step in STEPS:
            rows = mine.rows(epoch)[step], theirs.rows(epoch)[step]
            if rows[0] is not None and rows[1] is not None:
                pairs = zip_longest(rows[0].data, rows[1].data)
                found += [(step, place) for place, (a, b) in enumerate(pairs) if a != b]
    return found


def main(count: int) -> None:
    """Print a line for each step."""
    print(f"{count} records; CPU in seconds")
    print(f"{'step':<12} {'loading a side':>14} {'locating':>10} {'all rows':>10} {'tiles':>6}")
    with tempfile.TemporaryDirectory() as folder:
        source = write_large(Path(folder) / "a.jsonl", count)
        with opened_side(source) as side:
            places = {step: place_of(step, rows) for step, rows in side.rows(1).items() if rows}
        for step, place_in in places.items():
            change = at(place_in, PLANTED[step])
            other = planted(source, Path(folder) / "b.jsonl", 1, step, change)
            with loaded(source) as (mine, reading), loaded(other) as (theirs, _):
                locating = min(
                    seconds(lambda: first_difference(mine, theirs)) for _ in range(REPEATS)
                )
                place = first_difference(mine, theirs)
                assert place is not None
                rows = mine.rows(1)[place.step or "inputs"]
                assert rows is not None
                tiles = rows.tree.reads // (REPEATS + 1)
                every = seconds(lambda: compared(mine, theirs))
                assert compared(mine, theirs)[0] == (place.step, place.row)
            print(f"{step:<12} {reading:>14.2f} {locating:>10.6f} {every:>10.2f} {tiles:>6}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
