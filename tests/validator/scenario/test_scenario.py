"""Three validators in processes of their own end with one state, wherever one is killed."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pytest
from validator import daemons
from validator.daemons import ANCHOR, LAG, PATIENCE, chain_in, lines, records

from tallystick_chain.network import Network
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.model import LogEntry
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_state.ledger import Ledger

TRAPPED = Path(__file__).with_name("trapped.py")
HOTKEYS = tuple(map(hotkey_of, ("ann", "ben", "cem")))
ROUND_BLOCKS, COMMIT_BY, VOTE_BY, WEIGHTS_AT = 60, 10, 24, 30
RECORDS = 8
"""Records of a validator in an epoch."""
HOPS = (0, 5, COMMIT_BY, 18, VOTE_BY, WEIGHTS_AT, 34, 165, 169)
"""Blocks behind the end of an epoch at which all are waited for.

A row whose call was lost can land for 128 blocks, and is sent again behind them.
"""
NETWORK = (
    daemons.NETWORK.replace("[rounds]\nblocks = 2", f"[rounds]\nblocks = {ROUND_BLOCKS}").replace(
        "at = 2", f"at = {WEIGHTS_AT}"
    )
    + f"[exchange]\ncommit_by = {COMMIT_BY}\nvote_by = {VOTE_BY}\n"
)
PLACES = (
    *("freeze after", "commit after", "batch before", "close before", "close after"),
    *("submit_row after", "freeze before", "commit before", "settle before", "settle after"),
    "submit_row before",
)
"""Places of kills: another one for each validator of each epoch, all of them in four epochs."""


@attrs.define
class Daemon:
    """The process of a validator, which is begun again when it was killed."""

    house: daemons.House
    hotkey: str
    process: "subprocess.Popen[bytes] | None" = None
    deaths: list[str] = attrs.field(factory=list)
    trap: str = ""

    def begin(self) -> None:
        """Start it; nothing that an earlier process said is its word."""
        (self.house.folder / "daemon" / "health.json").unlink(missing_ok=True)
        with (self.house.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(TRAPPED), "run", "--config", "validator.toml"],
                cwd=self.house.folder,
                stderr=log,
            )

    def set_trap(self, moment: str) -> None:
        """Have it killed at a call."""
        self.trap = moment
        (self.house.folder / "trap").write_text(moment)

    def wait(self, finalized: int) -> None:
        """Wait until it has acted on a finalized block; it is begun again where it was killed."""
        end = time.monotonic() + PATIENCE
        while not self._has_acted(finalized):
            assert self.process is not None
            if self.process.poll() is not None:
                assert self.process.returncode == -signal.SIGKILL, self._log()
                self.deaths.append(self.trap)
                self.begin()
            assert time.monotonic() < end, self._log()
            time.sleep(0.01)

    def _has_acted(self, finalized: int) -> bool:
        try:
            block = self.house.health()["facts"].get("finalized")
        except (OSError, ValueError):
            return False
        return block is not None and block >= finalized

    def _log(self) -> str:
        return (self.house.folder / "log").read_text(errors="replace")[-20_000:]

    def end(self) -> None:
        """End it as a supervisor does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self._log()


@attrs.define
class Subnet:
    """A chain and the daemons of its validators."""

    chain: SharedChain
    daemons: list[Daemon]

    def to(self, block: int) -> None:
        """Make blocks until one is finalized, and wait until all have acted on it."""
        self.chain.advance(max(0, block + LAG - self.chain.now().best))
        for daemon in self.daemons:
            daemon.wait(block)

    def feed(self, epoch: int) -> set[tuple[str, str]]:
        """Have all validators take records of an epoch; give the validators and tasks."""
        sent = set[tuple[str, str]]()
        for daemon in self.daemons:
            rows = records(daemon.hotkey, epoch, RECORDS)
            for row in rows:
                row["task_id"] += daemon.hotkey[-6:]
            answers = daemon.house.send(lines(rows))
            assert {answer["status"] for answer in answers} == {"recorded"}
            sent |= {(daemon.hotkey, row["task_id"]) for row in rows}
        return sent

    def rows(self, epoch: int) -> dict[str, list[LogEntry]]:
        """The rows of an epoch that the chain took, by hotkey."""
        first = Network.parse(NETWORK, "network.toml").weights_block(epoch)
        taken: dict[str, list[LogEntry]] = {daemon.hotkey: [] for daemon in self.daemons}
        for entry in self.chain.now().log:
            if entry.kind == "row" and 0 <= entry.block - first < 3 * ROUND_BLOCKS:
                taken[entry.hotkey].append(entry)
        return taken


def free_ports(count: int) -> list[int]:
    """Ports that nobody had when they were asked for."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]


@contextmanager
def subnet(folder: Path) -> Iterator[Subnet]:
    """Run a chain and three daemons that exchange batches."""
    chain, ports = chain_in(folder, HOTKEYS), free_ports(len(HOTKEYS))
    made = []
    for hotkey, port in zip(HOTKEYS, ports, strict=True):
        peers = ", ".join(f'"http://127.0.0.1:{other}"' for other in ports if other != port)
        more = f"[service]\nport = {port}\n[exchange]\npeers = [{peers}]\n"
        house = daemons.House(folder / str(port), f"simulate:{chain.path}", hotkey, more)
        (house.folder / "network.toml").write_text(NETWORK)
        # each waits for the slowest, so none needs to look often
        house.config.write_text(house.config.read_text().replace("= 0.05", "= 0.3"))
        made.append(Daemon(house, hotkey))
    try:
        for daemon in made:
            daemon.begin()
        yield Subnet(chain, made)
    finally:
        for daemon in made:
            if daemon.process is not None:
                daemon.process.kill()
                daemon.process.wait()


def recorded(state: Path) -> Counter[tuple[str, str]]:
    """Count the records of a state by validator and task."""
    with Ledger.open(state) as ledger, ledger.store.reading() as transaction:
        bodies = [json.loads(e.body) for e in transaction.entries() if e.kind == "signal"]
    return Counter((body["validator"], body["task_id"]) for body in bodies)


@pytest.mark.process
@pytest.mark.parametrize("epochs", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_daemons_that_are_killed_at_any_call_end_in_one_state(tmp_path: Path, epochs: int) -> None:
    of, sent = Network.parse(NETWORK, "network.toml"), set[tuple[str, str]]()
    with subnet(tmp_path) as net:
        net.to(ANCHOR + 5)
        # a batch that others did not have in time goes with the next one
        for epoch in range(epochs + 1):
            if epoch < epochs:
                sent |= net.feed(epoch)
                for place, daemon in enumerate(net.daemons):
                    daemon.set_trap(PLACES[(3 * epoch + place) % len(PLACES)])
            for hop in HOPS:
                net.to(of.end_block(epoch) + hop)
        for daemon in net.daemons:
            daemon.end()
        for place, daemon in enumerate(net.daemons):
            expected = [PLACES[(3 * epoch + place) % len(PLACES)] for epoch in range(epochs)]
            assert daemon.deaths == expected
        digests = set[str]()
        for daemon in net.daemons:
            with Ledger.open(daemon.house.state) as ledger, ledger.queries() as queries:
                digests.add(queries.digest())
            assert recorded(daemon.house.state) == dict.fromkeys(sent, 1)
        assert len(digests) == 1
        for epoch in range(epochs):
            rows = net.rows(epoch)
            assert [len(entries) for entries in rows.values()] == [1] * len(rows), (epoch, rows)
            assert len({entries[0].pairs for entries in rows.values()}) == 1
