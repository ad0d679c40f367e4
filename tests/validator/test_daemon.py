"""The daemon: begun, ended, asked to read its file again, and told what does not fit."""

import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from validator.daemons import (
    ANCHOR,
    EPOCH_BLOCKS,
    LAG,
    PATIENCE,
    House,
    chain_in,
    lines,
    records,
)

from tallystick_chain.simulated import shared_chain
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_validator import daemon

VALIDATOR = hotkey_of("validator")
Wait = Callable[[str], str]


@pytest.fixture(autouse=True)
def _no_end_later() -> Iterator[None]:
    """Stop the timers that would end this process, as they end that of a daemon."""
    yield
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
            thread.join()


@pytest.fixture
def chain(tmp_path: Path) -> SharedChain:
    return chain_in(tmp_path, [VALIDATOR])


@pytest.fixture
def house(tmp_path: Path, chain: SharedChain) -> House:
    return House(tmp_path / "h", f"simulate:{chain.path}", VALIDATOR)


def rows(epoch: int) -> list[bytes]:
    return lines(records(VALIDATOR, epoch, 9))


def test_a_term_ends_it_though_the_chain_hangs(
    house: House, chain: SharedChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(chain.file, check_same_thread=False)) as another:
        another.execute("BEGIN IMMEDIATE")
        left = list[int]()

        def leave(status: int) -> None:
            left.append(status)
            # where the process would end, its calls do
            another.rollback()

        monkeypatch.setattr(shared_chain, "WAIT_SECONDS", PATIENCE)
        monkeypatch.setattr(os, "_exit", leave)
        monkeypatch.setattr(daemon, "END_SECONDS", 0)
        monkeypatch.setattr(daemon, "LOOK_SECONDS", 0)

        def ask(_: Wait) -> None:
            # it waits for the head, and takes records meanwhile
            assert {answer["status"] for answer in house.send(rows(0))} == {"recorded"}

        assert house.run(ask).status == 0
        assert left == [0]


def test_a_hup_changes_what_it_can_and_tells_the_rest(house: House, chain: SharedChain) -> None:
    text = house.config.read_text()

    def reread(after: str) -> None:
        house.config.write_text(after)
        os.kill(os.getpid(), signal.SIGHUP)

    def ask(wait: Wait) -> None:
        reread("format = 2\n")
        assert "validator.toml" in wait("the configuration stays").splitlines()[-1]
        reread(text.replace("poll_seconds = 0.05", "poll_seconds = 0.04"))
        wait('"changed": ["poll_seconds"]')
        reread(text.replace("deadline_seconds = 500", "deadline_seconds = 501"))
        wait('"needs_restart": ["deadline_seconds"]')
        house.send(rows(0))
        chain.advance(EPOCH_BLOCKS + LAG)
        wait("closed an epoch")

    assert house.run(ask).status == 0


def test_another_network_file_is_refused_before_an_epoch_is_closed(
    house: House, chain: SharedChain
) -> None:
    chain.advance(EPOCH_BLOCKS + LAG)
    assert house.once().status == 0
    assert house.open_epoch() == 1
    chain.advance(EPOCH_BLOCKS - 1)
    file = house.folder / "network.toml"
    begun = file.read_text()
    file.write_text(begun.replace("rounds = 3", "rounds = 1"))
    refused = house.once()
    assert refused.status == 2
    assert "put back the network file" in refused.err
    assert house.open_epoch() == 1
    file.write_text(begun)
    assert house.once().status == 0


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
    tmp_path: Path, chain: SharedChain, more: str, exchange: str, message: str
) -> None:
    house = House(tmp_path / "h", f"simulate:{chain.path}", VALIDATOR, more)
    with (house.folder / "network.toml").open("a") as file:
        file.write(exchange)
    refused = house.once()
    assert refused.status == 2
    assert message in refused.err


def test_once_does_what_is_due_and_ends(house: House, chain: SharedChain) -> None:
    chain.advance(2 * EPOCH_BLOCKS + LAG)
    assert house.once().status == 0
    assert house.open_epoch() == 2
    assert house.health()["status"] in {"ok", "degraded"}
    # its files are its owner's
    assert (house.folder / "daemon").stat().st_mode & 0o077 == 0


def test_a_run_until_a_block_ends_there(house: House, chain: SharedChain) -> None:
    def ask(_: Wait) -> None:
        chain.advance(EPOCH_BLOCKS + LAG)

    until = ("--until-block", str(ANCHOR + EPOCH_BLOCKS))
    assert house.run(ask, *until, end=None).status == 0
    assert house.open_epoch() == 1


def test_a_chain_that_is_not_there_fails_once_and_is_told(tmp_path: Path) -> None:
    house = House(tmp_path / "h", f"simulate:{tmp_path / 'none.toml'}", VALIDATOR)
    assert house.once().status == 1
    health = house.health()
    assert health["status"] == "failing"
    assert [problem["code"] for problem in health["problems"]] == ["chain-unreachable"]


def test_the_supervisor_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    path = house.folder / "n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(path))
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        monkeypatch.setenv("WATCHDOG_USEC", "3000")
        told = list[str]()

        def receive(*wanted: str) -> None:
            while not {*wanted} <= {*told}:
                told.extend(supervisor.recv(4096).decode().split("\n"))

        def ask(_: Wait) -> None:
            receive("READY=1", "WATCHDOG=1")
            os.kill(os.getpid(), signal.SIGHUP)
            receive("RELOADING=1")

        assert house.run(ask).status == 0
        receive("STOPPING=1")
