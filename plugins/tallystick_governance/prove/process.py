"""Proofs by a process of its own, which is ended when its time is over.

A solver hears no signal, and a step of it can take any time: with powers it computes with ever
longer numbers. So the one that asks waits for answers, not for the solver, and keeps those that
came when the time is over, when the user stops it, or when the other process dies.

The other process is begun by a specification of the rule set, as a worker is. It ends with its
standard input, so that it never outlives the one that asks.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import IO, Any, cast

import attrs

from tallystick.scoring.executors.executor import Failure, attempted
from tallystick.scoring.executors.portable import ScorerSpec
from tallystick.scoring.scorer import Scorer
from tallystick_governance.prove.property import STOPPED, TIME, Answer
from tallystick_governance.prove.proving import BUDGET, Progress, answers, outline
from tallystick_governance.prove.unchanged import NOTHING, Unchanged

SECONDS = 300.0
"""Default of the time for all questions, in seconds."""


@attrs.frozen
class Outcome:
    """The answers to every question.

    Attributes:
        answers: in the order of the questions; undecided where there was no answer.
        is_stopped: whether the user ended it before the last answer.
    """

    answers: tuple[Answer, ...]
    is_stopped: bool = False


@attrs.frozen
class _Task:
    """The questions that the other process answers."""

    rules: ScorerSpec
    only: str | None
    budget: int
    left_out: Unchanged


@attrs.frozen
class _Ended:
    """The end of the other process; its exit status, if it ended early."""

    status: int | None = None


def prove_within(  # noqa: PLR0913  # what is asked, and the limits of it
    scorer: Scorer,
    seconds: float = SECONDS,
    *,
    only: str | None = None,
    budget: int = BUDGET,
    left_out: Unchanged = NOTHING,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Answer every question about a rule set whose plugins are installed, as far as time allows.

    Args:
        scorer: the rule set, bound.
        seconds: the time for all questions; 0 is none.
        only: the name of the one property that is asked.
        budget: the most steps of the solver, as of `prove`.
        left_out: values and sections that nothing is asked about.
        progress: told after every question.
        clock: tells the seconds since some moment.

    Raises:
        TallystickError: as of `prove`; or the other process cannot work.
    """
    questions = outline(scorer, only, left_out)
    received, is_stopped = dict[int, Answer](), False
    reason = f"{TIME}: the {seconds:g} seconds were over before it was answered"
    try:
        if seconds > 0:
            task = _Task(ScorerSpec.of(scorer), only, budget, left_out)
            for item in _received(task, clock() + seconds, clock):
                if isinstance(item, Failure):
                    raise item.to_error()
                if isinstance(item, _Ended):
                    reason = f"the process of the solver ended early, with status {item.status}"
                    break
                position, received_answer = item
                received[position] = received_answer
                if progress is not None:
                    progress(len(received), len(questions))
    except KeyboardInterrupt:
        is_stopped, reason = True, f"{STOPPED}: it was not answered before the end"
    replies = (
        received.get(position) or attrs.evolve(question, reason=reason)
        for position, question in enumerate(questions)
    )
    return Outcome(tuple(replies), is_stopped)


def _received(
    task: _Task, end: float, clock: Callable[[], float]
) -> Iterator[tuple[int, Answer] | Failure | _Ended]:
    """Yield what the other process says, until the time is over or all is said."""
    with _process() as process:
        received = SimpleQueue[Any]()
        reader = threading.Thread(target=_read, args=(process, received), daemon=True)
        reader.start()
        questions = cast("IO[bytes]", process.stdin)
        with suppress(BrokenPipeError):
            pickle.dump(task, questions)
            questions.flush()
        while True:
            try:
                item = received.get(timeout=max(0.0, end - clock()))
            except Empty:
                return
            if item is None:
                return
            yield item


def _read(process: subprocess.Popen[bytes], received: SimpleQueue[Any]) -> None:
    """Pass on the answers of the other process; at its early end, its exit status."""
    stream = cast("IO[bytes]", process.stdout)
    try:
        while (item := pickle.load(stream)) is not None:  # noqa: S301  # our own process
            received.put(item)
        received.put(None)
    except (EOFError, pickle.UnpicklingError, OSError, ValueError):
        received.put(_Ended(process.wait()))


@contextmanager
def _process() -> Iterator[subprocess.Popen[bytes]]:
    """Run the other process, which is ended with the block."""
    # -P keeps the folder of the call from hiding a module of the engine
    process = subprocess.Popen(  # noqa: S603  # this Python, this package
        [sys.executable, "-P", "-m", __package__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # what the terminal sends is for the one that asks
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


def serve() -> None:
    """Answer the questions on the standard input, each on the standard output as it is known."""
    # the one that asks warns; and what a plugin prints is no answer
    logging.getLogger("tallystick").addHandler(logging.NullHandler())
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    task = pickle.load(source)  # noqa: S301  # of the process that began this one
    threading.Thread(target=_end_with, args=(source,), daemon=True).start()
    failure = attempted(partial(_answer_all, sink), task)
    pickle.dump(failure, sink)
    sink.close()


def _answer_all(told: IO[bytes], task: _Task) -> None:
    rules = Scorer.of(task.rules.rules())
    asked = answers(rules, only=task.only, budget=task.budget, left_out=task.left_out)
    for numbered in asked:
        pickle.dump(numbered, told)
        told.flush()


def _end_with(asked: IO[bytes]) -> None:
    """End this process with the one that asks, whatever the solver does."""
    asked.read()
    os._exit(0)
