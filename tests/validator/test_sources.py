# ruff: noqa: ASYNC240  # a test may look at a file at once
"""Sources of the intake: a folder, and posts on a socket, with senders that err, stall and lie."""

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
from service import clock
from service.clock import NEVER, skip
from validator.daemons import ALICE, PATIENCE, lines, records

from tallystick.errors import InputError, StoreError
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick_service.server import bound_privately
from tallystick_validator.intake import Answer, Intake
from tallystick_validator.sources import (
    ANSWERS,
    IN_PROGRESS,
    POST_SETTINGS,
    TAKEN,
    FolderSource,
    posts_taken,
)

pytestmark = pytest.mark.anyio
ROWS = lines(records(ALICE, 0, 6))


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


def test_a_file_that_cannot_be_taken_stops_no_other(folder: FolderSource) -> None:
    long = "a" * 245 + ".jsonl"
    written(folder.folder / long, ROWS[:1])
    (folder.folder / "b.jsonl").symlink_to(folder.folder / long)
    written(folder.folder / "c.jsonl", ROWS)
    assert [file.name for file in folder.take_all()] == ["c.jsonl"]
    assert folder.take_all() == []
    assert {*folder.problems} == {long, "b.jsonl"}
    assert "choose a shorter one" in folder.problems[long]
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


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # a socket has a short name
    return tmp_path_factory.mktemp("s") / "s"


@contextmanager
def client_of(place: Path) -> Iterator[httpx.Client]:
    """A client that posts to a socket."""
    transport = httpx.HTTPTransport(uds=str(place))
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=PATIENCE) as client:
        yield client


def posted(place: Path, body: bytes) -> tuple[int, list[dict[str, Any]]]:
    with client_of(place) as client:
        reply = client.post("/intake", content=body)
    is_ours = reply.headers["content-type"] == "application/jsonl"
    return reply.status_code, [json.loads(line) for line in reply.text.splitlines() if is_ours]


async def test_posts_are_answered_line_by_line(place: Path, intake: Intake) -> None:
    settings = attrs.evolve(POST_SETTINGS, body_bytes=4 * MAX_LINE_BYTES)

    async with posts_taken(place, intake, settings):
        assert place.stat().st_mode & 0o777 == 0o600
        post = asyncio.to_thread
        status, answers = await post(posted, place, b"\n".join([*ROWS, b"{"]))
        assert status == 200
        assert [answer["status"] for answer in answers] == ["recorded"] * 6 + ["rejected"]
        assert [answer["line"] for answer in answers] == [*range(1, 8)]
        assert await post(posted, place, b"") == (200, [])
        status, answers = await post(posted, place, b"{\n" * 1999 + ROWS[0])
        assert (status, len(answers)) == (200, 1001)
        assert (answers[-1]["line"], answers[-1]["code"]) == (1001, "too-many-rejects")
        status, _ = await post(posted, place, b"x" * (5 * MAX_LINE_BYTES))
        assert status == 413
    assert not place.exists()
    assert kept(intake) == {*ROWS}


def test_a_post_that_cannot_be_written_ends_early(
    place: Path, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> list[Answer]:
        raise StoreError("the disk is full")

    async def run() -> tuple[int, list[dict[str, Any]]]:
        async with posts_taken(place, intake):
            monkeypatch.setattr(intake, "take", full)
            failed = await asyncio.to_thread(posted, place, ROWS[0])
            monkeypatch.undo()
            assert (await asyncio.to_thread(posted, place, ROWS[0]))[1][0]["status"] == "recorded"
            return failed

    status, (answer,) = asyncio.run(run())
    assert status == 200
    assert (answer["line"], answer["status"], answer["code"]) == (1, "rejected", "not-written")


def test_who_leaves_or_stalls_ends_its_own_connection_alone(place: Path, intake: Intake) -> None:
    head = b"POST /intake HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"

    async def run() -> None:
        async with posts_taken(place, intake, attrs.evolve(POST_SETTINGS, seconds=NEVER)):
            _, leaver = await asyncio.open_unix_connection(place)
            leaver.write(head + ROWS[0])
            leaver.transport.abort()
            stalled, writer = await asyncio.open_unix_connection(place)
            writer.write(head + ROWS[1] + b"\n")
            # by the answer to another, it was read
            assert (await asyncio.to_thread(posted, place, ROWS[2]))[1][0]["status"] == "recorded"
            skip()
            assert (await stalled.read()).startswith(b"HTTP/1.1 408")
            writer.close()

    clock.run(run())
    assert kept(intake) == {ROWS[2]}


async def test_a_socket_that_a_kill_left_is_replaced_and_a_file_is_not(
    place: Path, intake: Intake
) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(place))
    left.close()

    async with posts_taken(place, intake):
        assert (await asyncio.to_thread(posted, place, ROWS[0]))[1][0]["status"] == "recorded"
    place.write_text("mine")
    with pytest.raises(InputError, match="found a file"):
        async with posts_taken(place, intake):
            pass
    assert place.read_text() == "mine"


async def test_a_socket_that_somebody_listens_on_stays(place: Path, intake: Intake) -> None:
    async with posts_taken(place, intake):
        with pytest.raises(InputError, match="stop the other process first"):
            async with posts_taken(place, intake):
                pass
        assert (await asyncio.to_thread(posted, place, ROWS[0]))[1][0]["status"] == "recorded"


async def test_the_end_leaves_the_socket_of_another(place: Path, intake: Intake) -> None:
    async with AsyncExitStack() as others:
        async with posts_taken(place, intake):
            place.unlink()
            await others.enter_async_context(posts_taken(place, intake))
        assert place.is_socket()
    assert not place.exists()


def test_a_name_that_no_socket_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a shorter one"), bound_privately(tmp_path / ("x" * 120)):
        pass
