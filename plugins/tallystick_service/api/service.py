"""Answers about the service itself: its health, its metrics, the description of its answers."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

import attrs
from anyio import to_thread
from starlette.responses import Response

from tallystick.errors import StoreError, TallystickError
from tallystick.json_values import JsonObject
from tallystick_service.answer import json_answer
from tallystick_service.answers import HealthAnswer
from tallystick_service.exposition import CONTENT_TYPE, exposition
from tallystick_service.health import Health, Problem
from tallystick_service.proof import ask_operator
from tallystick_service.route import Question, Route

_UNREADABLE = Problem(
    "state-unreadable",
    "found a state that cannot be read, expected one that can",
    "run tallystick state verify on it, and see the page on operations",
)

_TOLD = ("code", "message", "remedy")


@partial(Route, "/healthz", "service", name="health", of=HealthAnswer, reads=False)
async def _health(question: Question) -> Response:
    """Health: status, problems, remedies; the status is 503 where it fails."""
    site = question.site
    health = site.health()
    try:
        await site.version_now()
    except TallystickError:
        # where the store is, and what is wrong with it, is not for everyone
        health = Health("failing", (_UNREADABLE, *health.problems))
    is_failing = health.status == "failing"
    status = HTTPStatus.SERVICE_UNAVAILABLE if is_failing else HTTPStatus.OK
    problems = [
        {name: text for name in _TOLD if (text := getattr(problem, name))}
        for problem in health.seen_by(question.viewer).problems
    ]
    return json_answer({"status": health.status, "problems": problems}, status)


@partial(Route, "/metrics", "service", name="metrics", media_type=CONTENT_TYPE, reads=False)
async def _metrics(question: Question) -> Response:
    """Metrics for Prometheus."""
    return await to_thread.run_sync(_exposed, question)


def _exposed(question: Question) -> Response:
    site = question.site
    try:
        with site.state.queries() as queries:
            of_state = attrs.evolve(question, version=site.version_of(queries), queries=queries)
            return Response(exposition(of_state), media_type=CONTENT_TYPE)
    except StoreError:
        # what the daemon observes is wanted most where the state cannot be read
        return Response(exposition(question), media_type=CONTENT_TYPE)


@partial(Route, "/api/v1/openapi.json", "service", name="description", of=JsonObject, reads=False)
def _description(question: Question) -> Response:
    """The description of these answers, OpenAPI 3.1."""
    return json_answer(question.site.description)


@partial(Route, "/operator", "service", reads=False)
def _operator(question: Question) -> Response:
    """Ask for the operator's secret, and go on to the first page."""
    if question.viewer.kind != "operator":
        raise ask_operator("no secret")
    return Response(b"", HTTPStatus.SEE_OTHER, {"location": "/"})
