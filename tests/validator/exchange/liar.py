"""A peer on a real socket that answers with whatever bytes a test has."""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

import attrs

from tallystick_validator.peers import PREFIX, Clock

Said = Iterable[bytes] | bytes


@attrs.define
class Request:
    """A request that came: its path behind the prefix, and its headers in lower case."""

    path: str
    headers: dict[str, str]


@attrs.define
class Liar:
    """The peer.

    Attributes:
        url: its address.
        late: lets the deadline of the one request that is open pass.
        requests: what it was asked.
        stopped: set at its end.
    """

    url: str
    late: Callable[[], None] = lambda: None
    requests: list[Request] = attrs.field(factory=list)
    stopped: threading.Event = attrs.field(factory=threading.Event)


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def listing(*digests: str) -> bytes:
    """A list of batches."""
    return answer(json.dumps(digests).encode())


class Deadlines(Clock):
    """Time that stands still, and deadlines that pass where a peer lets them."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self._open = list[tuple[asyncio.Timeout, asyncio.AbstractEventLoop]]()
        self._changed = threading.Condition()

    def now(self) -> float:
        return self.seconds

    @asynccontextmanager
    async def limited(self, seconds: float) -> AsyncIterator[None]:
        del seconds
        async with asyncio.timeout(None) as timeout:
            of_request = timeout, asyncio.get_running_loop()
            with self._changed:
                self._open.append(of_request)
            try:
                yield
            finally:
                with self._changed:
                    self._open.remove(of_request)
                    self._changed.notify_all()

    def late(self) -> None:
        """Let the deadline of a request pass, once all others were answered."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._open) == 1)
            timeout, loop = self._open[0]
            loop.call_soon_threadsafe(timeout.reschedule, 0.0)


@contextmanager
def liar(
    say: Callable[[Request, Liar], Said], late: Callable[[], None] = lambda: None
) -> Iterator[Liar]:
    """A server that answers each request by a function, and then ends the connection.

    Args:
        say: the function.
        late: lets the deadline of the open request pass; also where no request of HTTP comes.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    peer = Liar(f"http://{host}:{port}", late)
    threads = []

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(4096)
                if not piece:
                    return
                head += piece
                if head[:1] != b"G":
                    peer.late()
            first, *lines = head.decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines if line)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            request = Request(first.split(" ")[1].removeprefix(PREFIX), headers)
            peer.requests.append(request)
            said = say(request, peer)
            for piece in [said] if isinstance(said, bytes) else said:
                connection.sendall(piece)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield peer
    finally:
        peer.stopped.set()
        # wakes what waits in accept
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread in threads:
            thread.join()
