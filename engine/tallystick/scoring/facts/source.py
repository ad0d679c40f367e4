"""A facts file as a source: its chunks hold the facts of records that are gone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from tallystick.canonical import digest_of_file
from tallystick.io.documents import read_json
from tallystick.io.inputs import opened
from tallystick.io.paths import receipt_beside
from tallystick.io.sources import size_of
from tallystick.scoring.facts.file import FactsChunk, FactsMetadata, facts_metadata

_LOG = logging.getLogger(__name__)


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
        """Return the chunks of the file."""
        return self._chunks(self._path)

    def places(self) -> Iterator[FactsChunk]:
        """Return the chunks of the file, wherever its reader works."""
        # workers may have another working directory
        return self._chunks(self._path.absolute())

    def _chunks(self, path: Path) -> Iterator[FactsChunk]:
        metadata = facts_metadata(self._path)
        with opened(self._path) as whole:
            self.digest = digest_of_file(whole)
        _warn_unless_complete(path, self.digest)
        for number in range(metadata.chunks):
            # before the chunk is worked on, as progress is told when it is done
            self._pass(metadata, number + 1)
            yield FactsChunk(path, number, self._first - 1, metadata.checksum)
        self._pass(metadata, metadata.chunks)

    def _pass(self, said: FactsMetadata, chunks: int) -> None:
        self.bytes_read = self.size * chunks // (said.chunks or 1)
        self.next = self._first + min(said.lines, chunks * said.chunk)
