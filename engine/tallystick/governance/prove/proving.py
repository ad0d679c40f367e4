"""Proving a rule set: every question of every skill type, each answered.

Each question goes to the solver as the records that would break its claim. That there is none is a
proof for every valid record. Otherwise the solver's records are built and scored by the engine,
and only what the engine confirms is a counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from tallystick.errors import TallystickError
from tallystick.governance.prove.answer import Answer
from tallystick.governance.prove.built_in_properties import FAMILIES, questions
from tallystick.governance.prove.property import Question
from tallystick.governance.prove.solving import answer
from tallystick.governance.prove.subject import Subject, subject_of
from tallystick.scoring.scorer import Scorer

Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""

EACH = 10.0
"""The time limit of one request to the solver, in seconds."""
OVERALL = 60.0
"""The time limit of all questions together, in seconds."""


def prove(
    scorer: Scorer,
    *,
    only: str | None = None,
    each: float = EACH,
    overall: float = OVERALL,
    progress: Progress | None = None,
) -> tuple[Answer, ...]:
    """The answers to every question about a rule set, type by type.

    Args:
        scorer: the rule set, bound.
        only: the name of the one property that is asked.
        each: seconds for one request to the solver; a question has a few times that.
        overall: seconds for all; what is not asked by then is undecided.
        progress: told after every question.

    Raises:
        TallystickError: there is no property of that name, or a promise reads what records of its
            type do not have.
    """
    asked = _asked(scorer, only)
    end, proved, found = monotonic() + overall, set[str](), list[Answer]()
    for number, (subject, question) in enumerate(asked, 1):
        left = end - monotonic()
        if left <= 0:
            found.append(_unasked(subject, question, overall))
        else:
            found.append(answer(subject, question, each, left, proved))
        if progress is not None:
            progress(number, len(asked))
    return tuple(found)


def _asked(scorer: Scorer, only: str | None) -> Sequence[tuple[Subject, Question]]:
    subjects = [subject_of(scorer, name) for name in scorer.types]
    every = [(subject, question) for subject in subjects for question in questions(subject)]
    if only is None:
        return every
    names = {question.name for _, question in every} | set(FAMILIES)
    if only not in names:
        raise TallystickError(
            f"found no property {only!r}, expected one of {', '.join(sorted(names))}"
        )
    return [(subject, question) for subject, question in every if question.name == only]


def _unasked(subject: Subject, question: Question, overall: float) -> Answer:
    return Answer(
        property=question.name,
        skill_type=subject.name,
        axis=question.value,
        status="undecided",
        summary=question.summary,
        about=question.about,
        reason=f"the {overall:g} s for all questions were over",
    )
