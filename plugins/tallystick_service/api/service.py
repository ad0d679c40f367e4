"""Answers about the service itself: its health, its metrics, the description of its answers."""

from __future__ import annotations

from http import HTTPStatus

from tallystick.json_values import JsonObject, json_value
from tallystick_service.answers import HealthAnswer
from tallystick_service.exposition import CONTENT_TYPE, exposition
from tallystick_service.proof import ask_operator
from tallystick_service.route import Answer, Question, Route, json_answer


def _health(question: Question) -> Answer:
    health = question.site.health()
    is_failing = health.status == "failing"
    status = HTTPStatus.SERVICE_UNAVAILABLE if is_failing else HTTPStatus.OK
    return json_answer(json_value(health), status)


def _metrics(question: Question) -> Answer:
    return Answer(exposition(question), CONTENT_TYPE)


def _description(question: Question) -> Answer:
    return json_answer(question.site.description)


def _operator(question: Question) -> Answer:
    """Have a browser ask for the operator's secret, and go on to the first page."""
    if question.viewer.kind != "operator":
        raise ask_operator("no secret")
    return Answer(b"", status=HTTPStatus.SEE_OTHER, headers={"location": "/"})


ROUTES: tuple[Route, ...] = (
    Route(
        path="/healthz",
        name="health",
        sentence="Health: status, problems, remedies; the status is 503 where it fails.",
        answer=_health,
        subject="service",
        of=HealthAnswer,
        is_kept=False,
        refuses=(503,),
    ),
    Route(
        path="/metrics",
        name="metrics",
        sentence="Metrics for Prometheus.",
        answer=_metrics,
        subject="service",
        media_type=CONTENT_TYPE,
        is_kept=False,
    ),
    Route(
        path="/api/v1/openapi.json",
        name="description",
        sentence="The description of these answers, OpenAPI 3.1.",
        answer=_description,
        subject="service",
        of=JsonObject,
        reads=False,
    ),
    Route(
        path="/operator",
        name="operator",
        sentence="Ask for the operator's secret, and go on to the first page.",
        answer=_operator,
        subject="service",
        media_type="text/html; charset=utf-8",
        reads=False,
    ),
)
