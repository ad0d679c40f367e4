"""Scoring of posted records, in processes of their own with a limit of time and of memory.

A process is kept for the next record, as loading rules takes longer than a record. What takes too
long is killed with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from anyio import to_thread

from tallystick.json_values import JsonObject
from tallystick.scoring.executors.worker import Worker, WorkerEndedError
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.scoring_process import Order, RecordScorer
from tallystick_service.settings import Settings

_WAITING = 32
"""Maximum number of records that wait for a process."""


class ScoringProcesses:
    """Processes that score posted records, as many as the settings allow."""

    def __init__(
        self,
        settings: Settings,
        place: str | None,
        start: Callable[[], Worker[Order, JsonObject]] | None = None,
    ) -> None:
        """Start no process yet.

        Args:
            settings: their limits.
            place: of the state; None where nothing can be scored.
            start: starts a process; by default one of `tallystick_service.scoring_process`.
        """
        self._settings = settings
        self._start = start or partial(Worker, RecordScorer(place, settings.scoring_bytes))
        self._free: list[Worker[Order, JsonObject]] = []
        self._turn = asyncio.Semaphore(settings.processes)
        self._asked = 0
        self._warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Start a process in the background, which loads the rules of the state.

        The first record that is posted then takes no longer than the next.
        """
        self._warming = asyncio.create_task(self._warmed())

    async def _warmed(self) -> None:
        # a record that is none
        with suppress(RefusedQuestionError):
            await self.score(Order(do="explain", record=b"{}"))

    async def score(self, order: Order) -> JsonObject:
        """Return the scores, or the error, of a record; see `scoring_process.answered`.

        Raises:
            RefusedQuestionError: too many wait, or it takes too long or too much memory.
        """
        if self._asked >= _WAITING:
            raise _failed("busy", "many records that wait", "few")
        self._asked += 1
        try:
            async with self._turn:
                return await self._scored(order)
        finally:
            self._asked -= 1

    async def _scored(self, order: Order) -> JsonObject:
        worker = self._free.pop() if self._free else await to_thread.run_sync(self._start)
        seconds = self._settings.scoring_seconds
        try:
            value: JsonObject = await to_thread.run_sync(
                worker.answer, order, seconds, abandon_on_cancel=True
            )
        except TimeoutError:
            worker.end()
            raise _failed(
                "too-slow",
                "a record that takes longer to score",
                f"one that takes at most {seconds:g} s",
            ) from None
        except (WorkerEndedError, MemoryError):
            worker.end()
            raise _failed(
                "too-large-to-score",
                "a record whose scoring ends its process",
                f"one that takes at most {self._settings.scoring_bytes >> 20} MiB",
            ) from None
        except BaseException:
            worker.end()
            raise
        self._free.append(worker)
        return value

    async def close(self) -> None:
        """End every process that is free; those at work end with their records."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})
        while self._free:
            self._free.pop().end()


def _failed(code: str, found: str, expected: str) -> RefusedQuestionError:
    return RefusedQuestionError(code, found, expected, "send a smaller record, or later")
