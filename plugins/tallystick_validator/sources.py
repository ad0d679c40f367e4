"""Sources of the intake: a folder of JSONL files, and ``POST /intake`` on a Unix socket.

Each answers JSONL with a line for each line, once it is durable. The server of the service limits
sizes, connections and slow clients: who is cut off loses its connection, never a line that was
answered.
"""

from __future__ import annotations

import io
import os
import stat
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from tallystick.errors import InputError, OutputError, StoreError
from tallystick.io.atomic import atomic_files, sync_names
from tallystick.io.lines import split
from tallystick.io.text import visible
from tallystick.plugins.logger import logger_of
from tallystick_service.server import bound_privately, check_installed, serving
from tallystick_service.settings import Settings
from tallystick_validator.admission import FULL, NOT_WRITTEN
from tallystick_validator.exclusive import made
from tallystick_validator.intake import Answer, Intake

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

SUFFIX = ".jsonl"
"""End of the names of files that are taken; whoever writes one renames it to that when whole."""
TAKEN = "taken"
"""Folder within the folder of records, for files that were taken and the answers to them."""
IN_PROGRESS = "taken-in-progress"
"""Folder within the folder of records, for files whose lines are being taken."""
ANSWERS = ".answers.jsonl"
"""End of the name of the answers to a file."""
MAX_REJECTS = 1000
"""Number of rejected lines of a post after which the rest is not looked at."""
MAX_POST_BYTES = 16 << 20
"""Maximum size of the body of a post, in bytes."""
POST_SETTINGS = Settings(body_bytes=MAX_POST_BYTES, rate=1e6, burst=1_000_000)
"""Settings of the socket: its one client is its owner, who may post as often as it likes."""

_LOG = logger_of(__name__)
_BLOCK_BYTES = 1 << 20
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
    answers: Mapping[str, int]
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
            InputError: the folder cannot be read, or the folders within it cannot be made.
            StoreError: the intake cannot be written.
        """
        problems, taken = dict[str, str](), list[TakenFile]()
        names = names_in(self.folder, SUFFIX)
        for folder in (IN_PROGRESS, TAKEN):
            made(self.folder / folder)
        # those of a run that was killed, or for which there was no room, come first
        begun = names_in(self.folder / IN_PROGRESS, SUFFIX)
        for number, name in enumerate([*begun, *names]):
            if is_stopping():
                break
            try:
                private = name if number < len(begun) else self._claim(name)
                if private is not None:
                    taken.append(self._take(private))
            except (OSError, OutputError) as error:
                problems[name] = visible(getattr(error, "strerror", None) or str(error))
        self.problems = problems
        return taken

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
        stem = name.removesuffix(SUFFIX)
        others = (f"{stem}.{number}{SUFFIX}" for number in count(2))
        private = next(filter(self._is_free, chain([name], others)))
        (self.folder / name).rename(self.folder / IN_PROGRESS / private)
        for folder in (self.folder / IN_PROGRESS, self.folder):
            sync_names(folder)
        return private

    def _is_free(self, name: str) -> bool:
        taken = self.folder / TAKEN / name
        paths = self.folder / IN_PROGRESS / name, taken, _answers_of(taken)
        return not any(map(os.path.lexists, paths))

    def _take(self, name: str) -> TakenFile:
        """Take the lines of a file of `IN_PROGRESS`, and move it to `TAKEN`.

        Raises:
            OSError: it cannot be read or moved.
            OutputError: its answers cannot be written.
            StoreError: the intake cannot be written.
        """
        path, taken = self.folder / IN_PROGRESS / name, self.folder / TAKEN / name
        counts, is_whole = Counter[str](), True
        with path.open("rb") as file, atomic_files(_answers_of(taken)) as (output,):
            for number, lines in _blocks_of(file):
                for answer in self.intake.take(lines, number):
                    counts[answer.status] += 1
                    is_whole = is_whole and answer.code != FULL
                    output.write(answer.to_json())
        if is_whole:
            path.rename(taken)
        return TakenFile(name, counts, is_whole)


def _answers_of(taken: Path) -> Path:
    return taken.with_name(f"{taken.name}{ANSWERS}")


def _blocks_of(file: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines of a file, some at a time, after the number of the first of them."""
    number = 1
    for lines in split(iter(lambda: file.read(_BLOCK_BYTES), b"")):
        # few in a transaction, so that the first does not wait long for its answer
        for start in range(0, len(lines), MAX_REJECTS):
            yield number + start, lines[start : start + MAX_REJECTS]
        number += len(lines)


def names_in(folder: Path, suffix: str) -> list[str]:
    """Return the names in a folder that end with a suffix, but for hidden ones; ascending.

    Raises:
        InputError: the folder cannot be read.
    """
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"{folder}: the folder cannot be read ({reason}): make it, or name another"
        ) from error
    return sorted(name for name in names if name.endswith(suffix) and not name.startswith("."))


@asynccontextmanager
async def posts_taken(
    path: Path, intake: Intake, settings: Settings = POST_SETTINGS
) -> AsyncIterator[None]:
    """Answer ``POST /intake`` on a Unix socket, its owner's alone, while the block runs.

    Args:
        path: the name of the socket.
        intake: where the lines go.
        settings: limits of sizes, connections and slow clients.

    Raises:
        InputError: the socket cannot be had, or a library of the extra ``serve`` is missing.
    """
    check_installed()
    from starlette.applications import Starlette
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    from tallystick_service.guard import Guard

    async def post(request: Request) -> Response:
        answers = _answers_to(intake, await request.body())
        return StreamingResponse(answers, media_type="application/jsonl")

    app = Starlette(routes=[Route("/intake", post, methods=["POST"])])
    with bound_privately(path) as listener:
        async with serving(Guard(app, settings, Counter()), settings, listener):
            yield


def _answers_to(intake: Intake, body: bytes) -> Iterator[bytes]:
    """Yield the answers to the lines of a post, as JSONL, as soon as they are durable.

    They end early where the intake cannot be written: the last one says so.
    """
    rejects = 0
    for number, lines in _blocks_of(io.BytesIO(body)):
        if rejects >= MAX_REJECTS:
            expected = f"at most {MAX_REJECTS} of them: correct the lines from here on"
            yield Answer(number, "rejected", "too-many-rejects", "", "", expected).to_json()
            return
        try:
            answers = intake.take(lines, number)
        except StoreError as error:
            _LOG.warning("the lines of a post are not taken: %s", visible(str(error)))
            expected = "an intake that can be written: send the lines from here on again"
            yield Answer(number, "rejected", NOT_WRITTEN, "", "", expected).to_json()
            return
        yield b"".join(answer.to_json() for answer in answers)
        rejects += sum(answer.status == "rejected" for answer in answers)
