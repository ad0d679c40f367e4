"""`tallystick score` when the world is unkind: pipes, full disks, signals, large files."""

import contextlib
import fcntl
import hashlib
import os
import pty
import resource
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from cli.command import COMMAND, SKILLS, Finished, message_of, run, start
from generators import SKILL_TYPES, lines

from tallystick.io import inputs

RULES = ("--rules", "skills@1.0.0")
BLOCK = b"".join(lines(29, 1500, [name for name in SKILL_TYPES if name != "workflow"]))
"""About 2.5 MB of records."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def files(output: Path) -> set[str]:
    return {output.name, f"{output.name}.rejects.jsonl", f"{output.name}.receipt.json"}


def test_records_from_standard_input_score_as_from_their_file(tmp_path: Path) -> None:
    piped, read = tmp_path / "piped.jsonl", tmp_path / "read.jsonl"
    writing = subprocess.Popen(["cat", SKILLS], stdout=subprocess.PIPE)  # noqa: S607  # of the system
    with writing, writing.stdout:
        found = start("score", "/dev/stdin", *RULES, "-o", piped, "--json", stdin=writing.stdout)
    assert found.status == 0
    assert found.json() == run("score", SKILLS, *RULES, "-o", read, "--json").json()
    assert piped.read_bytes() == read.read_bytes()


def test_records_from_a_named_pipe_score_as_from_their_file(tmp_path: Path) -> None:
    pipe, output = tmp_path / "pipe.jsonl", tmp_path / "out.jsonl"
    os.mkfifo(pipe)
    with subprocess.Popen([*COMMAND, "score", pipe, *RULES, "-o", output, "--json"]) as scoring:
        pipe.write_bytes(BLOCK)
        assert scoring.wait(300) == 0
    receipt = Path(f"{output}.receipt.json").read_text(encoding="utf-8")
    assert f"sha256:{hashlib.sha256(BLOCK).hexdigest()}" in receipt
    assert output.read_bytes().count(b"\n") == BLOCK.count(b"\n")


def test_a_pipe_cannot_be_parquet(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'echo PAR1 > "$0"', pipe]):  # noqa: S607  # of the system
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
    "pipe.db": ("state", "digest", "--state", "pipe.db"),
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


def test_records_in_a_working_folder_that_is_gone_are_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leaving = ["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', str(gone)]
    output = tmp_path / "out.jsonl"
    said = message_of(start("score", "records.jsonl", *RULES, "-o", output, through=leaving))
    assert said.startswith("records.jsonl: ")
    assert names(tmp_path) == set()


def test_an_output_in_a_working_folder_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = message_of(run("score", SKILLS, *RULES, "-o", "out.jsonl"))
    assert said.startswith("out.jsonl: ")
    assert names(tmp_path) == set()


@contextlib.contextmanager
def without_room(size: int) -> Iterator[None]:
    """Let this process write no larger files, as on a disk that is full."""
    limits, bytecode = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    # bytecode would be cut off too, and stay for every later import
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        sys.dont_write_bytecode = bytecode


def limited(size: int) -> list[str]:
    """The same for a command in a process of its own."""
    code = (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}));"
        # bytecode would be cut off too, and stay for every later import
        "os.environ['PYTHONDONTWRITEBYTECODE'] = '1'; os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(
    ("records", "room"),
    [
        pytest.param(SKILLS.read_bytes(), 1000, id="at the end"),
        pytest.param(BLOCK, 60_000, id="on the way"),
    ],
)
def test_a_full_disk_leaves_nothing(name: str, records: bytes, room: int, tmp_path: Path) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / f"out.{name}"
    source.write_bytes(records)
    with without_room(room):
        found = run("score", source, *RULES, "-o", output)
    assert "the file cannot be written (file too large)" in message_of(found)
    assert names(tmp_path) == {"records.jsonl"}


def test_a_full_disk_is_told_with_the_file_and_keeps_the_results_of_yesterday(
    tmp_path: Path,
) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(BLOCK)
    output.write_bytes(b"of yesterday")
    found = start("score", source, *RULES, "-o", output, through=limited(60_000))
    assert message_of(found).startswith(f"{output}: ")
    assert output.read_bytes() == b"of yesterday"


def waits_for(pipe: IO[bytes], process: int) -> bool:
    """Return whether a process sleeps, and has read all that was written to a pipe."""
    unread = struct.unpack("i", fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)))[0]
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return unread == 0 and stat.rpartition(") ")[2].startswith("S")


@contextlib.contextmanager
def in_the_middle(folder: Path, *through: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run that has written a part of its results and waits for more records."""
    pipe = folder / "pipe.jsonl"
    os.mkfifo(pipe)
    command = [*through, *COMMAND, "score", pipe, *RULES, "-o", folder / "out.jsonl"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as scoring,
        pipe.open("wb") as records,
    ):
        limit = time.monotonic() + 600
        while not any(path.stat().st_size for path in folder.glob(".out.jsonl.*.part")):
            assert time.monotonic() < limit, "no part of the results was written"
            records.write(BLOCK)
        records.flush()
        # a signal between two reads would be seen after the next one
        while not waits_for(records, scoring.pid):
            assert time.monotonic() < limit, "the records were not read"
            time.sleep(0.05)
        yield scoring
    pipe.unlink()


