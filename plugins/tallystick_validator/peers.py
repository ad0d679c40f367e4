"""Peers: what validators give to each other over HTTP, and the client that trusts none of it.

Read-only, below ``/peer/v1``:

=======================  ======================================================================
``/status``              `Status`: who it is, of which network, and its newest closed epoch
``/batches/{epoch}``     `Digests`: the batches of an epoch that it has, whole and valid
``/batch/{digest}``      the bytes of a batch
``/closed/{epoch}``      `ClosedEpochDigests`: leaf with the roots of all steps, digest of rules
``/checkpoint``          the checkpoint that the validator has published last
=======================  ======================================================================

Batches have the records of all tasks, and leaves may have a salt. So a validator with a key gives
them to validators that are heard alone, which prove who they are as miners do to the service, by a
signed `Challenge`; status and checkpoint are for everyone.

Nothing of an address becomes the name of a file but 64 hexadecimal digits and a number. Answers
have no content encoding, no redirect and no state; what is not there is 404. The server of the
service cuts clients that are slow.

A peer may be slow, cut off, or hostile. So every request has one deadline, in which its name is
resolved, a connection is made and all of the answer comes, however slowly bytes drip; every answer
has a greatest size; redirects and content encodings are refused, so that no few bytes become many;
names in answers are digests and numbers, and none becomes a path. A batch comes whole from one
peer, its hash says whether it is right, and one that fails is asked of the next peer, in the same
pull while its time lasts.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import attrs
import msgspec

from tallystick.errors import InputError, TallystickError
from tallystick.io.text import visible
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.challenge import SCHEME
from tallystick_service.health import Problem
from tallystick_service.proof import viewer_of
from tallystick_service.server import check_installed
from tallystick_service.settings import Settings
from tallystick_validator.batches import MAX_BATCH_BYTES, Committed, digest_of
from tallystick_validator.shelf import DIGEST, EPOCH, ClosedEpochDigests, Shelf

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

PREFIX = "/peer/v1"
"""Beginning of the paths of peers."""
MAX_BATCHES = 1024
"""Maximum number of batches of one epoch that a peer lists; more validators cannot vote."""
_JSONL = "application/jsonl"

_Text = Annotated[str, msgspec.Meta(max_length=256)]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


@attrs.frozen
class Status:
    """The first answer of a peer.

    Attributes:
        hotkey: of the validator, as it says.
        network: the digest of its network file.
        genesis: the digest of how its state began.
        epoch: its newest closed one; None before one.
    """

    hotkey: _Text
    network: _Sha256
    genesis: _Sha256
    epoch: _Number | None = None


_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Digests = Annotated[tuple[_Digest, ...], msgspec.Meta(max_length=MAX_BATCHES)]
"""The batches of an epoch that a peer has: SHA-256, 64 hexadecimal digits each, ascending."""


@attrs.frozen
class PeerAnswers:
    """The answers to peers.

    Attributes:
        shelf: the batches and the digests of closed epochs.
        status: gives the first answer; called in a thread.
        checkpoint: the file of the checkpoint; None where none is published.
        allows: whether a hotkey may have batches and leaves; None: everyone may.
    """

    shelf: Shelf
    status: Callable[[], Status]
    checkpoint: Path | None = None
    allows: Callable[[str], bool] | None = None

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes for peers, for an application of Starlette.

        Raises:
            InputError: Starlette is not installed.
        """
        check_installed()
        from starlette.routing import Route

        guarded = self._for_validators
        return [
            Route(f"{PREFIX}/status", self._status),
            Route(f"{PREFIX}/batches/{{epoch}}", guarded(self._batches)),
            Route(f"{PREFIX}/batch/{{digest}}", guarded(self._batch)),
            Route(f"{PREFIX}/closed/{{epoch}}", guarded(self._closed)),
            Route(f"{PREFIX}/checkpoint", self._published),
        ]

    def _for_validators(
        self, handler: Callable[[Request], Response]
    ) -> Callable[[Request], Response]:
        def answered(request: Request) -> Response:
            from starlette.responses import PlainTextResponse

            if self.allows is None:
                return handler(request)
            status = HTTPStatus.UNAUTHORIZED.value
            text = "found no proof, expected that of a validator's hotkey"
            try:
                hotkey = viewer_of(request, Settings()).hotkey
            except RefusedQuestionError as error:
                hotkey, status, text = "", error.status, str(error)
            if hotkey and self.allows(hotkey):
                return handler(request)
            if hotkey:
                status = HTTPStatus.FORBIDDEN.value
                text = f"found {visible(hotkey)}, expected a validator that the network hears"
            return PlainTextResponse(f"{text}\n", status, headers={"WWW-Authenticate": SCHEME})

        return answered

    def _status(self, _: Request) -> Response:
        return _answer(self.status())

    def _batches(self, request: Request) -> Response:
        epoch = _epoch_of(request)
        return _answer(None if epoch is None else self.shelf.digests(epoch)[:MAX_BATCHES])

    def _batch(self, request: Request) -> Response:
        digest = request.path_params["digest"]
        return _answer(self.shelf.find(digest) if DIGEST.fullmatch(digest) else None, _JSONL)

    def _closed(self, request: Request) -> Response:
        epoch = _epoch_of(request)
        return _answer(None if epoch is None else self.shelf.closed(epoch))

    def _published(self, _: Request) -> Response:
        is_there = self.checkpoint is not None and self.checkpoint.is_file()
        return _answer(self.checkpoint if is_there else None, "text/plain")


