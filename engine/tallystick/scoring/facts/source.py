"""A facts file as a source: its chunks are the pieces, and a rule set scores them as records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.io.atomic import file_digest
from tallystick.io.chunks import Results_co, ScoresBatches
from tallystick.io.lines import opened
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.facts import results
from tallystick.scoring.facts.batch import FactBatch, shifted
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.file import about, read
from tallystick.scoring.facts.metadata import FactsMetadata


@attrs.frozen
class FactsPiece:
    """One chunk of a facts file, by its place.

    Attributes:
        path: the file.
        chunk: which one, from 0.
        before: how many records of the input come before the file.
        checksum: of what the file says of itself, by which one that has changed is known.
    """

    path: Path
    chunk: int
    before: int
    checksum: int

    def results(self, scorer: ScoresBatches[Results_co]) -> Results_co:
        """What a scorer makes of the facts.

        Raises:
            InputError: the file cannot be read, or is another one than before.
        """
        if about(self.path).checksum != self.checksum:
            raise InputError(
                f"{self.path}: found another facts file than before, expected one that stays as it "
                "is, the same for every worker: run again"
            )
        return next(_scored(self.path, scorer, self.before, self.chunk))


class FactsSource:
    """The facts of records."""

    def __init__(self, path: Path, first: int = 1) -> None:
        """Read nothing yet; ``first`` is the number of the first record."""
        self._path, self._first = path, first
        self.next = first
        self.size = path.stat().st_size
        self.bytes_read = 0
        self.digest = ""

    def items(self) -> Iterator[Any]:
        """Refused: the records are gone.

        Raises:
            InputError: always.
        """
        raise _facts_alone(self._path)

    def batches(self, scorer: ScoresBatches[Results_co]) -> Iterator[Results_co]:
        """The results of the records, chunk after chunk."""
        said = self._begun()
        for number, found in enumerate(_scored(self._path, scorer, self._first - 1), 1):
            yield found
            self._read(said, number)
        self._read(said, said.chunks)

    def pieces(self) -> Iterator[FactsPiece]:
        """The chunks."""
        said = self._begun()
        # workers may have another working directory
        path = self._path.absolute()
        for chunk in range(said.chunks):
            yield FactsPiece(path, chunk, self._first - 1, said.checksum)
            self._read(said, chunk + 1)
        self._read(said, said.chunks)

    def _begun(self) -> FactsMetadata:
        said = about(self._path)
        with opened(self._path) as file:
            self.digest = file_digest(file)
        return said

    def _read(self, said: FactsMetadata, chunks: int) -> None:
        self.bytes_read = self.size * chunks // (said.chunks or 1)
        self.next = self._first + min(said.lines, chunks * said.chunk)


def _scored(
    path: Path, scorer: ScoresBatches[Results_co], before: int, chunk: int | None = None
) -> Iterator[Results_co]:
    if not isinstance(scorer, BoundRules):
        raise _facts_alone(path)
    wanted = results.wanted_by(scorer)
    catalogues = catalog_of(scorer.registry)

    def scored(batch: FactBatch) -> Any:  # noqa: ANN401  # results of the scorer
        return results.score(shifted(batch, before), scorer)

    # a map lets go of a batch before it asks for the next, whose memory is then that of the last
    yield from map(
        scored, read(path, catalogues, wanted, results.FIELDS, chunk, coded=results.CODED)
    )


def _facts_alone(path: Path) -> InputError:
    return InputError(
        f"{path}: found facts alone, expected records: give the file that they were taken of"
    )
