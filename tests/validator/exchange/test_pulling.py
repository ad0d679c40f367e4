"""Peers that are slow, cut off or lie, over real sockets: refused or harmless, and others serve."""

import asyncio
import gzip
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from service.ports import unanswered
from validator.exchange.houses import QUICK
from validator.exchange.liar import Deadlines, Liar, Request, Said, answer, liar, listing

from tallystick.errors import InputError, OutputError
from tallystick_validator.batches import MAX_BATCH_BYTES, Committed, digest_of
from tallystick_validator.peers import MAX_BATCHES, Limits, Peer, PeerError, Puller

DATA = b"header\n" + os.urandom(200_000) + b"\n"
DIGEST = digest_of(DATA)
WANTED = Committed(3, DIGEST, "5Val")


class Taken(dict[str, bytes]):
    """The batches that came, by digest."""

    def take(self, items: Sequence[Committed], data: bytes) -> None:
        self[items[0].digest] = data


def honest(data: bytes = DATA) -> Callable[[Request, Liar], Said]:
    """A peer that has one batch."""

    def say(request: Request, _: Liar) -> Said:
        if request.path.startswith("/batches/"):
            return listing(DIGEST)
        if request.path != f"/batch/{DIGEST}":
            return answer(b"", "404 Not Found")
        return answer(data)

    return say


def of_batch(said: Callable[[Request, Liar], Said]) -> Callable[[Request, Liar], Said]:
    """A peer that lists the batch, and answers a request for it in its own way."""

    def say(request: Request, peer: Liar) -> Said:
        if request.path.startswith("/batches/"):
            return listing(DIGEST)
        return said(request, peer)

    return say


def pulled(
    *says: Callable[[Request, Liar], Said], times: int = 1
) -> tuple[Taken, Puller, list[Liar]]:
    """The outcome of pulling one batch from some peers, as often as a daemon would."""
    taken, clock = Taken(), Deadlines()
    with ExitStack() as stack:
        liars = [stack.enter_context(liar(say, clock.late)) for say in says]
        puller = Puller([each.url for each in liars], QUICK, clock=clock)
        for _ in range(times):
            if DIGEST not in taken:
                puller.pull([WANTED], taken.take)
    return taken, puller, liars


def _on(piece: bytes, peer: Liar) -> Iterator[bytes]:
    """Pieces before and after the deadline."""
    yield from [piece] * 3
    peer.late()
    while not peer.stopped.is_set():
        yield piece


def _drip(_: Request, peer: Liar) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    yield from _on(b"x", peer)


def _drip_headers(_: Request, peer: Liar) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    yield from _on(b"X-More: of the same\r\n", peer)


def _continue(_: Request, peer: Liar) -> Iterator[bytes]:
    yield from _on(b"HTTP/1.1 100 Continue\r\n\r\n", peer)


def _endless(_: Request, peer: Liar) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while not peer.stopped.is_set():
        yield bytes(65536)


def _endless_chunks(_: Request, peer: Liar) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while not peer.stopped.is_set():
        yield b"1000\r\n" + bytes(0x1000) + b"\r\n"


def _mute(_: Request, peer: Liar) -> Iterator[bytes]:
    peer.late()
    peer.stopped.wait()
    yield b""


