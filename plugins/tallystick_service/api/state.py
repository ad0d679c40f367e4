"""Answers about a state: its digests, its miners and its leaderboards."""

from __future__ import annotations

from tallystick_service.answers import BoardAnswer, StateAnswer
from tallystick_service.route import Answer, Parameter, Question, Route, json_answer
from tallystick_service.shown import board_of
from tallystick_state import views


def _state(question: Question) -> Answer:
    version = question.version
    assert version is not None  # noqa: S101  # the row reads
    digest = views.state_digest(version.digest, version.epoch)
    return json_answer(digest | views.rules_digest(version.rules))


def _board(question: Question) -> Answer:
    skill_type = question.text("skill_type")
    epoch, board, reason = board_of(question, skill_type)
    return json_answer(views.leaderboard(skill_type, epoch, board, reason))


SKILL_TYPE = Parameter(
    name="skill_type", meaning="the name of a skill type", example="translation", required=True
)

ROUTES: tuple[Route, ...] = (
    Route(
        path="/api/v1/state",
        name="state",
        sentence="The digests of the state and of its rules, and the open epoch.",
        answer=_state,
        subject="epochs",
        of=StateAnswer,
    ),
    Route(
        path="/api/v1/leaderboards/{skill_type}",
        name="leaderboard",
        sentence="The leaderboard of a skill type: who can be selected, the best first.",
        answer=_board,
        subject="board",
        of=BoardAnswer,
        parameters=(SKILL_TYPE,),
        refuses=(403, 404),
    ),
)
