"""Pulling: the client of peers, which trusts nothing that they say.

A peer may be slow, cut off, or hostile. So every request has a deadline of its own, however slowly
bytes drip; every answer has a greatest size; redirects and content encodings are refused, so that
no few bytes become many; names in answers are digests and numbers, and none becomes a path. Bytes
of a batch are kept as they come, and the rest is asked of whoever has it; only the hash says
whether they are right. Bytes that came from several peers and are wrong are pulled again from each
alone, so that a liar spoils its own answers only, and then is asked last.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import attrs
import msgspec

from tallystick.errors import InputError, TallystickError
from tallystick.io.text import visible
from tallystick_validator.batches import MAX_BATCH_BYTES, digest_of
from tallystick_validator.peers import PREFIX, BatchList, Listed, Status
from tallystick_validator.shelf import ClosedEpochDigests, Shelf

_T = TypeVar("_T")
# made here, in one thread: msgspec 0.22 crashes where two threads learn a type at the same time
_DECODERS: Mapping[type, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Status, BatchList, ClosedEpochDigests)
}
_CHUNK = 64 * 1024
_RANGE = re.compile(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15})")
_ROUNDS = 4
"""Maximum number of peers that are tried for a batch in one pull."""
_OK, _PARTIAL, _UNSATISFIABLE = 200, 206, 416


class PeerError(TallystickError):
    """A peer that cannot be reached, or whose answer is not taken."""


class Clock:
    """The time that pulling goes by; tests have another."""

    def now(self) -> float:
        """Return seconds, which never go back."""
        return time.monotonic()

    @contextmanager
    def limited(self, seconds: float, end: Callable[[], None]) -> Iterator[None]:
        """Call a function from another thread where the block is not left in time."""
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


@attrs.frozen
class Limits:
    """Limits of what peers may cost.

    Attributes:
        connect_seconds: maximum time to connect, and between two pieces of an answer.
        answer_seconds: maximum time of a small answer.
        batch_seconds: maximum time of one request for a batch; what has come by then stays.
        pull_seconds: time after which no more batches are begun in one pull.
        answer_bytes: maximum size of a small answer.
        backoff_seconds: maximum time for which a peer that failed is left alone.
        connections: maximum number of connections at a time.
    """

    connect_seconds: float = 3.0
    answer_seconds: float = 5.0
    batch_seconds: float = 10.0
    pull_seconds: float = 10.0
    answer_bytes: int = 1024 * 1024
    backoff_seconds: float = 5.0
    connections: int = 8


@attrs.frozen
class Wanted:
    """A batch that is wanted.

    Attributes:
        epoch: for which it was committed.
        digest: its SHA-256, as the chain has it.
        validator: the hotkey that committed it; whose records they are only the bytes say.
    """

    epoch: int
    digest: str
    validator: str


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


@attrs.define
class Peer:
    """One peer, and how it did so far.

    Attributes:
        url: its address.
        status: what it said last about itself; None before it was reached.
        failure: the last reason why it was of no use; empty while it is.
        failures: how often it failed one after the other.
        strikes: how many batches it did not give, one after the other.
        lies: batches of which it gave wrong bytes.
        retry_at: until when it is left alone, by the clock.
        prove: gives the ``Authorization`` for an origin; None where this side has no key.
        clock: for its deadlines.
    """

    url: str
    limits: Limits
    prove: Callable[[str], str] | None = None
    clock: Clock = attrs.field(factory=Clock)
    status: Status | None = None
    failure: str = ""
    failures: int = 0
    strikes: int = 0
    lies: set[str] = attrs.field(factory=set)
    retry_at: float = 0.0

    def fail(self, reason: str) -> None:
        """Note that a request failed; the peer is left alone for a while."""
        self.failure, self.failures = reason, self.failures + 1
        self.retry_at = self.clock.now() + min(
            self.limits.backoff_seconds, 0.25 * 2 ** min(self.failures, 16)
        )

    def succeed(self) -> None:
        """Note that a request succeeded."""
        self.failure, self.failures, self.retry_at = "", 0, 0.0

    def json(self, path: str, kind: type[_T]) -> _T:
        """Return a small answer.

        Raises:
            PeerError: it cannot be had, or is something else.
        """
        data = bytearray()
        with self._answer(path, self.limits.answer_seconds) as answer:
            if answer.status != _OK:
                raise PeerError(f"answered {answer.status}, expected {_OK}")
            for piece in _pieces(answer, self.limits.answer_bytes):
                data += piece
        try:
            decoded: _T = _DECODERS[kind].decode(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            found = visible(str(error))[:200]
            raise PeerError(f"gave something else than was asked for ({found})") from error
        return decoded

    def rest(self, digest: str, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of a batch from a place on, each piece with the place where it begins.

        A peer that does not know ranges gives all of it, from 0 on.

        Raises:
            PeerError: they cannot be had, or are more than a batch has.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        path = f"/batch/{digest}"
        with self._answer(path, self.limits.batch_seconds, headers) as answer:
            place = 0
            if answer.status == _PARTIAL and start:
                place = _beginning(answer, start)
            elif answer.status == _UNSATISFIABLE and start:
                # it has no more: what came before is whole, or wrong
                return
            elif answer.status != _OK:
                raise PeerError(f"answered {answer.status} for a batch, expected {_OK}")
            for piece in _pieces(answer, MAX_BATCH_BYTES - place):
                yield place, piece
                place += len(piece)

    @contextmanager
    def _answer(
        self, path: str, seconds: float, headers: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the answer to one request, over a connection of its own.

        Raises:
            PeerError: there is none in time, or it has a content encoding.
        """
        parts = check_url(self.url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        is_late = threading.Event()
        try:
            with ExitStack() as stack:
                raw = socket.create_connection((host, port), self.limits.connect_seconds)
                stack.callback(raw.close)
                # a timeout of a socket begins anew with each byte, so another thread ends it
                open_sockets = [raw]
                late = partial(_cut, open_sockets, is_late)
                stack.enter_context(self.clock.limited(seconds, late))
                connection = http.client.HTTPConnection(host, port)
                connection.sock = raw
                if parts.scheme == "https":
                    context = ssl.create_default_context()
                    secure = context.wrap_socket(
                        raw, server_hostname=host, do_handshake_on_connect=False
                    )
                    connection.sock = secure
                    stack.callback(secure.close)
                    # it has taken over the number of the other
                    open_sockets.append(secure)
                    secure.do_handshake()
                stack.callback(connection.close)
                asked = {
                    "Host": parts.netloc,
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                    **(headers or {}),
                }
                if self.prove is not None:
                    asked["Authorization"] = self.prove(f"{parts.scheme}://{parts.netloc}")
                connection.request("GET", f"{parts.path.rstrip('/')}{PREFIX}{path}", headers=asked)
                answer = stack.enter_context(connection.getresponse())
                _check_encoding(answer)
                yield answer
        except (OSError, http.client.HTTPException, PeerError, ValueError) as error:
            if is_late.is_set():
                raise PeerError(f"did not answer within {seconds:g} seconds") from error
            if isinstance(error, PeerError):
                raise
            raise PeerError(f"cannot be asked ({visible(str(error))[:200]})") from error


class Puller:
    """Pulls batches from peers into a shelf."""

    def __init__(
        self,
        urls: Iterable[str],
        shelf: Shelf,
        limits: Limits | None = None,
        prove: Callable[[str], str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Take the addresses of the peers, and the proof of who asks; ask none yet.

        Raises:
            InputError: an address is none.
        """
        self.limits = limits or Limits()
        self.clock = clock or Clock()
        self.peers = tuple(Peer(url, self.limits, prove, self.clock) for url in dict.fromkeys(urls))
        for peer in self.peers:
            check_url(peer.url)
        self._shelf = shelf
        self._sources: dict[str, set[str]] = {}
        self._alone: set[str] = set()
        self._lock = threading.Lock()

    def ready(self) -> list[Peer]:
        """Return the peers that are not left alone now."""
        now = self.clock.now()
        return [peer for peer in self.peers if peer.retry_at <= now]

    def each(self, peers: Iterable[Peer], work: Callable[[Peer], None]) -> None:
        """Do some work with each peer at once; what fails is noted with it."""

        def attempt(peer: Peer) -> None:
            try:
                work(peer)
            except PeerError as error:
                peer.fail(str(error))
            else:
                peer.succeed()

        several = [*peers]
        if not several:
            return
        most = min(len(several), self.limits.connections)
        with ThreadPoolExecutor(most, thread_name_prefix="pull") as threads:
            for outcome in [threads.submit(attempt, peer) for peer in several]:
                outcome.result()

    def pull(
        self, wanted: Iterable[Wanted], take: Callable[[Sequence[Wanted], bytes], None]
    ) -> None:
        """Pull batches from whoever has them, as far as the time allows.

        Args:
            wanted: which.
            take: keeps the bytes of a digest, whose hash is right, for all that are wanted by it.

        Raises:
            OutputError: what came cannot be written.
        """
        needed = dict[str, list[Wanted]]()
        for item in wanted:
            needed.setdefault(item.digest, []).append(item)
        if not needed:
            return
        offers: dict[str, list[Peer]] = {}

        def ask(peer: Peer) -> None:
            for epoch in sorted({item.epoch for items in needed.values() for item in items}):
                for listed in self._listed(peer, epoch):
                    if listed.batch in needed:
                        with self._lock:
                            offers.setdefault(listed.batch, []).append(peer)

        self.each(self.ready(), ask)
        deadline = self.clock.now() + self.limits.pull_seconds
        for _ in range(_ROUNDS):
            queues: dict[int, list[str]] = {}
            for digest in sorted(needed.keys() & offers.keys()):
                chosen = self._chosen(digest, offers[digest])
                queues.setdefault(id(chosen), []).append(digest)
            fetch = partial(self._fetch_all, queues, needed, take, deadline)
            self.each([peer for peer in self.peers if id(peer) in queues], fetch)
            if self.clock.now() >= deadline:
                return

    def _fetch_all(
        self,
        queues: Mapping[int, Iterable[str]],
        needed: dict[str, list[Wanted]],
        take: Callable[[Sequence[Wanted], bytes], None],
        deadline: float,
        peer: Peer,
    ) -> None:
        """Pull batches from one peer until one fails; those that came are needed no more.

        Raises:
            PeerError: one failed.
        """
        for digest in queues[id(peer)]:
            if self.clock.now() >= deadline:
                return
            try:
                data = self._fetch(peer, digest)
            except PeerError:
                peer.strikes += 1
                raise
            take(needed[digest], data)
            peer.strikes = 0
            del needed[digest]

    def _listed(self, peer: Peer, epoch: int) -> tuple[Listed, ...]:
        return peer.json(f"/batches/{epoch}", BatchList).batches

    def _chosen(self, digest: str, peers: list[Peer]) -> Peer:
        """Return the peer to ask for a batch: an honest one, of these by the hash."""
        spread = {id(peer): digest_of(f"{digest} {peer.url}".encode()) for peer in peers}
        return min(peers, key=lambda peer: (digest in peer.lies, peer.strikes, spread[id(peer)]))

    def _fetch(self, peer: Peer, digest: str) -> bytes:
        """Pull the rest of one batch from one peer, and return all of it.

        Raises:
            PeerError: the peer failed; what came stays.
        """
        is_alone = digest in self._alone
        name = f"{digest}.{digest_of(peer.url.encode())[:16]}" if is_alone else digest
        part, sources = self._shelf.part(name), self._sources.setdefault(name, set())
        with part.open("ab") as file:
            start = file.tell()
            if start and not sources:
                sources.add("a run before this one")
            sources.add(peer.url)
            for place, piece in peer.rest(digest, start):
                if place != file.tell():
                    # it begins anew
                    file.truncate(place)
                    file.seek(0, os.SEEK_END)
                    sources.intersection_update({peer.url})
                file.write(piece)
        data = part.read_bytes()
        self._sources.pop(name, None)
        if digest_of(data) != digest:
            part.unlink(missing_ok=True)
            if len(sources) == 1:
                peer.lies.add(digest)
            self._alone.add(digest)
            raise PeerError(f"gave other bytes than those of the batch {digest}")
        self._alone.discard(digest)
        self._shelf.drop_parts_of(digest)
        return data


def closed_epoch(peer: Peer, epoch: int) -> ClosedEpochDigests:
    """Return the digests of a closed epoch of a peer.

    Raises:
        PeerError: it cannot be asked, or has them no more.
    """
    return peer.json(f"/closed/{epoch}", ClosedEpochDigests)


def _cut(open_sockets: Iterable[socket.socket], is_late: threading.Event) -> None:
    """End connections that take too long; whoever waits for them sees an end."""
    is_late.set()
    for connection in open_sockets:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _check_encoding(answer: http.client.HTTPResponse) -> None:
    """Refuse an answer whose bytes become others, or more.

    Raises:
        PeerError: it has a content encoding.
    """
    if answer.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise PeerError("gave an answer with a content encoding, expected none")


def _pieces(answer: http.client.HTTPResponse, limit: int) -> Iterator[bytes]:
    """Yield the bytes of an answer.

    Raises:
        PeerError: they are more than the limit, or fewer than the answer said.
    """
    # without a length an answer that is cut would look like a whole one
    if answer.length is None or answer.length > limit:
        size = "no length" if answer.length is None else f"{answer.length} bytes"
        raise PeerError(f"gave {size}, expected at most {limit} bytes")
    while piece := answer.read1(_CHUNK):
        yield piece
    if answer.length:
        raise PeerError(f"ended its answer {answer.length} bytes early")


def _beginning(answer: http.client.HTTPResponse, start: int) -> int:
    """Return the place where a partial answer begins.

    Raises:
        PeerError: it begins elsewhere than was asked for.
    """
    span = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if span is None or int(span[1]) != start:
        raise PeerError("gave another range of a batch than was asked for")
    return start