LIES: dict[str, Callable[[Request, Liar], Said]] = {
    "other bytes": lambda *_: answer(b"x" + DATA[1:]),
    "other length": lambda *_: answer(DATA + b"x"),
    "nothing": lambda *_: answer(b""),
    "not found": lambda *_: answer(b"", "404 Not Found"),
    "an error": lambda *_: answer(b"", "500 Oh"),
    "a redirect": lambda *_: answer(b"", "302 Found", Location="http://127.0.0.1:9/"),
    "a redirect for ever": lambda *_: answer(b"", "308 P", Location=f"/peer/v1/batch/{DIGEST}"),
    "a content encoding": lambda *_: answer(gzip.compress(DATA), Content_Encoding="gzip"),
    "a bomb": lambda *_: answer(gzip.compress(bytes(10**6)), Content_Encoding="gzip"),
    "a partial answer": lambda *_: answer(
        DATA[5:], "206 Partial Content", Content_Range=f"bytes 5-{len(DATA) - 1}/{len(DATA)}"
    ),
    "a length beyond any batch": lambda *_: [
        f"HTTP/1.1 200 OK\r\nContent-Length: {MAX_BATCH_BYTES + 1}\r\n\r\n".encode(),
        DATA,
    ],
    "a length below zero": lambda *_: b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
    "two lengths": lambda *_: b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nabcde",
    "half of it": lambda *_: [
        f"HTTP/1.1 200 OK\r\nContent-Length: {len(DATA)}\r\n\r\n".encode(),
        DATA[: len(DATA) // 2],
    ],
    "no HTTP": lambda *_: b"\x00\xff" * 1000,
    "half a header": lambda *_: b"HTTP/1.1 200 OK\r\nContent-Le",
    "a header without an end": lambda *_: b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
    "10,000 headers": lambda *_: (
        b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n"
    ),
    "bytes without an end": _endless,
    "chunks without an end": _endless_chunks,
    "drops": _drip,
    "headers in drops": _drip_headers,
    "100 Continue for ever": _continue,
    "silence": _mute,
    "a closed connection": lambda *_: b"",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_peer_that_lies_or_stalls_is_noted_and_another_serves(
    lie: Callable[[Request, Liar], Said],
) -> None:
    taken, puller, _ = pulled(of_batch(lie), honest(), times=4)
    assert taken == {DIGEST: DATA}
    assert not puller.peers[1].failure
    # alone it gives nothing
    taken, puller, _ = pulled(of_batch(lie), times=2)
    assert not taken
    assert puller.peers[0].failure


LISTS: dict[str, Callable[[Request, Liar], Said]] = {
    "no JSON": lambda *_: answer(b"<html>"),
    "no UTF-8": lambda *_: answer(b'["\xff"]'),
    "deep JSON": lambda *_: answer(b"[" * 100_000),
    "an object": lambda *_: answer(b"{}"),
    "10,000 batches": lambda *_: listing(*(f"{i:064x}" for i in range(10_000))),
    "one more than fit": lambda *_: listing(*(f"{i:064x}" for i in range(MAX_BATCHES + 1))),
    "a path as digest": lambda *_: listing("../../../../etc/passwd"),
    "a digest with a line end": lambda *_: listing(f"{DIGEST}\n"),
    "capital digits": lambda *_: listing(DIGEST.upper()),
    "other digits": lambda *_: listing("\u0661" * 64),
    "2 MiB": lambda *_: answer(b"[" + b" " * 2**21 + b"]"),
    "silence": _mute,
    "drops": _drip,
    "a redirect": lambda *_: answer(b"", "301 M", Location="file:///etc/passwd"),
}


@pytest.mark.parametrize("lie", LISTS.values(), ids=LISTS.keys())
def test_a_list_that_lies_is_refused_whole(
    lie: Callable[[Request, Liar], Said],
) -> None:
    def say(request: Request, peer: Liar) -> Said:
        return lie(request, peer) if request.path.startswith("/batches/") else answer(DATA)

    taken, puller, (peer,) = pulled(say)
    assert not taken
    assert puller.peers[0].failure
    assert [request.path for request in peer.requests] == ["/batches/3"]
    taken, _, _ = pulled(say, honest())
    assert taken == {DIGEST: DATA}


def test_batches_that_nobody_committed_are_not_pulled() -> None:
    """A peer that lists as many as it may is asked for the one that is wanted."""

    def say(request: Request, _: Liar) -> Said:
        if request.path.startswith("/batches/"):
            return listing(*(f"{i:064x}" for i in range(MAX_BATCHES - 1)), DIGEST)
        return answer(DATA)

    taken, _, (peer,) = pulled(say)
    assert taken == {DIGEST: DATA}
    assert [request.path for request in peer.requests] == ["/batches/3", f"/batch/{DIGEST}"]


def test_what_cannot_be_kept_ends_a_pull() -> None:
    def take(*_: object) -> None:
        raise OutputError("a full disk")

    with liar(honest()) as peer, pytest.raises(OutputError, match="a full disk"):
        Puller([peer.url], QUICK).pull([WANTED], take)


def test_a_liar_with_every_batch_costs_no_more_than_its_own_answers() -> None:
    """Of many batches that a liar offers too, each comes from the honest peer in the end."""
    batches = {digest_of(data): data for data in (os.urandom(2000) for _ in range(40))}

    def offers(request: Request, lies: bool) -> Said:
        if request.path.startswith("/batches/"):
            return listing(*batches)
        data = batches[request.path.rpartition("/")[2]]
        return answer(bytes(2000) if lies else data)

    taken = Taken()
    with liar(lambda r, _: offers(r, True)) as bad, liar(lambda r, _: offers(r, False)) as good:
        puller = Puller([bad.url, good.url], QUICK)
        for _ in range(3):
            puller.pull([Committed(3, d, "5Val") for d in batches if d not in taken], taken.take)
    assert taken == batches
    assert len(bad.requests) < 20


def test_no_batch_is_begun_once_the_time_is_over() -> None:
    other = digest_of(b"more")
    clock, taken = Deadlines(), Taken()

    def say(request: Request, _: Liar) -> Said:
        if request.path.startswith("/batches/"):
            return listing(DIGEST, other)
        clock.seconds += QUICK.pull_seconds
        return answer(b"more" if request.path.endswith(other) else DATA)

    with liar(say) as peer:
        puller = Puller([peer.url], QUICK, clock=clock)
        for count in (1, 2):
            wanted = [Committed(3, digest, "5Val") for digest in (DIGEST, other)]
            puller.pull([item for item in wanted if item.digest not in taken], taken.take)
            assert len(taken) == count


def test_a_peer_that_fails_is_left_alone_for_a_while() -> None:
    clock = Deadlines()
    puller = Puller(["http://127.0.0.1:9"], Limits(), clock=clock)
    (peer,) = puller.peers
    waits = []
    for _ in range(10):
        peer.fail("gone")
        waits.append(peer.retry_at - clock.seconds)
        assert not puller.ready()
        clock.seconds = peer.retry_at
        assert puller.ready() == [peer]
    assert waits[0] < waits[1] <= waits[-1] == Limits().backoff_seconds
    # who dripped for long leaves others the time to serve
    peer.asked_at = clock.seconds
    clock.seconds += Limits().batch_seconds
    peer.fail("late")
    assert peer.retry_at - clock.seconds == 2 * Limits().batch_seconds
    peer.succeed()
    assert puller.ready() == [peer]


def test_a_name_that_takes_long_to_resolve_is_within_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another peer serves meanwhile, and nothing waits for the name."""
    resolve, asked, ended = socket.getaddrinfo, threading.Event(), threading.Event()

    def slow(host: str | bytes, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # as it is
        if host not in {"slow.invalid", b"slow.invalid"}:
            return resolve(host, *arguments, **options)
        asked.set()
        ended.wait()
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    clock, taken = Deadlines(), Taken()

    with liar(honest()) as peer:
        puller = Puller(["http://slow.invalid", peer.url], QUICK, clock=clock)
        waits = threading.Thread(target=lambda: (asked.wait(), clock.late()))
        waits.start()
        puller.pull([WANTED], taken.take)
        waits.join()
    ended.set()
    assert taken == {DIGEST: DATA}
    assert "did not answer within" in puller.peers[0].failure


def test_nobody_listens() -> None:
    with unanswered() as nobody:
        puller = Puller([f"http://{nobody}"], QUICK)
        puller.pull([WANTED], Taken().take)
    assert "cannot be asked" in puller.peers[0].failure


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://peer", "file:///etc/passwd", "peer:80", "http://", "http://peer:0", ""),
        *("http://peer:99999", "http://peer/?a=b", "http://peer/#x", "http://u:p@peer"),
        *("http://[", "http://[::1", "https://]:80"),
    ],
)
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="expected http"):
        Puller([url])


def test_an_address_may_have_a_path() -> None:
    seen = []

    def say(request: Request, _: Liar) -> Said:
        seen.append(request.path)
        return listing()

    with liar(say) as peer:
        Puller([f"{peer.url}/validator/"], QUICK).pull([WANTED], Taken().take)
    assert seen == ["/validator/peer/v1/batches/3"]


def test_a_status_of_another_kind_is_refused() -> None:
    with liar(lambda *_: answer(b'{"hotkey":5}')) as peer, pytest.raises(PeerError):
        asyncio.run(Peer(peer.url, QUICK).status_now())


def test_a_peer_that_never_shakes_hands_is_left_in_time() -> None:
    """And its connection is closed."""
    with liar(honest()) as peer:
        secure = Peer(peer.url.replace("http:", "https:"), Limits(answer_seconds=0.1))
        with pytest.raises(PeerError):
            asyncio.run(secure.status_now())


def test_a_peer_without_tls_is_no_peer_of_https() -> None:
    def plain(connection: socket.socket) -> None:
        with connection:
            connection.recv(1)
            connection.sendall(answer(b"{}"))

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        host, port = server.getsockname()
        pool.submit(lambda: plain(server.accept()[0]))
        with pytest.raises(PeerError):
            asyncio.run(Peer(f"https://{host}:{port}", QUICK).status_now())
