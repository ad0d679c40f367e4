"""A worker: a process on this machine that answers tasks, one after the other.

Invariants:

- it ends with whoever began it, also when that is killed, whatever it is at;
- what it prints goes to the standard error, as it is no answer.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Generic

from tallystick.errors import EngineError
from tallystick.scoring.executors.executor import Answer, Failure, Function, Task, attempted

_PATIENCE = 5.0
"""Seconds in which a process that was asked to end is waited for."""


class Worker(Generic[Task, Answer]):
    """A process that calls a function for each task; it is ended with the block."""

    def __init__(self, function: Function[Task, Answer]) -> None:
        """Start the process.

        Args:
            function: can be pickled, and so can its tasks and answers.
        """
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, function), daemon=True)
        # it is ended from here: Ctrl-C is for this process, and what is blocked is inherited; the
        # tracker comes before, as it lets through what is blocked where it starts
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def answer(self, task: Task, seconds: float | None = None) -> Answer:
        """Return the answer to a task.

        Args:
            task: what the function is called with.
            seconds: how long it is waited for; by default until it comes.

        Raises:
            TimeoutError: it did not come in time; the process is still at work.
            WorkerEndedError: the process ended before its time.
            TallystickError: what the function raised.
        """
        try:
            self._connection.send(task)
            if not self._connection.poll(seconds):
                raise TimeoutError
            found: Answer | Failure = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise WorkerEndedError(self._ended()) from error
        if isinstance(found, Failure):
            raise found.to_error()
        return found

    def _ended(self) -> str:
        self._process.join(_PATIENCE)
        code = self._process.exitcode
        how = "ended"
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return (
            f"a worker process {how} before its work was done: look for what killed it, such as a "
            "lack of memory, and run again; a script that starts workers needs "
            'if __name__ == "__main__"'
        )

    def kill(self) -> None:
        """Have the process end at once: there is nothing that it would have to clean up."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and wait until it has ended."""
        self.kill()
        self._process.join()
        self._connection.close()

    def __enter__(self) -> Worker[Task, Answer]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()


class WorkerEndedError(EngineError):
    """A worker process that ended before its work was done."""


def _serve(connection: Connection, function: Function[Any, Any]) -> None:
    """Answer every task that comes, until the other end is closed."""
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError):
        while True:
            connection.send(attempted(function, connection.recv()))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(0)
