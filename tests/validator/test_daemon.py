"""The daemon as a process: killed anywhere, ended, asked to read its file again, and alone."""

import json
import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from validator.daemons import (
    ANCHOR,
    EPOCH_BLOCKS,
    LAG,
    PATIENCE,
    House,
    ServedChain,
    chain_of,
    lines,
    records,
    served,
)

from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_state.ledger import Ledger
from tallystick_validator.daemon import END_SECONDS

VALIDATOR = hotkey_of("validator")
RECORDS = 9


@pytest.fixture
def chain() -> Iterator[ServedChain]:
    with served(chain_of([VALIDATOR])) as serving:
        yield serving


@pytest.fixture
def house(tmp_path: Path, chain: ServedChain) -> Iterator[House]:
    made = House(tmp_path / "h", chain.url, VALIDATOR)
    yield made
    made.stop()


def rows(epoch: int) -> list[bytes]:
    return lines(records(VALIDATOR, epoch, RECORDS))


def taken(house: House, sent: list[bytes]) -> None:
    """Send records until each was taken, as the daemon may not have seen the newest block yet."""
    while sent:
        answers = house.send(sent)
        codes = {answer.get("code", "") for answer in answers}
        assert codes <= {"", "future-epoch"}, answers
        sent = [row for row, a in zip(sent, answers, strict=True) if a["status"] == "rejected"]


def undisturbed(folder: Path, epochs: int) -> str:
    """The digest of a state whose daemon nobody disturbed."""
    with served(chain_of([VALIDATOR])) as chain:
        house = House(folder, chain.url, VALIDATOR)
        try:
            house.start()
            for epoch in range(epochs):
                taken(house, rows(epoch))
                chain.advance(EPOCH_BLOCKS)
            chain.advance(LAG)
            house.wait_for("closed an epoch", epoch=epochs - 1)
            assert house.kill(signal.SIGTERM) == 0
            return house.digest()
        finally:
            house.stop()


