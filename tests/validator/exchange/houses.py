"""Validators of one simulated chain, each with a state, a shelf and a server of its own.

The chain, the states, the intake, the HTTP and the sockets are real; time is the blocks that a test
makes.
"""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import rfc8785
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from state.subnet import Record, record
from validator.states import begun

from tallystick_chain.chain import Chain
from tallystick_chain.network import Exchange, Network
from tallystick_chain.simulated.hotkeys import address_of as address_of_key
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_service.guard import Guard
from tallystick_service.health import Problem
from tallystick_service.server import address_of, bound, serving
from tallystick_service.settings import Settings
from tallystick_state.ledger import Ledger
from tallystick_state.trust.keys import Signer
from tallystick_validator.closing import Counted, close
from tallystick_validator.exchange import BatchExchange
from tallystick_validator.health import Watch
from tallystick_validator.peers import Clock, Limits

NETUID, ROUNDS = 7, 2
QUICK = Limits(
    answer_seconds=600.0,
    batch_seconds=600.0,
    pull_seconds=600.0,
    backoff_seconds=0.0,
)
"""Deadlines that do not pass, and no pause behind a failure."""


class Still(Clock):
    """Time that stands still, so that no peer is left alone behind a failure."""

    def now(self) -> float:
        return 0.0


SETTINGS = Settings(rate=10_000, burst=10_000)
RULES = "skills@1.1.0"
TYPE = "executable_python"
MINERS = ("hk-1", "hk-2")


def network(**changes: Any) -> Network:  # noqa: ANN401  # any key of a network file
    """Epochs of 10 blocks, of two rounds each."""
    values: dict[str, Any] = {
        "name": "subnet-test",
        "netuid": NETUID,
        "anchor_block": 10,
        "round_blocks": 5,
        "epoch_rounds": ROUNDS,
        "weights_at": 9,
        "exchange": Exchange(commit_by=4, vote_by=8),
    }
    return Network(**values | changes)


def chain_of(hotkeys: Iterable[str]) -> SimulatedChain:
    """A chain whose first neurons are validators with a permit."""
    chain = SimulatedChain(finality_lag=1)
    chain.create_subnet(NETUID)
    for hotkey in hotkeys:
        chain.register(NETUID, hotkey, stake_rao=10, permit=True)
    for hotkey in MINERS:
        chain.register(NETUID, hotkey)
    chain.advance()
    return chain


def own_record(validator: str, task: str, epoch: int, hotkey: str = "hk-1", **more: Any) -> bytes:  # noqa: ANN401  # of record
    """A record of the first round of an epoch, as a line."""
    made: Record = record(
        task, hotkey, validator=validator, epoch=epoch, round=epoch * ROUNDS, **more
    )
    return rfc8785.dumps(made)


