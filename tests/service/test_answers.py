"""Answers are kept until the state changes, computed once, and never hold up others."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.live import EPOCHS, TYPES, Live, history, live, made

from tallystick_service.answer import Answer
from tallystick_service.server import bound
from tallystick_service.settings import Settings
from tallystick_service.site import KeptAnswers
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.stored_state import StoredState

SETTINGS = Settings(rate=1e4, burst=10_000)
BOARD = f"/api/v1/leaderboards/{TYPES[0]}"


def test_a_change_of_the_state_is_seen_at_once(tmp_path: Path) -> None:
    path = made(tmp_path)
    with live(path, SETTINGS) as service, Ledger.open(path) as ledger:
        for epoch in range(EPOCHS, EPOCHS + 5):
            before = service.ask("/api/v1/epochs")
            ledger.close_epoch(epoch)
            after = service.ask("/api/v1/epochs", {"if-none-match": before.headers["etag"]})
            assert after.status == 200
            assert after.json()["epochs"][-1]["epoch"] == epoch + 1
            assert after.headers["etag"] != before.headers["etag"]


def test_a_time_that_no_digest_covers_changes_the_tag(tmp_path: Path) -> None:
    """The digest of a state is free of times; what an answer shows of them is in its log."""
    path = made(tmp_path)
    lines = [line for line in history().lines(96) if json.loads(line)["epoch"] == EPOCHS - 1]
    with live(path, SETTINGS) as service:
        before = service.ask(BOARD)
        with Ledger.open(path) as ledger:
            ledger.close_round(lines, at=datetime(2026, 1, 31, tzinfo=UTC), bad="reject")
        after = service.ask(BOARD)
    assert after.headers["tallystick-state"] == before.headers["tallystick-state"]
    assert after.headers["etag"] != before.headers["etag"]


def test_an_answer_that_is_kept_needs_no_look_into_the_store(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, queries = list[int](), StoredState.queries

    def counted(self: StoredState) -> Any:  # noqa: ANN401  # a context
        looks.append(1)
        return queries(self)

    with live(state, SETTINGS) as service:
        service.ask(BOARD)
        monkeypatch.setattr(StoredState, "queries", counted)
        begin = time.monotonic()
        for _ in range(50):
            assert service.ask(BOARD).status == 200
        # one a second, for what no stamp shows
        assert len(looks) <= time.monotonic() - begin + 1


def test_what_is_asked_for_at_once_is_computed_once(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, board, go_on = list[str](), StateQueries.board, threading.Event()

    def waiting(self: StateQueries, skill_type: str) -> Any:  # noqa: ANN401  # a board
        computed.append(skill_type)
        go_on.wait()
        return board(self, skill_type)

    monkeypatch.setattr(StateQueries, "board", waiting)
    with live(state, SETTINGS) as service, ThreadPoolExecutor(8) as pool:
        replies = [pool.submit(service.ask, BOARD) for _ in range(8)]
        # others are answered meanwhile
        assert service.ask("/api/v1/openapi.json").status == 200
        assert service.ask("/healthz").status == 200
        while not computed:
            service.ask("/api/v1/state")
        go_on.set()
        assert {reply.result().status for reply in replies} == {200}
    assert len(computed) == 1


def test_what_is_sent_waits_for_no_acknowledgement() -> None:
    """Connections have the protocol of their listener, by which asyncio sees that they are TCP."""
    with bound("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_more_than_the_threads_have_to_wait_and_are_answered(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most, lock, epoch = list[int](), list[int](), threading.Lock(), StateQueries.epoch

    def counted(self: StateQueries, number: int) -> Any:  # noqa: ANN401  # an answer
        with lock:
            running.append(1)
            most.append(len(running))
        try:
            return epoch(self, number)
        finally:
            with lock:
                running.pop()

    monkeypatch.setattr(StateQueries, "epoch", counted)
    settings = Settings(rate=1e4, burst=10_000, threads=2)
    with live(state, settings) as service, ThreadPoolExecutor(16) as pool:
        addresses = [f"/api/v1/epochs/{n % EPOCHS}?" for n in range(16)]
        replies = [pool.submit(service.ask, address) for address in addresses]
        assert {reply.result().status for reply in replies} == {200}
    assert max(most) <= 2


def test_a_state_that_is_gone_is_told_without_its_place(tmp_path: Path) -> None:
    path = made(tmp_path)
    with live(path, SETTINGS) as service:
        assert service.ask("/healthz").status == 200
        path.rename(tmp_path / "gone.db")
        reply, health = service.ask("/api/v1/state"), service.ask("/healthz")
        (tmp_path / "gone.db").rename(path)
        assert service.ask("/api/v1/state").status == 200
        assert service.ask("/healthz").json() == {"status": "ok", "problems": []}
    assert (reply.status, reply.code) == (503, "no-state")
    assert health.status == 503
    assert health.json()["status"] == "failing"
    assert str(tmp_path) not in reply.body.decode() + health.body.decode()


def test_a_fault_of_the_service_is_told_as_one(
    state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_: StateQueries, skill_type: str) -> Any:  # noqa: ANN401  # never
        raise ZeroDivisionError(skill_type)

    with live(state, SETTINGS) as service:
        with monkeypatch.context() as patched:
            patched.setattr(StateQueries, "board", failing)
            reply = service.ask(BOARD)
        assert (reply.status, reply.code) == (500, "internal-error")
        assert "nosniff" in reply.headers["x-content-type-options"]
        assert "ZeroDivision" not in reply.body.decode()
        assert service.ask(BOARD).status == 200
    assert "ZeroDivisionError" in caplog.text


def test_a_service_never_writes_its_state(tmp_path: Path) -> None:
    path = made(tmp_path)
    before = path.read_bytes()
    path.chmod(0o400)
    with live(path, SETTINGS) as service:
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
            kept.put(address, "tag", Answer(bytes(size)))
        assert kept.size <= most
        sizes = [len(answer.body) for answer in kept._answers.values()]
        assert sum(sizes) <= kept.size
    assert not kept._answers or kept.size > 0


def test_the_answer_that_was_asked_for_longest_ago_goes_first() -> None:
    kept = KeptAnswers(20_000)
    for address in "abcdefghijklmnop":
        kept.put(address, "t", Answer(bytes(1000)))
        kept.get("a", "t")
    assert kept.get("a", "t") is not None
    assert kept.get("b", "t") is None
    assert kept.get("p", "t") is not None


def test_an_answer_of_an_eighth_of_the_room_is_not_kept() -> None:
    kept = KeptAnswers(8000)
    kept.put("a", "t", Answer(bytes(1000)))
    assert kept.get("a", "t") is None
    assert kept.size == 0


def test_assets_have_their_digest_in_the_name_and_are_kept_for_ever(service: Live) -> None:
    from tallystick_service.assets import Assets

    for name, asset in Assets.of().by_name.items():
        reply = service.ask(asset.address)
        assert reply.body == asset.body, name
        assert "immutable" in reply.headers["cache-control"]
        assert service.ask(f"/static/{name}").status == 404
