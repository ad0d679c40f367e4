"""Answers of a validator to its peers over HTTP: batches by hash, and nothing else."""

import asyncio
import http.client
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from validator.exchange.houses import House, bound, chain_of, house_of, own_record, served
from validator.exchange.houses import app_of as app_of_house

from tallystick_chain.simulated.hotkeys import address_of as address_of_key
from tallystick_chain.simulated.hotkeys import hotkey_of, signer_of
from tallystick_service.challenge import Challenge
from tallystick_service.server import address_of
from tallystick_validator.batches import digest_of
from tallystick_validator.peers import PREFIX, Limits, Peer

HOTKEY = hotkey_of("ann")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A validator alone in its subnet, which has closed an epoch."""
    chain = chain_of([HOTKEY])
    made = house_of(tmp_path_factory.mktemp("house"), chain.as_hotkey(HOTKEY))
    made.give(*(own_record(HOTKEY, f"t{number}", 0) for number in range(20)))
    while chain.finalized < made.network.vote_block(0):
        chain.advance()
        made.step()
    assert made.recorded == [20]
    made.exchange._checkpoint = made.folder / "checkpoint.txt"
    made.exchange._checkpoint.write_text("log\n1\nroot\n")
    return made


@pytest.fixture(scope="module")
def url(house: House) -> Iterator[str]:
    """Its address."""
    listener = bound("127.0.0.1", 0)
    with served(app_of_house(house), listener):
        yield address_of(listener)


def asked(url: str, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict]:
    """Status, body and headers of an answer, by a client that mends no path."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=600)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=names)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}


def own(house: House) -> tuple[str, bytes]:
    """Its batch."""
    digest = house.exchange.shelf.own(0)
    assert digest is not None
    path = house.exchange.shelf.find(digest)
    assert path is not None
    return digest, path.read_bytes()


def test_it_says_who_it_is_and_how_far(house: House, url: str) -> None:
    status = asyncio.run(Peer(url, Limits()).status_now())
    assert (status.hotkey, status.network) == (HOTKEY, house.network.digest)
    assert status.genesis == house.ledger.in_force.genesis
    assert status.epoch == 0
    closed = asyncio.run(Peer(url, Limits()).closed(0))
    leaf = msgspec.json.decode(closed.leaf)
    with house.ledger.epoch_log() as log:
        assert leaf["snapshot"] == log.leaves[0].snapshot
        assert leaf["steps"]["inputs"]["root"] == log.leaves[0].steps["inputs"].root


def test_it_lists_batches_and_gives_their_bytes(house: House, url: str) -> None:
    digest, data = own(house)
    assert asyncio.run(Peer(url, Limits()).listed(0)) == (digest,)
    assert asyncio.run(Peer(url, Limits()).listed(1)) == ()
    status, body, headers = asked(url, f"{PREFIX}/batch/{digest}", Accept_Encoding="gzip, br")
    assert (status, body) == (200, data)
    assert "content-encoding" not in headers
    assert digest_of(body) == digest
    status, body, headers = asked(url, f"{PREFIX}/batch/{digest}", "HEAD")
    assert (status, body, headers["content-length"]) == (200, b"", str(len(data)))


def test_it_gives_its_checkpoint(url: str) -> None:
    assert asked(url, f"{PREFIX}/checkpoint")[:2] == (200, b"log\n1\nroot\n")


