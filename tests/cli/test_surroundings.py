"""`tallystick score` when the world is unkind: pipes, full disks, signals, large files."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import SKILLS, message_of, run
from examples import fast_rows
from generators import SKILL_TYPES, lines
from memory import peak
from room import room

from tallystick.io import inputs

RULES = ("--rules", "skills@1.0.0")
BLOCK = b"".join(lines(29, 500, [name for name in SKILL_TYPES if name != "workflow"]))
"""About 800 kB of records."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def files(output: Path) -> set[str]:
    return {output.name, f"{output.name}.rejects.jsonl", f"{output.name}.receipt.json"}


@contextlib.contextmanager
def writing(pipe: Path, *parts: bytes, after: int | None = None, number: int = 0) -> Iterator[None]:
    """Make a named pipe, into which a thread writes some parts.

    Args:
        pipe: its name.
        parts: what is written; a part ends when all but what a pipe holds was read.
        after: after this many parts the process has a signal; None for never.
        number: that of the signal.
    """
    os.mkfifo(pipe)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            for count, part in enumerate(parts, 1):
                file.write(part)
                if count == after:
                    os.kill(os.getpid(), number)

    thread = threading.Thread(target=write)
    thread.start()
    yield
    thread.join()


def test_a_pipe_cannot_be_parquet(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.parquet"
    with writing(pipe, b"PAR1\n"):
        found = run("score", pipe, *RULES, "-o", tmp_path / "out.jsonl")
    assert message_of(found).startswith(f"{pipe}: the file cannot be read as Parquet")
    assert names(tmp_path) == {"pipe.parquet"}


def test_a_pipe_under_the_name_of_the_output_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    found = run("score", SKILLS, *RULES, "-o", pipe)
    assert message_of(found).startswith(f"{pipe}: ")
    assert pipe.is_fifo()


PIPES = {
    "pipe.toml": ("rules", "check", "pipe.toml"),
    "miners.csv": ("miner", "sync", "miners.csv", "--state", "subnet.db"),
    "pipe.db": ("state", "info", "--state", "pipe.db"),
    "pyproject.toml": ("plugins", "check", "."),
    "facts.parquet.receipt.json": ("score", "facts.parquet", *RULES, "-o", "out.jsonl"),
}
"""Commands that read a file of that name."""


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_that_nobody_writes_to_stops_no_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "WRITER_SECONDS", 0.01)
    run("state", "init", *RULES, "--state", "subnet.db")
    run("facts", SKILLS, "-o", "facts.parquet")
    with contextlib.suppress(FileNotFoundError):
        Path(name).unlink()
    os.mkfifo(name)
    found = run(*PIPES[name])
    if name.endswith(".json"):
        assert found.status == 0
        assert "found no receipt that can be read" in found.err
    else:
        assert found.status in (1, 2)
        assert f"{name}: " in found.err


