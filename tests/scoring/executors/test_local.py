"""Worker processes of this machine give the files of one process, or none."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
import pytest
from scoring.executors.children import workers_of
from scoring.executors.raising import Raising

import tallystick
from tallystick.errors import EngineError, InputError, TallystickError
from tallystick.scoring.executors.executor import InProcess
from tallystick.scoring.executors.local import Local
from tallystick.scoring.receipt import Progress
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot

RULES = "skills@1.0.0"


def files(
    scorer: tallystick.Scorer, source: Path, folder: Path, name: str, workers: int | None
) -> dict[str, bytes]:
    """The bytes of every file of a run."""
    folder.mkdir()
    executor = Local(workers) if workers else InProcess()
    scorer.score_file(source, folder / name, executor=executor)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("name", "workers"), [("out.jsonl", 1), ("out.csv", 1), ("out.parquet", 2)]
)
def test_the_files_are_those_of_one_process(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path, name: str, workers: int
) -> None:
    one = files(scorer, records, tmp_path / "one", name, None)
    assert len(one) == 3
    assert files(scorer, records, tmp_path / "workers", name, workers) == one


def test_other_thresholds_go_to_the_workers(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    moved = scorer.with_thresholds({"executable_python": {"baseline": "0.2"}})
    one = files(moved, records, tmp_path / "one", "out.csv", None)
    assert files(moved, records, tmp_path / "worker", "out.csv", 1) == one
    assert one != files(scorer, records, tmp_path / "seeds", "out.csv", None)


class Stored(dict[int, ThresholdSnapshot]):
    """Snapshots that note which of them are read."""

    def __init__(self, epochs: range) -> None:
        super().__init__({epoch: self._snapshot(epoch) for epoch in epochs})
        self.read: list[int] = []

    @staticmethod
    def _snapshot(epoch: int) -> ThresholdSnapshot:
        thresholds = {"executable_python": {"baseline": 5_000_000 * epoch}}
        return ThresholdSnapshot(thresholds, f"sha256:{epoch:064}")

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        found = super().__getitem__(epoch)
        self.read.append(epoch)
        return found


def test_snapshots_are_read_as_they_are_needed(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    """60 epochs in the records, more in the state; those from 200 on would be refused."""
    stored = Stored(range(10, 1000))
    one = files(
        scorer.with_snapshots(Stored(range(10, 1000))), records, tmp_path / "one", "o.csv", 0
    )
    two = files(scorer.with_snapshots(stored), records, tmp_path / "two", "o.csv", 2)
    assert two == one
    assert two != files(scorer, records, tmp_path / "seeds", "o.csv", None)
    assert max(stored.read) <= 201
    assert 49 < len(set(stored.read)) < 200


def test_a_pipe_and_a_folder_are_read_by_workers_too(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    one = files(scorer, records, tmp_path / "one", "out.csv", None)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/cp", records, pipe]):
        assert files(scorer, pipe, tmp_path / "worker", "out.csv", 1) == one


def once(act: Callable[[], object]) -> Progress:
    """Acts after the first part."""
    told: list[int] = []

    def progress(*_: int) -> None:
        told.append(1)
        if len(told) == 1:
            act()

    return progress


def test_a_worker_that_is_killed_ends_the_run_and_leaves_nothing(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    others = workers_of(os.getpid())

    def kill() -> None:
        for pid in workers_of(os.getpid()) - others:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(EngineError, match="a worker process was killed by signal 9"):
        scorer.score_file(records, tmp_path / "out.csv", executor=Local(2), progress=once(kill))
    assert list(tmp_path.iterdir()) == []
    assert workers_of(os.getpid()) <= others
    scorer.score_file(records, tmp_path / "out.csv", executor=Local(1))


class StoppedError(Exception):
    pass


def test_workers_end_with_a_run_that_its_caller_stops(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    others = workers_of(os.getpid())

    def stop() -> None:
        assert len(workers_of(os.getpid()) - others) == 2
        raise StoppedError

    with pytest.raises(StoppedError):
        scorer.score_file(records, tmp_path / "out.csv", executor=Local(2), progress=once(stop))
    assert list(tmp_path.iterdir()) == []
    assert workers_of(os.getpid()) <= others


def test_a_file_that_changes_is_refused(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(records.read_bytes())
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=r"records\.jsonl: found other bytes"):
        scorer.score_file(
            source,
            tmp_path / "out" / "out.csv",
            executor=Local(1),
            progress=once(lambda: source.write_bytes(b"{}\n" * 500_000)),
        )
    assert list((tmp_path / "out").iterdir()) == []


def test_a_worker_with_another_plugin_is_refused(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    plugins = dict(scorer.registry.plugins)
    plugins["skills"] = attrs.evolve(plugins["skills"], version="0.0.1")
    other = attrs.evolve(scorer, registry=attrs.evolve(scorer.registry, plugins=plugins))
    with pytest.raises(EngineError, match=r"found the plugin skills to be .*expected .* 0\.0\.1"):
        other.score_file(records, tmp_path / "out.csv", executor=Local(1))
    assert list(tmp_path.iterdir()) == []


def test_few_tasks_are_asked_for_ahead() -> None:
    asked = []

    def tasks() -> Iterator[int]:
        for number in range(100):
            asked.append(number)
            yield number

    answers = Local(2).map(abs, tasks())
    for number, answer in enumerate(answers):
        assert answer == number
        assert len(asked) <= number + 6
    assert asked == list(range(100))


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (InputError, InputError, "^at 7$"),
        (TallystickError, TallystickError, "^at 7$"),
        (ZeroDivisionError, RuntimeError, "(?s)Traceback.*ZeroDivisionError: at 7"),
    ],
)
def test_an_error_of_a_worker_is_told_here(
    error: type[Exception], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        list(Local(1).map(Raising(error), [7]))


@contextmanager
def begun(records: Path, output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run of the command line with two workers that has written some results.

    It reads from a pipe that nobody closes, so that it does not end by itself.
    """
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "records.jsonl"
        os.mkfifo(pipe)
        # for both ends, as opening one alone waits for the other
        end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        try:
            with run_of(pipe, output) as process:
                try:
                    feed(end, records.read_bytes() + b"\n", process, output)
                except AssertionError:
                    process.kill()
                    raise
                yield process
        finally:
            os.close(end)


