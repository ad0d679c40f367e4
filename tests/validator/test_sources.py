# ruff: noqa: ASYNC240  # a test may look at a file at once
"""Sources of the intake: a folder, a socket and posts, with senders that err, stall and lie."""

import asyncio
import http.client
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from service import clock
from service.clock import NEVER, skip
from service.live import InThread
from validator.daemons import PATIENCE, RULES, lines, network, records
from validator.states import opened

from tallystick.errors import InputError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick_service.application import application
from tallystick_service.server import bound, serving
from tallystick_service.settings import Settings
from tallystick_state.ledger import Ledger
from tallystick_validator.admission import Admission
from tallystick_validator.intake import Intake
from tallystick_validator.sources import (
    ANSWERS,
    IN_PROGRESS,
    MAX_CONNECTIONS,
    TAKEN,
    FolderSource,
    PostSource,
    SocketSource,
)

ALICE = "alice"
ROWS = lines(records(ALICE, 0, 6))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with opened(tmp_path_factory.mktemp("state") / "a.db", RULES) as made:
        yield made


@pytest.fixture
def intake(tmp_path: Path, ledger: Ledger) -> Iterator[Intake]:
    with Intake(tmp_path / "i.db", Admission(ledger.scorer, network(), ALICE)) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, intake: Intake) -> FolderSource:
    (tmp_path / "records").mkdir()
    return FolderSource(tmp_path / "records", intake)


def kept(intake: Intake) -> set[bytes]:
    intake.freeze(0)
    return {*intake.lines(0)}


def written(path: Path, rows: list[bytes], end: bytes = b"\n") -> Path:
    path.write_bytes(b"\n".join(rows) + end)
    return path


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_file_is_taken_whole_once(folder: FolderSource, end: bytes) -> None:
    path = written(folder.folder / "a.jsonl", [*ROWS, b"{"], end)
    (taken,) = folder.take_all()
    assert taken.answers == {"recorded": 6, "rejected": 1}
    assert not path.exists()
    assert (folder.folder / TAKEN / "a.jsonl").exists()
    answers = (folder.folder / TAKEN / f"a.jsonl{ANSWERS}").read_text().splitlines()
    assert [json.loads(line)["line"] for line in answers] == [*range(1, 8)]
    assert folder.take_all() == []
    assert kept(folder.intake) == {*ROWS}


def test_a_file_that_was_taken_before_a_kill_is_taken_again_and_doubles_nothing(
    folder: FolderSource,
) -> None:
    written(folder.folder / "a.jsonl", ROWS)
    folder.take_all()
    (folder.folder / TAKEN / "a.jsonl").rename(folder.folder / "a.jsonl")
    (taken,) = folder.take_all()
    assert taken.answers == {"duplicate": 6}
    assert kept(folder.intake) == {*ROWS}


def test_files_are_taken_by_name_and_others_stay(folder: FolderSource) -> None:
    for name in ("b.jsonl", "a.jsonl", ".c.jsonl", "d.jsonl.part", "e.txt"):
        written(folder.folder / name, ROWS[:1])
    assert [file.name for file in folder.take_all()] == ["a.jsonl", "b.jsonl"]
    others = {".c.jsonl", "d.jsonl.part", "e.txt"}
    assert {p.name for p in folder.folder.iterdir()} == {*others, TAKEN, IN_PROGRESS}


