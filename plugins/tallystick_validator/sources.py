"""Sources of the intake: a folder of JSONL files, a Unix socket, and ``POST /intake`` on loopback.

Each answers JSONL with a line for each line, once it is durable. Lengths, connections and slow
clients are limited: a sender that stalls loses its connection, never a line that was answered.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from tallystick.errors import InputError, OutputError, StoreError
from tallystick.io.atomic import atomic_files, sync_names
from tallystick.io.lines import Splitter
from tallystick.io.text import visible
from tallystick.plugins.logger import logger_of
from tallystick_validator.admission import FULL
from tallystick_validator.intake import Answer, Intake

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

SUFFIX = ".jsonl"
"""End of the names of files that are taken; whoever writes one renames it to that when whole."""
TAKEN = "taken"
"""Folder within the folder of records, for files that were taken and the answers to them."""
IN_PROGRESS = "taken-in-progress"
"""Folder within the folder of records, for files whose lines are being taken."""
ANSWERS = ".answers.jsonl"
"""End of the name of the answers to a file."""
MAX_CONNECTIONS = 64
"""Maximum number of connections of the socket, and of posts, at a time."""
MAX_REJECTS = 1000
"""Number of rejected lines of a post after which the rest is not looked at."""
STALL_SECONDS = 60.0
"""Longest time for the rest of a line that was begun, or to take an answer, in seconds."""
CONTENT_TYPES = ("application/jsonl", "application/x-ndjson", "application/x-jsonlines")
"""Types of what is posted. No page of a browser can send one without asking first."""

_LOG = logger_of(__name__)
_BLOCK_BYTES = 1 << 16
_FILE_BLOCK_BYTES = 1 << 20
_LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
_FORWARDED = ("forwarded", "x-forwarded-for", "via")
_MAX_PATH_BYTES = 100
_MAX_NAME_BYTES = 200


@attrs.frozen
class TakenFile:
    """The outcome of a file of records.

    Attributes:
        name: of the file.
        answers: how many lines have each status.
        is_whole: whether every line was judged; else it is tried again later.
    """

    name: str
    answers: dict[str, int]
    is_whole: bool = True


@attrs.define
class FolderSource:
    """Files of records in a folder, each taken whole once.

    A file is first renamed into the folder `IN_PROGRESS`, under a name that no other file has or
    had: whoever writes one of the same name meanwhile replaces nothing. Then its lines are taken,
    its answers are written to the folder `TAKEN`, and it is moved there. Killed before that, the
    file is taken again, and its records are duplicates.

    Attributes:
        folder: the folder.
        intake: where the lines go.
        problems: files that could not be taken at the last look, by name, with the reason.
    """

    folder: Path
    intake: Intake
    problems: Mapping[str, str] = attrs.field(factory=dict, init=False)

    def take_all(self, is_stopping: Callable[[], bool] = lambda: False) -> list[TakenFile]:
        """Take the files that are there, by name; one that cannot be taken stays, as a problem.

        Raises:
            InputError: the folder cannot be read.
            OutputError: the folders within it cannot be made.
            StoreError: the intake cannot be written.
        """
        problems, taken = dict[str, str](), list[TakenFile]()
        names = self._names(self.folder)
        for folder in (IN_PROGRESS, TAKEN) if names else ():
            self._make(self.folder / folder)
        # those of a run that was killed, or for which there was no room, come first
        begun = self._names(self.folder / IN_PROGRESS) if self._has_begun() else []
        for name, is_begun in [*((name, True) for name in begun), *((n, False) for n in names)]:
            if is_stopping():
                break
            try:
                private = name if is_begun else self._claim(name)
                if private is not None:
                    taken.append(self._take(private))
            except (OSError, OutputError) as error:
                problems[name] = visible(getattr(error, "strerror", None) or str(error))
        for name, reason in problems.items():
            # once for as long as it lasts: the folder is looked at every few seconds
            if self.problems.get(name) != reason:
                _LOG.warning("%s: not taken (%s)", self.folder / name, reason)
        self.problems = problems
        return taken

    def _has_begun(self) -> bool:
        return (self.folder / IN_PROGRESS).is_dir()

    def _names(self, folder: Path) -> list[str]:
        try:
            return sorted(path.name for path in folder.iterdir() if _is_taken(path.name))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"{folder}: the folder cannot be read ({reason}): make it, or name another"
            ) from error

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{folder}: cannot be made ({error.strerror}): take away what has its name, or "
                "give this user the right to write there"
            ) from error

    def _claim(self, name: str) -> str | None:
        """Rename a file into `IN_PROGRESS`; give its name there, or None for one that is gone.

        Raises:
            OSError: it is no file, or cannot be renamed.
        """
        try:
            mode = (self.folder / name).lstat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(mode):
            raise OSError(0, "found no file but a link, a pipe or a folder, expected a file")
        size = len(os.fsencode(name))
        if size > _MAX_NAME_BYTES:
            expected = f"expected at most {_MAX_NAME_BYTES}"
            raise OSError(0, f"found a name of {size} bytes, {expected}: choose a shorter one")
        private = next(filter(self._is_free, _names_like(name)))
        (self.folder / name).rename(self.folder / IN_PROGRESS / private)
        for folder in (self.folder / IN_PROGRESS, self.folder):
            sync_names(folder)
        return private

    def _is_free(self, name: str) -> bool:
        taken = self.folder / TAKEN
        paths = (self.folder / IN_PROGRESS / name, taken / name, taken / f"{name}{ANSWERS}")
        return not any(map(os.path.lexists, paths))

    def _opened(self, name: str) -> BinaryIO:
        """Return a file of `IN_PROGRESS`.

        Raises:
            OSError: it is none.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        number = os.open(self.folder / IN_PROGRESS / name, flags)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise OSError(0, "found no file but a pipe or a folder, expected a file")
        return os.fdopen(number, "rb")

    def _take(self, name: str) -> TakenFile:
        """Take the lines of a file of `IN_PROGRESS`, and move it to `TAKEN`.

        Raises:
            OSError: it cannot be read or moved.
            OutputError: its answers cannot be written.
            StoreError: the intake cannot be written.
        """
        counts: dict[str, int] = {}
        folder, is_whole = self.folder / TAKEN, True
        self._make(folder)
        with (
            self._opened(name) as file,
            atomic_files(folder / f"{name}{ANSWERS}") as (output,),
        ):
            for answer in self._answers(file):
                counts[answer.status] = counts.get(answer.status, 0) + 1
                is_whole = is_whole and answer.code != FULL
                output.write(answer.to_json())
        if is_whole:
            (self.folder / IN_PROGRESS / name).rename(folder / name)
        return TakenFile(name, counts, is_whole)

    def _answers(self, file: BinaryIO) -> Iterator[Answer]:
        """Yield the answer to each line, block by block."""
        splitter, number = Splitter(), 1
        while block := file.read(_FILE_BLOCK_BYTES):
            lines = splitter.lines(block)
            yield from self.intake.take(lines, number).result()
            number += len(lines)
        yield from self.intake.take(splitter.rest(), number).result()