@pytest.mark.parametrize(
    "path",
    [
        *("/batch/../../state.db", "/batch/..%2f..%2fstate.db", "/batch/%2e%2e/%2e%2e/state.db"),
        *("/batch/%00", "/batch/", "/batch", "/batch/" + "a" * 63, "/batch/" + "A" * 64),
        *("/batch/" + "0" * 64, "/batch/" + "0" * 64 + "%0a", "/batch/" + "0" * 64 + ".jsonl"),
        *("/batch/own", "/batch/..", "/batches/..", "/batches/parts", "/batches/-1"),
        *("/batches/0/own", "/batches/00", "/batches/1e3", "/batches/%30", "/batches/٣"),
        *("/batches/" + "9" * 400, "/closed/..%2fown", "/closed/7", "/closed/own"),
        *("/", "", "/chain.json", "/0/own", "//batch/0", "/batch//etc/passwd"),
    ],
)
def test_no_path_leads_to_anything_else(url: str, path: str) -> None:
    encoded = path.encode().decode("latin-1") if not path.isascii() else path
    try:
        status, body, headers = asked(url, PREFIX + encoded)
    except (UnicodeEncodeError, http.client.InvalidURL):
        return
    assert status in {400, 404}
    assert b"sqlite" not in body.lower()
    assert "location" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "X"])
def test_nothing_can_be_written(house: House, url: str, method: str) -> None:
    before = sorted(house.folder.rglob("*"))
    digest, data = own(house)
    for path in (f"/batch/{digest}", "/batches/0", "/status", "/closed/0", "/checkpoint"):
        assert asked(url, PREFIX + path, method)[0] == 405
    assert own(house) == (digest, data)
    assert sorted(house.folder.rglob("*")) == before


def test_a_damaged_note_of_an_epoch_is_as_if_it_were_not_there(house: House, url: str) -> None:
    folder = house.folder / "batches" / "5"
    folder.mkdir(exist_ok=True)
    for name in ("closed.json", "chain.json", "own"):
        (folder / name).write_bytes(b"{")
    (folder / ("e" * 64 + ".part")).write_bytes(b"x")
    assert asked(url, f"{PREFIX}/closed/5")[0] == 404
    assert asyncio.run(Peer(url, Limits()).listed(5)) == ()
    assert house.exchange.shelf.own(5) is None
    assert house.exchange.shelf.reads(5).end is None


def test_old_epochs_are_given_up_and_newer_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = chain_of([HOTKEY])
    house = house_of(tmp_path / "house", chain.as_hotkey(HOTKEY))
    monkeypatch.setattr("tallystick_validator.exchange.KEPT_EPOCHS", 2)
    for epoch in range(4):
        house.give(own_record(HOTKEY, f"t{epoch}", epoch))
        while chain.finalized < house.network.vote_block(epoch):
            chain.advance()
            house.step()
    assert house.exchange.shelf.epochs() == [3, 2]


def test_batches_are_for_validators_that_are_heard(tmp_path: Path) -> None:
    """Who asks proves its hotkey by a challenge for this origin that has not expired.

    Other users of the machine are given none either.
    """
    ann, stranger = signer_of("ann"), signer_of("stranger")
    hotkey = address_of_key(ann)
    chain = chain_of([hotkey])
    house = house_of(tmp_path / "house", chain.as_hotkey(ann), signer=ann)
    assert stat.filemode(house.folder.joinpath("batches").stat().st_mode) == "drwx------"
    house.give(own_record(hotkey, "t1", 0))
    while chain.finalized < house.network.vote_block(0):
        chain.advance()
        house.step()
    listener = bound("127.0.0.1", 0)
    with served(app_of_house(house), listener):
        url = address_of(listener)
        soon = int(time.time()) + 500

        def status(path: str, *proof: Any) -> int:  # noqa: ANN401  # parts of a challenge
            sent = {"Authorization": Challenge.signed(*proof)} if proof else {}
            return asked(url, PREFIX + path, **sent)[0]

        digest, _ = own(house)
        for path in ("/batches/0", f"/batch/{digest}", "/closed/0"):
            assert status(path) == 401
            assert status(path, ann, url, hotkey, soon) == 200
            assert status(path, ann, "http://elsewhere", hotkey, soon) == 401
            assert status(path, ann, url, hotkey, soon - 1000) == 401
            assert status(path, stranger, url, hotkey, soon) == 401
            assert status(path, stranger, url, address_of_key(stranger), soon) == 403
        assert status("/status") == 200
