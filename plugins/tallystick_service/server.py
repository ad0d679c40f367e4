"""Server: an application on a socket, for as long as a block runs."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.errors import InputError
from tallystick.extras import missing
from tallystick_service.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_NEEDED = ("starlette", "uvicorn", "prometheus_client", "httpx")
_BACKLOG = 256
_KEEP_ALIVE_S = 5
_LAST_ANSWERS_S = 5
"""Seconds that answers under way may still take once the server ends."""


def check_installed() -> None:
    """Refuse to serve without the extra.

    Raises:
        InputError: a library of it is missing.
    """
    for module in _NEEDED:
        try:
            is_there = find_spec(module) is not None
        except ValueError:
            # a module that is kept from being imported
            is_there = False
        if not is_there:
            raise InputError(missing(module))


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens; the port 0 takes one that is free.

    Raises:
        InputError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) where it sees the protocol; a body waits 40 ms otherwise
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"found that {host}:{port} cannot be listened on ({reason}), expected a free port of "
            "an address of this machine: choose others with --host and --port"
        ) from error
    return listener


@contextmanager
def bound_privately(path: Path) -> Iterator[socket.socket]:
    """Give a Unix socket that listens, its owner's alone, and take its name away at the end.

    A socket that a killed process left is replaced.

    Raises:
        InputError: something else has the name, or it cannot be made.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            if path.exists() and not path.is_socket():
                raise InputError(f"{path}: found a file, expected nothing or a socket")
            if _is_answered(path):
                raise InputError(
                    f"{path}: found a socket that another process listens on, expected nobody: "
                    "stop the other process first, or name another socket"
                )
            path.unlink(missing_ok=True)
            # before it has a name
            os.fchmod(listener.fileno(), 0o600)
            listener.bind(os.fspath(path))
            listener.listen(_BACKLOG)
            made = path.lstat()
        except OSError as error:
            raise InputError(
                f"{path}: cannot listen ({error.strerror or error}): make its folder, give this "
                "user the right to write there, or name another socket, such as a shorter one in "
                "/run"
            ) from error
        try:
            yield listener
        finally:
            with suppress(OSError):
                # by now the name may be another process's
                if os.path.samestat(path.lstat(), made):
                    path.unlink()


def _is_answered(path: Path) -> bool:
    """Return whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        # a queue that is full is somebody's, too
        client.setblocking(False)
        try:
            client.connect(os.fspath(path))
        except BlockingIOError:
            return True
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        return True


def address_of(listener: socket.socket) -> str:
    """Return the URL of a socket, without a slash at its end."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def serving(
    app: ASGIApp, settings: Settings, listener: socket.socket
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an application while the block runs; give the task that does.

    Signals are the caller's. Answers under way get a few seconds at the end.

    Args:
        app: which `tallystick_service.application.application` makes.
        settings: its own.
        listener: which `bound` or `bound_privately` makes; it is closed at the end.
    """
    import uvicorn

    from tallystick_service.guard import LARGEST_HEAD
    from tallystick_service.protocol import protocol_of

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    config = uvicorn.Config(
        app,
        http=protocol_of(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        # a warning for each bad request would be a log that strangers write
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=settings.connections,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        backlog=_BACKLOG,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        # uvicorn tells nobody when it has started
        while not server.started and not task.done():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        yield task
    finally:
        server.should_exit = True
        await asyncio.wait({task})
        listener.close()