def _names_like(name: str) -> Iterator[str]:
    """Yield a name, and then the same with numbers before its end."""
    yield name
    stem = name.removesuffix(SUFFIX)
    for number in count(2):
        yield f"{stem}.{number}{SUFFIX}"


def _is_taken(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".")


def _file_of(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def _is_answered(path: Path) -> bool:
    """Return whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        # a queue that is full is somebody's, too
        client.setblocking(False)
        try:
            client.connect(os.fspath(path))
        except BlockingIOError:
            return True
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        return True


class SocketSource:
    """A Unix socket: JSONL in, an answer for each line out, in order, as soon as it is durable."""

    def __init__(self, path: Path, intake: Intake, stall_seconds: float = STALL_SECONDS) -> None:
        """Take the name of the socket.

        Args:
            path: the name.
            intake: where the lines go.
            stall_seconds: see `STALL_SECONDS`.

        Raises:
            InputError: no socket can have a name of so many bytes.
        """
        if len(os.fsencode(path)) > _MAX_PATH_BYTES:
            raise InputError(
                f"{path}: found a name of {len(os.fsencode(path))} bytes, expected at most "
                f"{_MAX_PATH_BYTES} for a socket: choose a shorter one, such as in /run"
            )
        self.path, self._intake, self._stall_seconds = path, intake, stall_seconds
        self._server: asyncio.Server | None = None
        self._file: tuple[int, int] | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen; a socket that a killed daemon left is replaced.

        Raises:
            InputError: something else has the name, or it cannot be made.
        """
        try:
            if self.path.exists() and not self.path.is_socket():
                raise InputError(f"{self.path}: found a file, expected nothing or a socket")
            if _is_answered(self.path):
                raise InputError(
                    f"{self.path}: found a socket that another process listens on, expected "
                    "nobody: stop the other daemon first, or name another socket"
                )
            with suppress(FileNotFoundError):
                self.path.unlink()
            # nobody else may send records in the name of this validator
            bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            # before it has a name
            os.fchmod(bound.fileno(), 0o600)
            bound.bind(os.fspath(self.path))
            self._file = _file_of(self.path)
            self._server = await asyncio.start_unix_server(self._serve, sock=bound)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot listen ({error.strerror}): make its folder, give this user "
                "the right to write there, or name another socket"
            ) from error

    async def stop(self) -> None:
        """Listen no longer; lines that were sent and not answered may be sent again."""
        if self._server is None:
            return
        self._server.close()
        for client in [*self._clients]:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        with suppress(OSError):
            # by now the name may be another daemon's
            if _file_of(self.path) == self._file:
                self.path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a server calls in a task
        if len(self._clients) >= MAX_CONNECTIONS:
            await self._refuse(writer)
            return
        self._clients.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, TimeoutError, StoreError) as error:
            _LOG.info("a client of the socket is gone: %s", str(error) or type(error).__name__)
        except asyncio.CancelledError:
            pass
        finally:
            self._clients.discard(task)
            # what is not sent yet is not waited for
            writer.transport.abort()

    async def _refuse(self, writer: asyncio.StreamWriter) -> None:
        expected = f"at most {MAX_CONNECTIONS} connections: use one for many lines"
        writer.write(Answer(0, "rejected", "too-many-connections", "", "", expected).to_json())
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(writer.drain(), self._stall_seconds)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def blocks() -> AsyncIterator[bytes]:
            is_within = False
            while block := await asyncio.wait_for(
                reader.read(_BLOCK_BYTES), self._stall_seconds if is_within else None
            ):
                is_within = not block.endswith(b"\n")
                yield block

        async for answers in answered(self._intake, blocks()):
            writer.write(answers)
            await asyncio.wait_for(writer.drain(), self._stall_seconds)
        await self._end(writer)

    async def _end(self, writer: asyncio.StreamWriter) -> None:
        """Send what is left and close, within the limit of time."""
        writer.write_eof()
        await asyncio.wait_for(writer.drain(), self._stall_seconds)
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), self._stall_seconds)


