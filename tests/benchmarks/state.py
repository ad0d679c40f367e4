"""Closing an epoch of a state, beside a float loop over the same rows.

Run as ``python tests/benchmarks/state.py [RECORDS | --tiny]``. Every closing runs in a fresh
process that opens the store; medians of three epochs are printed, of which each has so many
records.
"""

import gc
import json
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from by_hand import BASELINES

from tallystick.numbers.nano import to_text
from tallystick_state import entries, event_log
from tallystick_state.authority import OPERATOR
from tallystick_state.event import StateEvent
from tallystick_state.ledger import Ledger

RULES = "skills@1.0.0"
TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works."""
VALIDATORS, MINERS, EPOCHS = (4, 8, 1) if TINY else (64, 256, 3)
FACTORS = {
    "consensus_fail": 0.95,
    "rerun_fail": 0.7,
    "digest_mismatch": 0.5,
    "validity_violation": 0.5,
    "probe_fail": 0.7,
    "collusion_flag": 0.6,
}
ADDED = {"consensus_pass": 0.02, "rerun_pass": 0.02}
EVENTS = [*FACTORS, *ADDED, "consensus_weak", "missed_deadline"]
TYPES = (*BASELINES,)

Seconds = dict[str, float]


def events(epoch: int) -> Iterator[StateEvent]:
    """Seeded events without end: of each task, one from every validator."""
    rng = random.Random(epoch)
    for task in count():
        hotkey, skill_type = f"hk-{task % MINERS}", TYPES[task // MINERS % len(TYPES)]
        for validator in range(VALIDATORS):
            yield StateEvent(
                validator=f"val-{validator}",
                hotkey=hotkey,
                skill_type=skill_type,
                task_id=f"task-{epoch}-{task}",
                round=epoch,
                epoch=epoch,
                events=tuple(sorted(rng.choices(EVENTS, k=rng.randint(1, 2)))),
                role="primary",
                quality=to_text(rng.randrange(10**9)),
                emission=to_text(rng.randrange(10**9)),
                record=f"sha256:{rng.getrandbits(256):064x}",
            )


def begun(where: str) -> Ledger:
    """A state with every miner."""
    ledger = Ledger.create(where, RULES)
    with writing(ledger) as open_event_log:
        for uid in range(MINERS):
            register = entries.Register(hotkey=f"hk-{uid}", uid=uid, types=[*TYPES])
            open_event_log.write(register, OPERATOR)
    return ledger


@contextmanager
def writing(ledger: Ledger) -> Iterator[event_log.EventLog]:
    """The event_log of one transaction."""
    with ledger.store.writing() as transaction:
        opened = event_log.EventLog(transaction, ledger.in_force)
        yield opened
        opened.finish()


def fed(where: str, epoch: int, number: int) -> None:
    """Record so many events, past the reading of files."""
    with Ledger.open(where) as ledger, writing(ledger) as open_event_log:
        remaining = islice(events(epoch), number)
        while batch := list(islice(remaining, 10_000)):
            open_event_log.record(batch)


def timed(function: Callable[[], object]) -> float:
    """Seconds."""
    gc.collect()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def closing(where: str) -> Seconds:
    """The closing of the open epoch."""
    with Ledger.open(where) as ledger:
        return {"closing": timed(ledger.close_epoch)}


def loading(where: str, epoch: int) -> Seconds:
    """One snapshot, from a store that is open."""
    with Ledger.open(where) as ledger:

        def load() -> None:
            with ledger.queries() as queries:
                assert queries.pinned(epoch)

        return {"snapshot": timed(load)}


def plain(where: str, epoch: int) -> Seconds:
    """The closing as a validator would write it by hand."""
    with Ledger.open(where) as ledger, ledger.store.reading() as transaction:
        return {"float loop": timed(lambda: by_hand(transaction.event_lines(epoch)))}


def by_hand(lines: Iterator[str]) -> dict[Any, float]:
    """New reputations and thresholds in floats, from scratch: no log, no chain, no check."""
    deltas, qualities = defaultdict(list), defaultdict(list)
    for line in lines:
        found = json.loads(line)
        if set(found["events"]) != {"missed_deadline"}:
            after = 0.5
            for event in found["events"]:
                after *= FACTORS.get(event, 1.0)
            after += sum(ADDED.get(event, 0.0) for event in found["events"])
            deltas[found["hotkey"], found["skill_type"]].append(after - 0.5)
        qualities[found["skill_type"]].append(float(found["quality"]))
    new: dict[Any, float] = {}
    for owner, of_owner in deltas.items():
        moved = 0.9 * 0.5 + 0.1 * sum(of_owner) / len(of_owner)
        new[owner] = max(0.05, min(1.0, moved))
    for skill_type, of_type in qualities.items():
        baseline = statistics.median(of_type)
        novel = statistics.median(sorted(of_type)[-5:])
        smoothed = 0.3 * novel + 0.7 * 1.5 * BASELINES[skill_type]
        new[skill_type, "novel"] = max(1.5 * baseline, smoothed)
        new[skill_type, "baseline"] = baseline
    return new


def afresh(function: Callable[..., Seconds], *arguments: object) -> Seconds:
    """What a function measures in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def closings(where: str, number: int) -> Seconds:
    """Medians over some epochs of a new store."""
    runs = []
    begun(where).close()
    for epoch in range(EPOCHS):
        fed(where, epoch, number)
        run = afresh(plain, where, epoch) | afresh(closing, where)
        runs.append(run | afresh(loading, where, epoch + 1))
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    """Print the tables."""
    number = 200 if TINY else int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    sizes = (number,) if TINY else (number // 8, number // 4, number // 2, number, 2 * number)
    print(f"{VALIDATORS} validators, {MINERS} miners, {len(TYPES)} types, median of {EPOCHS}\n")
    print(f"{'records':>9} {'closing, s':>10} {'s per 100 000':>14} {'× float loop':>13}")
    with tempfile.TemporaryDirectory() as name:
        folder, curve = Path(name), dict[int, Seconds]()
        for size in sizes:
            curve[size] = closings(str(folder / f"{size}.db"), size)
            taken, loop = curve[size]["closing"], curve[size]["float loop"]
            print(f"{size:9} {taken:10.3f} {taken / size * 1e5:14.3f} {taken / loop:13.2f}")
    print(f"\n{number} records")
    for name, taken in curve[number].items():
        speed = "" if name == "snapshot" else f"{number / taken:12.0f} records/s"
        print(f"  {name:26} {taken * 1000:9.1f} ms {speed}")


if __name__ == "__main__":
    main()
