"""What a request must be: ours by host, of one reading by path, small, and not too often."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.clock import NEVER, Clock
from service.live import Live, live, received
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tallystick_service.answer import RefusedQuestionError
from tallystick_service.clients import client_of
from tallystick_service.guard import SECURITY_HEADERS, Buckets, check_host, check_path
from tallystick_service.origins import Origins
from tallystick_service.settings import MIB, Settings


def status_of(data: bytes) -> int:
    return int(data.split(b" ", 2)[1]) if data else 0


def get(path: str, host: str = "127.0.0.1", *more: str) -> bytes:
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}", *more, "Connection: close", "", "")
    return "\r\n".join(lines).encode("latin-1")


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/metrics",
        "/api/v1/state",
        "/api/v1/miners",
        "/none",
        "/a//b",
        "/static/none",
        "/operator",
    ],
)
def test_every_answer_has_the_headers_that_protect(service: Live, path: str) -> None:
    headers = service.ask(path).headers
    assert {name: headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "set-cookie" not in headers
    assert "server" not in headers
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:{}", "localhost.", "[::1]:{}"])
def test_a_host_that_is_ours_is_answered(service: Live, host: str) -> None:
    host = host.format(service.place[1])
    assert status_of(service.raw(get("/api/v1/state", host))) == 200


@pytest.mark.parametrize(
    "more",
    [
        {"proxies": ("127.0.0.1",), "hosts": ("board.example",)},
        {"hosts": ("board.example:8443",)},
        {"origins": ("https://board.example:8443",)},
    ],
    ids=str,
)
def test_a_port_of_what_stands_before_it_is_answered(state: Path, more: dict[str, Any]) -> None:
    with live(state, **more) as service:
        assert service.ask("/healthz", {"host": "board.example:8443"}).status == 200
        refused = service.ask("/healthz", {"host": "other.example:8443"})
    assert (refused.status, refused.code) == (421, "other-host")


def post(head: str, body: str = "") -> bytes:
    return f"POST /api/v1/explain HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n{body}".encode()


STATE, MINERS, LOCAL = "/api/v1/state", "/api/v1/miners", "127.0.0.1"
HOSTS = [
    # as a page of strangers has a browser send it, once its name leads to this machine
    *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "169.254.169.254"),
    *("evil.example:127.0.0.1", "user@127.0.0.1", "127.0.0.1/evil", "127.0.0.1 evil", "", "[::1"),
    *("127.0.0.1:1", "localhost:9999", "[::1]:80"),
]
PATHS = [
    *("/../etc/passwd", "/static/../settings.py", "/static/..%2fsettings.py", "//evil.example/a"),
    *("/static/%2e%2e/settings.py", "/api//v1/state", "/api/v1/./state", "/" + "a" * 5000),
    *(f"{MINERS}/{part}" for part in ("%00", "%ff", "%", "%zz", "<script>", "a\\b")),
    *(
        path + part
        for path in (f"{MINERS}/", "/api/v1/epochs?last=", "/")
        for part in ("x%0d%0aSet-Cookie:%20a=b", "x%0aLocation:%20http://evil.example")
    ),
]
HEADERS = [
    *("X-A: b\nSet-Cookie: c", "X-A : b", " X-A: b", "X-A", "X\x00: b", "If-None-Match: \x00"),
]
REFUSED = [
    *((get(STATE, host), (400, 421)) for host in HOSTS),
    *((get(STATE, LOCAL, f"Host: {host}"), (400, 421)) for host in ("evil.example", LOCAL)),
    (get(STATE, "evil.example", f"X-Forwarded-Host: {LOCAL}", f"Forwarded: host={LOCAL}"), (421,)),
    *((get(path), (400, 404)) for path in PATHS),
    (get("http://evil.example/api/v1/state"), (400, 404)),
    (get("evil.example:80").replace(b"GET", b"CONNECT"), (400, 404, 405)),
    *((get(STATE, LOCAL, line), (200, 400, 421)) for line in HEADERS),
    (
        post(
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
        ),
        (400, 422),
    ),
    (post("Content-Length: 5\r\nContent-Length: 6", "123456"), (400, 422)),
    (post("Content-Length: -1"), (400, 422)),
    (post("Content-Length: 99999999999999999999999"), (400, 413)),
    (post("Transfer-Encoding: chunked", "zz\r\n"), (400, 422)),
    # refused unread
    (post(f"Content-Length: {1 << 40}"), (413,)),
]


@pytest.mark.parametrize(("data", "statuses"), REFUSED, ids=lambda value: str(value)[:50])
def test_a_request_that_is_not_ours_or_has_two_readings_is_refused(
    service: Live, data: bytes, statuses: tuple[int, ...]
) -> None:
    answer = service.raw(data)
    assert status_of(answer) in statuses
    assert answer.count(b"HTTP/1.1 ") <= 1
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert b"evil" not in head
    assert b"set-cookie" not in head


def test_an_encoded_slash_ends_no_part(service: Live) -> None:
    assert service.ask("/api/v1/miners/a%2Fb").code == "no-such-miner"
    assert service.ask("/api%2Fv1/state").code == "no-such-address"


def test_a_body_without_an_end_is_not_read_for_ever(service: Live) -> None:
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection(service.place, timeout=600) as connection:
        connection.sendall(post("Transfer-Encoding: chunked"))
        sent = 0
        try:
            while sent < 1000:
                connection.sendall(chunk)
                sent += 1
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 1000


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_body_that_is_too_large_is_refused(service: Live, method: str) -> None:
    address = {"GET": STATE, "POST": "/api/v1/explain"}[method]
    reply = service.ask(address, method=method, body=b" " * (MIB + 1))
    assert (reply.status, reply.code) == (413, "too-large")


def test_heads_that_are_too_large_are_refused(service: Live) -> None:
    more = [f"X-{number}: {'a' * 1000}" for number in range(64)]
    assert status_of(service.raw(get("/api/v1/state", "127.0.0.1", *more))) == 431
    assert service.ask("/api/v1/state").status == 200


@pytest.fixture(scope="module")
def waiting(state: Path) -> Iterator[Live]:
    """A service whose deadlines pass where a test skips time."""
    with live(state, seconds=NEVER) as service:
        yield service


HEAD = b"GET /api/v1/state HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize("data", [b"", HEAD[:14], HEAD + b"X-A: "])
def test_a_client_that_never_ends_the_head_loses_its_connection(waiting: Live, data: bytes) -> None:
    """Its time runs from the first byte, however many follow."""
    with waiting.opened(data) as connection:
        waiting.skip(0.9 * NEVER)
        connection.sendall(b"X: y\r\n" if data else b"")
        waiting.settle()
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(1)
        connection.setblocking(True)
        waiting.skip(0.2 * NEVER)
        assert received(connection) == b""


def test_a_second_head_that_never_ends_loses_its_connection_too(waiting: Live) -> None:
    with waiting.opened(HEAD + b"\r\n") as connection:
        assert status_of(connection.recv(65536)) == 200
        connection.sendall(HEAD)
        waiting.settle()
        waiting.skip()
        assert b"HTTP/1.1" not in received(connection)


def test_a_client_that_never_ends_the_body_is_refused(waiting: Live) -> None:
    with waiting.opened(post("Content-Length: 10", "{")) as connection:
        waiting.skip()
        assert status_of(received(connection)) == 408


def test_a_client_that_takes_no_answers_loses_its_connection(state: Path) -> None:
    size = 8 * MIB

    async def large(_: Request) -> PlainTextResponse:
        return PlainTextResponse("x" * size)

    with (
        live(state, seconds=NEVER, routes=[Route("/large", large)]) as service,
        service.opened(get("/large")) as connection,
    ):
        first = connection.recv(1)
        service.settle()
        # nothing is read until the service gave up
        service.skip()
        service.settle()
        total = len(first) + len(received(connection))
    assert total < size


@pytest.mark.parametrize(("proxies", "most"), [((), 3), (("127.0.0.1",), 12)])
def test_the_connections_of_a_proxy_are_those_of_many_clients(
    state: Path, proxies: tuple[str, ...], most: int
) -> None:
    answered, connections = 0, list[socket.socket]()
    with live(state, client_connections=3, proxies=proxies) as service:
        try:
            for _ in range(12):
                connection = socket.create_connection(service.place, timeout=600)
                connections.append(connection)
                try:
                    # it stays open
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    answered += connection.recv(65536).startswith(b"HTTP/1.1 200")
                except (BrokenPipeError, ConnectionResetError):
                    continue
        finally:
            for connection in connections:
                connection.close()
    assert answered == most


def test_a_subnet_of_ipv6_is_one_client() -> None:
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:2") != client_of("2001:db8:0:1::1")
    assert client_of("::ffff:192.0.2.1") == client_of("192.0.2.1") != client_of("192.0.2.2")


def test_too_many_requests_are_refused_and_said_when_to_ask_again(state: Path) -> None:
    clock = Clock()
    with live(state, rate=0.25, burst=3, clock=clock) as service:
        replies = [service.ask("/healthz") for _ in range(5)]
        clock.now += 4
        again = service.ask("/healthz")
    assert [reply.status for reply in replies] == [200, 200, 200, 429, 429]
    assert replies[-1].headers["retry-after"] == "4"
    assert replies[-1].code == "too-many-requests"
    assert again.status == 200


@pytest.mark.parametrize(
    ("proxies", "expected"), [(("127.0.0.1",), [200, 200, 429]), ((), [200, 429, 429])]
)
def test_a_client_has_its_own_rate_behind_a_proxy_that_is_trusted_alone(
    state: Path, proxies: tuple[str, ...], expected: list[int]
) -> None:
    names = ("203.0.113.1", "203.0.113.2", "198.51.100.9, 203.0.113.1")
    with live(state, rate=1, burst=1, proxies=proxies, clock=Clock()) as service:
        statuses = [service.ask("/healthz", {"x-forwarded-for": name}).status for name in names]
    assert statuses == expected


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 5)), max_size=60),
    st.floats(0.1, 10),
    st.integers(1, 5),
)
def test_no_client_ever_has_more_than_its_burst_and_its_rate(
    asked: list[tuple[str, float]], rate: float, burst: int
) -> None:
    buckets, now, allowed = Buckets(rate, burst, 8), 0.0, dict.fromkeys("abc", 0)
    for client, pause in asked:
        now += pause
        if not buckets.wait(client, now):
            allowed[client] += 1
        assert allowed[client] <= burst + rate * now + 1e-6


def test_buckets_need_bounded_memory() -> None:
    buckets = Buckets(1, 1, 16)
    for number in range(10_000):
        buckets.wait(str(number), 0.0)
    assert len(buckets._buckets) == 16


@given(st.binary(max_size=60))
def test_a_path_that_is_let_by_has_one_reading(raw: bytes) -> None:
    try:
        path = check_path(b"/" + raw)
    except RefusedQuestionError:
        return
    parts = path[1:].split("/")
    assert not {".", ".."} & {*parts}
    assert all(parts[:-1])


@given(st.text(max_size=40) | st.from_regex(r"(?i)localhost\.?(:[0-9]{0,5})?", fullmatch=True))
def test_a_host_that_is_let_by_is_ours(host: str) -> None:
    try:
        check_host([host], Origins(Settings(hosts=("localhost",)), 80))
    except RefusedQuestionError:
        return
    name, _, port = host.lower().partition(":")
    assert name.rstrip(".") == "localhost"
    assert not port or int(port) == 80


def test_routes_of_others_are_guarded_too(state: Path) -> None:
    async def echo(request: Request) -> PlainTextResponse:
        body = await request.body()
        return PlainTextResponse(body.decode(), headers={"set-cookie": "a=b"})

    routes = [Route("/peer", echo, methods=["POST"])]
    with live(state, body_bytes=4 * MIB, routes=routes) as service:
        body = b"x" * (4 * MIB)
        echoed = service.ask("/peer", method="POST", body=body)
        larger = service.ask("/peer", method="POST", body=body + b"x")
        elsewhere = service.ask("/peer", {"host": "evil.example"}, method="POST", body=b"x")
    assert echoed.body == body
    assert "set-cookie" not in echoed.headers
    assert echoed.headers["x-content-type-options"] == "nosniff"
    assert (larger.status, elsewhere.status) == (413, 421)
