"""systemd: readiness, status and watchdog by ``$NOTIFY_SOCKET``, without a library."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

import attrs

_MICROSECONDS = 1_000_000
_PATIENCE_S = 1.0
"""Longest wait for room for a line that must not be lost: a sign of life may be."""


@attrs.frozen
class Supervisor:
    """The service manager that started this process, if one did.

    Attributes:
        address: of its socket; empty without one.
        watchdog_s: the longest time between two signs of life, in seconds; None: it asks for none.
    """

    address: str = ""
    watchdog_s: float | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> Supervisor:
        """Return the one that the environment of this process names."""
        microseconds = environment.get("WATCHDOG_USEC", "")
        is_ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        watchdog_s = None
        if is_ours and microseconds.isascii() and microseconds.isdigit() and int(microseconds):
            watchdog_s = int(microseconds) / _MICROSECONDS
        return cls(environment.get("NOTIFY_SOCKET", ""), watchdog_s)

    def ready(self, status: str) -> None:
        """Say that the daemon does its work."""
        self._tell("READY=1", f"STATUS={status}", patience_s=_PATIENCE_S)

    def status(self, status: str) -> None:
        """Say one line about the daemon."""
        self._tell(f"STATUS={status}")

    def alive(self) -> None:
        """Say that the daemon is alive."""
        self._tell("WATCHDOG=1")

    def reloading(self) -> None:
        """Say that the configuration is read again; `ready` ends it."""
        since = f"MONOTONIC_USEC={time.monotonic_ns() // 1000}"
        self._tell("RELOADING=1", since, patience_s=_PATIENCE_S)

    def stopping(self) -> None:
        """Say that the daemon ends."""
        self._tell("STOPPING=1", patience_s=_PATIENCE_S)

    def _tell(self, *lines: str, patience_s: float = 0.0) -> None:
        if not self.address:
            return
        # a name that begins with @ is of no file
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        text = "\n".join(line.replace("\n", " ") for line in lines)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(patience_s)
            try:
                sender.sendto(text.encode(), address)
            except OSError:
                # who does not listen misses a line; the daemon goes on
                return
