"""A run of the command with worker processes that is ended leaves no process and no file."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from scoring.executors.children import workers_of

import tallystick

pytestmark = pytest.mark.nightly

RULES = "skills@1.0.0"


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
