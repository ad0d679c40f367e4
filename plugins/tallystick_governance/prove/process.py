"""Proofs by a process of its own, which is ended when its time is over.

A solver hears no signal, and a step of it can take any time: with powers it computes with ever
longer numbers. So the one that asks waits for answers, not for the solver, and keeps those that
came when the time is over, when the user stops it, or when the other process dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import attrs

from tallystick.scoring.executors.portable import BoundRulesSpec
from tallystick.scoring.executors.worker import Worker, WorkerEndedError
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
        stopped: what ended it before the last answer, such as Ctrl-C; None where nothing did.
    """

    answers: tuple[Answer, ...]
    stopped: KeyboardInterrupt | None = None


@attrs.define
class _Questions:
    """The questions that the other process answers, one a call; None when all are answered."""

    rules: BoundRulesSpec
    only: str | None
    budget: int
    left_out: Unchanged
    _answers: Iterator[tuple[int, Answer]] | None = None

    def __call__(self, _: None) -> tuple[int, Answer] | None:
        if self._answers is None:
            rules = Scorer.of(self.rules.rules())
            self._answers = answers(
                rules, only=self.only, budget=self.budget, left_out=self.left_out
            )
        return next(self._answers, None)


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
    received, stopped = dict[int, Answer](), None
    reason = f"{TIME}: the {seconds:g} seconds were over before it was answered"
    try:
        if seconds > 0:
            asked = _Questions(BoundRulesSpec.of(scorer), only, budget, left_out)
            for position, reply in _replies(asked, clock() + seconds, clock):
                received[position] = reply
                if progress is not None:
                    progress(len(received), len(questions))
    except WorkerEndedError as error:
        reason = str(error)
    except KeyboardInterrupt as stop:
        stopped, reason = stop, f"{STOPPED}: it was not answered before the end"
    replies = (
        received.get(position) or attrs.evolve(question, reason=reason)
        for position, question in enumerate(questions)
    )
    return Outcome(tuple(replies), stopped)


def _replies(
    asked: _Questions, end: float, clock: Callable[[], float]
) -> Iterator[tuple[int, Answer]]:
    """Yield the answers of the other process, until the time is over or all are there."""
    with Worker(asked) as worker:
        try:
            while (reply := worker.answer(None, max(0.0, end - clock()))) is not None:
                yield reply
        except TimeoutError:
            return
