"""Worker processes on this machine.

Invariants:

- a worker ends when its pipe closes, so none outlives the run, also when that is killed;
- a worker that dies ends the run with an error; nothing is done twice.
"""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

import attrs

from tallystick.errors import EngineError
from tallystick.scoring.executors.executor import (
    Answer,
    Failure,
    Function,
    Task,
    attempted,
    in_order,
)

_AHEAD = 3
"""Tasks begun for each worker: one at work, one that is ready, one to wait for its turn."""
_PATIENCE = 5.0
"""Seconds in which a process that was asked to end is waited for."""


@attrs.frozen
class Local:
    """The executor of worker processes, started when a run begins."""

    workers: int
    is_elsewhere = True

    def map(
        self, function: Function[Task, Answer], tasks: Iterable[Task]
    ) -> Generator[Answer, None, None]:
        """Yield the answers, in the order of the tasks.

        Raises:
            EngineError: a worker ended before its time.
            TallystickError: what the function raised.
        """
        idle: SimpleQueue[_Worker] = SimpleQueue()

        def answer(task: Task) -> Any:  # noqa: ANN401  # an answer or a failure
            worker = idle.get()
            try:
                return worker.answer(task)
            finally:
                idle.put(worker)

        with ExitStack() as stack, ThreadPoolExecutor(self.workers) as threads:
            workers = [stack.enter_context(_worker(function)) for _ in range(self.workers)]
            for worker in workers:
                idle.put(worker)
            try:
                yield from in_order(
                    tasks,
                    lambda task: threads.submit(answer, task),
                    lambda future: _answered(future.result()),
                    _AHEAD * self.workers,
                )
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                for worker in workers:
                    # there is nothing that it would have to clean up
                    worker.process.kill()


def _answered(found: Any) -> Any:  # noqa: ANN401  # an answer or a failure
    if isinstance(found, Failure):
        raise found.to_error()
    return found


@attrs.frozen
class _Worker:
    process: BaseProcess
    connection: Connection

    def answer(self, task: object) -> Any:  # noqa: ANN401  # as above
        try:
            self.connection.send(task)
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise EngineError(self._ended()) from error

    def _ended(self) -> str:
        self.process.join(_PATIENCE)
        code = self.process.exitcode
        how = "ended"
        if code is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return (
            f"a worker process {how} before its work was done: look for what killed it, such as a "
            "lack of memory, and run again; a script that starts workers needs "
            'if __name__ == "__main__"'
        )


@contextmanager
def _worker(function: object) -> Iterator[_Worker]:
    """Return a worker process, which is ended with the block."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, function), daemon=True)
    process.start()
    theirs.close()
    try:
        yield _Worker(process, ours)
    finally:
        process.kill()
        process.join()
        ours.close()


def _serve(connection: Connection, function: Function[Any, Any]) -> None:
    """Answer every task that comes, until the other end is closed."""
    # the process that began it hears of Ctrl-C too, and ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError):
        while True:
            connection.send(attempted(function, connection.recv()))