def run_of(source: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tallystick", "score", source, "--rules", RULES]
    return subprocess.Popen(
        [*command, "-o", output, "--workers", "2"],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        start_new_session=True,
    )


def feed(end: int, text: bytes, process: subprocess.Popen[bytes], output: Path) -> None:
    """Write a text to a run again and again, until it has written some results."""
    deadline, at = time.monotonic() + 600, 0
    while not any(part.stat().st_size for part in output.parent.glob(f".{output.name}.*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        try:
            at = (at + os.write(end, text[at : at + 65_536])) % len(text)
        except BlockingIOError:
            time.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether a process is there, and is not just waiting for its parent to take notice."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def gone(pids: set[int]) -> bool:
    """Whether processes end soon."""
    deadline = time.monotonic() + 600
    while any(lives(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_a_run_that_is_killed_leaves_no_file_and_no_worker_and_can_run_again(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.csv"
    with begun(records, output) as process:
        pids = workers_of(process.pid)
        process.kill()
    assert len(pids) == 2
    assert gone(pids)
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    scorer.score_file(records, output)  # what is left behind is in nobody's way
    assert output.exists()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["term", "int"]
)
def test_a_run_that_is_asked_to_end_ends_its_workers(
    records: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with begun(records, tmp_path / "out.csv") as process:
        pids = workers_of(process.pid)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert len(pids) == 2
    assert gone(pids)
    assert process.returncode == status
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
