"""Daemons of a simulated chain, each with a folder, a state and a socket.

All runs in the process of the test, and time is the blocks that a test makes: a test waits for
lines of logs and answers, never for a while.
"""

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from cli.command import Finished
from service.command import Output, until_asked
from state.subnet import Record, record, task
from validator.states import begun

from tallystick.rules.toml_source import parse_source
from tallystick_chain.network import Network
from tallystick_chain.simulated.document import SimulationFile
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_state.ledger import Ledger
from tallystick_validator.validator import Validator

NETUID, RULES, SKILL = 7, "skills@1.2.0", "executable_python"
ALICE = hotkey_of("alice")
ANCHOR, ROUND_BLOCKS, ROUNDS, LAG = 10, 2, 3, 2
EPOCH_BLOCKS = ROUND_BLOCKS * ROUNDS
MINERS = tuple(hotkey_of(f"miner {number}") for number in range(4))
PATIENCE = 600
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


def document(validators: Sequence[str], *, seed: int = 0, owner: str | None = None) -> str:
    """The file of a chain of miners, validators of equal stake, and the owner."""
    neurons = [f'{{ hotkey = "{hotkey}" }}' for hotkey in (*MINERS, *filter(None, [owner]))]
    staked = "stake_rao = 1_000_000_000, permit = true"
    neurons[len(MINERS) : len(MINERS)] = [
        f'{{ hotkey = "{hotkey}", {staked} }}' for hotkey in validators
    ]
    owned = "" if owner is None else f'owner = "{owner}"\n'
    return (
        f"format = 1\n[chain]\nseed = {seed}\nfinality_lag = {LAG}\nblock_time = 0\n"
        f"[[subnet]]\nnetuid = {NETUID}\n{owned}"
        "hyperparameters = { rate_limit_blocks = 2, commit_reveal = false, min_allowed = 1 }\n"
        f"neuron = [{', '.join(neurons)}]\n"
    )


def chain_of(
    validators: Sequence[str], *, seed: int = 0, owner: str | None = None
) -> SimulatedChain:
    """Such a chain in memory, at the first block of epoch 0."""
    text = document(validators, seed=seed, owner=owner)
    chain = SimulationFile.of(parse_source(text, "chain.toml")).begin()
    chain.advance(ANCHOR - chain.best)
    return chain


def chain_in(folder: Path, validators: Sequence[str]) -> SharedChain:
    """The same in a file of a folder."""
    path = folder / "chain.toml"
    path.write_text(document(validators))
    chain = SharedChain(path)
    chain.advance(ANCHOR - chain.now().best)
    return chain


def records(validator: str, epoch: int, count: int, **more: Any) -> list[Record]:  # noqa: ANN401  # of record
    """Records of an epoch, of all its rounds and miners, whose uids are those of `chain_of`."""
    rows = [
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
    for number, row in enumerate(rows):
        row["miner"]["uid"] = number % len(MINERS)
    return rows


def lines(rows: Iterable[Record]) -> list[bytes]:
    """Records as lines without their ends."""
    return [json.dumps(row).encode() for row in rows]


def equal_work(validator: str, epoch: int, uids: Mapping[str, int]) -> list[bytes]:
    """A workflow of each miner in each round of an epoch, all of one quality, as lines."""
    rows = []
    for place, (hotkey, uid) in enumerate(uids.items()):
        for n in range(ROUNDS):
            of_round = {"round": epoch * ROUNDS + n, "epoch": epoch, "validator": validator}
            number = 100 * epoch + 10 * place + n
            miner = {"uid": uid, "hotkey": hotkey}
            rows.append({**task(number, hotkey, 0.9, **of_round), "miner": miner})
    return lines(rows)


def take(validator: Validator, rows: Sequence[bytes]) -> None:
    """Have a daemon record lines."""
    assert {answer.status for answer in validator.intake.take(rows)} == {"recorded"}


async def follow(validator: Validator, chain: SimulatedChain, blocks: int) -> None:
    """Have a daemon take a step at each of the next blocks."""
    for _ in range(blocks):
        chain.advance()
        await validator.step()


@contextmanager
def posting(place: Path) -> Iterator[Callable[[Sequence[bytes]], list[dict[str, Any]]]]:
    """Give a function that posts lines to a socket, and returns the answers."""
    transport = httpx.HTTPTransport(uds=str(place))
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=PATIENCE) as client:

        def post(rows: Sequence[bytes]) -> list[dict[str, Any]]:
            reply = client.post("/intake", content=b"".join(row + b"\n" for row in rows))
            reply.raise_for_status()
            return [json.loads(line) for line in reply.text.splitlines()]

        yield post


class House:
    """A validator's folder, and the daemon that runs in this process."""

    def __init__(self, folder: Path, url: str, hotkey: str, more: str = "") -> None:
        """Write the files; the state is begun under the rules."""
        folder.mkdir()
        self.folder, self.config = folder, folder / "validator.toml"
        self.state = folder / "subnet.db"
        begun(self.state, RULES)
        (folder / "network.toml").write_text(NETWORK)
        self.config.write_text(
            f'format = 1\n[validator]\nstate = "subnet.db"\nnetwork = "network.toml"\n'
            f'folder = "daemon"\n[chain]\nurl = "{url}"\nkey = "{hotkey}"\n'
            f"poll_seconds = 0.05\ndeadline_seconds = 500\n"
            # a socket has a short name
            f'[intake]\nsocket = "{self.socket}"\n{more}'
        )

    @property
    def socket(self) -> Path:
        """The socket of the intake."""
        return self.folder / "s"

    def once(self) -> Finished:
        """Run the daemon for one step."""
        return until_asked(lambda *_: None, "run", "--config", self.config, "--once", end=None)

    def run(
        self,
        ask: Callable[[Callable[[str], str]], object],
        *options: str,
        end: signal.Signals | None = signal.SIGTERM,
    ) -> Finished:
        """Run the daemon, and call a function once it is ready.

        Args:
            ask: gets a function that waits until the log has some text.
            options: of the command.
            end: the signal that ends it; None where it ends by itself.
        """

        def asking(_: Output, err: Output) -> None:
            def wait(text: str) -> str:
                return err.until(lambda log: text in log)

            wait('"ready"')
            ask(wait)

        return until_asked(asking, "run", "--config", self.config, *options, end=end)

    def send(self, rows: Sequence[bytes]) -> list[dict[str, Any]]:
        """Post lines to the socket, and return the answers."""
        with posting(self.socket) as post:
            return post(rows)

    def health(self) -> dict[str, Any]:
        """The newest health, as the daemon writes it after each step."""
        found: dict[str, Any] = json.loads((self.folder / "daemon" / "health.json").read_text())
        return found

    def open_epoch(self) -> int:
        """The open epoch of the state."""
        with Ledger.open(self.state) as ledger:
            return ledger.open_epoch()
