"""Ports of this machine that nobody answers on."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unanswered() -> Iterator[str]:
    """HOST:PORT that refuses every connection, and that nobody else can have meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield "{}:{}".format(*held.getsockname())
