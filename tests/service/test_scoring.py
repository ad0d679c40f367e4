"""Posted records are scored in processes with limits, which end with what is too much for them."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from service.live import Live, history, live

from tallystick_service.scoring import Order, ScoringProcesses
from tallystick_service.settings import Settings

RECORD = next(history().lines(1)).rstrip()
EXPLAIN = "/api/v1/explain?rules=skills@1.2.0"


def post(service: Live, body: bytes, address: str = EXPLAIN) -> Any:  # noqa: ANN401  # JSON
    return service.ask(address, method="POST", body=body)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty-line"),
        (b"{", "invalid-json"),
        (b"{}", "missing-field"),
        (b"[]", None),
        (b"\xff\xfe", None),
        (b'{"a":1,"a":2}', None),
        (b"[" * 100_000, None),
        (b'{"skill_type":"\\ud800"}', None),
        (RECORD.replace(b'"uid":', b'"uid":-'), None),
        (b"1" * 100_000, None),
    ],
)
def test_a_record_that_is_none_is_refused_with_what_is_wrong(
    service: Live, body: bytes, code: str | None
) -> None:
    reply = post(service, body)
    assert reply.status == 422, reply.body
    assert code in {None, reply.code}
    assert reply.json()["error"]["expected"]
    # the process that refused it goes on
    assert post(service, RECORD).status == 200


@pytest.mark.parametrize("rules", ["../skills/1.2.0.toml", "/etc/passwd", "skills", "sha256:00"])
def test_rules_are_named_and_never_a_path(service: Live, rules: str) -> None:
    reply = post(service, RECORD, f"/api/v1/score?rules={rules}")
    assert reply.status == 422
    assert "skills@1.2.0" in reply.json()["error"]["expected"]


def test_a_record_that_takes_too_long_is_refused(state: Path) -> None:
    # no process starts so fast
    with live(state, Settings(scoring_seconds=0.001)) as service:
        replies = [post(service, RECORD) for _ in range(3)]
    assert {(reply.status, reply.code) for reply in replies} == {(422, "too-slow")}


def test_a_process_that_wants_more_memory_than_its_limit_ends(state: Path) -> None:
    with live(state, Settings(scoring_bytes=64 << 20)) as service:
        reply = post(service, RECORD)
    assert (reply.status, reply.code) == (422, "too-large-to-score")


def test_so_many_wait_and_others_are_told_to_come_later(state: Path) -> None:
    settings = Settings(processes=1, rate=1e4, burst=10_000, client_connections=200)
    with live(state, settings) as service, ThreadPoolExecutor(60) as pool:
        replies = [*pool.map(lambda _: post(service, RECORD), range(60))]
    statuses = [reply.status for reply in replies]
    assert {*statuses} <= {200, 503}
    assert statuses.count(200) >= 1
    assert {reply.code for reply in replies if reply.status == 503} <= {"busy"}


def test_no_process_outlives_its_service(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = list[asyncio.subprocess.Process](), ScoringProcesses._started

    async def kept(self: ScoringProcesses) -> asyncio.subprocess.Process:
        process = await start(self)
        started.append(process)
        return process

    monkeypatch.setattr(ScoringProcesses, "_started", kept)
    with live(state) as service:
        for _ in range(5):
            assert post(service, RECORD).status == 200
        assert [process.returncode for process in started] == [None]
    assert [process.returncode for process in started] != [None]


def test_a_process_is_ready_before_a_record_is_posted(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, start = threading.Event(), ScoringProcesses._started

    async def told(self: ScoringProcesses) -> asyncio.subprocess.Process:
        process = await start(self)
        started.set()
        return process

    monkeypatch.setattr(ScoringProcesses, "_started", told)
    with live(state) as service:
        assert service.ask("/healthz").status == 200
        assert started.wait(600)
        started.clear()
        assert post(service, RECORD).status == 200
        # it was scored by the one that was there
        assert not started.is_set()


def test_a_posted_rule_set_scores() -> None:
    from tallystick.resources import folder

    text = (folder("rules") / "skills" / "1.0.0.toml").read_text()

    async def scored(rule_set: str) -> Any:  # noqa: ANN401  # JSON
        processes = ScoringProcesses(Settings(), None)
        try:
            order = Order(do="score", record=RECORD, rule_set=rule_set)
            return await processes.score(order)
        finally:
            await processes.close()

    assert asyncio.run(scored(text))["value"]["skill_type"] == json.loads(RECORD)["skill_type"]
    refused = asyncio.run(scored(text.replace("[emission]", "[emissions]")))["refused"]
    assert refused["problems"]
    assert "refused" in asyncio.run(scored("[[["))


def test_without_a_state_and_without_rules_nothing_is_scored() -> None:
    async def scored() -> Any:  # noqa: ANN401  # JSON
        processes = ScoringProcesses(Settings(), None)
        try:
            return await processes.score(Order(do="score", record=RECORD))
        finally:
            await processes.close()

    assert "found no rules" in asyncio.run(scored())["refused"]["message"]