def test_a_file_that_is_replaced_while_it_is_taken_is_taken_too(
    folder: FolderSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, take = written(folder.folder / "a.jsonl", ROWS[:2]), folder.intake.take

    def replacing(sent: list[bytes], first: int = 1) -> Any:  # noqa: ANN401  # of take
        monkeypatch.undo()
        written(folder.folder / ".next", ROWS[2:]).rename(path)
        return take(sent, first)

    monkeypatch.setattr(folder.intake, "take", replacing)
    assert [file.answers for file in folder.take_all()] == [{"recorded": 2}]
    assert [file.answers for file in folder.take_all()] == [{"recorded": 4}]
    assert kept(folder.intake) == {*ROWS}
    archive = folder.folder / TAKEN
    assert (archive / "a.jsonl").read_bytes().splitlines() == ROWS[:2]
    assert (archive / "a.2.jsonl").read_bytes().splitlines() == ROWS[2:]
    assert len((archive / f"a.jsonl{ANSWERS}").read_bytes().splitlines()) == 2
    assert len((archive / f"a.2.jsonl{ANSWERS}").read_bytes().splitlines()) == 4


def test_a_kill_while_a_file_is_taken_resumes_with_it(
    folder: FolderSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder.folder / "a.jsonl", ROWS)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder.intake, "take", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.take_all()
    monkeypatch.undo()
    written(folder.folder / "a.jsonl", ROWS[:1])
    resumed = FolderSource(folder.folder, folder.intake).take_all()
    assert [file.answers for file in resumed] == [{"recorded": 6}, {"duplicate": 1}]


def test_a_file_that_cannot_be_taken_stops_no_other(
    folder: FolderSource, caplog: pytest.LogCaptureFixture
) -> None:
    long = "a" * 245 + ".jsonl"
    written(folder.folder / long, ROWS[:1])
    (folder.folder / "b.jsonl").symlink_to(folder.folder / long)
    written(folder.folder / "c.jsonl", ROWS)
    assert [file.name for file in folder.take_all()] == ["c.jsonl"]
    assert folder.take_all() == []
    assert {*folder.problems} == {long, "b.jsonl"}
    assert "choose a shorter one" in folder.problems[long]
    assert len(caplog.messages) == 2
    (folder.folder / "b.jsonl").unlink()
    folder.take_all()
    assert {*folder.problems} == {long}


def test_what_is_no_file_is_passed_over(folder: FolderSource, tmp_path: Path) -> None:
    os.mkfifo(folder.folder / "pipe.jsonl")
    (folder.folder / "folder.jsonl").mkdir()
    written(tmp_path / "elsewhere", ROWS)
    (folder.folder / "link.jsonl").symlink_to(tmp_path / "elsewhere")
    (folder.folder / "dangling.jsonl").symlink_to(tmp_path / "nothing")
    assert folder.take_all() == []
    assert kept(folder.intake) == set()


def test_long_lines_and_empty_files_end_nothing(folder: FolderSource) -> None:
    written(folder.folder / "a.jsonl", [ROWS[0], b"x" * (3 * MAX_LINE_BYTES), b"", ROWS[1]])
    (folder.folder / "b.jsonl").write_bytes(b"")
    first, second = folder.take_all()
    assert (first.answers, second.answers) == ({"recorded": 2, "rejected": 2}, {})


def test_a_file_stays_while_the_intake_is_full(
    folder: FolderSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder.intake, "_waiting_bytes", 2 * len(ROWS[0]) + 100)
    path = written(folder.folder / "a.jsonl", ROWS)
    (taken,) = folder.take_all()
    assert not taken.is_whole
    assert not path.exists()
    assert (folder.folder / IN_PROGRESS / "a.jsonl").exists()
    monkeypatch.undo()
    (taken,) = folder.take_all()
    assert taken.is_whole
    assert taken.answers == {"duplicate": 2, "recorded": 4}
    assert kept(folder.intake) == {*ROWS}


def test_a_folder_that_is_gone_is_told(folder: FolderSource) -> None:
    folder.folder.rmdir()
    with pytest.raises(InputError, match="cannot be read"):
        folder.take_all()


@asynccontextmanager
async def listening(
    path: Path, intake: Intake, stall_seconds: float = PATIENCE
) -> AsyncIterator[SocketSource]:
    source = SocketSource(path, intake, stall_seconds)
    await source.start()
    try:
        yield source
    finally:
        await source.stop()


async def exchanged(path: Path, *blocks: bytes) -> list[dict[str, Any]]:
    """Send blocks through a socket, and read the answers to its end."""
    reader, writer = await asyncio.open_unix_connection(path)
    for block in blocks:
        writer.write(block)
        await writer.drain()
    writer.write_eof()
    answers = await reader.read()
    writer.close()
    return [json.loads(line) for line in answers.splitlines()]


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # a socket has a short name
    return tmp_path_factory.mktemp("s") / "s"


def test_a_socket_answers_line_by_line(place: Path, intake: Intake) -> None:
    async def run() -> None:
        async with listening(place, intake):
            assert place.stat().st_mode & 0o777 == 0o600
            reader, writer = await asyncio.open_unix_connection(place)
            for number, row in enumerate(ROWS, 1):
                # the next line is sent once this one is durable
                writer.write(row + b"\n")
                answer = json.loads(await reader.readline())
                assert answer == {"line": number, "status": "recorded"}
            writer.close()
        assert not place.exists()

    asyncio.run(run())
    assert kept(intake) == {*ROWS}


def test_lines_in_any_pieces_are_the_same_lines(place: Path, intake: Intake) -> None:
    data = b"\n".join(ROWS)

    async def run() -> list[dict[str, Any]]:
        async with listening(place, intake):
            return await exchanged(place, *(data[i : i + 97] for i in range(0, len(data), 97)))

    assert asyncio.run(run()) == [{"line": n, "status": "recorded"} for n in range(1, 7)]


def test_hostile_lines_are_answered_and_the_connection_goes_on(place: Path, intake: Intake) -> None:
    hostile = [b"\0" * 100, b"\xff\xfe", b"{" * 10_000, b"x" * (2 * MAX_LINE_BYTES), b"", b"null"]
    data = b"\n".join([*hostile, ROWS[0]]) + b"\n"

    async def run() -> list[dict[str, Any]]:
        async with listening(place, intake):
            return await exchanged(place, data)

    answers = asyncio.run(run())
    assert [answer["status"] for answer in answers] == ["rejected"] * len(hostile) + ["recorded"]
    assert max(len(json.dumps(answer)) for answer in answers) < 1000


def test_who_leaves_or_stalls_ends_its_own_connection_alone(place: Path, intake: Intake) -> None:
    async def run() -> None:
        async with listening(place, intake, NEVER):
            idle, idle_writer = await asyncio.open_unix_connection(place)
            _, leaver = await asyncio.open_unix_connection(place)
            leaver.write(ROWS[0][:50])
            leaver.transport.abort()
            stalled, stall_writer = await asyncio.open_unix_connection(place)
            stall_writer.write(ROWS[1] + b"\n" + ROWS[2][:50])
            assert json.loads(await stalled.readline())["status"] == "recorded"
            # the rest of its line never comes; its beginning was read before another is answered
            idle_writer.write(b"\n")
            await idle.readline()
            skip()
            assert await stalled.read() == b""
            # who sends nothing may go on doing so
            idle_writer.write(ROWS[3] + b"\n")
            assert json.loads(await idle.readline())["status"] == "recorded"
            for writer in (idle_writer, stall_writer):
                writer.close()

    clock.run(run())
    assert kept(intake) == {ROWS[1], ROWS[3]}


def test_who_takes_no_answers_loses_the_connection_and_no_record(
    place: Path, intake: Intake
) -> None:
    async def run() -> None:
        async with listening(place, intake, NEVER):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            await asyncio.get_running_loop().sock_connect(client, str(place))
            full = 0
            while full < 2:
                try:
                    # whole lines alone, so that none is waited for
                    client.send(b"{\n" * 50)
                    full = 0
                except BlockingIOError:
                    # full again after an answer to another: nothing more is read
                    full += 1
                    (answer,) = await exchanged(place, ROWS[0] + b"\n")
                    assert answer["status"] in {"recorded", "duplicate"}
            skip()
            await exchanged(place, ROWS[0] + b"\n")
            with pytest.raises(OSError):  # noqa: PT011  # a pipe that is broken, or reset
                client.send(b"{\n" * 50)
            client.close()

    clock.run(run())


def test_too_many_connections_are_refused_and_told(place: Path, intake: Intake) -> None:
    async def run() -> None:
        async with listening(place, intake):
            clients = [await asyncio.open_unix_connection(place) for _ in range(MAX_CONNECTIONS)]
            for reader, writer in clients:
                writer.write(b"\n")
                await reader.readline()
            (answer,) = await exchanged(place)
            assert answer["code"] == "too-many-connections"
            for _, writer in clients:
                writer.close()

    asyncio.run(run())


def test_a_socket_that_a_kill_left_is_replaced_and_a_file_is_not(
    place: Path, intake: Intake
) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(place))
    left.close()

    async def run() -> None:
        async with listening(place, intake):
            assert (await exchanged(place, ROWS[0]))[0]["status"] == "recorded"
        place.write_text("mine")
        with pytest.raises(InputError, match="found a file"):
            async with listening(place, intake):
                pass
        assert place.read_text() == "mine"

    asyncio.run(run())


