"""Answers about epochs: thresholds and roots, weights, the checkpoint of their log, and proofs."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, cast

from starlette.responses import Response

from tallystick.json_values import JsonObject, json_value
from tallystick_service.access import ACCESS, condition, own_values
from tallystick_service.answer import RefusedQuestionError, json_answer
from tallystick_service.answers import (
    CheckpointAnswer,
    EpochAnswer,
    EpochsAnswer,
    LogAnswer,
    RowProofAnswer,
    WeightsAnswer,
)
from tallystick_service.route import IN_PATH, Parameter, Question, Route
from tallystick_service.shown import board, closings_of, not_shown, sees_board, sees_closed
from tallystick_service.weights import last_over, weights_of
from tallystick_state import views
from tallystick_state.checkpoints import log_checkpoint, log_proof
from tallystick_state.step_roots import RootedStep
from tallystick_state.trust.checkpoint import Checkpoint

_MOST_EPOCHS = 1000
_PROVEN = ("reputations", "thresholds")
"""Steps whose rows tell of no task and no round."""


_STEP = Parameter(
    name="step",
    meaning="the step of the row",
    example="thresholds",
    required=True,
    choices=_PROVEN,
)
_KEY = Parameter(
    name="key",
    meaning="the key of the row, a JSON array of texts",
    kind="texts",
    example='["translation","edge"]',
    required=True,
)


@partial(
    Route,
    "/api/v1/epochs",
    "epochs",
    name="epochs",
    of=EpochsAnswer,
    query=(Parameter(name="last", meaning="how many", kind="number", example="10"),),
)
def _epochs(question: Question) -> Response:
    """The epochs that have begun, in their order: the last ones, at most 1000."""
    number = question.number("last")
    last = _MOST_EPOCHS if number is None else min(number, _MOST_EPOCHS)
    opened = question.queries.state.epoch
    begun = range(max(0, opened + 1 - last), opened + 1)
    return json_answer({"epochs": [epoch_row(question, number) for number in begun]})


def epoch_row(question: Question, number: int) -> JsonObject:
    """Return an epoch that has begun, as ``epoch list --json`` does."""
    queries = question.queries
    if number == queries.state.epoch:
        answer: JsonObject = json_value(queries.epoch(number))
        return answer
    # its snapshot is large, and what is closed stays as it is
    key = "epoch", number, closings_of(question)[number + 1], question.queries.in_force.genesis
    return question.site.remembered(key, lambda: json_value(queries.epoch(number)))


@partial(Route, "/api/v1/epochs/{epoch}", "epochs", name="epoch", of=EpochAnswer, refuses=(404,))
def _epoch(question: Question) -> Response:
    """An epoch: thresholds that it began with, and the roots of its steps once closed."""
    return json_answer(epoch_view(question, question.number("epoch") or 0))


def epoch_view(question: Question, number: int) -> JsonObject:
    """Return an epoch as ``epoch show --json`` does, with its leaf where the asker sees it.

    Raises:
        RefusedQuestionError: it has not begun.
    """
    opened = question.queries.state.epoch
    if number > opened:
        raise no_epoch(number, f"0 to {opened}, the open one")
    view = views.whole_epoch(question.queries.epoch(number))
    if condition("miners", question.viewer) != "always":
        del view["reputation"]
    leaf = None
    if number < opened and sees_leaf(question, number):
        leaf = json_value(question.log.leaves[number])
    return {**view, "leaf": leaf}


def no_epoch(number: int, expected: str) -> RefusedQuestionError:
    """Return the refusal of an epoch that has not begun, or is not closed."""
    return RefusedQuestionError(
        "no-such-epoch", f"the epoch {number}", expected, "see /api/v1/epochs"
    )


def sees_leaf(question: Question, number: int) -> bool:
    """Return whether the asker sees the leaf of an epoch, which has the roots of its steps.

    One with a salt is nobody's before the embargo is over: whoever salts does not want what they
    have scored to be guessed from the log.
    """
    is_open = question.log.leaves[number].salt is None or number <= last_over(question)
    return is_open or condition("leaf", question.viewer) == "always"


def check_embargo(question: Question, subject: str, number: int, hotkey: str = "") -> None:
    """Refuse what has an embargo that is not over, or that the asker never sees.

    Raises:
        RefusedQuestionError: the epoch is not closed, the embargo is not over, or it is not shown.
    """
    if not sees_closed(question, subject, hotkey):
        raise not_shown(ACCESS[subject].holds)
    opened = question.queries.state.epoch
    if number >= opened:
        raise no_epoch(
            number, f"one that is closed: 0 to {opened - 1}" if opened else "a closed one"
        )
    needs = condition(subject, question.viewer, hotkey)
    if needs != "always" and number > last_over(question):
        epochs = question.site.settings.embargo
        raise RefusedQuestionError(
            "embargo",
            f"the weights of epoch {number}",
            f"those of one after which {epochs} more closed",
            f"ask again once epoch {number + epochs} is closed",
        )


@partial(
    Route,
    "/api/v1/epochs/{epoch}/weights",
    "weights",
    name="weights",
    of=WeightsAnswer,
    refuses=(403, 404),
)
def _weights(question: Question) -> Response:
    """The weights of a closed epoch, once its embargo is over."""
    number = question.number("epoch") or 0
    check_embargo(question, "weights", number)
    return json_answer({"epoch": number, **weights_view(question, number)})


def weights_view(question: Question, number: int) -> JsonObject:
    """Return the weights of a closed epoch, as ``weights --json`` does: exact, and as uint16."""
    found = weights_of(question, number)
    return views.weights(found.lines, found.shared) if found.lines else {"lines": {}}


@partial(Route, "/api/v1/checkpoint", "epochs", name="checkpoint", of=CheckpointAnswer)
def _checkpoint(question: Question) -> Response:
    """The checkpoint of the closed epochs: size and root of their log."""
    signed, digest = checkpoint_of(question), question.queries.rules_digest()
    return json_answer(views.checkpoint(signed, question.site.signer, digest))


def checkpoint_of(question: Question) -> Checkpoint:
    """Return the checkpoint of the closed epochs, signed where the service has a signer."""
    current = question.once("checkpoint", lambda: log_checkpoint(question.log))
    return question.site.signed(current)


@partial(
    Route,
    "/api/v1/proofs/row",
    "reputations",
    name="rowProof",
    of=RowProofAnswer,
    query=(IN_PATH["epoch"], _STEP, _KEY),
    refuses=(403, 404),
)
def _row(question: Question) -> Response:
    """A proof that a row is in a step of an epoch, and the epoch in the log."""
    number, step = question.number("epoch") or 0, cast("RootedStep", question.text("step"))
    key = _key(question.text("key"))
    _check_row(question, number, step, key)
    proof = log_proof(question.log, number, step, key, checkpoint_of(question))
    return json_answer(json_value(proof))


def _key(text: str) -> list[Any]:
    try:
        key = json.loads(text)
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, list) or not all(isinstance(part, str) for part in key):
        raise RefusedQuestionError(
            "bad-parameter",
            f"the key {text[:60]}",
            'an array of texts such as ["5Miner","translation"]',
            "see docs/http-api.md",
        )
    return key


def _check_row(question: Question, number: int, step: str, key: list[Any]) -> None:
    """Refuse the proof of a row that the asker does not see."""
    queries = question.queries
    if number >= queries.state.epoch:
        raise no_epoch(number, "a closed one")
    if not sees_leaf(question, number):
        check_embargo(question, "weights", number)
    if step == "thresholds" or condition("reputations", question.viewer) == "always":
        return
    hotkey, skill_type = (*map(str, key), "", "")[:2]
    if not sees_board(question, skill_type):
        raise not_shown("a proof of a reputation")
    is_own = question.viewer.kind == "own" and question.viewer.hotkey == hotkey
    if is_own and "reputation" in own_values(queries, question.viewer, hotkey):
        return
    # what the board has now is what the last epoch made
    is_newest = number == queries.state.epoch - 1
    is_shown = is_newest and any(e.hotkey == hotkey for e in board(question, skill_type))
    if not is_shown:
        raise not_shown("a proof of a reputation that no leaderboard shows now")


@partial(Route, "/api/v1/log", "epochs", name="log", of=LogAnswer)
def _log(question: Question) -> Response:
    """The hash of the leaf of each closed epoch, of which a checkpoint has the root."""
    return json_answer({"leaves": [leaf.hex() for leaf in question.log.tree.leaves]})
