"""Posted records are scored in processes with limits, which end with what is too much for them."""

import asyncio
import json
from collections.abc import Coroutine
from multiprocessing import active_children
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from unittest.mock import Mock

import pytest
from service.live import Live, history, live

from tallystick.json_values import JsonObject
from tallystick.scoring.executors.worker import Worker, WorkerEndedError
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.scoring import ScoringProcesses
from tallystick_service.scoring_process import Order, RecordScorer, answered
from tallystick_service.settings import Settings
from tallystick_state.ledger import Ledger

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


@pytest.mark.parametrize("rules", ["../skills/1.2.0.toml", "/etc/passwd", "skills", "sha256:00"])
def test_rules_are_named_and_never_a_path(service: Live, rules: str) -> None:
    reply = post(service, RECORD, f"/api/v1/score?rules={rules}")
    assert reply.status == 422
    assert "skills@1.2.0" in reply.json()["error"]["expected"]


class Started:
    """Processes whose workers are made up: they answer what the test says, or raise it."""

    def __init__(self) -> None:
        self.answers, self.workers = SimpleQueue[Any](), list[Mock]()
        self.scoring = ScoringProcesses(Settings(), None, self._start)

    def _start(self) -> Mock:
        self.workers.append(Mock(answer=self._answer))
        return self.workers[-1]

    def _answer(self, _: Order, seconds: float) -> Any:  # noqa: ANN401  # a JSON value
        assert seconds == Settings().scoring_seconds
        value = self.answers.get()
        if isinstance(value, Exception):
            raise value
        return value

    def score(self) -> Coroutine[Any, Any, Any]:
        return self.scoring.score(Order(do="score", record=RECORD))


def test_a_process_is_kept_for_the_next_record_and_ends_with_its_service() -> None:
    async def run() -> None:
        of = Started()
        for value in ("warm", "first", "second"):
            of.answers.put(value)
        of.scoring.warm()
        assert of.scoring._warming is not None
        await of.scoring._warming
        assert [await of.score(), await of.score()] == ["first", "second"]
        (worker,) = of.workers
        await of.scoring.close()
        assert worker.end.called

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TimeoutError(), "too-slow"),
        (WorkerEndedError("killed"), "too-large-to-score"),
        (MemoryError(), "too-large-to-score"),
    ],
)
def test_a_process_whose_record_takes_too_much_is_killed_and_another_follows(
    error: Exception, code: str
) -> None:
    async def run() -> None:
        of = Started()
        for _ in range(2):
            of.answers.put(error)
            with pytest.raises(RefusedQuestionError) as caught:
                await of.score()
            assert (caught.value.status, caught.value.code) == (422, code)
        assert [worker.end.called for worker in of.workers] == [True, True]

    asyncio.run(run())


def test_so_many_wait_and_others_are_told_to_come_later() -> None:
    async def run() -> None:
        of = Started()
        waiting = [asyncio.ensure_future(of.score()) for _ in range(32)]
        await asyncio.sleep(0)
        with pytest.raises(RefusedQuestionError) as caught:
            await of.score()
        assert (caught.value.status, caught.value.code) == (503, "busy")
        for number in range(32):
            of.answers.put(number)
        assert sorted(await asyncio.gather(*waiting)) == [*range(32)]
        assert len(of.workers) == Settings().processes

    asyncio.run(run())


def test_a_known_rule_set_scores_with_other_values(state: Path) -> None:
    ledger = Ledger.open(state)

    def scored(*edits: str, rules: str = "skills@1.0.0", of: Ledger | None = ledger) -> Any:  # noqa: ANN401  # JSON
        return answered(Order(do="score", record=RECORD, rules=rules, edits=edits), of)

    kind = json.loads(RECORD)["skill_type"]
    before, after = scored()["value"], scored(f"skill_types.{kind}.base_weight=0.25")["value"]
    assert before["skill_type"] == kind
    assert (after["base_weight"], after["axes"]) == ("0.250000000", before["axes"])
    assert before["base_weight"] != after["base_weight"]
    assert "refused" in scored("axes")
    assert "skills@1.0.0" in scored(rules="skills@9.0.0")["refused"]["message"]
    assert "found no rules" in scored(of=None)["refused"]["message"]


PATIENT = Settings(scoring_seconds=600)
"""Nothing is too slow for them: a machine may be busy."""


@pytest.mark.nightly
def test_a_process_scores_as_a_thread_does_and_none_outlives_its_service(state: Path) -> None:
    made = list[ScoringProcesses]()

    def real(_: Ledger) -> ScoringProcesses:
        made.append(ScoringProcesses(PATIENT, str(state)))
        return made[-1]

    with live(state) as service, live(state, scoring=real) as apart:
        for body in (RECORD, b"{", RECORD.replace(b'"uid":', b'"uid":-')):
            assert post(apart, body).body == post(service, body).body
        assert active_children()
    assert active_children() == []


class Hungry(RecordScorer):
    """Takes a gibibyte for each record."""

    def __call__(self, order: Order) -> JsonObject:
        super().__call__(order)
        return {"value": len(bytearray(1 << 30))}


@pytest.mark.nightly
def test_a_process_that_wants_more_memory_than_its_limit_ends(state: Path) -> None:
    def hungry(_: Ledger) -> ScoringProcesses:
        return ScoringProcesses(PATIENT, None, lambda: Worker(Hungry(str(state), memory=1 << 29)))

    with live(state, scoring=hungry) as service:
        reply = post(service, RECORD)
    assert (reply.status, reply.code) == (422, "too-large-to-score")