def test_a_socket_that_somebody_listens_on_stays(place: Path, intake: Intake) -> None:
    async def run() -> None:
        async with listening(place, intake):
            with pytest.raises(InputError, match="stop the other daemon first"):
                await SocketSource(place, intake).start()
            (answer,) = await exchanged(place, ROWS[0] + b"\n")
            assert answer["status"] == "recorded"

    asyncio.run(run())


def test_the_end_leaves_the_socket_of_another(place: Path, intake: Intake) -> None:
    async def run() -> None:
        async with listening(place, intake):
            place.unlink()
            other = SocketSource(place, intake)
            await other.start()
        assert place.is_socket()
        await other.stop()
        assert not place.exists()

    asyncio.run(run())


def test_a_name_that_no_socket_can_have_is_refused(tmp_path: Path, intake: Intake) -> None:
    with pytest.raises(InputError, match="choose a shorter one"):
        SocketSource(tmp_path / ("x" * 120), intake)


def posted(
    port: int, body: bytes, content_type: str = "application/jsonl", **headers: str
) -> tuple[int, list[dict[str, Any]]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/intake", body, {"Content-Type": content_type, **more})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    is_ours = response.getheader("content-type", "").startswith("application/jsonl")
    return response.status, [json.loads(line) for line in data.splitlines() if is_ours]


def test_posts_are_answered_line_by_line(ledger: Ledger, intake: Intake) -> None:
    settings = Settings(bodies={"/intake": 4 * MAX_LINE_BYTES})
    routes = [PostSource(intake).route()]
    app = application(ledger, settings, routes=routes, scoring=InThread(ledger))
    listener = bound("127.0.0.1", 0)
    port = listener.getsockname()[1]

    async def run() -> None:
        async with serving(app, settings, listener):
            post = asyncio.to_thread
            status, answers = await post(posted, port, b"\n".join([*ROWS, b"{"]))
            assert status == 200
            assert [answer["status"] for answer in answers] == ["recorded"] * 6 + ["rejected"]
            status, answers = await post(posted, port, b"{\n" * 1999 + ROWS[0])
            assert status == 200
            assert len(answers) == 1001
            assert (answers[-1]["line"], answers[-1]["code"]) == (1001, "too-many-rejects")
            status, answers = await post(posted, port, ROWS[0], "text/plain")
            assert (status, answers[0]["code"]) == (415, "content-type")
            status, answers = await post(posted, port, ROWS[0], X_Forwarded_For="198.51.100.7")
            assert (status, answers[0]["code"]) == (403, "not-loopback")
            status, _ = await post(posted, port, ROWS[0], Host="evil.example")
            assert status == 421
            status, _ = await post(posted, port, b"x" * (5 * MAX_LINE_BYTES))
            assert status == 413

    asyncio.run(run())
    assert kept(intake) == {*ROWS}
