"""Answers about one record that the asker posts: its scores, and every step behind them."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from starlette.responses import Response

from tallystick.json_values import JsonObject
from tallystick_service.answer import RefusedQuestionError, json_answer, parts_of
from tallystick_service.answers import ExplainAnswer, ScoreAnswer
from tallystick_service.route import Parameter, Question, Route
from tallystick_service.scoring_process import Order, Verb

_RECORD = "One record, as a line of a file of records has it; at most 1 MiB."
_RULES = Parameter(
    name="rules",
    meaning="name@version of a rule set of /api/v1/rule-sets; by default the rules of the state, "
    "in the epoch that the record names",
    example="skills@1.2.0",
)


@partial(
    Route,
    "/api/v1/explain",
    "scoring",
    name="explain",
    of=ExplainAnswer,
    query=(_RULES,),
    posted=_RECORD,
    reads=False,
    refuses=(422,),
)
async def _explain(question: Question) -> Response:
    """Every step behind the scores of one posted record."""
    return await _scored(question, "explain")


@partial(
    Route,
    "/api/v1/score",
    "scoring",
    name="score",
    of=ScoreAnswer,
    query=(_RULES,),
    posted=_RECORD,
    reads=False,
    refuses=(422,),
)
async def _score(question: Question) -> Response:
    """The scores of one posted record."""
    return await _scored(question, "score")


async def _scored(question: Question, verb: Verb) -> Response:
    order = Order(do=verb, record=question.body, rules=question.text("rules"))
    return json_answer(await value_of(question, order))


async def value_of(question: Question, order: Order) -> JsonObject:
    """Return the scores of a posted record as JSON, by a process of its own.

    Raises:
        RefusedQuestionError: it cannot be scored.
    """
    scored: JsonObject = await question.site.scoring.score(order)
    if "value" in scored:
        value: JsonObject = scored["value"]
        return value
    error = scored["refused"]
    is_record = error["error"] == "RecordError"
    found, expected, remedy = parts_of(error["message"])
    raise RefusedQuestionError(
        error.get("code") or "not-scored",
        error["value"] if is_record else found,
        error["expected"] if is_record else expected,
        remedy or "see what is wrong in problems, and post it again",
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
        path=error.get("path", ""),
        problems=error.get("problems", ()),
    )
