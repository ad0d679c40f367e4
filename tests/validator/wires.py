"""Wires: TCP between two processes through the test, which can cut it, hang it, or kill there."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import attrs

Mode = Literal["open", "refuse", "hang"]
_CHUNK = 1 << 16


@attrs.define
class Trap:
    """A place at which a process is killed: the first request that has some bytes.

    Attributes:
        place: its name, for the report.
        needle: the bytes.
        kill: kills.
        answer: bytes of the answer that are sent on before the kill; None: it is not waited for.
        seconds: time between the request, or its answer, and the kill.
        fired: set when it has.
    """

    place: str
    needle: bytes
    kill: Callable[[str], None]
    answer: int | None = None
    seconds: float = 0.0
    fired: threading.Event = attrs.field(factory=threading.Event)

    def fire(self) -> None:
        """Kill, once."""
        if not self.fired.is_set():
            self.fired.set()
            if self.seconds:
                threading.Timer(self.seconds, self.kill, (self.place,)).start()
            else:
                self.kill(self.place)


class Wire:
    """A port that leads to another one, as long as it is open.

    Attributes:
        target: the address that it leads to; None: to nothing, as to a process that is gone.
        port: its own.
    """

    def __init__(self) -> None:
        """Listen."""
        self.target: tuple[str, int] | None = None
        self._mode: Mode = "open"
        self._traps = list[Trap]()
        self._lock, self._pairs = threading.Lock(), set[socket.socket]()
        self._released = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Its own address."""
        return f"http://127.0.0.1:{self.port}"

    def set(self, mode: Mode) -> None:
        """Open it, cut it with all its connections, or let new ones wait for ever."""
        self._mode = mode
        if mode == "hang":
            self._released.clear()
        else:
            self._released.set()
        if mode != "open":
            self._cut()

    def arm(self, trap: Trap) -> None:
        """Kill at a place."""
        self._traps.append(trap)

    def disarm(self) -> None:
        """Kill nowhere."""
        self._traps.clear()

    def close(self) -> None:
        """End it."""
        self._mode = "refuse"
        self._released.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._cut()

    def _cut(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for connection in pairs:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            if self._mode == "hang":
                self._released.wait()
                return
            target = self.target
            if self._mode == "refuse" or target is None:
                return
            with suppress(OSError), socket.create_connection(target) as other:
                with self._lock:
                    self._pairs |= {connection, other}
                sprung = list[Trap]()
                back = threading.Thread(
                    target=self._answers, args=(other, connection, sprung), daemon=True
                )
                back.start()
                self._requests(connection, other, sprung)
                with suppress(OSError):
                    other.shutdown(socket.SHUT_WR)
                back.join()
            with self._lock:
                self._pairs -= {connection}

    def _requests(self, client: socket.socket, server: socket.socket, sprung: list[Trap]) -> None:
        before = b""
        with suppress(OSError):
            while piece := client.recv(_CHUNK):
                seen = before + piece
                trap = next((t for t in self._traps if t.needle in seen), None)
                before = seen[-200:]
                if trap is not None:
                    self._traps.remove(trap)
                    if trap.answer is None:
                        trap.fire()
                    else:
                        sprung.append(trap)
                server.sendall(piece)

    def _answers(self, server: socket.socket, client: socket.socket, sprung: list[Trap]) -> None:
        with suppress(OSError):
            while piece := server.recv(_CHUNK):
                if sprung:
                    trap = sprung[0]
                    with suppress(OSError):
                        client.sendall(piece[: trap.answer])
                    trap.fire()
                    return
                client.sendall(piece)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def eventually(seconds: float, is_done: Callable[[], bool], tell: Callable[[], str]) -> None:
    """Wait until something is so; a wait that is too long fails with what is told."""
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            raise AssertionError(tell())
        time.sleep(0.01)
