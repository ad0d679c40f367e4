"""What it costs to adopt, lock, audit and check: each beside the same work without it.

Run as ``python tests/benchmarks/rules_in_force.py [RECORDS | --tiny]``, by default of 100 000
records. What starts a process is its CPU time, its start included; what does not is measured in
this one. Short commands are run in turn several times, and the least counts; what takes seconds is
run once.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
# the folder itself too, since another script has the name of the package
sys.path.append(str(Path(__file__).resolve().parents[1] / "state"))

from subnet import TYPES
from trust.council import signer

from tallystick_state.checkpoints import checkpoint
from tallystick_state.ledger import Ledger

OLD, NEW = "skills@1.0.0", "skills@1.1.0"
TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works."""
MINERS, EPOCHS, AT = (4, 3, (1, 2)) if TINY else (256, 60, (20, 40))
RUNS = 1 if TINY else 5

Pair = tuple[float, float]


def cpu(*arguments: str | Path) -> float:
    """Seconds of CPU of a command; 1 is the exit status of one that rejects records."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "tallystick", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(first: Callable[[], float], second: Callable[[], float], runs: int = RUNS) -> Pair:
    """The least of alternating runs of both."""
    pairs = [(first(), second()) for _ in range(runs)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def timed(work: Callable[[], object]) -> float:
    """Seconds of CPU of this process."""
    before = time.process_time()
    work()
    return time.process_time() - before


def of_locks(records: Path) -> Iterator[tuple[str, Pair]]:
    """The check of a lock, and a command that is held to one."""
    cpu("lock", "--rules", NEW, "-o", "tallystick.lock")
    check = ("lock", "--check", "tallystick.lock")
    yield "tallystick --version, lock --check", least(lambda: cpu("--version"), lambda: cpu(*check))
    few = records.with_name("few.jsonl")
    few.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:200]))
    score = ("score", few, "--rules", NEW, "-o", "few.out.jsonl")
    yield "score of 200, --locked", least(lambda: cpu(*score), lambda: cpu(*score, "--locked"))


def of_audits(records: Path) -> Iterator[tuple[str, Pair]]:
    """Audits of what was scored, beside scoring it to JSONL."""
    results = {name: f"results.{name}" for name in ("jsonl", "csv", "parquet")}
    scored = {name: cpu("score", records, "--rules", NEW, "-o", results[name]) for name in results}
    for name, path in results.items():
        audit = cpu("audit", "records", records, "--rules", NEW, "--results", path)
        yield f"score to JSONL, audit of {name}", (scored["jsonl"], audit)


def ledger_at(where: str, adopted: tuple[int, ...]) -> Ledger:
    """A state of miners without records, that may have adopted other rules."""
    ledger = Ledger.create(where, OLD)
    ledger.sync_miners(
        {"uid": uid, "hotkey": f"hk-{uid}", "types": list(TYPES)} for uid in range(MINERS)
    )
    for epoch, rules in zip(adopted, (NEW, "skills@1.2.0"), strict=False):
        ledger.adopt(rules, epoch)
    return ledger


def of_adoptions(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Closing the epoch before other rules hold, and opening a state that adopted some."""
    plain, adopting = (ledger_at(str(folder / name), at) for name, at in (("a", ()), ("b", (1, 2))))
    with plain, adopting:
        closes = (lambda each=each: timed(each.close_epoch) for each in (plain, adopting))
        yield "epoch close, one that adopts", least(*closes, runs=2)
    for name, at in (("c", ()), ("d", AT)):
        with ledger_at(str(folder / name), at) as ledger:
            for _ in range(EPOCHS):
                ledger.close_epoch()
    info = ("state", "info", "--state")
    pair = least(lambda: cpu(*info, folder / "c"), lambda: cpu(*info, folder / "d"))
    yield f"state info of {EPOCHS} epochs, with two adoptions", pair
    with Ledger.open(str(folder / "d")) as ledger:
        first, again = (timed(lambda: checkpoint(ledger)) for _ in range(2))
        yield f"checkpoint of {EPOCHS} epochs, again from its cache", (first, again)
    key = signer("alice")
    message = b"tallystick" * 60
    signature = key.sign(message)
    signing, verifying = (
        lambda: timed(lambda: key.sign(message)),
        lambda: timed(lambda: key.public.verifies(message, signature)),
    )
    yield "an Ed25519 signature, its verification", least(signing, verifying)


def main() -> None:
    """Print the table."""
    count = 100 if TINY else int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        folder = Path(place)
        records = folder / "records.jsonl"
        cpu("records", "generate", "--seed", "1", "--count", str(count), "-o", records)
        print(f"{'CPU seconds':<58} {'first':>9} {'second':>9} {'ratio':>7}")
        for rows in (of_locks(records), of_adoptions(folder), of_audits(records)):
            for name, (first, second) in rows:
                print(f"{name:<58} {first:>9.5f} {second:>9.5f} {second / first:>7.2f}", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
