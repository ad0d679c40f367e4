"""A subnet of processes: one chain, and validators that feed, exchange, close and set rows."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import httpx
from cli.command import run
from state.subnet import Record, record
from validator.daemons import posting
from validator.states import begun
from validator.wires import Mode, Wire, eventually

from tallystick_chain.network import Network
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_chain.simulated.model import LogEntry
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_state.ledger import Ledger

NETUID, ANCHOR, ROUND_BLOCKS, ROUNDS, LAG = 7, 10, 60, 4, 2
EPOCH_BLOCKS = ROUND_BLOCKS * ROUNDS
COMMIT_BY, VOTE_BY, WEIGHTS_AT = 10, 24, 30
BEGUN_WITH, ADOPTED = "skills@1.1.0", "skills@1.2.0"
SKILL = "executable_python"
NAMES = ("ann", "ben", "cem")
"""The keys of the validators."""
MINERS = tuple(hotkey_of(f"miner {number}") for number in range(6))
PATIENCE = 600.0
"""Seconds after which something that has not come is given up; nothing is proved by them."""
TRAPPED = Path(__file__).with_name("trapped.py")
NETWORK = f"""
format = 1
[network]
name = "scenario"
netuid = {NETUID}
anchor_block = {ANCHOR}
[rounds]
blocks = {ROUND_BLOCKS}
[epochs]
rounds = {ROUNDS}
[exchange]
commit_by = {COMMIT_BY}
vote_by = {VOTE_BY}
[weights]
at = {WEIGHTS_AT}
[miners]
types = "all"
validators_from_rao = 1
"""


def simulation(*, commit_reveal: bool) -> str:
    """The file of a chain of validators whose keys sign, and of miners."""
    neurons = "".join(f'[[subnet.neuron]]\nhotkey = "{hotkey}"\n' for hotkey in MINERS) + "".join(
        f'[[subnet.neuron]]\nname = "{name}"\nhas_key = true\nstake_rao = 1000\npermit = true\n'
        for name in NAMES
    )
    return (
        f"format = 1\n[chain]\nfinality_lag = {LAG}\nkeep_blocks = 100000\nblock_time = 0\n"
        f"[[subnet]]\nnetuid = {NETUID}\n[subnet.hyperparameters]\ntempo = 100\n"
        f"rate_limit_blocks = 20\nmin_allowed = 1\n"
        f"commit_reveal = {'true' if commit_reveal else 'false'}\n{neurons}"
    )


def records(validator: str, epoch: int, count: int) -> list[Record]:
    """Records of an epoch, of all its rounds and miners; a task of another validator is another."""
    rows = [
        record(
            f"{validator[-6:]} {epoch} {number}",
            MINERS[number % (len(MINERS) - 1)],
            SKILL,
            validator=validator,
            round=epoch * ROUNDS + number % ROUNDS,
            epoch=epoch,
            latency_ms=30_000 + 1000 * number + 100 * epoch,
        )
        for number in range(count)
    ]
    for number, row in enumerate(rows):
        # the miners are the first neurons
        row["miner"]["uid"] = number % (len(MINERS) - 1)
    return rows


class House:
    """A validator: its folder, its wires, and the process of its daemon while one runs.

    Attributes:
        folder: its files.
        name: of its key.
        hotkey: its address.
        alive: whether its process runs, as far as the test knows.
        deaths: where it was killed, with numbers.
        snapshots: by epoch, the digests that it told of its closing.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Take the names; `begin` starts it."""
        self.folder, self.name = folder, name
        self.hotkey = address_of(signer_of(name))
        self.peers = dict[str, Wire]()
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths: Counter[str] = Counter()
        self.snapshots: dict[int, set[str]] = {}
        self.log: list[dict[str, Any]] = []
        self.address: tuple[str, int] | None = None
        self.on_event: dict[str, Any] = {}
        self.trapped_at = ""
        self._ready, self._lock = threading.Event(), threading.Lock()
        self._reader: threading.Thread | None = None

    def write(self, state: Path) -> None:
        """Write its files, with a copy of a state."""
        self.folder.mkdir()
        for folder in ("records", "adoptions"):
            (self.folder / folder).mkdir()
        shutil.copyfile(state, self.folder / "subnet.db")
        (self.folder / "network.toml").write_text(NETWORK)
        peers = ", ".join(f'"http://127.0.0.1:{wire.port}"' for wire in self.peers.values())
        # peers ask it by the ports of the wires between them
        names = ", ".join(f'"127.0.0.1:{wire.port}"' for wire in self.to_it)
        (self.folder / "validator.toml").write_text(
            f'format = 1\n[validator]\nstate = "subnet.db"\nnetwork = "network.toml"\n'
            f'folder = "daemon"\nadoptions = "adoptions"\n'
            f'[chain]\nurl = "simulate:../simulated.toml"\nkey = "//{self.name}"\n'
            f"poll_seconds = 0.1\ndeadline_seconds = 20\n"
            f'[intake]\nsocket = "in.sock"\nfolder = "records"\n'
            f"[exchange]\npeers = [{peers}]\n[service]\nport = 0\n"
            f"allow_hosts = [{names}]\n"
        )

    # its process

    def begin(self) -> None:
        """Start the daemon; it is not waited for."""
        assert self.process is None
        self._ready.clear()
        # what an earlier process said is no word of this one
        (self.folder / "daemon/health.json").unlink(missing_ok=True)
        # a relative name of the socket, as the folder of a test may have a long one
        self.process = subprocess.Popen(
            [sys.executable, str(TRAPPED), "run", "--config", "validator.toml"],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        for line in process.stderr:
            try:
                entry: dict[str, Any] = json.loads(line)
            except ValueError:
                entry = {"event": line.decode(errors="replace").rstrip()}
            self.log.append(entry)
            event = entry["event"]
            if event == "serving":
                parts = urlsplit(entry["address"])
                self.address = parts.hostname or "", parts.port or 0
                for wire in self.to_it:
                    wire.target = self.address
            elif event == "ready":
                self._ready.set()
            elif event == "closed an epoch":
                self.snapshots.setdefault(entry["epoch"], set()).add(entry["snapshot"])
            act = self.on_event.pop(event, None)
            if act is not None:
                act()
        process.stderr.close()

    to_it: tuple[Wire, ...] = ()

    def reached_by(self, wires: Iterable[Wire]) -> None:
        """Take the wires that lead to it."""
        self.to_it = tuple(wires)

    def wait_ready(self) -> None:
        """Wait until the daemon is ready, or dead."""
        eventually(PATIENCE, lambda: self._ready.is_set() or not self.is_alive, self.tell)

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self, place: str) -> None:
        """Kill it; the second kill of one process is none."""
        with self._lock:
            process = self.process
            if process is None or process.poll() is not None:
                return
            process.kill()
            process.wait()
            self.deaths[place] += 1

    def trap(self, place: str, met: str, seconds: float = 0) -> None:
        """Have it kill itself at a call of the chain."""
        self.trapped_at = place
        (self.folder / "trap").write_text(f"{met} {seconds}")

    def bury(self) -> bool:
        """Take note of its death; gives whether it is dead by a kill.

        Raises:
            AssertionError: it ended by itself.
        """
        process = self.process
        if process is None:
            return True
        if process.poll() is None:
            return False
        assert process.returncode == -signal.SIGKILL, self.tell()
        assert self._reader is not None
        self._reader.join(PATIENCE)
        self.process = None
        trap = self.folder / "trap"
        if self.trapped_at and not trap.exists():
            self.deaths[self.trapped_at] += 1
        trap.unlink(missing_ok=True)
        self.trapped_at = ""
        for wire in (*self.to_it, *self.peers.values()):
            wire.disarm()
        self.on_event.clear()
        for wire in self.to_it:
            wire.target = None
        return True

    def end(self) -> int:
        """End it as a supervisor does; gives its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        self.process = None
        return status

    # what it says

    def health(self) -> dict[str, Any]:
        """Its newest health, as it writes it after each step."""
        try:
            value: dict[str, Any] = json.loads((self.folder / "daemon/health.json").read_text())
        except (OSError, ValueError):
            return {"status": "none", "problems": [], "facts": {}}
        return value

    def codes(self) -> set[str]:
        """The codes of what is wrong with it."""
        return {problem["code"] for problem in self.health()["problems"]}

    def has_acted(self, finalized: int) -> bool:
        """Return whether the validator is dead, or has taken a step at a finalized block."""
        if not self.is_alive:
            return True
        block = self.health()["facts"].get("finalized")
        return block is not None and block >= finalized

    def tell(self) -> str:
        """Return exit status, health and the last lines of the log, for a failure's message."""
        code = None if self.process is None else self.process.poll()
        tail = "\n".join(map(json.dumps, self.log[-60:]))
        return f"{self.name} (exit status {code}): {json.dumps(self.health())}\n{tail}\n"

    # its records

    def by_socket(self, rows: Sequence[bytes], kill_after: int | None = None) -> list[str]:
        """Post lines to the socket, one at a time; gives the statuses of those that were answered.

        Args:
            rows: the lines.
            kill_after: kill it after so many answers, while it takes the next.
        """
        statuses = list[str]()
        killer = threading.Thread(target=self.kill, args=("taking records",))
        with suppress(httpx.HTTPError), posting(self.socket) as post:
            for row in rows:
                if kill_after == len(statuses):
                    killer.start()
                statuses += [answer["status"] for answer in post([row])]
        if killer.ident is not None:
            killer.join()
        return statuses

    def by_post(self, rows: Sequence[bytes]) -> list[str]:
        """Post lines to the socket, all at once; gives the statuses of those that were answered."""
        try:
            with posting(self.socket) as post:
                return [answer["status"] for answer in post(rows)]
        except httpx.HTTPError:
            return []

    @property
    def socket(self) -> Path:
        """The socket of the intake, by the shorter of its names: a socket has a short one."""
        path = str(self.folder / "in.sock")
        return Path(min(os.path.relpath(path), path, key=len))

    def by_folder(self, name: str, rows: Sequence[bytes]) -> None:
        """Put a file of lines into its folder; it is taken sometime."""
        file = self.folder / "records" / f".{name}"
        file.write_bytes(b"".join(row + b"\n" for row in rows))
        file.replace(self.folder / "records" / f"{name}.jsonl")

    # its state

    def exported(self) -> list[dict[str, Any]]:
        """The entries of its state, by its own export."""
        path = self.folder / "export.jsonl"
        path.unlink(missing_ok=True)
        finished = run("state", "export", path, "--state", self.folder / "subnet.db")
        assert finished.status == 0, finished.err
        with path.open() as file:
            return [json.loads(line) for line in file][1:]

    def digest(self) -> str:
        """The digest of its state."""
        with Ledger.open(self.folder / "subnet.db") as ledger, ledger.queries() as queries:
            return queries.digest()

    def snapshots_of(self, epochs: Iterable[int]) -> list[str]:
        """The digests of the states after some epochs."""
        with Ledger.open(self.folder / "subnet.db") as ledger, ledger.queries() as queries:
            return [queries.snapshot_digest(epoch + 1) for epoch in epochs]

    def open_epoch(self) -> int:
        """The open epoch, as its health says."""
        epoch: int = self.health()["facts"].get("open_epoch", -1)
        return epoch