class Lines:
    """An intake in memory, which freezes and settles as the real one does."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.batches: dict[int, list[bytes]] = {}

    def freeze(self, epoch: int) -> Sequence[bytes]:
        """Fill the batch of an epoch, once, and give its lines."""
        if epoch not in self.batches:
            self.batches[epoch], self.waiting = self.waiting, []
        return self.batches[epoch]

    def settle(self, epoch: int, *, counted: bool) -> None:
        """End the batch of an epoch."""
        if not counted:
            self.waiting += self.batches.get(epoch, [])
        self.batches[epoch] = []


@attrs.define
class House:
    """One validator."""

    chain: Chain
    network: Network
    ledger: Ledger
    intake: Lines
    exchange: BatchExchange
    folder: Path
    watch: Watch
    waits: tuple[Problem, ...] = ()
    recorded: list[int] = attrs.field(factory=list)

    @property
    def hotkey(self) -> str:
        """Its own hotkey."""
        return self.chain.hotkey()

    def give(self, *lines: bytes) -> None:
        """Take records in."""
        self.intake.waiting += lines

    def step(self) -> None:
        """Do what a daemon does at the finalized block."""
        finalized = self.chain.head().finalized
        self.exchange.advance(finalized, self.ledger.open_epoch())
        self.waits = ()
        while finalized >= self.network.vote_block(self.ledger.open_epoch()):
            epoch = self.ledger.open_epoch()
            counted = self.exchange.counted(epoch)
            if not isinstance(counted, Counted):
                self.waits = counted
                return
            assert counted.end is not None
            slots = [
                {"uid": neuron.uid, "hotkey": neuron.hotkey, "types": [TYPE]}
                for neuron in counted.end.neurons
                if not neuron.permit
            ]
            closing = close(self.ledger, self.network, counted, slots)
            assert not closing.refused, closing.refused
            self.recorded.append(closing.recorded)
            self.intake.settle(epoch, counted=self.hotkey in counted.batches)
            self.exchange.advance(finalized, epoch + 1)

    def counted(self, epoch: int) -> tuple[str, ...]:
        """The hotkeys whose batches count in an epoch."""
        outcome = self.exchange.counted(epoch)
        assert isinstance(outcome, Counted), outcome
        return tuple(sorted(outcome.batches))

    def codes(self) -> set[str]:
        """The codes of what is wrong."""
        return {problem.code for problem in self.problems()}

    def problems(self) -> tuple[Problem, ...]:
        """The problems that the house has."""
        return self.watch.health().problems

    def snapshot(self) -> str:
        """The digest of its state."""
        with self.ledger.queries() as queries:
            return queries.digest()


def house_of(  # noqa: PLR0913  # what a test changes
    folder: Path,
    chain: Chain,
    *,
    peers: Iterable[str] = (),
    signer: Signer | None = None,
    trust: Path | None = None,
    network: Network = network(),  # noqa: B008  # a value
    rules: str = RULES,
) -> House:
    """A validator; in a folder that was used before it goes on."""
    folder.mkdir(exist_ok=True)
    where = folder / "state.db"
    if trust is None and not where.exists():
        begun(where, rules)
    ledger = Ledger.open(where) if where.exists() else Ledger.create(where, rules, trust=trust)
    intake, watch = Lines(), Watch()
    exchange = BatchExchange(
        network,
        chain,
        ledger,
        intake.freeze,
        folder / "batches",
        watch,
        peers=peers,
        signer=signer,
        limits=QUICK,
        clock=Still(),
        state_name="state.db",
    )
    return House(chain, network, ledger, intake, exchange, folder, watch)


@contextmanager
def served(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """An application on a socket, in a thread."""
    ready, ends = threading.Event(), list[Callable[[], object]]()

    async def main() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        async with serving(app, SETTINGS, listener):
            ends.append(partial(loop.call_soon_threadsafe, done.set))
            ready.set()
            await done.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        ends[0]()
        thread.join()


@attrs.define
class Subnet:
    """Some validators of one chain that can reach each other.

    Attributes:
        chain: the chain.
        network: the network file of the first.
        houses: the validators.
        cut: those that reach no other one and that no other one reaches; all reach the chain.
        away: those that do nothing.
    """

    chain: SimulatedChain
    network: Network
    houses: list[House]
    cut: set[int]
    away: set[int] = attrs.field(factory=set)

    def until(self, block: int, order: Sequence[int] | None = None) -> None:
        """Make blocks until one is finalized; after each of them all validators act."""
        while self.chain.finalized < block:
            self.chain.advance()
            for index in order or range(len(self.houses)):
                if index not in self.away:
                    self.houses[index].step()

    def close(self, epoch: int, order: Sequence[int] | None = None) -> None:
        """Go on until an epoch can be closed."""
        self.until(self.network.vote_block(epoch), order)

    def restart(self, index: int, signer: Signer | None = None) -> House:
        """Begin a validator again with its folder and intake: all else in its memory is gone."""
        old = self.houses[index]
        peers = [peer.url for peer in old.exchange._puller.peers]
        house = house_of(old.folder, old.chain, peers=peers, signer=signer)
        house.intake = old.intake
        house.exchange._freeze = old.intake.freeze
        self.houses[index] = house
        return house

    def digests(self) -> set[str]:
        """The digests of all states."""
        return {house.snapshot() for house in self.houses}


@contextmanager
def subnet(  # noqa: PLR0913  # what a test changes
    folder: Path,
    *,
    keys: Sequence[str | Signer] = tuple(map(hotkey_of, ("ann", "ben", "cem"))),
    signers: Sequence[Signer | None] = (None, None, None),
    rules: Sequence[str] = (RULES,) * 3,
    trust: Path | None = None,
    networks: Sequence[Network] = (network(),) * 3,  # a value
    chain: SimulatedChain | None = None,
) -> Iterator[Subnet]:
    """Three validators with a server each; who asks stands in the path of each address."""
    hotkeys = [key if isinstance(key, str) else address_of_key(key) for key in keys]
    chain = chain_of(hotkeys) if chain is None else chain
    listeners = [bound("127.0.0.1", 0) for _ in keys]
    addresses = [address_of(listener) for listener in listeners]
    houses, cut = list[House](), set[int]()
    with ExitStack() as stack:
        for index, key in enumerate(keys):
            house = house_of(
                folder / str(index),
                chain.as_hotkey(key),
                peers=[f"{url}/{index}" for url in addresses if url != addresses[index]],
                signer=signers[index],
                trust=trust,
                network=networks[index],
                rules=rules[index],
            )
            houses.append(house)
            stack.enter_context(served(within(app_of(house), index, cut), listeners[index]))
        yield Subnet(chain, networks[0], houses, cut)


def within(app: ASGIApp, index: int, cut: Container[int]) -> ASGIApp:
    """Answer who asks by the first part of the path, unless one of both is cut off."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            _, asks, path = scope["path"].split("/", 2)
            if index in cut or int(asks) in cut:
                await Response(status_code=503)(scope, receive, send)
                return
            scope = {**scope, "path": f"/{path}", "raw_path": f"/{path}".encode()}
        await app(scope, receive, send)

    return answer


def app_of(house: House) -> ASGIApp:
    """Return the routes of a validator for its peers."""
    app = Starlette(routes=house.exchange.routes())
    app.router.redirect_slashes = False
    return Guard(app, SETTINGS, Counter())
