"""Scoring of posted records, in processes of their own with a limit of time and of memory.

A process is kept for the next record, as loading rules takes longer than a record. What takes too
long is killed with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from tallystick.canonical import canonical_bytes
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.settings import Settings

Verb: TypeAlias = Literal["explain", "score", "advise"]
"""Every step of a score, the scores alone, or every step with the moves that would earn more."""
_LENGTH = 8
"""Bytes of the length before each message to and from a process."""
_LARGEST_ANSWER = 64 << 20
_WAITING = 32
"""Maximum number of records that wait for a process."""


@attrs.frozen(kw_only=True)
class Order:
    """An order to a process: one record, and the rules that score it.

    Attributes:
        do: ``explain``: every step of a score; ``score``: the scores alone; ``advise``: every step,
            distances and moves, where tiers begin as in the open epoch, whatever the rules.
        record: one line of JSON, as it was posted.
        rules: reference or digest of a known rule set; empty for the rules of the state.
        rule_set: the text of a rule set, in place of a reference.
        edits: other values of that rule set, as ``PATH=VALUE``.
    """

    do: Verb
    record: bytes
    rules: str = ""
    rule_set: str | None = None
    edits: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the order as a message has it."""
        return {
            "do": self.do,
            "record": self.record.decode("utf-8", "surrogateescape"),
            "rules": self.rules,
            "rule_set": self.rule_set,
            "edits": list(self.edits),
        }


class Scoring(Protocol):
    """The processes that score posted records for a service."""

    def warm(self) -> None:
        """Get ready in the background."""

    async def score(self, order: Order) -> Any:  # noqa: ANN401  # a JSON value
        """Return the JSON value of the scores, or of the error, of a record."""

    async def close(self) -> None:
        """End what is not at work."""


class ScoringProcesses:
    """Processes that score posted records, as many as the settings allow."""

    def __init__(
        self,
        settings: Settings,
        place: str | None,
        start: Callable[[], Awaitable[asyncio.subprocess.Process]] | None = None,
    ) -> None:
        """Start no process yet.

        Args:
            settings: their limits.
            place: of the state; None where nothing can be scored.
            start: starts a process; by default one of `tallystick_service.scoring_process`.
        """
        self._settings, self._place = settings, place
        self._start = start or _start
        self._free: list[asyncio.subprocess.Process] = []
        self._turn: asyncio.Semaphore | None = None
        self._waiting = 0
        self._warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Start a process in the background, which loads the rules of the state.

        The first record that is posted then takes no longer than the next.
        """
        self._warming = asyncio.create_task(self._warmed())

    async def _warmed(self) -> None:
        # a record that is none; one that comes meanwhile waits no longer than for its own process
        with suppress(RefusedQuestionError, OSError):
            await self.score(Order(do="explain", record=b"{}"))

    async def score(self, order: Order) -> Any:  # noqa: ANN401  # a JSON value
        """Return the JSON value of the scores, or of the error, of a record.

        Raises:
            RefusedQuestionError: too many wait, or it takes too long or too much memory.
        """
        if self._turn is None:
            self._turn = asyncio.Semaphore(self._settings.processes)
        if self._waiting >= _WAITING:
            raise _failed(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "many records that wait", "few")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._scored(order)
        finally:
            self._waiting -= 1

    async def _scored(self, order: Order) -> Any:  # noqa: ANN401  # a JSON value
        warming = self._warming
        if not self._free and warming is not None and warming is not asyncio.current_task():
            # the process that starts already is ready sooner than another
            await asyncio.wait({warming})
        process = self._free.pop() if self._free else await self._started()
        seconds = self._settings.scoring_seconds
        try:
            async with asyncio.timeout(seconds):
                value = await _ask(process, json.dumps(order.to_json()).encode())
        except TimeoutError:
            await _end(process)
            raise _failed(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "too-slow",
                "a record that takes longer to score",
                f"one that takes at most {seconds:g} s",
            ) from None
        except (asyncio.IncompleteReadError, OSError, ValueError):
            await _end(process)
            raise _failed(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "too-large-to-score",
                "a record whose scoring ends its process",
                f"one that takes at most {self._settings.scoring_bytes >> 20} MiB",
            ) from None
        except BaseException:
            await _end(process)
            raise
        self._free.append(process)
        return value

    async def _started(self) -> asyncio.subprocess.Process:
        process = await self._start()
        # not an argument, as it may have a password
        begin = {"place": self._place, "bytes": self._settings.scoring_bytes}
        assert process.stdin is not None  # noqa: S101  # a pipe
        process.stdin.write(_framed(canonical_bytes(begin)))
        return process

    async def close(self) -> None:
        """End every process that is free; those at work end with their records."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})
        while self._free:
            await _end(self._free.pop())


async def _start() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        # as this one: no other module comes in by the environment or the working folder
        "-I" if sys.flags.isolated else "-P",
        "-m",
        "tallystick_service.scoring_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LARGEST_ANSWER,
        env=_environment(),
    )


def _environment() -> Mapping[str, str]:
    # one thread each: numerical libraries would start as many as there are cores
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH, "big") + data


async def _ask(process: asyncio.subprocess.Process, message: bytes) -> Any:  # noqa: ANN401
    assert process.stdin is not None  # noqa: S101  # both are pipes
    assert process.stdout is not None  # noqa: S101
    process.stdin.write(_framed(message))
    await process.stdin.drain()
    size = int.from_bytes(await process.stdout.readexactly(_LENGTH), "big")
    if size > _LARGEST_ANSWER:
        raise ValueError(size)
    return json.loads(await process.stdout.readexactly(size))


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _failed(status: int, code: str, found: str, expected: str) -> RefusedQuestionError:
    return RefusedQuestionError(status, code, found, expected, "send a smaller record, or later")
