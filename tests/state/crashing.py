"""Processes that change a state and are killed, limited or raced, and what a state then is.

The processes are forked from a server that has imported everything, so that one costs little.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, Literal

import psycopg
from attrs import frozen
from state.subnet import event, record, written

import tallystick
from tallystick.cli.main import main
from tallystick_state.chain import check
from tallystick_state.event_log import EventLog
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.store.connection import Connection as StoreConnection
from tallystick_state.store.connection import Place
from tallystick_state.store.store import Store
from tallystick_state.transfer import import_state

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
        *("alembic.command", "jsonschema", "psycopg", "sqlalchemy"),
        *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"),
        *(f"tallystick.cli.{name}" for name in ("epoch", "events", "main", "state")),
        *("tallystick_state.transfer", "tallystick_state.replay"),
        *("tallystick_skills.plugin", "tallystick_workflow.plugin"),
    ]
)

_PATIENCE = 600
"""Seconds in which others come to the same barrier, and a server sees that its clients are gone."""

Sign = tuple[int, int]
"""How far a process is: the number of its step, and of what that step has reached.

0 is its start; a transaction that begins, each statement that writes, one that is about to be
committed, and one that is committed, are the next.
"""
Moment = tuple[int, int, str]
"""What a reader sees of a state: the open epoch, the number of entries, and the digest."""


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
        snapshots = tuple(digest for _, digest, _ in transaction.snapshots())
        assert len(snapshots) == head.epoch + 1 == head.state.epoch + 1
        digest = StateQueries(transaction, _rules()).digest()
        return Standing(head.epoch, head.entries, head.hash, digest, snapshots)


@cache
def _rules() -> StateRules:
    return state_rules_of(tallystick.load(RULES))


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
    elif ledger.in_force.sequences.get("skills", 0) == _changes_before(step):
        if what == "adopt":
            ledger.adopt(ADOPTED, epoch)
        else:
            ledger.withdraw()


def close_round(where: str, records: Sequence[object]) -> None:
    """Close the open round with records; the bad ones are rejected."""
    with Ledger.open(where) as ledger:
        ledger.close_round(records, bad="reject")


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
    for opening in (Store.open.__func__, Store.create.__func__.__wrapped__):
        opening.__kwdefaults__["timeout"] = float(_PATIENCE)
    target(*arguments)


def signs_of(target: Callable[..., None], *arguments: object) -> list[Sign]:
    """The signs of a process that nobody disturbs."""
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = started(target, *arguments, theirs)
    theirs.close()
    found = _received(ours)
    process.join()
    assert process.exitcode == 0
    return found


def died_at(sign: Sign, target: Callable[..., None], *arguments: object) -> tuple[Sign, bool]:
    """Let a process kill itself at a sign; gives its last sign, and whether it gave that one.

    However busy the machine is, the process is where it is meant to be.
    """
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = started(target, *arguments, theirs, sign)
    theirs.close()
    signs = _received(ours)
    process.join()
    assert process.exitcode == (-signal.SIGKILL if sign in signs else 0)
    return max(signs), sign in signs


def settled(where: str) -> None:
    """Wait until the server of PostgreSQL, if there is one, has seen that its clients are gone.

    It completes a commit that it was asked for before.
    """
    if "://" in where:
        with psycopg.connect(where, autocommit=True) as connection:
            deadline = time.monotonic() + _PATIENCE
            while connection.execute(_OTHERS).fetchone() != (0,):
                assert time.monotonic() < deadline, "a client is still there"
                time.sleep(0.01)


_OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""


def _received(pipe: Connection) -> list[Sign]:
    found: list[Sign] = []
    try:
        while True:
            found.append(pipe.recv())
    except EOFError:
        return found


class _Signs:
    """Tells through a pipe how far a process is."""

    def __init__(self, pipe: Connection, fatal: Sign | None = None) -> None:
        self.pipe, self.step, self.numbers, self.fatal = pipe, 0, count(), fatal
        whole = Place.transaction

        @contextmanager
        def told(place: Place, access: Literal["read", "write"]) -> Iterator[object]:
            self.reached()
            with whole(place, access) as connection:
                yield connection
                self.reached()
            # the instant at which what is done is known to nobody yet
            self.reached()

        setattr(Place, "transaction", told)  # noqa: B010  # of this process alone
        for name in ("execute", "execute_many"):
            setattr(StoreConnection, name, self.counted(getattr(StoreConnection, name)))

    def counted(self, write: Callable[..., None]) -> Callable[..., None]:
        """A method of a connection that writes, which is a sign."""

        def counted(*arguments: Any) -> None:  # noqa: ANN401  # of any method
            write(*arguments)
            self.reached()

        return counted

    def begin(self, step: int) -> None:
        self.step, self.numbers = step, count()
        self.reached()

    def reached(self, *_: object) -> None:
        sign = self.step, next(self.numbers)
        self.pipe.send(sign)
        if sign == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def go_on(
    where: str, sources: Sequence[Path], first: int, pipe: Connection, fatal: Sign | None = None
) -> None:
    """Take all steps from one on, or as far as a sign at which the process kills itself."""
    with Ledger.open(where) as ledger:
        signs = _Signs(pipe, fatal)
        for step in range(first, STEPS):
            signs.begin(step)
            take(ledger, sources, step)
        signs.begin(STEPS)


def begin_once(
    where: str, exported: Path | None, pipe: Connection, fatal: Sign | None = None
) -> None:
    """Begin a state, of an exported one if given, or as far as a sign."""
    signs = _Signs(pipe, fatal)
    signs.begin(0)
    if exported is None:
        Ledger.create(where, RULES).close()
    else:
        import_state(exported, where)
    signs.begin(1)


def die_at_entry(where: str, kind: str) -> None:
    """Close an epoch in a process that is killed as it has made an entry of a kind."""
    process = started(_close_and_die, where, kind)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def _close_and_die(where: str, kind: str) -> None:
    chained = EventLog._chained

    def killing(log: EventLog, found: str, body: str) -> object:
        entry = chained(log, found, body)
        if found == kind:
            os.kill(os.getpid(), signal.SIGKILL)
        return entry

    setattr(EventLog, "_chained", killing)  # noqa: B010  # of this process alone
    with Ledger.open(where) as ledger:
        ledger.close_epoch()


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


def seen_meanwhile(where: str, sources: Sequence[Path], readers: int) -> list[list[Moment]]:
    """What readers see, each again and again, while every step is taken, and after each step."""
    pipes = [_CONTEXT.Pipe(duplex=False) for _ in range(readers)]
    processes = [started(look, where, theirs) for _, theirs in pipes]
    for _, theirs in pipes:
        theirs.close()
    found = [[ours.recv()] for ours, _ in pipes]
    with Ledger.open(where) as ledger:
        for step in range(STEPS):
            take(ledger, sources, step)
            entries = standing(where).entries
            for (ours, _), moments in zip(pipes, found, strict=True):
                while moments[-1][1] < entries:
                    moments.append(ours.recv())
    for (ours, _), moments in zip(pipes, found, strict=True):
        moments.extend(iter(ours.recv, None))
    for process in processes:
        process.join()
    return found


def look(where: str, pipe: Connection) -> None:
    """Tell what a state is, until the last step is taken."""
    epoch = 0
    with Ledger.open(where) as ledger:
        while epoch < EPOCHS:
            with ledger.queries() as queries:
                epoch = queries.state.epoch
                moment = epoch, queries.head.entries, queries.digest()
            pipe.send(moment)
    pipe.send(None)


@frozen
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


def commands(
    folder: Path, *several: Sequence[str], limit: int = resource.RLIM_INFINITY
) -> list[Ended]:
    """Commands that start at the same instant; no file of theirs may grow beyond the limit."""
    barrier = _CONTEXT.Barrier(len(several))
    outputs = [folder / f"command-{number}" for number in range(len(several))]
    for output in outputs:
        output.mkdir(parents=True, exist_ok=True)
    processes = [
        started(_command, list(arguments), output, limit, barrier)
        for arguments, output in zip(several, outputs, strict=True)
    ]
    for process in processes:
        process.join()
    return [
        Ended(process.exitcode, (output / "out").read_text(), (output / "err").read_text())
        for process, output in zip(processes, outputs, strict=True)
        if process.exitcode is not None
    ]


def _command(arguments: list[str], output: Path, limit: int, barrier: Barrier) -> None:
    for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
        with (output / name).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    sys.argv = ["tallystick", *arguments]
    sys.dont_write_bytecode = True  # it would be cut off too, and stay for every later import
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    # where another one has died, nobody waits for it for ever
    barrier.wait(_PATIENCE)
    main()
