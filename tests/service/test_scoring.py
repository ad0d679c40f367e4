"""Posted records are scored in processes with limits, which end with what is too much for them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from service.clock import NEVER
from service.live import Live, history, live

from tallystick.resources import folder
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.scoring import Order, ScoringProcesses
from tallystick_service.scoring_process import answered
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


class Process:
    """A process that answers when it is let, as a made-up `asyncio.subprocess.Process`."""

    def __init__(self) -> None:
        self.stdin, self.stdout = self, self
        self.answers: asyncio.Queue[bytes] = asyncio.Queue()
        self.messages = list[bytes]()
        self.is_killed = False

    def write(self, data: bytes) -> None:
        self.messages.append(data)

    async def drain(self) -> None:
        """All is taken at once."""

    async def readexactly(self, size: int) -> bytes:
        """Return an answer, or an end where one is empty."""
        data = await self.answers.get()
        if not data:
            raise asyncio.IncompleteReadError(data, size)
        return data

    def answer(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.answers.put_nowait(len(data).to_bytes(8, "big"))
        self.answers.put_nowait(data)

    def kill(self) -> None:
        self.is_killed = True

    async def wait(self) -> int:
        return -9


class Started:
    """The made-up processes of a `ScoringProcesses`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  # of the settings
        self.processes = list[Process]()
        self.scoring = ScoringProcesses(Settings(**settings), "place", self._start)  # type: ignore[arg-type]  # it has what is used

    async def _start(self) -> Process:
        self.processes.append(Process())
        return self.processes[-1]

    def score(self) -> "asyncio.Task[Any]":
        return asyncio.create_task(self.scoring.score(Order(do="score", record=RECORD)))


async def turns() -> None:
    """Let every task go on until it waits for something else."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_process_is_ready_before_a_record_is_posted_and_ends_with_its_service() -> None:
    async def run() -> None:
        of = Started()
        of.scoring.warm()
        await turns()
        (process,) = of.processes
        begin = json.loads(process.messages[0][8:])
        assert begin == {"place": "place", "bytes": Settings().scoring_bytes}
        # a record that comes meanwhile waits for the process that starts
        asked = of.score()
        await turns()
        for value in ("warm", "first"):
            process.answer(value)
            await turns()
        assert await asked == "first"
        again = of.score()
        await turns()
        process.answer("second")
        assert await again == "second"
        assert of.processes == [process]
        await of.scoring.close()
        assert process.is_killed

    asyncio.run(run())


@pytest.mark.parametrize(("seconds", "code"), [(0, "too-slow"), (NEVER, "too-large-to-score")])
def test_a_process_whose_record_takes_too_much_is_killed_and_another_follows(
    seconds: float, code: str
) -> None:
    async def run() -> None:
        of = Started(scoring_seconds=seconds)
        for _ in range(2):
            asked = of.score()
            await turns()
            # it has ended, which counts where its time has not passed
            of.processes[-1].answers.put_nowait(b"")
            with pytest.raises(RefusedQuestionError) as caught:
                await asked
            assert (caught.value.status, caught.value.code) == (422, code)
        assert [process.is_killed for process in of.processes] == [True, True]

    asyncio.run(run())


def test_so_many_wait_and_others_are_told_to_come_later() -> None:
    async def run() -> None:
        of = Started(processes=2, scoring_seconds=NEVER)
        waiting = [of.score() for _ in range(32)]
        await turns()
        assert len(of.processes) == 2
        with pytest.raises(RefusedQuestionError) as caught:
            await of.score()
        assert (caught.value.status, caught.value.code) == (503, "busy")
        for number in range(16):
            for process in of.processes:
                process.answer(number)
            await turns()
        assert sorted([await asked for asked in waiting]) == sorted([*range(16)] * 2)
        assert len(of.processes) == 2

    asyncio.run(run())


def test_a_posted_rule_set_scores(state: Path) -> None:
    ledger = Ledger.open(state)

    def scored(rule_set: str | None, of: Ledger | None = ledger) -> Any:  # noqa: ANN401  # JSON
        order = Order(do="score", record=RECORD, rule_set=rule_set)
        return answered(json.loads(json.dumps(order.to_json())), of)

    text = (folder("rules") / "skills" / "1.0.0.toml").read_text()
    assert scored(text)["value"]["skill_type"] == json.loads(RECORD)["skill_type"]
    refused = scored(text.replace("[emission]", "[emissions]"))["refused"]
    assert refused["problems"]
    assert "refused" in scored("[[[")
    assert "found no rules" in scored(text, None)["refused"]["message"]


@pytest.mark.nightly
def test_a_process_scores_as_a_thread_does_and_none_outlives_its_service(state: Path) -> None:
    made = list[ScoringProcesses]()

    def real(_: Ledger) -> ScoringProcesses:
        made.append(ScoringProcesses(Settings(), str(state)))
        return made[-1]

    with live(state) as service, live(state, scoring=real) as apart:
        for body in (RECORD, b"{", RECORD.replace(b'"uid":', b'"uid":-')):
            assert post(apart, body).body == post(service, body).body
        (process,) = made[0]._free
        assert process.returncode is None
    assert process.returncode is not None


@pytest.mark.nightly
def test_a_process_that_wants_more_memory_than_its_limit_ends(state: Path) -> None:
    settings = Settings(scoring_bytes=64 << 20)
    with live(state, settings, scoring=lambda _: None) as service:
        reply = post(service, RECORD)
    assert (reply.status, reply.code) == (422, "too-large-to-score")
