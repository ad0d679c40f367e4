"""Answers about the service itself: its health, its metrics, the description of its answers."""

from __future__ import annotations

from http import HTTPStatus

from tallystick.json_values import json_value
from tallystick_service.answers import HealthAnswer
from tallystick_service.route import Answer, Question, Route, json_answer


def _health(question: Question) -> Answer:
    health = question.site.health()
    is_failing = health.status == "failing"
    return json_answer(
        json_value(health), HTTPStatus.SERVICE_UNAVAILABLE if is_failing else HTTPStatus.OK
    )


ROUTES: tuple[Route, ...] = (
    Route(
        path="/healthz",
        name="health",
        sentence="Health: status, problems, remedies; the status is 503 where it fails.",
        answer=_health,
        subject="service",
        of=HealthAnswer,
        reads=False,
        refuses=(503,),
    ),
)
