"""Processes that race for a state, and what it then is.

The processes are forked from a server that has imported everything, so that one costs little.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from attrs import frozen
from state.subnet import event, record, written

import tallystick
from tallystick.cli.main import main
from tallystick_state.chain import check
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.rules import state_rules_of
from tallystick_state.rules_in_force import RulesInForce, begun
from tallystick_state.store import connection
from tallystick_state.store.store import Store
from tallystick_state.store.tables import SNAPSHOTS

RULES, ADOPTED = "skills@1.0.0", "skills@1.2.0"
MINERS = 5
EPOCHS = 4
PLAN = (
    *(("record", 0), ("close", 0)),
    *(("adopt", 3), ("withdraw", 3), ("record", 1), ("adopt", 2), ("close", 1)),
    *(("record", 2), ("close", 2), ("record", 3), ("close", 3)),
)
"""The steps, each with its epoch; the last two epochs have other rules than the first."""
STEPS = len(PLAN)

_CONTEXT = get_context("forkserver")
# the server does not know the folder of the tests, only what is installed
_CONTEXT.set_forkserver_preload(
    [
        *("jsonschema", "psycopg"),
        *(f"tallystick.cli.{name}" for name in ("epoch", "events", "main", "state")),
        *("tallystick_state.transfer", "tallystick_state.replay"),
        *("tallystick_skills.plugin", "tallystick_workflow.plugin"),
    ]
)

_PATIENCE = 600
"""Seconds in which others come to the same barrier, and a server sees that its clients are gone."""


@frozen
class Standing:
    """Everything that tells one moment of a state from another."""

    epoch: int
    entries: int
    hash: str
    digest: str
    snapshots: tuple[str, ...]


def standing(where: str) -> Standing:
    """Where a state stands, once its chain is found to be whole."""
    with Store.open(where).reading() as transaction:
        head = transaction.head()
        assert head is not None
        assert sum(1 for _ in check(transaction.entries(), count=head.entries, last=head.hash))
        snapshots = tuple(digest for _, digest, _ in transaction.rows(SNAPSHOTS))
        assert len(snapshots) == head.epoch + 1 == head.state.epoch + 1
        digest = StateQueries(transaction, _in_force()).digest()
        return Standing(head.epoch, head.entries, head.hash, digest, snapshots)


@cache
def _in_force() -> RulesInForce:
    rules = state_rules_of(tallystick.load(RULES))
    return begun([rules], rules.registry)


def files(folder: Path, lines: int = 400) -> list[Path]:
    """The files of all epochs: records of two validators, and events about those before."""
    return [written(folder / f"{epoch}.jsonl", _lines(epoch, lines)) for epoch in range(EPOCHS)]


def _lines(epoch: int, lines: int) -> list[dict[str, Any]]:
    records = [
        record(
            f"t{epoch}-{task // 2}",
            f"hk-{task // 2 % MINERS}",
            validator=f"val-{task % 2}",
            round=epoch,
            epoch=epoch,
            latency_ms=30_000 + 700 * task,
            events=("rerun_fail",) if task % 7 == epoch else (),
        )
        for task in range(lines)
    ]
    late = [
        event(f"e{epoch}-{n}", "collusion_flag", f"t{epoch - 1}-{n}", f"hk-{n}", round=epoch - 1)
        for n in range(MINERS)
        if epoch > 0
    ]
    return records + late


def begin(where: str) -> None:
    """Begin a state with every miner."""
    with Ledger.create(where, RULES) as ledger:
        for uid in range(MINERS):
            ledger.register(f"hk-{uid}", uid, ["executable_python"])


def take(ledger: Ledger, sources: Sequence[Path], step: int) -> None:
    """Take one step; a step that is taken already changes nothing."""
    what, epoch = PLAN[step]
    if what == "record":
        ledger.import_events(sources[epoch])
    elif what == "close":
        ledger.close_epoch(epoch)
    elif ledger.in_force.schedules["skills"].sequence == _changes_before(step):
        if what == "adopt":
            ledger.adopt(ADOPTED, epoch)
        else:
            ledger.withdraw()


def _changes_before(step: int) -> int:
    """How many adoptions and withdrawals there are before a step."""
    return sum(what in {"adopt", "withdraw"} for what, _ in PLAN[:step])


def undisturbed(where: str, sources: Sequence[Path]) -> list[Standing]:
    """Where a state stands before the first step and after each."""
    begin(where)
    found = [standing(where)]
    with Ledger.open(where) as ledger:
        for step in range(STEPS):
            take(ledger, sources, step)
            found.append(standing(where))
    return found


def started(target: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """A process that is running."""
    process = _CONTEXT.Process(target=_patiently, args=(target, *arguments), daemon=True)
    process.start()
    return process


def _patiently(target: Callable[..., None], *arguments: object) -> None:
    """Run a target that waits for the lock of a store however busy the machine is."""
    connection.TIMEOUT = float(_PATIENCE)
    target(*arguments)


def killed_at_each_call(source: Path, outputs: Sequence[Path]) -> int:
    """How often scoring a file can be killed before a call by which names of files change.

    Args:
        source: what is scored.
        outputs: where to, for each kill, and the last one for who is not killed.
    """
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = started(_score_and_die, source, outputs, theirs)
    theirs.close()
    kills: int = ours.recv()
    process.join()
    return kills


def _score_and_die(source: Path, outputs: Sequence[Path], pipe: Connection) -> None:
    scorer, kills = tallystick.load(RULES), 0
    for output in outputs:
        # no thread of this process holds anything that the child would wait for
        child = os.fork()
        if not child:
            try:
                _kill_before(kills)
                scorer.score_file(source, output)
            finally:
                os._exit(0)
        if not os.WTERMSIG(os.waitpid(child, 0)[1]):
            break
        kills += 1
    pipe.send(kills)


def _kill_before(number: int) -> None:
    """Kill this process before one of its calls by which names of files change."""
    numbers = count()

    def killing(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: Any, **options: Any) -> object:  # noqa: ANN401  # of any call
            if next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return wrapped

    for name in ("replace", "unlink", "fsync"):
        setattr(os, name, killing(getattr(os, name)))


@frozen
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


def commands(folder: Path, *several: Sequence[str]) -> list[Ended]:
    """Commands that start at the same instant."""
    barrier = _CONTEXT.Barrier(len(several))
    outputs = [folder / f"command-{number}" for number in range(len(several))]
    for output in outputs:
        output.mkdir(parents=True, exist_ok=True)
    processes = [
        started(_command, list(arguments), output, barrier)
        for arguments, output in zip(several, outputs, strict=True)
    ]
    for process in processes:
        process.join()
    return [
        Ended(process.exitcode, (output / "out").read_text(), (output / "err").read_text())
        for process, output in zip(processes, outputs, strict=True)
        if process.exitcode is not None
    ]


def _command(arguments: list[str], output: Path, barrier: Barrier) -> None:
    for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
        with (output / name).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    sys.argv = ["tallystick", *arguments]
    # where another one has died, nobody waits for it for ever
    barrier.wait(_PATIENCE)
    main()
