"""Application: the ASGI application of a service about a state, read-only."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

import attrs
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from tallystick.errors import StateError, StoreError, TallystickError
from tallystick.io.text import masked
from tallystick_service.access import Viewer
from tallystick_service.answer import RefusedQuestionError, json_answer, parts_of
from tallystick_service.api import ROUTES as API
from tallystick_service.assets import PREFIX
from tallystick_service.guard import Guard
from tallystick_service.health import HealthSource
from tallystick_service.metrics import Observations
from tallystick_service.openapi import description
from tallystick_service.pages import ROUTES as PAGES
from tallystick_service.proof import viewer_of
from tallystick_service.route import Parameter, Question, Route
from tallystick_service.settings import Settings
from tallystick_service.site import Site, Version
from tallystick_state.stored_state import StoredState
from tallystick_state.trust.keys import Signer

ROUTES: tuple[Route, ...] = (*API, *PAGES)
"""Every address of the service about a state."""
_FOR_EVER = "public, max-age=31536000, immutable"
_NUMBER = re.compile("[0-9]{1,18}")
_VARY = "Authorization"


def application(  # noqa: PLR0913  # what a daemon gives beside
    state: StoredState,
    settings: Settings,
    *,
    health: HealthSource | None = None,
    observations: Observations | None = None,
    signer: Signer | None = None,
    routes: Sequence[BaseRoute] = (),
    clock: Callable[[], float] = time.monotonic,
) -> ASGIApp:
    """Return the application of a service.

    Args:
        state: which it reads, and never changes.
        settings: whom it answers, what it shows, and its limits.
        health: returns the health of now; by default it is well as long as the state can be read.
        observations: what a daemon has observed, for the metrics.
        signer: signs the checkpoint; by default nobody does.
        routes: routes of others, which come first; the guard is theirs, too. Their paths are as
            they were sent, percent-encoded.
        clock: returns seconds, by which clients have their rate and the store is looked at again.
    """
    site = Site(state, settings, health, observations, signer, clock)
    site.description = description(ROUTES)
    limiter = CapacityLimiter(settings.threads)
    desk = _Desk(site, limiter)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        site.scoring.warm()
        try:
            yield
        finally:
            await site.scoring.close()

    rows = [
        StarletteRoute(
            row.path,
            partial(desk.answer, row),
            methods=["POST" if row.posted else "GET"],
            name=row.name,
        )
        for row in ROUTES
    ]
    static = StarletteRoute(f"{PREFIX}{{name:path}}", partial(_file, site), methods=["GET"])
    starlette = Starlette(
        routes=[*routes, *rows, static],
        lifespan=lifespan,
        exception_handlers={
            HTTPException: partial(_unrouted, site),
            RefusedQuestionError: partial(_told, site),
            # of another's route, too, as on a full disk
            StoreError: partial(_unread, site),
            Exception: partial(_failed, site),
        },
    )
    starlette.router.redirect_slashes = False
    starlette.state.site = site
    return Guard(starlette, settings, site.answered, clock)


async def _file(site: Site, request: Request) -> Response:
    """Return a file of the pages."""
    asset = site.assets.get(request.scope["path"])
    if asset is None:
        raise not_there(request.scope["path"])
    return Response(asset.body, headers={"cache-control": _FOR_EVER}, media_type=asset.media_type)


class _Desk:
    """Questions and their answers: kept ones at once, others from threads, each computed once."""

    def __init__(self, site: Site, limiter: CapacityLimiter) -> None:
        self.site, self._limiter = site, limiter
        self._underway: dict[tuple[str, str], asyncio.Task[tuple[Response, Version]]] = {}

    async def answer(self, row: Route, request: Request) -> Response:
        """Return the answer of a row.

        Raises:
            RefusedQuestionError: the question is none, or the state or its rules have no answer.
        """
        try:
            return await self._answer(row, request)
        except TallystickError as error:
            raise _refused(error) from error

    async def _answer(self, row: Route, request: Request) -> Response:
        """Return an answer with the headers that it has by its identity."""
        site = self.site
        values, body = values_of(row, request), await request.body()
        form = body if row.proves else None
        viewer = viewer_of(request, site.settings, values.get("hotkey", ""), form)
        question = Question(
            site,
            row,
            values,
            viewer,
            request,
            body,
            request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        )
        if not row.reads:
            answered = row.answer(question)
            return answered if isinstance(answered, Response) else await answered
        if not row.is_kept:
            answer, _ = await self._in_thread(question)
            return answer
        current = await site.version_now(self._limiter)
        etag = site.etag(current, viewer)
        headers = self._headers(current, etag, viewer)
        if _has_tag(request.headers, etag):
            return Response(b"", HTTPStatus.NOT_MODIFIED, headers)
        kept = site.kept.get(question.address, etag)
        if kept is not None:
            return kept
        answer, of = await self._computed(question, etag)
        etag = site.etag(of, viewer)
        answer.headers.update(self._headers(of, etag, viewer))
        site.kept.put(question.address, etag, answer)
        return answer

    async def _computed(self, question: Question, etag: str) -> tuple[Response, Version]:
        """Return an answer that is computed once for all who ask for it meanwhile."""
        key = question.address, etag
        task = self._underway.get(key)
        if task is None:
            task = asyncio.ensure_future(self._in_thread(question))
            self._underway[key] = task
            task.add_done_callback(partial(self._done, key))
        # who leaves does not end what others wait for
        return await asyncio.shield(task)

    def _done(self, key: tuple[str, str], task: asyncio.Task[tuple[Response, Version]]) -> None:
        """Forget an answer under way; its fault is theirs who still wait for it."""
        self._underway.pop(key, None)
        if not task.cancelled():
            task.exception()

    def _read(self, question: Question) -> tuple[Response, Version]:
        """Return the answer of a row that reads the state, with the version that it is of."""
        with self.site.state.queries() as queries:
            version = self.site.version_of(queries)
            answer = question.route.answer(attrs.evolve(question, version=version, queries=queries))
        assert isinstance(answer, Response)  # noqa: S101  # a row that reads is no coroutine
        return answer, version

    async def _in_thread(self, question: Question) -> tuple[Response, Version]:
        return await to_thread.run_sync(self._read, question, limiter=self._limiter)

    def _headers(self, current: Version, etag: str, viewer: Viewer) -> dict[str, str]:
        scope = "public" if viewer.kind == "public" else "private"
        return {
            "cache-control": f"{scope}, no-cache",
            "etag": etag,
            "vary": _VARY,
            "tallystick-state": current.digest,
            "tallystick-rules": current.rules,
        }


def _has_tag(headers: Headers, etag: str) -> bool:
    tags = [tag.strip() for value in headers.getlist("if-none-match") for tag in value.split(",")]
    # no "*": what this asker may not see, or is not there, has no answer that it could hold
    return any(tag.removeprefix("W/") == etag for tag in tags)


def values_of(row: Route, request: Request) -> dict[str, str]:
    """Return the values of the parameters of a question.

    Raises:
        RefusedQuestionError: one is unknown, missing, doubled, too long or of another kind.
    """
    values = {name: unquote_to_bytes(value).decode() for name, value in request.path_params.items()}
    for name, value in request.query_params.multi_items():
        known = [parameter.name for parameter in row.parameters]
        if name not in known or name in values:
            problem = f"the parameter {name[:60]}{' twice' if name in values else ''}"
            expected = f"one of {', '.join(known)}, once" if known else "none"
            raise _bad_value(problem, expected)
        values[name] = value
    for parameter in row.parameters:
        _check_value(parameter, values.get(parameter.name))
    return values


def _check_value(parameter: Parameter, value: str | None) -> None:
    if value is None:
        if parameter.required:
            raise _bad_value(f"no {parameter.name}", parameter.meaning)
        return
    if len(value) > parameter.longest:
        raise _bad_value(f"{len(value)} characters of {parameter.name}", f"{parameter.longest}")
    if parameter.kind == "number" and not _NUMBER.fullmatch(value):
        raise _bad_value(f"the {parameter.name} {value[:60]}", "a whole number from 0")
    if parameter.choices and value not in parameter.choices:
        raise _bad_value(
            f"the {parameter.name} {value[:60]}", f"one of {', '.join(parameter.choices)}"
        )


def _bad_value(found: str, expected: str) -> RefusedQuestionError:
    remedy = "see /api/v1/openapi.json"
    return RefusedQuestionError("bad-parameter", found, expected, remedy)


def _refused(error: TallystickError) -> RefusedQuestionError:
    """Return the refusal of a question that the state, or its rules, have no answer to."""
    if isinstance(error, StoreError):
        # where the store is, is nobody's business
        found, expected = "a state that cannot be read", "one"
        return RefusedQuestionError("no-state", found, expected, "ask the operator")
    found, expected, remedy = parts_of(masked(str(error)))
    code = getattr(error, "code", "") or "not-there"
    is_of_state = isinstance(error, StateError)
    status = HTTPStatus.NOT_FOUND if is_of_state else HTTPStatus.UNPROCESSABLE_ENTITY
    remedy = remedy or "see /api/v1/openapi.json"
    return RefusedQuestionError(code, found, expected, remedy, status=status)


def not_there(path: str) -> RefusedQuestionError:
    """Return the refusal of an address that the service does not have."""
    return RefusedQuestionError(
        "no-such-address", f"the path {path[:100]}", "one of the service", "see /"
    )


async def _unrouted(site: Site, request: Request, error: HTTPException) -> Response:
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "GET")
        refused = RefusedQuestionError(
            "other-method",
            f"the method {request.method[:20]}",
            allowed,
            "ask by that method",
            {"allow": allowed},
        )
    else:
        refused = not_there(request.scope["path"])
    return await _told(site, request, refused)


async def _unread(site: Site, request: Request, error: StoreError) -> Response:
    return await _told(site, request, _refused(error))


async def _failed(site: Site, request: Request, error: Exception) -> Response:  # noqa: ARG001
    """Return the answer to a question on which the service itself fails; the server logs why."""
    refused = RefusedQuestionError(
        "internal-error",
        "a question on which the service itself fails",
        "an answer",
        "tell the operator, whose log has the reason",
    )
    return await _told(site, request, refused)


async def _told(site: Site, request: Request, error: RefusedQuestionError) -> Response:
    """Return a refusal: a page where the asker wants one, and else JSON."""
    accepted, path = request.headers.get("accept", ""), request.scope["path"]
    if "text/html" in accepted and not path.startswith("/api/"):
        # a form is asked for again where it was posted
        again = path if request.method == "POST" else "/"
        page = site.page("error.html", error.status, None, question=None, error=error, again=again)
        page.headers.update(error.headers)
        return page
    return json_answer(error.view(), error.status, error.headers)