def _epoch_of(request: Request) -> int | None:
    text = request.path_params["epoch"]
    return int(text) if EPOCH.fullmatch(text) else None


def _answer(value: object, media_type: str = "application/json") -> Response:
    """Return a file, the JSON of another value, or that nothing is there."""
    from starlette.responses import FileResponse, PlainTextResponse, Response

    if value is None:
        return PlainTextResponse("not here\n", status_code=HTTPStatus.NOT_FOUND)
    if isinstance(value, Path):
        return FileResponse(value, media_type=media_type)
    return Response(msgspec.json.encode(value), media_type=media_type)


_T = TypeVar("_T")
# made here, in one thread: msgspec 0.22 crashes where two threads learn a type at the same time
_STATUS, _CLOSED = msgspec.json.Decoder(Status), msgspec.json.Decoder(ClosedEpochDigests)
_LISTED: msgspec.json.Decoder[tuple[str, ...]] = msgspec.json.Decoder(Digests)


class PeerError(TallystickError):
    """A peer that cannot be reached, or whose answer is not taken."""


class Clock:
    """The time that pulling goes by; tests have another."""

    def now(self) -> float:
        """Return seconds, which never go back."""
        return time.monotonic()

    def limited(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Return a block that ends with ``TimeoutError`` where it is not left in time."""
        return asyncio.timeout(seconds)


@attrs.frozen
class Limits:
    """Limits of what peers may cost.

    Attributes:
        answer_seconds: maximum time of a small answer, from the resolving of the name on.
        batch_seconds: maximum time of a batch.
        pull_seconds: time after which no more batches are begun in one pull.
        answer_bytes: maximum size of a small answer.
        backoff_seconds: maximum time for which a peer that failed is left alone.
    """

    answer_seconds: float = 5.0
    batch_seconds: float = 30.0
    pull_seconds: float = 10.0
    answer_bytes: int = 1024 * 1024
    backoff_seconds: float = 5.0


def check_url(url: str) -> SplitResult:
    """Return the parts of the address of a peer.

    Raises:
        InputError: it is no plain address of HTTP.
    """
    try:
        parts = urlsplit(url)
        is_plain = bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_plain = urlsplit(""), False
    # no secret in an address, as it is logged; no query, as paths are added
    extra = parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in {"http", "https"} or not is_plain or extra:
        message = f"found the peer {visible(url)!r}, expected http://HOST:PORT or https://HOST"
        raise InputError(message)
    return parts


@attrs.define(eq=False)
class Peer:
    """One peer, and how it did so far.

    Attributes:
        url: its address.
        limits: what it may cost.
        prove: gives the ``Authorization`` for an origin; None where this side has no key.
        clock: for its deadlines.
        status: what it said last about itself; None before it was reached.
        failure: the last reason why it was of no use; empty while it is.
        failures: how often it failed one after the other.
        retry_at: until when it is left alone, by the clock.
        asked_at: when it was asked last, by the clock; None behind a failure.
        compared: the newest epoch whose digests were compared; None before.
        difference: what its digests differ by; None while they are equal.
    """

    url: str
    limits: Limits
    prove: Callable[[str], str] | None = None
    clock: Clock = attrs.field(factory=Clock)
    status: Status | None = None
    failure: str = ""
    failures: int = 0
    retry_at: float = 0.0
    asked_at: float | None = None
    compared: int | None = None
    difference: Problem | None = None

    def fail(self, reason: str) -> None:
        """Note that the last request failed; the peer is left alone for a while.

        It is for twice as long as the request took, in which another peer may have served: so one
        that drips keeps no batch from coming.

        Args:
            reason: for the operator.
        """
        now = self.clock.now()
        wasted = 0.0 if self.asked_at is None else now - self.asked_at
        self.asked_at = None
        self.failure, self.failures = reason, self.failures + 1
        pause = min(self.limits.backoff_seconds, 0.25 * 2 ** min(self.failures, 16))
        self.retry_at = now + max(pause, 2 * wasted)

    def succeed(self) -> None:
        """Note that a request succeeded."""
        self.failure, self.failures, self.retry_at = "", 0, 0.0

    async def status_now(self) -> Status:
        """Return what the peer says about itself, which is noted.

        Raises:
            PeerError: it cannot be had, or is something else.
        """
        self.status = await self._json("/status", _STATUS)
        return self.status

    async def listed(self, epoch: int) -> tuple[str, ...]:
        """Return the digests of the batches that the peer has of an epoch.

        Raises:
            PeerError: they cannot be had, or are something else.
        """
        return await self._json(f"/batches/{epoch}", _LISTED)

    async def _json(self, path: str, decoder: msgspec.json.Decoder[_T]) -> _T:
        data = await self._answer(path, self.limits.answer_seconds, self.limits.answer_bytes)
        try:
            return decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            found = visible(str(error))[:200]
            raise PeerError(f"gave something else than was asked for ({found})") from error

    async def closed(self, epoch: int) -> ClosedEpochDigests:
        """Return the digests of a closed epoch.

        Raises:
            PeerError: it cannot be asked, or has them no more.
        """
        return await self._json(f"/closed/{epoch}", _CLOSED)

    async def batch(self, digest: str) -> bytes:
        """Return the bytes of a batch, whose hash is right.

        Raises:
            PeerError: they cannot be had, or are others.
        """
        data = await self._answer(f"/batch/{digest}", self.limits.batch_seconds, MAX_BATCH_BYTES)
        if digest_of(data) != digest:
            raise PeerError(f"gave other bytes than those of the batch {digest}")
        return data

    async def _answer(self, path: str, seconds: float, most: int) -> bytes:
        """Return the answer to one request, over a connection of its own.

        Raises:
            PeerError: there is none in time, or it is too large, or no plain one.
        """
        import httpx

        self.asked_at = self.clock.now()
        parts = check_url(self.url)
        headers = {"Accept-Encoding": "identity", "Connection": "close"}
        if self.prove is not None:
            headers["Authorization"] = self.prove(f"{parts.scheme}://{parts.netloc}")
        data = bytearray()
        # a handshake that is cancelled would leave its socket open; one that is late is closed
        each = httpx.Timeout(seconds, connect=seconds / 2)
        try:
            async with (
                self.clock.limited(seconds),
                httpx.AsyncClient(verify=_tls(), trust_env=False, timeout=each) as client,
                client.stream(
                    "GET", f"{self.url.rstrip('/')}{PREFIX}{path}", headers=headers
                ) as answer,
            ):
                if answer.status_code != HTTPStatus.OK:
                    raise PeerError(
                        f"answered {answer.status_code}, expected {HTTPStatus.OK.value}"
                    )
                if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
                    raise PeerError("gave an answer with a content encoding, expected none")
                async for piece in answer.aiter_raw():
                    data += piece
                    if len(data) > most:
                        raise PeerError(f"gave more than {most} bytes, the most that are taken")
        except TimeoutError as error:
            raise PeerError(f"did not answer within {seconds:g} seconds") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            reason = visible(str(error) or type(error).__name__)[:200]
            raise PeerError(f"cannot be asked ({reason})") from error
        return bytes(data)


class Puller:
    """Pulls batches from peers."""

    def __init__(
        self,
        urls: Iterable[str],
        limits: Limits | None = None,
        prove: Callable[[str], str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Take the addresses of the peers, and the proof of who asks; ask none yet.

        Raises:
            InputError: an address is none.
        """
        self.limits, self.clock = limits or Limits(), clock or Clock()
        self.peers = tuple(Peer(url, self.limits, prove, self.clock) for url in dict.fromkeys(urls))
        for peer in self.peers:
            check_url(peer.url)

    def ready(self) -> list[Peer]:
        """Return the peers that are not left alone now."""
        now = self.clock.now()
        return [peer for peer in self.peers if peer.retry_at <= now]

    def each(
        self, peers: Iterable[Peer], work: Callable[[Peer], Coroutine[Any, Any, None]]
    ) -> None:
        """Do some work with each peer at once; what fails is noted with it."""
        several = [*peers]
        if not several:
            return

        async def attempt(peer: Peer) -> None:
            try:
                await work(peer)
            except PeerError as error:
                peer.fail(str(error))
            else:
                peer.succeed()

        async def attempts() -> list[BaseException | None]:
            return await asyncio.gather(*map(attempt, several), return_exceptions=True)

        # closing a loop waits for no name that is being resolved, as `asyncio.run` would
        loop = asyncio.new_event_loop()
        try:
            outcomes = loop.run_until_complete(attempts())
        finally:
            loop.close()
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    def pull(
        self, wanted: Iterable[Committed], take: Callable[[Sequence[Committed], bytes], None]
    ) -> None:
        """Pull batches from whoever has them, as far as the time allows.

        Args:
            wanted: which.
            take: keeps the bytes of a digest, whose hash is right, for all that are wanted by it;
                called from several threads.

        Raises:
            OutputError: what came cannot be written.
        """
        needed = dict[str, list[Committed]]()
        for item in wanted:
            needed.setdefault(item.digest, []).append(item)
        if not needed:
            return
        epochs = sorted({item.epoch for items in needed.values() for item in items})
        offers, begun = dict[Peer, set[str]](), set[str]()
        deadline = self.clock.now() + self.limits.pull_seconds

        async def draw(peer: Peer) -> None:
            """Fetch from one peer what nobody else fetches."""
            if peer not in offers:
                offers[peer] = {digest for epoch in epochs for digest in await peer.listed(epoch)}
            # peers begin at different batches
            order = sorted(offers[peer], key=lambda each: digest_of(f"{each} {peer.url}".encode()))
            for digest in order:
                if digest in needed and digest not in begun and self.clock.now() < deadline:
                    begun.add(digest)
                    data = await peer.batch(digest)
                    await asyncio.to_thread(take, needed[digest], data)
                    del needed[digest]

        several = self.ready()
        while several and self.clock.now() < deadline:
            begun.clear()
            self.each(several, draw)
            # what one of them failed at is asked of the others
            several = [peer for peer in offers if offers[peer] & needed.keys() and not peer.failure]


@cache
def _tls() -> ssl.SSLContext:
    """Return the certificates that the system trusts."""
    return ssl.create_default_context()
