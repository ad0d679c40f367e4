"""Protocol: HTTP/1.1 of uvicorn with deadlines, and a limit of connections for each client.

uvicorn ends connections that are idle between requests. A client that never ends the head of a
request, or never takes its answer, would hold its connection for ever: here it loses it. Bodies
have their deadline in the guard.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tallystick_service.clients import client_of
from tallystick_service.settings import Settings


class DeadlineProtocol(H11Protocol):
    """A connection that ends when its client is slow; see `protocol_of`.

    Attributes:
        seconds: for the head of a request, and to take what is written.
        most: connections of one client.
        proxies: addresses whose connections are those of many clients.
        clients: open connections by client.
    """

    seconds: ClassVar[float]
    most: ClassVar[int]
    proxies: ClassVar[Collection[str]]
    clients: ClassVar[Counter[str]]
    _deadline: asyncio.TimerHandle | None = None
    _client_name: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection, or end it at once where its client has too many."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if address in self.proxies:
            # the connections of all its clients
            self._start()
            return
        self._client_name = client_of(address)
        self.clients[self._client_name] += 1
        if self.clients[self._client_name] > self.most:
            transport.abort()
            return
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._stop()
        name, self._client_name = self._client_name, None
        if name is not None:
            self.clients[name] -= 1
            if not self.clients[name]:
                del self.clients[name]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the time for the head of a request runs from its first byte."""
        before = self.cycle
        if self._deadline is None and self._is_idle():
            self._start()
        super().data_received(data)
        if self.cycle is not before:
            self._stop()

    def pause_writing(self) -> None:
        """Wait for a client to take what was written, for so long."""
        super().pause_writing()
        self._start()

    def resume_writing(self) -> None:
        """Go on: the client takes what is written."""
        super().resume_writing()
        self._stop()

    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _start(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def protocol_of(settings: Settings) -> type[Any]:
    """Return the class of the connections of one server."""
    values = {
        "seconds": settings.seconds,
        "most": settings.client_connections,
        "proxies": frozenset(settings.proxies),
        "clients": Counter[str](),
    }
    return type("ServerProtocol", (DeadlineProtocol,), values)
