"""Processes that kill themselves before their n-th write, or as a file would pass a size.

A write is a statement that changes a database (each row of a batch, each commit), or a call by
which a file is opened for writing, renamed, removed or written to the disk. The end of the work
counts as the last one: it is done, and what held it is not closed. Nothing here waits for a time,
so a busy machine kills where an idle one does.

Everything is forked from a server that has imported the project and has no threads; the processes
to be killed are forked from a fork of it, which costs some milliseconds each.
"""

import os
import resource
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, NoReturn

import psycopg
from attrs import define, frozen

from tallystick_state.store import connection

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        *("jsonschema", "psycopg"),
        *("tallystick_state.transfer", "tallystick_state.replay", "tallystick_state.cli.state"),
        *("tallystick_skills.plugin", "tallystick_workflow.plugin"),
    ]
)
_CHANGES = (
    *("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "VACUUM"),
    *("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA JOURNAL_MODE", "PRAGMA WAL_CHECKPOINT"),
)
_OF_FILES = frozenset(("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"))
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT
END = "the end"


@frozen
class Limit:
    """Where a process is killed: before a write, or as a file would be larger than so many bytes.

    Attributes:
        write: the number of a write, from 0 on.
        size: the size, in bytes.
    """

    write: int | None = None
    size: int | None = None


@frozen
class Run:
    """A process that was not killed.

    Attributes:
        writes: the kind of each write.
        sizes: the sizes of the files in its folder as it was done, nothing being closed yet.
    """

    writes: tuple[str, ...]
    sizes: tuple[int, ...]


@define
class _Writes:
    """Counts the writes of this process, which has a fork's life before it."""

    fatal: int | None
    kinds: list[str]
    is_on: bool = True

    def reached(self, kind: str) -> None:
        if not self.is_on:
            return
        if len(self.kinds) == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.kinds.append(kind)

    def statement(self, text: Any) -> None:  # noqa: ANN401  # what a driver takes for a statement
        words = str(text).strip().upper()
        if words.startswith(_CHANGES):
            self.reached(words.split(None, 1)[0])

    def of_file(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _OF_FILES or (event == "open" and arguments[2] & _TO_WRITE):
            self.reached(event)


def _count(writes: _Writes) -> None:
    """Count whatever this process writes from now on; it cannot be undone."""
    connect, sync = sqlite3.connect, os.fsync

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401  # of connect
        made = connect(*arguments, **options)
        made.set_trace_callback(writes.statement)
        return made

    def synced(number: int) -> None:
        writes.reached("fsync")
        sync(number)

    sqlite3.connect = traced  # type: ignore[assignment]
    os.fsync = synced
    execute, several = psycopg.Cursor.execute, psycopg.Cursor.executemany
    commit = psycopg.Connection.commit

    def executed(cursor: Any, query: Any, *rest: Any, **options: Any) -> Any:  # noqa: ANN401  # of psycopg
        writes.statement(query)
        return execute(cursor, query, *rest, **options)

    def executed_many(cursor: Any, query: Any, rows: Iterable[Any], **options: Any) -> None:  # noqa: ANN401  # of psycopg
        def counted() -> Iterable[Any]:
            for row in rows:
                writes.statement(query)
                yield row

        several(cursor, query, counted(), **options)

    def committed(driver: Any) -> None:  # noqa: ANN401  # of psycopg
        writes.statement("COMMIT")
        commit(driver)

    psycopg.Cursor.execute = executed  # type: ignore[method-assign]
    psycopg.Cursor.executemany = executed_many  # type: ignore[method-assign]
    psycopg.Connection.commit = committed  # type: ignore[method-assign]
    sys.addaudithook(writes.of_file)


def run(work: Callable[[], object], folder: Path) -> Run:
    """The writes of some work, which is done in a process of its own."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        _work(work, Limit(), theirs, folder)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        lines = pipe.read().splitlines()
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the work ended with the status {status}"
    kinds, sizes = (line.split("|") for line in lines)
    return Run(tuple(kinds), tuple(map(int, sizes)))


def kill(work: Callable[[], object], limit: Limit) -> bool:
    """Do some work in a process that is killed at a limit; gives whether it was."""
    child = os.fork()
    if not child:
        _work(work, limit)
    status = os.waitpid(child, 0)[1]
    assert status == 0 or os.WTERMSIG(status) in {signal.SIGKILL, signal.SIGXFSZ}, status
    return status != 0


def _work(
    work: Callable[[], object], limit: Limit, pipe: int | None = None, folder: Path | None = None
) -> NoReturn:
    """Work as far as the limit, and leave nothing of this fork behind."""
    status = 1
    try:
        # a killed process leaves to the system what it wrote, so none of it waits for the disk
        connection.SYNCHRONOUS = "OFF"
        if limit.size is not None:
            # Python ignores the signal, and would be told that there is no room
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit.size, resource.RLIM_INFINITY))
        writes = _Writes(limit.write, [])
        _count(writes)
        kept = work()
        writes.reached(END)
        if pipe is not None and folder is not None:
            writes.is_on = False
            sizes = [path.stat().st_size for path in folder.iterdir() if path.is_file()]
            os.write(pipe, f"{'|'.join(writes.kinds)}\n{'|'.join(map(str, sizes or [0]))}".encode())
        del kept
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


def apart(target: Callable[..., object], *arguments: object) -> Any:  # noqa: ANN401  # of the target
    """Call a function in a process without threads, which may fork, and return its result."""
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_send, args=(theirs, target, *arguments))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def _send(pipe: Pipe, target: Callable[..., object], *arguments: object) -> None:
    pipe.send(target(*arguments))
