"""Guard: what a request must be before anything else looks at it, and what every answer carries.

It refuses hosts that are not ours, paths with two readings, too many requests, bodies that are too
large or too slow. A path stays as it was sent: its parts are decoded where they are values, so that
no encoded slash ends a part.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from math import ceil
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick_service.answer import RefusedQuestionError, json_answer
from tallystick_service.clients import client_of
from tallystick_service.origins import Origins
from tallystick_service.settings import Settings

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Policy that allows files of the service alone: none inline, none of others, and no frame."""
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every answer."""
_PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)")
_BAD_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?")
_LONGEST_PATH = 4096
LARGEST_HEAD = 16 * 1024
"""Maximum size of the headers of a request, in bytes."""
_LENGTH_DIGITS = 20
_DRAINED = 16 << 20
"""Bytes of a body that is too large which are taken and dropped before it is refused."""


class Guard:
    """An ASGI application around another, which gets sound requests alone."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        answered: Counter[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Guard an application, and count its answers by status."""
        self._app, self._settings, self._answered = app, settings, answered
        self._origins = dict[int | None, Origins]()
        self._buckets = Buckets(settings.rate, settings.burst, settings.clients)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answered[str(message["status"])] += 1
                # the list is that of an answer, which may be kept
                message["headers"] = [*message.get("headers", [])]
                headers = MutableHeaders(raw=message["headers"])
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                del headers["set-cookie"]
            await send(message)

        try:
            self._check(scope)
            body = await self._body(scope, receive)
        except RefusedQuestionError as error:
            # a part of the request may be unread
            headers = {**error.headers, "connection": "close"}
            response = json_answer(error.view(), error.status, headers)
            await response(scope, receive, guarded)
            return
        if body is None:
            return
        await self._app(scope, _received(body, receive), guarded)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        origins = self._origins_at(scope.get("server"))
        check_host(headers.getlist("host"), origins)
        check_head(scope["headers"])
        scope["path"] = check_path(scope.get("raw_path", b""))
        client = scope.get("client")
        name = self._client(client[0] if client else "", headers)
        scope.setdefault("state", {}).update(client=name, origins=origins.allowed)
        wait = self._buckets.wait(name, self._clock())
        if wait > 0:
            seconds = max(1, ceil(wait))
            raise RefusedQuestionError(
                "too-many-requests",
                "more requests than one client may send",
                f"at most {self._settings.rate:g} a second",
                f"send the next one in {seconds} s",
                {"retry-after": str(seconds)},
            )

    def _origins_at(self, server: tuple[str, int | None] | None) -> Origins:
        """Return the origins of the listener that a request came by."""
        port = server[1] if server else None
        if port not in self._origins:
            self._origins[port] = Origins(self._settings, port)
        return self._origins[port]

    def _client(self, address: str, headers: Headers) -> str:
        """Return the name of a client: its address, or that which a trusted proxy says."""
        if address in self._settings.proxies:
            forwarded = ",".join(headers.getlist("x-forwarded-for")).split(",")
            # the last one is what our proxy saw; those before it are what strangers say
            address = forwarded[-1].strip() or address
        return client_of(address)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body of a request, whole; None where its sender left before its end.

        Raises:
            RefusedQuestionError: it is too large, or comes too slowly.
        """
        most = self._settings.body_bytes
        length = Headers(scope=scope).get("content-length")
        try:
            async with asyncio.timeout(self._settings.seconds):
                if length is not None and int(length[:_LENGTH_DIGITS]) > most + _DRAINED:
                    raise _too_large(most)
                return await _whole(receive, most)
        except TimeoutError:
            raise RefusedQuestionError(
                "slow-request",
                "a body that does not end",
                f"all of it within {self._settings.seconds:g} s",
                "send it at once",
            ) from None


async def _whole(receive: Receive, most: int) -> bytes | None:
    """Return a body; None where its sender left before its end.

    Of one that is too large a part is taken, so that its sender hears so.
    """
    body, size = bytearray(), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size <= most:
            body += part
        is_end = not message.get("more_body")
        if size > most and (is_end or size > most + _DRAINED):
            raise _too_large(most)
        if is_end:
            return bytes(body)


def _too_large(most: int) -> RefusedQuestionError:
    return RefusedQuestionError("too-large", "a larger body", f"at most {most} bytes", "send less")


def _received(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read, and then what happens to the connection."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received


def check_head(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse headers that are too large, or that say two lengths of one body.

    Raises:
        RefusedQuestionError: they do.
    """
    names, size = list[bytes](), 0
    for name, value in headers:
        names.append(name)
        size += len(name) + len(value)
    if size > LARGEST_HEAD:
        raise RefusedQuestionError(
            "large-head", f"headers of {size} bytes", f"at most {LARGEST_HEAD}", "send fewer"
        )
    # a proxy before us might take the other one, and the rest for a request of somebody else
    if b"transfer-encoding" in names and b"content-length" in names:
        raise RefusedQuestionError(
            "two-lengths", "Content-Length beside Transfer-Encoding", "one of them", "send one"
        )


def check_host(values: list[str], origins: Origins) -> None:
    """Refuse a request that names no host, several, or one with a port that is not ours.

    Raises:
        RefusedQuestionError: it does.
    """
    match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
    if match is None or match[1].lower().rstrip(".") not in origins.hosts:
        found = f"the host {', '.join(values)[:100]}" if values else "no host"
        expected = f"one of {', '.join(sorted(origins.hosts))}"
        allow = "--allow-host NAME"
    elif origins.has_port(match[1], match[2] or ""):
        return
    else:
        found, expected = f"the host {values[0].lower()[:100]}", f"the port {origins.port}"
        allow = "--allow-host NAME:PORT, or --origin"
    remedy = f"have the service allow it: tallystick serve {allow}"
    raise RefusedQuestionError("other-host", found, expected, remedy)


def check_path(raw: bytes) -> str:
    """Return a path as it was sent, which has one reading alone.

    Raises:
        RefusedQuestionError: it has empty parts or dots, bytes that are not of a path, or an
            encoding that is none.
    """
    path = raw.decode("latin-1")
    parts = path[1:].split("/")
    is_sound = (
        len(path) <= _LONGEST_PATH and _PATH.fullmatch(path) and not _BAD_PERCENT.search(path)
    )
    if is_sound and path != "/":
        is_sound = all(map(_is_part, parts[:-1])) and (not parts[-1] or _is_part(parts[-1]))
    if not is_sound:
        raise RefusedQuestionError(
            "bad-path",
            f"the path {path[:100]}",
            "parts of text in UTF-8, percent-encoded, without empty ones and dots",
            "follow a link of the service",
        )
    return path


def _is_part(part: str) -> bool:
    try:
        text = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        return False
    return text not in {"", ".", ".."} and "\0" not in text


class Buckets:
    """The requests that clients may still send: a bucket of tokens for each, of so many at most.

    Who was not seen for longest is forgotten first, as its bucket is the fullest.
    """

    def __init__(self, rate: float, burst: int, clients: int) -> None:
        """Give every client a full bucket.

        Args:
            rate: tokens a second.
            burst: the tokens of a full bucket.
            clients: how many buckets are kept.
        """
        self._rate, self._burst, self._most = rate, burst, clients
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Take a token; return the seconds until there is one where there is none, and else 0.

        Args:
            client: who sends a request.
            now: seconds of a clock that never goes back.
        """
        tokens, since = self._buckets.pop(client, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
        self._buckets[client] = (tokens if wait else tokens - 1, now)
        while len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return wait
