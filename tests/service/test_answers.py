"""Answers are kept until the state changes, computed once, and never hold up others."""

import json
import socket
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.clock import Clock
from service.live import EPOCHS, TYPES, Live, history, live, received
from starlette.responses import Response

from tallystick_service.metrics import Observations
from tallystick_service.server import bound
from tallystick_service.site import KeptAnswers
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.stored_state import StoredState

BOARD = f"/api/v1/leaderboards/{TYPES[0]}"


def test_a_change_of_the_state_is_seen_at_once(own_state: Path) -> None:
    # by its file: the clock stands still
    with live(own_state, clock=Clock()) as service, Ledger.open(own_state) as ledger:
        for epoch in range(EPOCHS, EPOCHS + 2):
            before = service.ask("/api/v1/epochs")
            ledger.close_epoch(epoch)
            after = service.ask("/api/v1/epochs", {"if-none-match": before.headers["etag"]})
            assert after.status == 200
            assert after.json()["epochs"][-1]["epoch"] == epoch + 1
            assert after.headers["etag"] != before.headers["etag"]


def test_a_time_that_no_digest_covers_changes_the_tag(own_state: Path) -> None:
    """The digest of a state is free of times; what an answer shows of them is in its log."""
    lines = [line for line in history().lines(96) if json.loads(line)["epoch"] == EPOCHS - 1]
    with live(own_state) as service:
        before = service.ask(BOARD)
        with Ledger.open(own_state) as ledger:
            ledger.close_round(lines, at=datetime(2026, 1, 31, tzinfo=UTC), bad="reject")
        after = service.ask(BOARD)
    assert after.headers["tallystick-state"] == before.headers["tallystick-state"]
    assert after.headers["etag"] != before.headers["etag"]


