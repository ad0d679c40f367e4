"""Daemons of a simulated chain: real processes, each with a folder, a state and a socket.

The chain is served from the process of the test, and time is the blocks that a test makes: a test
waits for lines of logs and answers, never for a while.
"""

import json
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import attrs
from state.subnet import Record, record

from tallystick_chain.network import Network
from tallystick_chain.simulated.client import Control
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.model import Hyperparameters
from tallystick_chain.simulated.server import serving
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_state.ledger import Ledger

NETUID, RULES, SKILL = 7, "skills@1.2.0", "executable_python"
ANCHOR, ROUND_BLOCKS, ROUNDS, LAG = 10, 2, 3, 2
EPOCH_BLOCKS = ROUND_BLOCKS * ROUNDS
MINERS = tuple(hotkey_of(f"miner {number}") for number in range(4))
PATIENCE = 60
"""Seconds after which a test gives a process up; nothing is proved by them."""
NETWORK = f"""
format = 1
[network]
name = "test"
netuid = {NETUID}
anchor_block = {ANCHOR}
[rounds]
blocks = {ROUND_BLOCKS}
[epochs]
rounds = {ROUNDS}
[weights]
at = 2
[miners]
types = "all"
validators_from_rao = 1
"""


def network(more: str = "") -> Network:
    """Epochs of six blocks, of three rounds each."""
    return Network.parse(NETWORK + more, "network.toml")


def chain_of(validators: Sequence[str], *, lag: int = LAG, seed: int = 0) -> SimulatedChain:
    """A chain at the first block of epoch 0, with validators of equal stake, and miners."""
    chain = SimulatedChain(finality_lag=lag, seed=seed)
    parameters = Hyperparameters(rate_limit_blocks=2, commit_reveal=False, min_allowed=1)
    chain.create_subnet(NETUID, parameters)
    for hotkey in validators:
        chain.register(NETUID, hotkey, stake_rao=10**9, permit=True)
    for hotkey in MINERS:
        chain.register(NETUID, hotkey)
    chain.advance(ANCHOR - chain.as_hotkey(MINERS[0]).head().best)
    return chain


def records(validator: str, epoch: int, count: int, **more: Any) -> list[Record]:  # noqa: ANN401  # of record
    """Records of an epoch, of all its rounds and miners."""
    return [
        record(
            f"task {epoch} {number}",
            MINERS[number % len(MINERS)],
            SKILL,
            validator=validator,
            round=epoch * ROUNDS + number % ROUNDS,
            epoch=epoch,
            latency_ms=30_000 + 500 * number,
            **more,
        )
        for number in range(count)
    ]


def lines(rows: Sequence[Record]) -> list[bytes]:
    """Records as lines without their ends."""
    return [json.dumps(row).encode() for row in rows]


@attrs.frozen
class ServedChain:
    """A simulated chain on a loopback socket."""

    url: str
    control: Control

    def advance(self, blocks: int = 1) -> int:
        """Make blocks; gives the best one."""
        return self.control.advance(blocks)


@contextmanager
def served(chain: SimulatedChain) -> Iterator[ServedChain]:
    """Serve a chain until the block is left."""
    with serving(chain) as url:
        control = Control(url)
        try:
            yield ServedChain(url, control)
        finally:
            control.close()


class House:
    """A validator's folder, and the process of its daemon while one runs."""

    def __init__(self, folder: Path, url: str, hotkey: str, more: str = "") -> None:
        """Write the files; the state is begun under the rules."""
        folder.mkdir()
        self.folder, self.hotkey = folder, hotkey
        self.state = folder / "subnet.db"
        Ledger.create(self.state, RULES).close()
        (folder / "network.toml").write_text(NETWORK)
        self.configure(url, more)
        self.process: subprocess.Popen[bytes] | None = None
        self.log: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.seen: list[dict[str, Any]] = []

    @property
    def is_ready(self) -> bool:
        """Whether the daemon that runs was seen to be ready."""
        return any(entry["event"] == "ready" for entry in self.seen)

    @property
    def socket(self) -> Path:
        """The socket of the intake."""
        return self.folder / "in.sock"

    def configure(self, url: str, more: str = "") -> None:
        """Write the configuration."""
        (self.folder / "validator.toml").write_text(
            f'format = 1\n[validator]\nstate = "subnet.db"\nnetwork = "network.toml"\n'
            f'folder = "daemon"\n[chain]\nurl = "{url}"\nhotkey = "{self.hotkey}"\n'
            f"poll_seconds = 0.05\ndeadline_seconds = 10\n"
            f'[intake]\nsocket = "in.sock"\n{more}'
        )

    def start(self, *options: str) -> Self:
        """Start the daemon, and wait until it is ready."""
        self.begin(*options)
        self.wait_for("ready")
        return self

    def begin(self, *options: str) -> None:
        """Start the daemon."""
        config = () if "--config" in options else ("--config", "validator.toml")
        command = [sys.executable, "-m", "tallystick", "run", *config, *options]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.log, self.seen = queue.Queue(), []
        threading.Thread(target=self._read, args=(self.process, self.log), daemon=True).start()

    @staticmethod
    def _read(
        process: "subprocess.Popen[bytes]", log: "queue.Queue[dict[str, Any] | None]"
    ) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                log.put(json.loads(line))
        log.put(None)

    def wait_for(self, event: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  # of the log
        """Wait for an event of the log, which has these fields."""
        while True:
            entry = self.log.get(timeout=PATIENCE)
            assert entry is not None, f"ended before {event!r}: {self.seen[-5:]}"
            self.seen.append(entry)
            if entry["event"] == event and fields.items() <= entry.items():
                return entry

    def wait_for_text(self, text: str) -> dict[str, Any]:
        """Wait for an event of the log that has a text."""
        while True:
            entry = self.log.get(timeout=PATIENCE)
            assert entry is not None, f"ended before {text!r}: {self.seen[-5:]}"
            self.seen.append(entry)
            if text in entry["event"]:
                return entry

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send a signal, and wait for the end; gives the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end; gives the exit status."""
        assert self.process is not None
        status = self.process.wait(PATIENCE)
        while (entry := self.log.get(timeout=PATIENCE)) is not None:
            self.seen.append(entry)
        self.process = None
        return status

    def stop(self) -> None:
        """Kill what runs."""
        if self.process is not None:
            self.kill()

    def send(self, rows: Sequence[bytes]) -> list[dict[str, Any]]:
        """Send lines through the socket, and return the answers."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(self.socket))
            client.sendall(b"".join(row + b"\n" for row in rows))
            client.shutdown(socket.SHUT_WR)
            with client.makefile("rb") as answers:
                return [json.loads(answer) for answer in answers]

    def digest(self) -> str:
        """The digest of the state."""
        with Ledger.open(self.state) as ledger, ledger.queries() as queries:
            return queries.digest()

    def open_epoch(self) -> int:
        """The open epoch of the state."""
        with Ledger.open(self.state) as ledger:
            return ledger.open_epoch()
