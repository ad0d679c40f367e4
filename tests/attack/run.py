"""The whole attack: hostile lines and hostile files, and what came of it.

Run as ``make attack``, or ``python tests/attack/run.py``; `scale` says how much that is. Every part
has a process of its own, so that one that dies is a hole, too. The exit status is 1 if there was a
hole, or a process needed more memory than it may. A hole names the seed by which it comes again.
"""

import os
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from attrs import field, frozen

sys.path.append(str(Path(__file__).resolve().parents[1]))
os.environ["TALLYSTICK_PLUGINS"] = "consensus,skills,workflow"
os.environ.setdefault("TALLYSTICK_ATTACK_CASES", "1000000")

from attack.file_attack import KINDS, Files  # after the path of the tests
from attack.hostile_lines import TYPES, mixed
from attack.line_attack import Target
from attack.scale import CASES, FILE, SEED

MOST_MEMORY = 300
"""How many MB a process may need."""
_CONTEXT = get_context("spawn")
_LINES, _FILES = 20 * FILE, 100


@frozen
class Report:
    """What came of a part of the attack.

    Attributes:
        kind: of what, such as lines or the kind of a file.
        cases: how many.
        outcomes: how often each code, or each kind of end, was met.
        holes: what should not have happened.
        cpu: seconds of the processor that the engine and the laws took.
        size: bytes that were attacked with.
        memory: the most that its process needed, in MB.
    """

    kind: str
    cases: int
    outcomes: Counter[str] = field(factory=Counter)
    holes: list[str] = field(factory=list)
    cpu: float = 0.0
    size: int = 0
    memory: int = 0


Attack = Callable[[str, int], Report]


def lines(rules: str, part: int) -> Report:
    """Attack with some thousand lines."""
    report, cpu, size = Report(f"lines for {rules}", _LINES), 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        target = Target.of(Path(folder), rules)
        for number in range(_LINES // FILE):
            seed = f"{rules} {SEED} {part} {number}"
            made, begun = mixed(seed, FILE, TYPES[rules]), time.process_time()
            _tried(report, seed, lambda made=made: target.attack(made))
            cpu, size = cpu + time.process_time() - begun, size + len(made.data)
        _tried(report, f"verify {rules} {part}", target.verify)
    return _measured(report, target.found, cpu, size)


def files(kind: str, part: int) -> Report:
    """Attack with some files of a kind."""
    report, begun = Report(kind, _FILES), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        attacks = Files(Path(folder))
        for number in range(_FILES):
            seed = f"{SEED} {part} {number}"
            _tried(report, f"{kind} {seed}", lambda seed=seed: attacks.attack(kind, seed))
    found = Counter({outcome: many for (_, outcome), many in attacks.found.items()})
    return _measured(report, found, time.process_time() - begun, 0)


def _tried(report: Report, seed: str, attack: Callable[[], None]) -> None:
    try:
        attack()
    except Exception:  # noqa: BLE001  # whatever it is, it is a hole
        report.holes.append(f"{report.kind}, seed {seed!r}:\n{traceback.format_exc(limit=-6)}")


def _measured(report: Report, outcomes: Counter[str], cpu: float, size: int) -> Report:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Report(report.kind, report.cases, outcomes, report.holes, cpu, size, memory)


def apart(call: Attack, kind: str, part: int) -> Report:
    """The report of a part of the attack, from a process of its own."""
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_send, args=(call, kind, part, theirs))
    process.start()
    theirs.close()
    try:
        found: Report = ours.recv()
    except EOFError:
        process.join()
        died = f"{call.__name__} {kind} {part}: the process ended with {process.exitcode}"
        return Report(kind, 0, holes=[died])
    process.join()
    return found


def _send(call: Attack, kind: str, part: int, pipe: Connection) -> None:
    pipe.send(call(kind, part))


def parts() -> Iterator[tuple[Attack, str, int]]:
    """Every part of the attack: what is called, and with what."""
    for part in range(max(1, CASES // _LINES // len(TYPES))):
        yield from ((lines, rules, part) for rules in TYPES)
    for part in range(max(1, CASES // 100 // _FILES // len(KINDS))):
        yield from ((files, kind, part) for kind in KINDS)


def main() -> int:
    """The exit status: whether there was a hole."""
    begun, found = time.monotonic(), list[Report]()
    print(f"seed {SEED}, {CASES} lines")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(apart, *part) for part in parts()]:
            found.append(done.result())
            for hole in found[-1].holes:
                print(f"HOLE: {hole}", flush=True)
    return _summed(found, time.monotonic() - begun)


def _summed(found: list[Report], seconds: float) -> int:
    """Print the summary; gives the exit status."""
    for kind in dict.fromkeys(each.kind for each in found):
        those = [each for each in found if each.kind == kind]
        outcomes: Counter[str] = sum((each.outcomes for each in those), Counter())
        size, cpu = sum(each.size for each in those), sum(each.cpu for each in those)
        speed = f", {1e9 * cpu / size:.0f} ns of CPU a byte over all paths" if size else ""
        print(f"{kind}: {sum(each.cases for each in those)} cases{speed}")
        print("  " + ", ".join(f"{name} {many}" for name, many in outcomes.most_common()))
    memory, holes = max(each.memory for each in found), sum(len(each.holes) for each in found)
    print(f"{holes} holes, {memory} MB of memory at most in a process, {seconds:.0f} s")
    return int(holes > 0 or memory > MOST_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
