"""The files of a run: its output, the records that it rejected, and its receipt.

They take their names together, at the end, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import attrs

from tallystick.errors import OutputError
from tallystick.io.atomic import (
    OutputFile,
    atomic_files,
    output_errors,
    output_path,
    output_place,
)
from tallystick.io.paths import PathLike, path_of, receipt_beside
from tallystick.io.sources import Source
from tallystick.io.streams import (
    STANDARD,
    is_stream,
    nowhere,
    standard_error,
    standard_output,
)
from tallystick.records.defects import DefectLog
from tallystick.records.rejects import Reject
from tallystick.scoring.receipt import Counts

Progress = Callable[[int, int], None]
"""Told after every chunk how many bytes of how many were read."""


class Writer(Protocol):
    """Takes tables, encoded for it, then is closed or abandoned; the file itself stays open."""

    def append(self, data: Any) -> None:  # noqa: ANN401  # as the format encodes a table
        """Append a table."""

    def close(self) -> None:
        """Write the end of the format."""

    def abandon(self) -> None:
        """Let go of a file that is thrown away."""


@attrs.frozen
class Part:
    """The part of a run's files that a chunk adds.

    Attributes:
        output: encoded for the writer of the output.
        rejects: the rejected records.
        counts: how many records there were.
        snapshots: the epochs of records whose snapshots were pinned.
    """

    output: Any
    rejects: tuple[Reject, ...]
    counts: Counts
    snapshots: frozenset[int] = frozenset()


@attrs.frozen
class RunFiles:
    """The files of a run while it goes on.

    Attributes:
        source: what is read.
        target: the name that was given to what it makes.
        output: what it makes.
        rejects: the rejected records, one JSON object a line.
        receipt: the receipt.
        progress: told how far it is.
    """

    source: Path
    target: Path
    output: OutputFile
    rejects: OutputFile
    receipt: OutputFile
    progress: Progress | None

    def write(
        self,
        parts: Generator[Part, None, None],
        begin: Callable[[IO[bytes]], Writer],
        records: Source,
    ) -> tuple[Counts, set[int]]:
        """Write every part as it comes; return the counts and the snapshots of all.

        Args:
            parts: in the order of their records; closed at the end, with which workers end.
            begin: returns the writer of the output, which is open.
            records: what they are made of.

        Raises:
            TallystickError: of the parts, or a file cannot be written.
        """
        counts, snapshots, defects = Counts(), set[int](), DefectLog(self.source)
        with closing(parts), self._writer(begin) as writer:
            for part in parts:
                with output_errors(self.output.path):
                    writer.append(part.output)
                self.rejects.write(b"".join(reject.to_json() + b"\n" for reject in part.rejects))
                defects.tell(part.rejects)
                counts += part.counts
                snapshots |= part.snapshots
                if self.progress is not None:
                    self.progress(records.bytes_read, records.size)
        defects.close()
        return counts, snapshots

    @contextmanager
    def _writer(self, begin: Callable[[IO[bytes]], Writer]) -> Iterator[Writer]:
        """Yield the writer of the output, closed at the end, abandoned where the block fails."""
        with output_errors(self.output.path):
            writer = begin(self.output.file)
        try:
            yield writer
        except BaseException:
            # a writer that is left open complains when it is collected
            writer.abandon()
            raise
        with output_errors(self.output.path):
            writer.close()


@contextmanager
def run_files(  # noqa: PLR0913  # the files of a run
    source: PathLike,
    output: PathLike,
    rejects: PathLike | None = None,
    receipt: PathLike | None = None,
    *,
    follow_links: bool = False,
    progress: Progress | None = None,
) -> Iterator[RunFiles]:
    """The files of a run, which take their names together when the block ends without an error.

    The receipt is the commit point: it is the last to take its name, and is taken away before the
    others take theirs.

    Args:
        source: what is read.
        output: what is made; ``-`` is the standard output.
        rejects: where rejected records go; by default beside the output, with ``.rejects.jsonl``
            after its name, or to the error output.
        receipt: where the receipt goes; by default beside the output, with ``.receipt.json``, or
            nowhere.
        follow_links: whether a name may be a link; what it leads to is written.
        progress: told how far the run is.

    Raises:
        InputError: one of them is neither text nor a path.
        OutputError: the output is a folder by its name, such as ``.``, two files are one, or a file
            cannot be written; nothing is left under its name.
    """
    origin = path_of(source, "a file or a folder of records")
    target = path_of(output, "a file to write")
    rejected, stated = (None if path is None else path_of(path) for path in (rejects, receipt))
    if not target.name:
        raise OutputError(f"{target}: a folder, expected the name of a file to write")
    for beside in (rejected, stated):
        if beside == STANDARD:
            raise OutputError(f"{beside}: found the standard output, expected the name of a file")
    if not is_stream(target):
        rejected = rejected or target.with_name(f"{target.name}.rejects.jsonl")
        stated = stated or receipt_beside(target)
    named = [path for path in (target, rejected, stated) if path is not None and path != STANDARD]
    _check_apart(origin, [path for path in named if not is_stream(path)])
    places = [output_path(path, follow_links=follow_links) for path in named]
    with atomic_files(*places) as files:
        opened = dict(zip(named, files, strict=True))
        yield RunFiles(
            origin,
            target,
            opened.get(target) or standard_output(),
            opened[rejected] if rejected else standard_error(),
            opened[stated] if stated else nowhere(),
            progress,
        )


def _check_apart(source: Path, paths: Sequence[Path]) -> None:
    """Refuse an input or output that is another one, or that the next run would read."""
    if not paths:
        return
    places, inside = [output_place(path) for path in paths], False
    # a name that leads nowhere is told when it is read
    with suppress(OSError, ValueError):
        target = Path(os.path.realpath(source))
        inside = target.is_dir() and any(each.parent == target for each in places)
        places.append(target)
    if inside:
        raise OutputError(
            f"{paths[0]}: found an output in the folder of the records, expected another "
            "folder: it would be read as records next time"
        )
    if len(set(places)) < len(places):
        raise OutputError(
            f"{paths[0]}: found two of input, output, rejects and receipt in one file, "
            "expected a file for each"
        )