@attrs.define
class Subnet:
    """A chain and its validators.

    Attributes:
        chain: the chain, whose blocks the test makes.
        houses: the validators.
        wires: from who asks to who answers, by their places.
        network: the network file.
    """

    chain: SharedChain
    houses: list[House]
    wires: Mapping[tuple[int, int], Wire]
    network: Network
    finalized: int = 0

    def cut_off(self, who: int, mode: Mode) -> None:
        """Cut a validator off from its peers, or let it back; it still reaches the chain."""
        for pair, wire in self.wires.items():
            if who in pair:
                wire.set(mode)

    def to(self, block: int) -> None:
        """Make blocks until one is finalized, and wait until all that live have acted on it."""
        best = self.chain.now().best
        if block + LAG > best:
            self.chain.advance(block + LAG - best)
        self.finalized = max(self.finalized, block)
        self.settle()

    def settle(self) -> None:
        """Wait until each validator that lives has acted on the finalized block."""
        for house in self.houses:
            eventually(PATIENCE, lambda h=house: h.has_acted(self.finalized), self.tell)  # type: ignore[misc]

    def act_again(self) -> None:
        """Make one block, and wait until all that live have acted on it."""
        self.to(self.finalized + 1)

    def tell(self) -> str:
        """Return the same of every validator, for a failure's message."""
        told = "\n".join(house.tell() for house in self.houses)
        return f"no act on the block {self.finalized}:\n{told}"

    def rows(self) -> dict[str, dict[int, list[LogEntry]]]:
        """The rows that the chain took, by hotkey and epoch whose row was due then."""
        by_hotkey: dict[str, dict[int, list[LogEntry]]] = {h.hotkey: {} for h in self.houses}
        for entry in self.chain.now().log:
            if entry.kind in {"row", "committed"}:
                epoch = (entry.block - ANCHOR - WEIGHTS_AT) // EPOCH_BLOCKS - 1
                by_hotkey[entry.hotkey].setdefault(epoch, []).append(entry)
        return by_hotkey


