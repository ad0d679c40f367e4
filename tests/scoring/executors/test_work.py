"""What every executor has in common: order, a bound on what is begun, and errors that travel."""

import sys
from collections.abc import Iterator

import pytest
from cli.command import run

from tallystick.cli.options import executor_of
from tallystick.diagnostics import problem
from tallystick.errors import EngineError, InputError, RecordError, RuleSetError
from tallystick.scoring.executors.cluster import Cluster
from tallystick.scoring.executors.executor import Failure, InProcess, attempted, in_order
from tallystick.scoring.executors.local import Local


def test_results_come_in_the_order_of_the_tasks_and_few_are_begun() -> None:
    begun: list[int] = []
    waited: list[int] = []

    def submit(task: int) -> int:
        begun.append(task)
        assert len(begun) - len(waited) <= 4
        return task

    def result(task: int) -> int:
        waited.append(task)
        return -task

    assert list(in_order(range(10), submit, result, 4)) == [-n for n in range(10)]
    assert begun == waited == list(range(10))


def test_a_source_that_fails_ends_the_run_at_once() -> None:
    def tasks() -> Iterator[int]:
        yield 1
        raise InputError("the disk")

    with pytest.raises(InputError, match="the disk"):
        list(in_order(tasks(), int, int, 4))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (InputError("a: b"), InputError, "at w: a: b"),
        (RuleSetError([problem("f", 1, "p", "v", "e")]), EngineError, "at w: f:1: p: found v"),
        (RecordError("code", "path", "v", "e"), EngineError, "at w: code: path: found v"),
        (KeyError("x"), RuntimeError, "Traceback"),
        (MemoryError("malloc"), MemoryError, "at w: malloc"),
    ],
)
def test_an_error_travels_as_what_it_says(
    error: Exception, kind: type[Exception], text: str
) -> None:
    def work(_: int) -> int:
        raise error

    found = attempted(work, 1)
    assert isinstance(found, Failure)
    again = found.to_error("at w")
    assert type(again) is kind
    assert text in str(again)


def test_options_say_who_works() -> None:
    assert executor_of(1, None) == InProcess()
    assert executor_of(3, None) == Local(3)
    assert executor_of(1, "tcp://x:1") == Cluster("tcp://x:1")


def test_one_engine_can_be_asked_for() -> None:
    command = ["score", "in.jsonl", "--rules", "skills@1.0.0", "-o", "out.csv"]
    found = run(*command, "--workers", "2", "--cluster", "tcp://x:1")
    assert found.status == 2
    assert "expected one of them" in found.err


def test_a_cluster_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"pip install 'tallystick\[cluster\]'"):
        list(Cluster("tcp://x:1").map(abs, [1]))
