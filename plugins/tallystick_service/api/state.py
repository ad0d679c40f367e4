"""Answers about a state: its digests, its miners, its leaderboards and its weights of now."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from tallystick.json_values import JsonObject, json_value
from tallystick_service.access import ACCESS, condition
from tallystick_service.answer import RefusedQuestionError, json_answer
from tallystick_service.answers import (
    BoardAnswer,
    HistoryAnswer,
    LiveWeightsAnswer,
    MinerAnswer,
    MinersAnswer,
    PayAnswer,
    StateAnswer,
)
from tallystick_service.api.epochs import check_embargo
from tallystick_service.route import Question, Route
from tallystick_service.shown import (
    board_of,
    history_of,
    not_shown,
    profile_of,
    sees_closed,
    unknown_miner,
)
from tallystick_service.weights import seen_miners, weighed_of
from tallystick_state import views
from tallystick_state.queries import NO_MINERS


@partial(Route, "/api/v1/state", "epochs", name="state", of=StateAnswer)
def _state(question: Question) -> Response:
    """The digests of the state and of its rules, and the open epoch."""
    version = question.version
    assert version is not None  # noqa: S101  # the row reads
    digests = {"digest": version.digest, "epoch": version.epoch, "rules_digest": version.rules}
    return json_answer(digests)


@partial(
    Route,
    "/api/v1/leaderboards/{skill_type}",
    "board",
    name="leaderboard",
    of=BoardAnswer,
    refuses=(403, 404),
)
def _board(question: Question) -> Response:
    """The leaderboard of a skill type: who can be selected, the best first."""
    skill_type = question.text("skill_type")
    epoch, board, reason = board_of(question, skill_type)
    return json_answer(views.listed("board", board, reason, skill_type=skill_type, epoch=epoch))


@partial(Route, "/api/v1/miners", "miners", name="miners", of=MinersAnswer, refuses=(403,))
def _miners(question: Question) -> Response:
    """Every miner with its flags; for the operator."""
    if condition("miners", question.viewer) != "always":
        raise not_shown("every miner")
    queries = question.queries
    miners = queries.miners()
    return json_answer(views.listed("miners", miners, NO_MINERS, epoch=queries.state.epoch))


@partial(
    Route, "/api/v1/miners/{hotkey}", "miner", name="miner", of=MinerAnswer, refuses=(403, 404)
)
def _miner(question: Question) -> Response:
    """A miner: reputations, ranks, rounds of late; as far as the asker sees it."""
    return json_answer(views.profile(*profile_of(question, question.text("hotkey"))))


@partial(
    Route,
    "/api/v1/miners/{hotkey}/epochs",
    "history",
    name="minerEpochs",
    of=HistoryAnswer,
    refuses=(403, 404),
)
def _history(question: Question) -> Response:
    """The reputations with which a miner began each epoch, for itself."""
    hotkey = question.text("hotkey")
    epochs = [
        {"epoch": number, "reputation": json_value(reputation)}
        for number, reputation in history_of(question, hotkey)
    ]
    return json_answer({"hotkey": hotkey, "epochs": epochs})


@partial(
    Route,
    "/api/v1/miners/{hotkey}/epochs/{epoch}/weight",
    "pay",
    name="minerWeight",
    of=PayAnswer,
    refuses=(403, 404),
)
def _pay(question: Question) -> Response:
    """Every step from the scores of a miner to its weight in a closed epoch."""
    return json_answer(pay_view(question, question.text("hotkey"), question.number("epoch") or 0))


def pay_view(question: Question, hotkey: str, number: int) -> JsonObject:
    """Return every step from the scores of a miner to its weight in a closed epoch, by line.

    Raises:
        RefusedQuestionError: the asker does not see it, or not yet; or there is no such miner.
    """
    check_embargo(question, "pay", number, hotkey)
    if hotkey not in seen_miners(question):
        raise unknown_miner(hotkey)

    weighed = weighed_of(question, number)
    sees_rounds = sees_closed(question, "rounds", hotkey)
    explanations = {
        own.rules.line: explanation
        for own in weighed
        if (explanation := own.explained(hotkey, sees_rounds=sees_rounds)) is not None
    }
    if not explanations:
        has_hidden = any(own.explained(hotkey) for own in weighed)
        raise not_shown(ACCESS["rounds"].holds) if has_hidden else unknown_miner(hotkey)
    lines = json_value(explanations)
    return {"hotkey": hotkey, "epoch": number, "lines": lines}


@partial(Route, "/api/v1/weights", "live", name="liveWeights", of=LiveWeightsAnswer, refuses=(403,))
def _live(question: Question) -> Response:
    """The weights that the open epoch leads to; for the operator."""
    if condition("live", question.viewer) != "always":
        raise RefusedQuestionError(
            "not-shown",
            "the weights that the open epoch leads to",
            "those of a closed epoch, once its embargo is over",
            "see /api/v1/epochs/{epoch}/weights",
        )
    queries = question.queries
    columns = {line: queries.line_weights(line) for line in queries.in_force.lines}
    lines = {line: queries.chosen(weighed) for line, weighed in columns.items()}
    return json_answer(views.weights(lines, queries.shared_weights(columns)))