@contextmanager
def subnet(
    folder: Path,
    *,
    commit_reveal: bool = False,
) -> Iterator[Subnet]:
    """Run a chain; the validators are written, and not yet begun.

    Args:
        folder: of all files.
        commit_reveal: whether rows are committed first.
    """
    network = Network.parse(NETWORK, "network.toml")
    file = folder / "simulated.toml"
    file.write_text(simulation(commit_reveal=commit_reveal))
    state = begun(folder / "begun.db", BEGUN_WITH)
    chain = SharedChain(file)
    houses = [House(folder / name, name) for name in NAMES]
    wires = {pair: Wire() for pair in permutations(range(len(NAMES)), 2)}
    try:
        for index, house in enumerate(houses):
            house.peers = {
                NAMES[answers]: wire for (asks, answers), wire in wires.items() if asks == index
            }
            house.reached_by(wire for (_, answers), wire in wires.items() if answers == index)
            house.write(state)
        yield Subnet(chain, houses, wires, network)
    finally:
        for house in houses:
            house.kill("the end")
        for wire in wires.values():
            wire.close()


def tasks(entries: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """Count the records of a state by validator and task."""
    return Counter(
        (entry["body"]["validator"], entry["body"]["task_id"])
        for entry in entries
        if entry["kind"] == "signal"
    )