def killed_again_and_again(
    folder: Path, chain: ServedChain, epochs: int, kills: int, seed: int
) -> House:
    """A daemon that is killed while it begins, takes records, and closes the epoch before.

    Each record is sent until it is answered, as whoever sends them would, and all of an epoch
    before its end: later ones would be late.
    """
    rng = random.Random(seed)
    house = House(folder, chain.url, VALIDATOR)
    epochs_of_kills = sorted(rng.randrange(epochs) for _ in range(kills))
    house.start()
    for epoch in range(epochs):
        end = ANCHOR + (epoch + 1) * EPOCH_BLOCKS
        taken(house, rows(epoch)[: RECORDS // 2])
        for _ in range(epochs_of_kills.count(epoch)):
            best = chain.control.head().best
            chain.advance(min(rng.randrange(4), end - 1 - best))
            if rng.random() < 0.7:
                house.wait_for("ready") if not house.is_ready else None
                # somewhere in a step, or between two
                time.sleep(rng.uniform(0, 0.3))
            house.kill()
            house.begin()
        house.wait_for("ready") if not house.is_ready else None
        taken(house, rows(epoch))
        chain.advance(end - chain.control.head().best)
    return house


@pytest.mark.parametrize(
    ("epochs", "kills"),
    [pytest.param(3, 3, id="few"), pytest.param(12, 40, id="many", marks=pytest.mark.nightly)],
)
def test_kills_lose_double_and_forget_nothing(
    tmp_path: Path, chain: ServedChain, epochs: int, kills: int
) -> None:
    house = killed_again_and_again(tmp_path / "killed", chain, epochs, kills, seed=kills)
    try:
        chain.advance(LAG)
        assert house.process is not None
        while house.open_epoch() < epochs:
            house.wait_for("closed an epoch")
        assert house.kill(signal.SIGTERM) == 0
        assert house.digest() == undisturbed(tmp_path / "undisturbed", epochs)
        with Ledger.open(house.state) as ledger, ledger.queries() as queries:
            assert [info.events for info in queries.epochs()] == [RECORDS] * epochs + [0]
        with Ledger.open(house.state) as ledger:
            ledger.verify()
    finally:
        house.stop()


@pytest.mark.nightly
def test_a_daemon_catches_up_epoch_by_epoch(
    tmp_path: Path, house: House, chain: ServedChain
) -> None:
    house.start()
    house.send(rows(0) + rows(1))
    house.kill()
    chain.advance(2 * EPOCH_BLOCKS + LAG)
    house.start()
    assert [house.wait_for("closed an epoch")["epoch"] for _ in range(2)] == [0, 1]
    house.kill(signal.SIGTERM)
    assert house.digest() == undisturbed(tmp_path / "undisturbed", 2)


def test_a_term_ends_it_though_the_chain_hangs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        house = House(tmp_path / "h", f"simulate://127.0.0.1:{silent.getsockname()[1]}", VALIDATOR)
        text = (house.folder / "validator.toml").read_text()
        text = text.replace("deadline_seconds = 10", "deadline_seconds = 600")
        (house.folder / "validator.toml").write_text(text)
        try:
            house.start()
            # it waits for the head, and takes records meanwhile
            with silent.accept()[0]:
                assert {answer["status"] for answer in house.send(rows(0))} == {"recorded"}
                began = time.monotonic()
                assert house.kill(signal.SIGTERM) == 0
                # far less than the chain's deadline, and more than a busy machine needs
                assert time.monotonic() - began < 10 * END_SECONDS
        finally:
            house.stop()


def test_a_hup_changes_what_it_can_and_tells_the_rest(house: House, chain: ServedChain) -> None:
    house.start()
    assert house.process is not None
    path = house.folder / "validator.toml"
    text = path.read_text()
    path.write_text("format = 2\n")
    house.process.send_signal(signal.SIGHUP)
    entry = house.wait_for_text("the configuration stays")
    assert "validator.toml" in entry["event"]
    path.write_text(text.replace("poll_seconds = 0.05", "poll_seconds = 0.04"))
    house.process.send_signal(signal.SIGHUP)
    assert house.wait_for("read the configuration")["changed"] == ["poll_seconds"]
    path.write_text(text.replace("deadline_seconds = 10", "deadline_seconds = 11"))
    house.process.send_signal(signal.SIGHUP)
    entry = house.wait_for("read the configuration")
    assert entry["needs_restart"] == ["deadline_seconds"]
    house.send(rows(0))
    chain.advance(EPOCH_BLOCKS + LAG)
    house.wait_for("closed an epoch", epoch=0)


def test_two_daemons_share_neither_a_folder_nor_a_state(house: House) -> None:
    house.start()
    other = house.folder / "other.toml"
    text = (house.folder / "validator.toml").read_text()
    for folder, what in (("daemon", "this folder"), ("elsewhere", "the state")):
        other.write_text(text.replace('folder = "daemon"', f'folder = "{folder}"'))
        second = House.__new__(House)
        second.folder = house.folder
        second.begin("--config", "other.toml")
        status = second.ended()
        assert status == 2
        assert what in second.seen[-2]["event"]
        assert "stop the other one first" in second.seen[-2]["event"]


def test_another_network_file_is_refused_before_an_epoch_is_closed(
    house: House, chain: ServedChain
) -> None:
    chain.advance(EPOCH_BLOCKS + LAG)
    house.begin("--once")
    assert house.ended() == 0
    assert house.open_epoch() == 1
    chain.advance(EPOCH_BLOCKS - 1)
    file = house.folder / "network.toml"
    begun = file.read_text()
    file.write_text(begun.replace("rounds = 3", "rounds = 1"))
    house.begin("--once")
    assert house.ended() == 2
    assert any("put back the network file" in entry["event"] for entry in house.seen)
    assert house.open_epoch() == 1
    file.write_text(begun)
    house.begin("--once")
    assert house.ended() == 0


@pytest.mark.parametrize(
    ("more", "exchange", "message"),
    [
        ('[exchange]\npeers = ["http://198.51.100.7:8090"]\n', "", "exchange.peers: found peers"),
        (
            '[service]\nhost = "0.0.0.0"\nport = 0\n',
            "[exchange]\ncommit_by = 1\nvote_by = 2\n",
            "service.host: found 0.0.0.0 and no key",
        ),
        ('[service]\nhost = "198.51.100.7"\n', "", "host and port under [service]"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    tmp_path: Path, chain: ServedChain, more: str, exchange: str, message: str
) -> None:
    house = House(tmp_path / "h", chain.url, VALIDATOR, more)
    with (house.folder / "network.toml").open("a") as file:
        file.write(exchange)
    house.begin("--once")
    assert house.ended() == 2
    assert any(message in entry["event"] for entry in house.seen)


def test_once_does_what_is_due_and_ends(house: House, chain: ServedChain) -> None:
    house.begin("--once")
    assert house.ended() == 0
    chain.advance(2 * EPOCH_BLOCKS + LAG)
    house.begin("--once")
    assert house.ended() == 0
    assert house.open_epoch() == 2
    health = json.loads((house.folder / "daemon" / "health.json").read_text())
    assert health["status"] in {"ok", "degraded"}


def test_a_run_until_a_block_ends_there(house: House, chain: ServedChain) -> None:
    block = ANCHOR + EPOCH_BLOCKS
    house.begin("--until-block", str(block))
    house.wait_for("ready")
    chain.advance(EPOCH_BLOCKS + LAG)
    assert house.ended() == 0
    assert house.open_epoch() == 1


def test_a_chain_that_is_not_there_fails_once_and_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    house = House(tmp_path / "h", f"simulate://127.0.0.1:{port}", VALIDATOR)
    house.begin("--once")
    assert house.ended() == 1
    health = json.loads((house.folder / "daemon" / "health.json").read_text())
    assert health["status"] == "failing"
    assert [problem["code"] for problem in health["problems"]] == ["chain-unreachable"]


def test_the_supervisor_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    path = house.folder / "n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(path))
        supervisor.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        monkeypatch.setenv("WATCHDOG_USEC", "300000")
        house.start()
        told = list[str]()
        while not {"READY=1", "WATCHDOG=1"} <= {*told}:
            told += supervisor.recv(4096).decode().split("\n")
        assert house.process is not None
        house.process.send_signal(signal.SIGHUP)
        while "RELOADING=1" not in told:
            told += supervisor.recv(4096).decode().split("\n")
        house.process.send_signal(signal.SIGTERM)
        while "STOPPING=1" not in told:
            told += supervisor.recv(4096).decode().split("\n")
        assert house.ended() == 0


def test_its_files_are_its_owners(house: House) -> None:
    house.start()
    assert house.folder.joinpath("daemon").stat().st_mode & 0o077 == 0
    assert house.socket.stat().st_mode & 0o077 == 0
    assert os.getuid() == house.socket.stat().st_uid