@pytest.mark.parametrize("records", ["records.jsonl", SKILLS])
def test_a_working_folder_that_is_gone_is_told(
    records: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    output = "out.jsonl" if records == SKILLS else tmp_path / "out.jsonl"
    said = message_of(run("score", records, *RULES, "-o", output))
    assert said.startswith("out.jsonl: " if records == SKILLS else "records.jsonl: ")
    assert names(tmp_path) == set()


@pytest.mark.parametrize("name", fast_rows(["jsonl", "csv", "parquet"], 0))
@pytest.mark.parametrize(
    ("records", "size"),
    [
        pytest.param(SKILLS.read_bytes(), 1000, id="at the end"),
        pytest.param(BLOCK, 20_000, id="on the way"),
    ],
)
def test_a_full_disk_is_told_and_keeps_the_results_of_yesterday(
    name: str, records: bytes, size: int, tmp_path: Path
) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / f"out.{name}"
    source.write_bytes(records)
    with room(size):
        assert run("score", source, *RULES, "-o", output).status == 2
    assert names(tmp_path) == {"records.jsonl"}
    output.write_bytes(b"of yesterday")
    with room(size):
        found = run("score", source, *RULES, "-o", output)
    assert message_of(found).startswith(f"{output}: the file cannot be written (file too large)")
    assert names(tmp_path) == {"records.jsonl", output.name}
    assert output.read_bytes() == b"of yesterday"


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def handled(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    """Let this process handle a signal as a new one does; Ctrl-C is an exception of Python's."""
    usual = signal.default_int_handler if number == signal.SIGINT else handler
    before = signal.signal(number, usual)
    yield
    signal.signal(number, before)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_that_is_asked_to_end_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """The signal comes when a part of the records was read, and the rest was not yet written."""
    pipe = tmp_path / "pipe.jsonl"
    with (
        handled(number, signal.SIG_DFL),
        writing(pipe, BLOCK, BLOCK, BLOCK, after=2, number=number),
    ):
        found = run("score", pipe, *RULES, "-o", tmp_path / "out.jsonl")
    assert found.status == 128 + number
    assert found.err.strip() == "error: stopped"
    assert names(tmp_path) == {"pipe.jsonl"}


def test_a_run_that_outlives_its_terminal_is_not_ended_with_it(tmp_path: Path) -> None:
    """As nohup begins it: with a signal that is ignored."""
    pipe, output = tmp_path / "pipe.jsonl", tmp_path / "out.jsonl"
    with (
        handled(signal.SIGHUP, signal.SIG_IGN),
        writing(pipe, BLOCK, BLOCK, after=1, number=signal.SIGHUP),
    ):
        assert run("score", pipe, *RULES, "-o", output).status == 0
    assert names(tmp_path) == files(output) | {"pipe.jsonl"}


def grown(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(BLOCK)
    return path


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_memory_does_not_grow_with_the_file(name: str, tmp_path: Path) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / f"out.{name}"
    # so many that a row group of the results is full in either
    usual = peak("score", grown(source, 120_000_000), *RULES, "-o", output)
    large = peak("score", grown(source, 300_000_000), *RULES, "-o", output)
    assert large - usual < 60_000_000, "a third of what the file grew by"


@pytest.mark.nightly
def test_a_file_of_short_lines_takes_no_more_memory(tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(b"\n" * (1 << 21))
    score = ("score", source, *RULES, "-o", tmp_path / "out.jsonl")
    assert peak(*score, status=1) < 300_000_000


@pytest.mark.parametrize(("name", "more"), [("-", ()), ("/dev/stdout", ("--format", "csv"))])
def test_records_score_from_pipe_to_pipe(name: str, more: tuple[str, ...], tmp_path: Path) -> None:
    """The results are those of files; rejected records and the summary are beside them."""
    records = SKILLS.read_bytes() + b"not JSON\n"
    (tmp_path / "records.jsonl").write_bytes(records)
    output, beside = tmp_path / "out.jsonl", tmp_path / "receipt.json"
    run("score", tmp_path / "records.jsonl", *RULES, "-o", output, *more)
    found = run("score", "-", *RULES, "-o", name, "--receipt", beside, *more, stdin=records)
    assert found.status == 1
    assert found.out.encode() == output.read_bytes()
    rejects = Path(f"{output}.rejects.jsonl").read_text(encoding="utf-8")
    assert rejects.count("\n") == 1
    assert found.err.startswith(rejects)
    assert "1 rejected, see above" in found.err
    assert beside.read_bytes() == Path(f"{output}.receipt.json").read_bytes()
    assert names(tmp_path) == files(output) | {"records.jsonl", "receipt.json"}


def test_a_pipe_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("score", "-", *RULES, "-o", "-", stdin=SKILLS.read_bytes())
    assert (found.status, names(tmp_path)) == (0, set())
    rejects = ("--rejects", "rejects.jsonl")
    found = run("score", "-", *RULES, "-o", "-", *rejects, stdin=b"not JSON\n")
    assert (found.status, found.out) == (1, "")
    assert names(tmp_path) == {"rejects.jsonl"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ("-o", "-", "--format", "parquet"),
            "-: found the format 'parquet', expected one that can be a stream",
        ),
        (("-o", "-", "--rejects", "-"), "-: found the standard output, expected the name of"),
        (("-o", "-", "--json"), "--json and -o - both want the standard output"),
    ],
)
def test_what_no_pipe_takes_is_told(more: tuple[str, ...], said: str) -> None:
    found = run("score", "-", *RULES, *more, stdin=b"{}\n")
    assert (found.status, found.out.partition("{")[0]) == (2, "")
    assert said in found.err


def test_explain_reads_a_pipe() -> None:
    found = run("explain", "-", *RULES, "--line", "3", stdin=SKILLS.read_bytes())
    read = run("explain", SKILLS, *RULES, "--line", "3")
    assert (found.status, found.out) == (0, read.out)


def test_facts_are_no_text(tmp_path: Path) -> None:
    found = run("facts", "-", "-o", "-", stdin=SKILLS.read_bytes())
    assert "expected a file for a table" in found.err
    assert run("facts", "-", "-o", tmp_path / "f.parquet", stdin=b"{}\n").status == 1


def test_no_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    found = run("explain", "-", *RULES)
    assert message_of(found) == "-: found no standard input, expected records there"
