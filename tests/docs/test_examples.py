"""The examples of the documentation run as they are, and do what their pages say."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from needs import tool

from tallystick_chain.network import Network
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
VALIDATOR, SIDECAR = EXAMPLES / "validator" / "run.py", EXAMPLES / "sidecar"
TWO = EXAMPLES / "two-validators"
pytestmark = pytest.mark.nightly
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def ran(folder: Path, *options: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(VALIDATOR), *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_validator_prints_the_digest_of_its_state_last(tmp_path: Path) -> None:
    first, again, other = (
        ran(tmp_path, "--epochs", "2", "--seed", seed) for seed in ("1", "1", "2")
    )
    assert DIGEST.fullmatch(first[-1])
    assert first == again
    assert first[-1] != other[-1]
    # the best miner has the greatest weight
    assert first[-2].endswith(": 65535")
    assert not [*tmp_path.iterdir()]


def test_the_validator_needs_the_base_install_alone(tmp_path: Path) -> None:
    program = (
        "import runpy, sys; sys.argv = ['run.py', '--epochs', '1'];"
        f"runpy.run_path({str(VALIDATOR)!r}, run_name='__main__');"
        "print(sorted({'bittensor', 'starlette', 'uvicorn', 'prometheus_client', 'psycopg'}"
        " & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_validator_runs_thirty_epochs(tmp_path: Path) -> None:
    assert ran(tmp_path, "--epochs", "30", "--seed", "1") == ran(tmp_path)


def stepped(folder: Path) -> SharedChain:
    """The chain of an example, whose blocks the test makes."""
    file = folder / "simulated.toml"
    file.write_text(re.sub("block_time = .*", "block_time = 0", file.read_text()))
    return SharedChain(file)


@contextmanager
def process(folder: Path, *command: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            yield started
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait()


def test_the_sidecar_feeds_the_daemon_from_node(tmp_path: Path) -> None:
    interpreter = str(tool("node"))
    for path in SIDECAR.iterdir():
        shutil.copy(path, tmp_path)
    subnet = json.loads((tmp_path / "subnet.json").read_text())
    network = Network.load(tmp_path / "network.toml")
    assert subnet["anchor_block"] == network.anchor_block
    assert subnet["blocks_a_round"] == network.round_blocks
    assert subnet["rounds_an_epoch"] == network.epoch_rounds
    Ledger.create(tmp_path / "subnet.db", "workflow@1.2.0").close()
    tallystick = sys.executable, "-m", "tallystick"
    chain = stepped(tmp_path)
    with (
        process(tmp_path, *tallystick, "run", "--config", "validator.toml") as daemon,
        process(tmp_path, interpreter, "sidecar.mjs", "--epochs", "2") as loop,
    ):
        assert loop.stdout is not None
        rounds = 2 * network.epoch_rounds
        for number in range(rounds):
            # a block ends a round when its records are answered
            assert loop.stdout.readline() == f'round {number}: {{"recorded":8}}\n'
            chain.advance(network.round_blocks)
        chain.advance(network.epoch_blocks)
        assert loop.stdout.readline() == "2 epochs are closed\n"
        assert loop.wait() == 0
        assert daemon.poll() is None
    view = chain.as_hotkey(subnet["validator"])
    row = view.row(network.netuid, 0, 0, view.head().best)
    with Ledger.open(tmp_path / "subnet.db") as ledger:
        with ledger.queries() as queries:
            assert [info.records for info in queries.rounds()] == [8] * rounds
            weights = queries.weights()
        assert verify(ledger).snapshots == 3
    assert {uid for uid, _ in row} <= {*weights.uids}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def facts(folder: Path) -> dict[str, object]:
    path = folder / "health.json"
    found: dict[str, object] = json.loads(path.read_text())["facts"] if path.exists() else {}
    return found


def test_two_validators_share_their_records_and_set_one_row(tmp_path: Path) -> None:
    for path in TWO.iterdir():
        shutil.copy(path, tmp_path)
    names, network = ("alice", "bob"), Network.load(tmp_path / "network.toml")
    ports = {"8641": str(free_port()), "8642": str(free_port())}
    tallystick = sys.executable, "-m", "tallystick"
    chain = stepped(tmp_path)
    chain.advance(network.anchor_block - chain.now().best)
    with ExitStack() as stack:
        for name in names:
            settings = tmp_path / f"{name}.toml"
            text = settings.read_text()
            for port, own in ports.items():
                text = text.replace(port, own)
            settings.write_text(text)
            Ledger.create(tmp_path / f"{name}.db", "reward@1.0.0", network=network.digest).close()
            stack.enter_context(process(tmp_path, *tallystick, "run", "--config", f"{name}.toml"))
            feed = sys.executable, "feed.py", f"{name}.sock"
            stack.enter_context(process(tmp_path, *feed))
        while not all(facts(tmp_path / name).get("records_waiting") for name in names):
            time.sleep(0.1)
        blocks = 0
        while not all(facts(tmp_path / name).get("rows", {}) for name in names):
            # a daemon acts at the block that it sees
            if blocks < 2 * network.epoch_blocks:
                blocks += 1
                chain.advance(1)
            time.sleep(0.5)
    digests = set()
    for name in names:
        with Ledger.open(tmp_path / f"{name}.db") as ledger, ledger.queries() as queries:
            assert queries.rounds()[0].records >= 2 * 4
            digests.add(queries.snapshot_digest(1))
    assert len(digests) == 1
