"""Validators of one simulated chain, each with a state, a shelf and a server of its own.

The chain, the states, the intake, the HTTP and the sockets are real; time is the blocks that a test
makes.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import rfc8785
from starlette.types import ASGIApp
from state.subnet import Record, record

from tallystick_chain.chain import Chain
from tallystick_chain.network import Exchange, Network
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_service.server import address_of, bound, serving
from tallystick_service.settings import Settings
from tallystick_state.ledger import Ledger
from tallystick_state.trust.keys import Signer
from tallystick_validator.agreement import Counted, Waiting
from tallystick_validator.closing import close
from tallystick_validator.exchange import BatchExchange
from tallystick_validator.peers import application
from tallystick_validator.pulling import Limits

NETUID, ROUNDS = 7, 2
QUICK = Limits(
    connect_seconds=2.0,
    answer_seconds=2.0,
    batch_seconds=2.0,
    pull_seconds=4.0,
    backoff_seconds=0.0,
)
TYPE = "executable_python"
MINERS = ("hk-1", "hk-2")


def network(**changes: Any) -> Network:  # noqa: ANN401  # any key of a network file
    """Epochs of 20 blocks, of two rounds each."""
    values: dict[str, Any] = {
        "name": "subnet-test",
        "netuid": NETUID,
        "anchor_block": 10,
        "round_blocks": 10,
        "epoch_rounds": ROUNDS,
        "weights_at": 14,
        "exchange": Exchange(commit_by=6, vote_by=12),
    }
    return Network(**values | changes)


def chain_of(hotkeys: Iterable[str], stakes: Sequence[int] = (10, 10, 10)) -> SimulatedChain:
    """A chain whose first neurons are validators with a permit."""
    chain = SimulatedChain(finality_lag=1)
    chain.create_subnet(NETUID)
    for hotkey, stake in zip(hotkeys, stakes, strict=False):
        chain.register(NETUID, hotkey, stake_rao=stake, permit=True)
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

    def freeze(self, epoch: int) -> None:
        """Fill the batch of an epoch, once."""
        if epoch not in self.batches:
            self.batches[epoch], self.waiting = self.waiting, []

    def lines(self, epoch: int) -> Sequence[bytes]:
        """The lines of the batch of an epoch."""
        return self.batches.get(epoch, [])

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
    waits: Waiting | None = None

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
        self.waits = None
        while finalized >= self.network.closing_block(self.ledger.open_epoch()):
            epoch = self.ledger.open_epoch()
            counted = self.exchange.counted(epoch)
            if isinstance(counted, Waiting):
                self.waits = counted
                return
            slots = [
                {"uid": neuron.uid, "hotkey": neuron.hotkey, "types": [TYPE]}
                for neuron in self.chain.neurons(NETUID, self.network.end_block(epoch))
                if not neuron.permit
            ]
            closing = close(self.ledger, self.network, counted, slots)
            self.intake.settle(epoch, counted=counted.of(self.hotkey) is not None)
            self.exchange.closed(epoch, closing.snapshot, closing.rules)

    def counted(self, epoch: int) -> tuple[str, ...]:
        """The hotkeys whose batches count in an epoch."""
        outcome = self.exchange.counted(epoch)
        assert isinstance(outcome, Counted), outcome
        return tuple(batch.validator for batch in outcome.batches)

    def codes(self) -> set[str]:
        """The codes of what is wrong."""
        return {problem.code for problem in self.exchange.problems()}

    def snapshot(self) -> str:
        """The digest of its state."""
        with self.ledger.queries() as queries:
            return queries.digest()


def house_of(
    folder: Path,
    chain: Chain,
    *,
    peers: Iterable[str] = (),
    signer: Signer | None = None,
    trust: Path | None = None,
    network: Network = network(),  # noqa: B008  # a value
    limits: Limits = QUICK,
) -> House:
    """A validator; in a folder that was used before it goes on."""
    folder.mkdir(exist_ok=True)
    where = folder / "state.db"
    if where.exists():
        ledger = Ledger.open(where)
    else:
        ledger = Ledger.create(where, "skills@1.1.0", trust=trust)
    intake = Lines()
    exchange = BatchExchange(
        network,
        chain,
        ledger,
        intake,
        folder / "batches",
        peers=peers,
        signer=signer,
        limits=limits,
        state_name="state.db",
    )
    return House(chain, network, ledger, intake, exchange, folder)


@contextmanager
def served(app: ASGIApp | Callable[[], ASGIApp]) -> Iterator[str]:
    """An application on a socket of this machine, in a thread; its address."""
    listener = bound("127.0.0.1", 0)
    url, ready, done = address_of(listener), threading.Event(), threading.Event()
    settings = Settings(rate=10_000, burst=10_000)

    async def main() -> None:
        async with serving(app, settings, listener):
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield url
    finally:
        done.set()
        thread.join()


def app_of(house: House) -> ASGIApp:
    """What a validator gives its peers."""
    return application(house.exchange.routes(), Settings(rate=10_000, burst=10_000))
