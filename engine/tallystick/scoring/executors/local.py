"""Worker processes on this machine; one that dies ends the run, as nothing is done twice."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue

import attrs

from tallystick.scoring.executors.executor import Answer, Function, Task, in_order
from tallystick.scoring.executors.worker import Worker

_AHEAD = 3
"""Tasks begun for each worker: one at work, one that is ready, one to wait for its turn."""


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
        idle: SimpleQueue[Worker[Task, Answer]] = SimpleQueue()

        def answer(task: Task) -> Answer:
            worker = idle.get()
            try:
                return worker.answer(task)
            finally:
                idle.put(worker)

        with ExitStack() as stack, ThreadPoolExecutor(self.workers) as threads:
            workers = [stack.enter_context(Worker(function)) for _ in range(self.workers)]
            for worker in workers:
                idle.put(worker)
            try:
                yield from in_order(
                    tasks,
                    lambda task: threads.submit(answer, task),
                    Future.result,
                    _AHEAD * self.workers,
                )
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                for worker in workers:
                    worker.kill()