def test_an_answer_that_is_kept_needs_a_look_into_the_store_once_a_second(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, queries, clock = list[int](), StoredState.queries, Clock()

    def counted(self: StoredState) -> Any:  # noqa: ANN401  # a context
        looks.append(1)
        return queries(self)

    with live(state, clock=clock) as service:
        service.ask(BOARD)
        monkeypatch.setattr(StoredState, "queries", counted)
        for expected in (0, 1):
            for _ in range(3):
                assert service.ask(BOARD).status == 200
            assert len(looks) == expected
            # no stamp shows every change
            clock.now += 1


GET = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def asked_at_once(service: Live, addresses: Iterable[str]) -> list[socket.socket]:
    """Connections on which the service has read a question each, and may have answered."""
    asked = [socket.create_connection(service.place, timeout=600) for _ in addresses]
    for connection, address in zip(asked, addresses, strict=True):
        connection.sendall(GET.format(address).encode())
    service.settle()
    return asked


def statuses(asked: Iterable[socket.socket]) -> set[bytes]:
    found = set[bytes]()
    for connection in asked:
        with connection:
            found.add(received(connection)[9:12])
    return found


def test_what_is_asked_for_at_once_is_computed_once(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, board = list[str](), StateQueries.board
    begun, go_on = threading.Event(), threading.Event()

    def waiting(self: StateQueries, skill_type: str) -> Any:  # noqa: ANN401  # a board
        computed.append(skill_type)
        begun.set()
        go_on.wait()
        return board(self, skill_type)

    monkeypatch.setattr(StateQueries, "board", waiting)
    with live(state) as service:
        asked = asked_at_once(service, [BOARD] * 8)
        begun.wait()
        # others are answered meanwhile
        assert service.ask("/api/v1/openapi.json").status == 200
        go_on.set()
        assert statuses(asked) == {b"200"}
    assert len(computed) == 1


def test_what_is_sent_waits_for_no_acknowledgement() -> None:
    """Connections have the protocol of their listener, by which asyncio sees that they are TCP."""
    with bound("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_more_than_the_threads_have_to_wait_and_are_answered(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, running, epoch = (
        threading.Semaphore(0),
        threading.Event(),
        list[int](),
        StateQueries.epoch,
    )

    def waiting(self: StateQueries, number: int) -> Any:  # noqa: ANN401  # an answer
        running.append(number)
        begun.release()
        go_on.wait()
        return epoch(self, number)

    with live(state, threads=2) as service:
        # the version of the state, which else would be looked for in a thread
        service.ask("/api/v1/state")
        monkeypatch.setattr(StateQueries, "epoch", waiting)
        asked = asked_at_once(service, [f"/api/v1/epochs/{n}" for n in range(EPOCHS)])
        for _ in range(2):
            begun.acquire()
        service.settle()
        assert len(running) == 2
        go_on.set()
        assert statuses(asked) == {b"200"}
    assert sorted({*running}) == [*range(EPOCHS)]


def test_a_state_that_is_gone_is_told_without_its_place(own_state: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone.db"
    observations = Observations()
    observations.took("close", 0.25)
    with live(own_state, observations=observations) as service:
        assert service.ask("/healthz").status == 200
        own_state.rename(gone)
        reply, health = service.ask("/api/v1/state"), service.ask("/healthz")
        metrics = service.ask("/metrics").body.decode()
        gone.rename(own_state)
        assert service.ask("/api/v1/state").status == 200
        assert service.ask("/healthz").json() == {"status": "ok", "problems": []}
    assert (reply.status, reply.code) == (503, "no-state")
    assert (health.status, health.json()["status"]) == (503, "failing")
    assert str(tmp_path) not in reply.body.decode() + health.body.decode()
    # what a daemon observed is told all the same
    assert 'tallystick_step_seconds_count{step="close"} 1' in metrics
    assert "tallystick_epochs_closed" not in metrics


def test_a_fault_of_the_service_is_told_as_one(
    state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_: StateQueries, skill_type: str) -> Any:  # noqa: ANN401  # never
        raise ZeroDivisionError(skill_type)

    with live(state) as service:
        with monkeypatch.context() as patched:
            patched.setattr(StateQueries, "board", failing)
            reply = service.ask(BOARD)
        assert (reply.status, reply.code) == (500, "internal-error")
        assert "nosniff" in reply.headers["x-content-type-options"]
        assert "ZeroDivision" not in reply.body.decode()
        assert service.ask(BOARD).status == 200
    assert "ZeroDivisionError" in caplog.text


def test_a_service_never_writes_its_state(own_state: Path, tmp_path: Path) -> None:
    path = own_state
    before = path.read_bytes()
    path.chmod(0o400)
    with live(path) as service:
        for address in ("/api/v1/state", "/api/v1/checkpoint", "/api/v1/epochs/1"):
            assert service.ask(address).status == 200
    assert path.read_bytes() == before
    # two connections that end at once may leave an empty one
    assert not [wal for wal in tmp_path.glob("*-wal") if wal.stat().st_size]
    assert not [*tmp_path.glob("*-journal")]


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 4000)), max_size=60),
    st.integers(1, 20_000),
)
def test_answers_that_are_kept_fit(asked: list[tuple[str, int]], most: int) -> None:
    kept = KeptAnswers(most)
    for address, size in asked:
        known = kept.get(address, "tag")
        if known is None:
            kept.put(address, "tag", Response(bytes(size)))
        assert kept.size <= most
        sizes = [len(answer.body) for answer in kept._answers.values()]
        assert sum(sizes) <= kept.size
    assert not kept._answers or kept.size > 0


def test_assets_have_their_digest_in_the_name_and_are_kept_for_ever(service: Live) -> None:
    from tallystick_service.assets import read_assets

    for name, asset in read_assets().items():
        reply = service.ask(asset.address)
        assert reply.body == asset.body, name
        assert "immutable" in reply.headers["cache-control"]
        assert service.ask(f"/static/{name}").status == 404