async def answered(
    intake: Intake, blocks: AsyncIterator[bytes], most_rejects: int | None = None
) -> AsyncIterator[bytes]:
    """Yield the answers to the lines of a stream, as JSONL, as soon as they are durable.

    Args:
        intake: where the lines go.
        blocks: the stream; none of them is empty.
        most_rejects: the number of rejected lines after which no more is taken; None: any.

    Raises:
        StoreError: the intake cannot be written.
    """
    splitter, number, rejects = Splitter(), 1, 0

    async def parts() -> AsyncIterator[list[bytes]]:
        async for block in blocks:
            lines = splitter.lines(block)
            for start in range(0, len(lines), MAX_REJECTS):
                yield lines[start : start + MAX_REJECTS]
        if rest := splitter.rest():
            yield rest

    async for lines in parts():
        if most_rejects is not None and rejects >= most_rejects:
            expected = f"at most {most_rejects} of them: correct the lines from here on"
            yield Answer(number, "rejected", "too-many-rejects", "", "", expected).to_json()
            return
        answers = await asyncio.wrap_future(intake.take(lines, number))
        yield b"".join(answer.to_json() for answer in answers)
        number += len(lines)
        rejects += sum(answer.status == "rejected" for answer in answers)


class PostSource:
    """``POST /intake``: JSONL in the body, an answer for each line in the body of the response.

    The guard of the service reads the body: its size and its time are limited there.
    """

    def __init__(self, intake: Intake) -> None:
        """Take the intake that lines go to."""
        self._intake, self._open = intake, 0

    def route(self) -> Route:
        """Return the route of Starlette."""
        from starlette.routing import Route  # of the extra `serve`

        return Route("/intake", self._post, methods=["POST"])

    async def _post(self, request: Request) -> Response:
        from starlette.responses import Response, StreamingResponse

        refusal = self._refusal(request)
        if refusal is not None:
            status, answer = refusal
            return Response(answer.to_json(), status, media_type=CONTENT_TYPES[0])

        body = await request.body()

        async def answers() -> AsyncIterator[bytes]:
            self._open += 1
            try:
                async for lines in answered(self._intake, _blocks_of(body), MAX_REJECTS):
                    yield lines
            finally:
                self._open -= 1

        return StreamingResponse(answers(), media_type=CONTENT_TYPES[0])

    def _refusal(self, request: Request) -> tuple[int, Answer] | None:
        """Return the status and the answer to whom nothing is taken from; None for others."""
        headers = request.headers
        host = "" if request.client is None else request.client.host
        if host not in _LOOPBACK or any(name in headers for name in _FORWARDED):
            expected = "a sender on this machine, not through a proxy: use the socket or a folder"
            return 403, Answer(0, "rejected", "not-loopback", "", host, expected)
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in CONTENT_TYPES:
            expected = f"the Content-Type {CONTENT_TYPES[0]}"
            return 415, Answer(0, "rejected", "content-type", "", content_type[:80], expected)
        if self._open >= MAX_CONNECTIONS:
            expected = f"at most {MAX_CONNECTIONS} posts at a time: post many lines at once"
            return 503, Answer(0, "rejected", "too-many-connections", "", "", expected)
        return None


async def _blocks_of(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _BLOCK_BYTES):
        yield body[start : start + _BLOCK_BYTES]
