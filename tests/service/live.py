"""A service that runs: a real server on loopback, in a thread, and what asks it."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import attrs
from service.clock import NEVER, SkippingLoop
from starlette.routing import BaseRoute
from trust.council import hotkey, signer

from tallystick.plugins.registry import installed
from tallystick_conformance.testing.history import History, history_of
from tallystick_service import scoring as posted
from tallystick_service.application import application
from tallystick_service.challenge import Challenge
from tallystick_service.health import HealthSource
from tallystick_service.metrics import Observations
from tallystick_service.scoring import ScoringProcesses
from tallystick_service.scoring_process import Order, answered
from tallystick_service.server import address_of, bound, serving
from tallystick_service.settings import Settings
from tallystick_state.ledger import Ledger
from tallystick_state.trust.keys import KeyType, Signer

TYPES = ("mcp_server", "rag_knowledge")
EPOCHS, ROUNDS = 4, 2
OPERATOR = "the operator's secret"
AS_OPERATOR = {"authorization": f"Bearer {OPERATOR}"}
OWN, OTHER = hotkey("own miner"), hotkey("other miner")
"""Miners whose keys the tests have."""
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a/b?c=d#e",
    "%2e%2e%2f",
    "\u202eevil\u202c\u2066",
    "'; DROP TABLE miners; --",
    "{{7*7}}${7*7}",
    "שלום",
    "back\\slash",
)
"""Hotkeys that a page, a path or a terminal might take for something else."""
_FIRST_SLOT = 200


def history() -> History:
    registry = installed()
    return history_of(
        3,
        [registry.skill_types[name] for name in TYPES],
        miners=10,
        validators=2,
        epochs=EPOCHS,
        rounds=ROUNDS,
    )


def made(folder: Path, rules: str = "skills@1.2.0") -> Path:
    """The store of a network of a few epochs, with miners whose names are hostile."""
    path, made_up = folder / "state.db", history()
    # the miner of slot 0 does every type
    name, own = (text.encode() for text in (made_up.network.miners[TYPES[0]][0].hotkey, OWN))
    by_epoch: dict[int, list[bytes]] = {}
    for line in made_up.lines(96):
        by_epoch.setdefault(json.loads(line)["epoch"], []).append(line.replace(name, own))
    miners = folder / "miners.csv"
    miners.write_bytes(made_up.network.to_csv().replace(name, own))
    with Ledger.create(path, rules) as ledger:
        ledger.sync_miners(miners)
        for number, hotkey_of in enumerate((OTHER, *HOSTILE)):
            ledger.register(hotkey_of, _FIRST_SLOT + number, TYPES)
        for epoch in range(EPOCHS):
            ledger.close_round(by_epoch[epoch], bad="reject")
            ledger.close_epoch(epoch)
    return path


@attrs.frozen
class Reply:
    """An answer over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401  # any JSON value
        return json.loads(self.body)

    @property
    def code(self) -> str:
        found: str = self.json()["error"]["code"]
        return found


@attrs.frozen
class Live:
    """A service that runs.

    Attributes:
        address: its URL.
        loop: the one that it runs on, where that is in this process.
    """

    address: str
    loop: SkippingLoop | None = None

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def ask(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        body: bytes | None = None,
    ) -> Reply:
        connection = HTTPConnection(*self.place, timeout=600)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, names, response.read())
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """All that the service sends until it ends the connection."""
        with socket.create_connection(self.place, timeout=600) as connection:
            connection.sendall(data)
            return received(connection)

    def opened(self, data: bytes) -> socket.socket:
        """Return a connection on which data was sent, and read by the service."""
        connection = socket.create_connection(self.place, timeout=600)
        connection.sendall(data)
        self.settle()
        return connection

    def settle(self) -> None:
        """Return once all that was sent before was read: connections are served in their order."""
        assert self.ask("/healthz").status == 200

    def skip(self, seconds: float = NEVER) -> None:
        """Let seconds pass for its deadlines."""
        assert self.loop is not None
        skipped = threading.Event()
        self.loop.call_soon_threadsafe(self.loop.skip, seconds)
        self.loop.call_soon_threadsafe(skipped.set)
        skipped.wait()

    def proof(
        self,
        by: str = "own miner",
        kind: KeyType = "sr25519",
        *,
        named: str | None = None,
        origin: str | None = None,
        seconds: int = 500,
    ) -> dict[str, str]:
        """The header of a proof of who asks."""
        found: Signer = signer(by, kind)
        expires = int(time.time()) + seconds
        who = hotkey(by) if named is None else named
        value = Challenge.signed(found, origin or self.address, who, expires)
        return {"authorization": value}


def received(connection: socket.socket) -> bytes:
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


class InThread:
    """Scoring of posted records in a thread; processes have tests of their own."""

    def __init__(self, state: Ledger | None) -> None:
        self._state = state

    def warm(self) -> None:
        """Nothing has to get ready."""

    async def score(self, order: Order) -> Any:  # noqa: ANN401  # a JSON value
        return await asyncio.to_thread(self._scored, order)

    def _scored(self, order: Order) -> Any:  # noqa: ANN401  # a JSON value
        return json.loads(json.dumps(answered(order, self._state)))

    async def close(self) -> None:
        """Nothing has to end."""


@contextmanager
def live(  # noqa: PLR0913  # as the application
    path: Path,
    *,
    health: HealthSource | None = None,
    observations: Observations | None = None,
    signed_by: Signer | None = None,
    routes: Sequence[BaseRoute] = (),
    scoring: Callable[[Ledger], InThread | ScoringProcesses] = InThread,
    clock: Callable[[], float] = time.monotonic,
    **settings: Any,  # noqa: ANN401  # as they are
) -> Iterator[Live]:
    """A service about the state in a store, until the block is left; it refuses nobody's rate."""
    chosen = Settings(**{"operator": OPERATOR, "rate": 10_000, "burst": 10_000, **settings})
    listener = bound("127.0.0.1", 0)
    ready, failed = threading.Event(), list[BaseException]()
    loop, ended = SkippingLoop(), asyncio.Event()

    async def serve() -> None:
        with Ledger.open(path) as ledger:
            with mock.patch.object(posted, "ScoringProcesses", return_value=scoring(ledger)):
                app = application(
                    ledger,
                    chosen,
                    health=health,
                    observations=observations,
                    signer=signed_by,
                    routes=routes,
                    clock=clock,
                )
            async with serving(app, chosen, listener):
                ready.set()
                await ended.wait()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:  # noqa: BLE001  # told by the test
            failed.append(error)
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=run, name="service")
    address = address_of(listener)
    thread.start()
    ready.wait()
    try:
        assert not failed, failed
        yield Live(address, loop)
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(ended.set)
        thread.join()
    assert not failed, failed
