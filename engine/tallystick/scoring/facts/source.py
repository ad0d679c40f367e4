"""A facts file as a source: its chunks hold the facts of records that are gone."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from tallystick.canonical import digest_of_file
from tallystick.errors import InputError
from tallystick.io.documents import read_json
from tallystick.io.inputs import opened
from tallystick.io.paths import receipt_beside
from tallystick.io.sources import size_of
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.facts.file import FactsFile, FactsMetadata, FactsRequest, facts_metadata

_LOG = logging.getLogger(__name__)


@attrs.define(eq=False)
class _Reading:
    """A facts file that is kept open from chunk to chunk, as long as the same is requested."""

    path: Path
    request: FactsRequest | None = None
    file: FactsFile | None = None

    def opened(self, request: FactsRequest) -> FactsFile:
        """Return the file, which is opened by the first request."""
        if self.file is None or self.request is not request:
            self.close()
            self.request, self.file = request, FactsFile(self.path, request)
        return self.file

    def close(self) -> None:
        """Let go of the file."""
        if self.file is not None:
            self.file.close()


@attrs.frozen
class FactsChunk:
    """One chunk of a facts file, by its place.

    Attributes:
        path: the file.
        number: which chunk, from 0.
        before: how many records of the input come before the file.
        checksum: of what the file says of itself, by which one that has changed is known.
        reading: the file, where it is open already; a chunk without can be pickled.
    """

    path: Path
    number: int
    before: int
    checksum: int
    reading: _Reading | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def first(self) -> int:
        """The number of the first record of the file."""
        return self.before + 1

    def items(self) -> Sequence[bytes]:
        """Refused: the records are gone.

        Raises:
            InputError: always.
        """
        raise InputError(
            f"{self.path}: found facts alone, expected records: give the file that they were taken "
            "of"
        )

    def facts(self, request: FactsRequest) -> FactBatch:
        """Return the facts that are requested.

        Raises:
            InputError: the file cannot be read, is another one than before, or lacks facts.
        """
        if self.reading is not None:
            return self.reading.opened(request).batch(self.number, self.before)
        with FactsFile(self.path, request) as file:
            if file.metadata.checksum != self.checksum:
                raise InputError(
                    f"{self.path}: found another facts file than before, expected one that stays "
                    "as it is, the same for every worker: run again"
                )
            return file.batch(self.number, self.before)


def _warn_unless_complete(path: Path, digest: str) -> None:
    """Warn of facts that their receipt, which is written last, does not know."""
    receipt = receipt_beside(path)
    try:
        stated = read_json(receipt)["output_digest"]
    except FileNotFoundError:
        problem = "found no receipt"
    except (OSError, ValueError, TypeError, KeyError):
        problem = "found no receipt that can be read"
    else:
        if stated == digest:
            return
        problem = "found the receipt of another file"
    _LOG.warning(
        "%s: %s, expected %s, which tallystick facts writes last: the facts may be of a run that "
        "did not end, or were changed",
        *(path, problem, receipt.name),
    )


class FactsSource:
    """The facts of records."""

    def __init__(self, path: Path, first: int = 1) -> None:
        """Read nothing yet; ``first`` is the number of the first record."""
        self._path, self._first = path, first
        self.next = first
        self.size = size_of(path)
        self.bytes_read = 0
        self.digest = ""

    def __iter__(self) -> Iterator[FactsChunk]:
        """Yield the chunks of the file, which is opened once."""
        reading = _Reading(self._path)
        try:
            yield from self._chunks(self._path, reading)
        finally:
            reading.close()

    def places(self) -> Iterator[FactsChunk]:
        """Return the chunks, each of which opens the file by itself."""
        # workers may have another working directory
        return self._chunks(self._path.absolute(), None)

    def _chunks(self, path: Path, reading: _Reading | None) -> Iterator[FactsChunk]:
        metadata = facts_metadata(self._path)
        with opened(self._path) as whole:
            self.digest = digest_of_file(whole)
        _warn_unless_complete(path, self.digest)
        for number in range(metadata.chunks):
            # before the chunk is worked on, as progress is told when it is done
            self._pass(metadata, number + 1)
            yield FactsChunk(path, number, self._first - 1, metadata.checksum, reading)
        self._pass(metadata, metadata.chunks)

    def _pass(self, said: FactsMetadata, chunks: int) -> None:
        self.bytes_read = self.size * chunks // (said.chunks or 1)
        self.next = self._first + min(said.lines, chunks * said.chunk)