def ended(scoring: subprocess.Popen[bytes]) -> Finished:
    out, err = scoring.communicate(timeout=300)
    return Finished(scoring.returncode, out.decode(), err.decode())


def test_an_interrupted_run_leaves_nothing_and_no_traceback(tmp_path: Path) -> None:
    with in_the_middle(tmp_path) as scoring:
        scoring.send_signal(signal.SIGINT)
        found = ended(scoring)
    assert found.status == 130
    assert "Traceback" not in found.err
    assert names(tmp_path) == set()


@pytest.mark.smoke
def test_a_killed_run_leaves_nothing_under_the_final_names_and_can_be_run_again(
    tmp_path: Path,
) -> None:
    output = tmp_path / "out.jsonl"
    with in_the_middle(tmp_path) as scoring:
        scoring.kill()
        found = ended(scoring)
    assert found.status == -signal.SIGKILL
    assert not names(tmp_path) & files(output)
    assert run("score", SKILLS, *RULES, "-o", output).status == 0
    assert files(output) <= names(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    with in_the_middle(tmp_path) as scoring:
        scoring.send_signal(number)
        found = ended(scoring)
    assert (found.status, found.err) == (128 + number, "")
    assert names(tmp_path) == set()


def test_a_run_that_outlives_its_terminal_is_not_ended_with_it(tmp_path: Path) -> None:
    with in_the_middle(tmp_path, "nohup") as scoring:
        scoring.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert scoring.poll() is None
        scoring.terminate()
        ended(scoring)
    assert names(tmp_path) == set()


def on_a_terminal(*arguments: str | Path) -> tuple[int, str]:
    """The exit status of a command on a terminal, and what it showed."""
    terminal, end = pty.openpty()
    with subprocess.Popen([*COMMAND, *arguments], stdout=end, stderr=end) as command:
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone with the command
            while part := os.read(terminal, 1 << 16):
                shown += part
    os.close(terminal)
    return command.returncode, shown.decode()


def test_a_terminal_shows_how_far_the_run_is(tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(BLOCK)
    status, shown = on_a_terminal("score", source, *RULES, "-o", tmp_path / "out.jsonl")
    assert status == 0
    assert "scoring" in shown
    assert "100%" in shown
    assert "1500 records: " in shown


def test_an_error_on_a_terminal_is_one_line(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    status, shown = on_a_terminal("score", tmp_path / "absent.jsonl", *RULES, "-o", output)
    assert status == 2
    assert shown.endswith("no such file: check the name\r\n")
    assert "Traceback" not in shown


#: Runs the command and tells its own peak: what a process is told of a child of its own may be the
#: peak of the parent that the child was before it became the command.
MEASURED = """
import sys
from tallystick.cli.main import main
try:
    main()
finally:
    status = open("/proc/self/status", encoding="ascii").read()
    print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


def peak(source: Path, output: Path, status: int = 0) -> int:
    """The most memory that scoring a file takes, in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "score", source, *RULES, "-o", output],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == status, done.stderr
    return int(done.stderr.split()[-1]) * 1024


def grown(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(BLOCK)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_memory_does_not_grow_with_the_file(name: str, tmp_path: Path) -> None:
    output = tmp_path / f"out.{name}"
    # so many that a row group of the results is full in either
    usual = peak(grown(tmp_path / "records.jsonl", 120_000_000), output)
    large = peak(grown(tmp_path / "records.jsonl", 300_000_000), output)
    assert large - usual < 60_000_000, "a third of what the file grew by"


def test_a_file_of_60_mb_takes_little_more_memory_than_one_of_6(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    small = peak(grown(tmp_path / "records.jsonl", 6_000_000), output)
    large = peak(grown(tmp_path / "records.jsonl", 60_000_000), output)
    # batches of a few megabytes are read, scored and written; more of them take no more
    assert large - small < 100_000_000
    assert large < 300_000_000


@pytest.mark.slow
def test_a_file_of_short_lines_takes_no_more_memory(tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(b"\n" * (1 << 21))
    assert peak(source, tmp_path / "out.jsonl", status=1) < 300_000_000


def piped(*arguments: str | Path, data: bytes) -> subprocess.CompletedProcess[bytes]:
    """A command that reads what is written to it."""
    return subprocess.run(
        [*COMMAND, *arguments], input=data, capture_output=True, check=False, timeout=600
    )


def read_here(*arguments: str | Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> Finished:
    """A command in this process that reads what is written to it."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        return run(*arguments)


@pytest.mark.parametrize("more", [(), pytest.param(("--format", "csv"), marks=pytest.mark.slow)])
def test_records_score_from_pipe_to_pipe(more: tuple[str, ...], tmp_path: Path) -> None:
    """The results are those of files; rejected records and the summary are beside them."""
    records = SKILLS.read_bytes() + b"not JSON\n"
    (tmp_path / "records.jsonl").write_bytes(records)
    output, beside = tmp_path / "out.jsonl", tmp_path / "receipt.json"
    run("score", tmp_path / "records.jsonl", *RULES, "-o", output, *more)
    found = piped("score", "-", *RULES, "-o", "-", "--receipt", beside, *more, data=records)
    assert found.returncode == 1
    assert found.stdout == output.read_bytes()
    rejects = Path(f"{output}.rejects.jsonl").read_bytes()
    assert rejects.count(b"\n") == 1
    assert found.stderr.startswith(rejects)
    assert b"1 rejected, see above" in found.stderr
    assert beside.read_bytes() == Path(f"{output}.receipt.json").read_bytes()
    assert names(tmp_path) == files(output) | {"records.jsonl", "receipt.json"}


def test_a_pipe_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = piped("score", "-", *RULES, "-o", "-", data=SKILLS.read_bytes())
    assert (found.returncode, names(tmp_path)) == (0, set())
    rejects = ("--rejects", "rejects.jsonl")
    found = piped("score", "-", *RULES, "-o", "-", *rejects, data=b"not JSON\n")
    assert (found.returncode, found.stdout) == (1, b"")
    assert names(tmp_path) == {"rejects.jsonl"}


def test_a_reader_that_has_enough_ends_a_pipe() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    found = start("score", SKILLS, *RULES, "-o", "-", stdout=writing)
    os.close(writing)
    assert (found.status, found.err) == (1, "")


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
def test_what_no_pipe_takes_is_told(
    more: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read_here("score", "-", *RULES, *more, data=b"{}\n", monkeypatch=monkeypatch)
    assert (found.status, found.out.partition("{")[0]) == (2, "")
    assert said in found.err


def test_explain_reads_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("explain", "-", *RULES, "--line", "3")
    found = read_here(*words, data=SKILLS.read_bytes(), monkeypatch=monkeypatch)
    read = run("explain", SKILLS, *RULES, "--line", "3")
    assert (found.status, found.out) == (0, read.out)


def test_facts_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = SKILLS.read_bytes()
    found = read_here("facts", "-", "-o", "-", data=data, monkeypatch=monkeypatch)
    assert "expected a file for a table" in found.err
    words = ("facts", "-", "-o", tmp_path / "f.parquet")
    assert read_here(*words, data=b"{}\n", monkeypatch=monkeypatch).status == 1


def test_no_standard_input_is_told() -> None:
    closing = ["sh", "-c", 'exec "$@" <&-', "sh"]
    found = start("explain", "-", *RULES, through=closing)
    assert message_of(found) == "-: found no standard input, expected records there"
