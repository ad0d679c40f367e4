"""A peer on a real socket that answers with whatever bytes a test has."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import attrs

from tallystick_validator.peers import PREFIX

Said = Iterable[bytes] | bytes


@attrs.define
class Request:
    """A request that came: its path behind the prefix, and its headers in lower case."""

    path: str
    headers: dict[str, str]


@attrs.define
class Liar:
    """The peer: its address, and what it was asked."""

    url: str
    requests: list[Request] = attrs.field(factory=list)
    stopped: threading.Event = attrs.field(factory=threading.Event)


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def listing(epoch: int, *batches: tuple[str, int]) -> bytes:
    """A list of batches."""
    listed = [{"batch": digest, "size": size} for digest, size in batches]
    return answer(json.dumps({"epoch": epoch, "batches": listed}).encode())


@contextmanager
def liar(say: Callable[[Request, Liar], Said]) -> Iterator[Liar]:
    """A server that answers each request by a function, and then ends the connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = listener.getsockname()
    peer = Liar(f"http://{host}:{port}")
    threads = []

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(4096)
                if not piece:
                    return
                head += piece
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
