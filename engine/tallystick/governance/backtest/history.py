"""The history of a back-test: any file or folder of records or facts, as batches of facts.

Facts files are read as they are; of records, facts are taken on the way. Lines are numbered over
all files of a folder, as if they were one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from tallystick.canonical import digest_of_bytes
from tallystick.errors import InputError
from tallystick.governance.backtest.candidates import Candidate
from tallystick.io.atomic import file_digest
from tallystick.io.lines import opened
from tallystick.scoring.facts.batch import FactBatch, shifted
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor, Taking
from tallystick.scoring.facts.file import IDENTITY, read
from tallystick.scoring.facts.metadata import is_facts
from tallystick.scoring.folder import files_of
from tallystick.scoring.sources import Source, source_of

Wanted = Mapping[str, Collection[str]]
"""By skill type, the digests of the facts that are needed."""
COUNTED = ("miner_uid", "miner_hotkey")
"""What is counted by, of who a record is."""
TOLD = (*COUNTED, "task_id")
"""What is told of a flip."""


@attrs.frozen(eq=False)
class Reader:
    """Reads a history, as often as it is asked to.

    Attributes:
        path: a file or a folder.
        catalogues: what is installed.
        wanted: what is needed of facts files.
    """

    path: Path
    catalogues: Mapping[str, FactCatalog]
    wanted: Wanted

    def source(self) -> Source:
        """The history as pieces, which workers can read.

        Raises:
            InputError: it cannot be read.
        """
        return source_of(self.path)

    def batches(self, fields: Collection[str] = tuple(IDENTITY)) -> Iterator[FactBatch]:
        """The facts, batch after batch.

        Args:
            fields: what is needed of who a record is, as `facts.file.read` takes it.

        Raises:
            InputError: a file cannot be read, or its facts are of other definitions.
        """
        first = 1
        for path in self._files:
            for batch in self._of_file(path, first, fields):
                yield batch
                first = batch.first + batch.lines

    def digest(self) -> str:
        """``sha256:`` and the digest of the file, or of what ``sha256sum`` prints of a folder."""
        digests = []
        for path in self._files:
            with opened(path) as file:
                digests.append((file_digest(file), path.name))
        if not self.path.is_dir():
            return digests[0][0]
        lines = (f"{d.partition(':')[2]}  {name}\n" for d, name in digests)
        return digest_of_bytes(os.fsencode("".join(lines)))

    @property
    def _files(self) -> Sequence[Path]:
        return files_of(self.path) if self.path.is_dir() else [self.path]

    def _of_file(self, path: Path, first: int, fields: Collection[str]) -> Iterator[FactBatch]:
        if is_facts(path):
            for batch in read(path, self.catalogues, self.wanted, fields):
                yield shifted(batch, first - 1)
        else:
            yield from source_of(path, first).batches(Taking(Extractor(self.catalogues)))


def reader_of(path: Path | None, candidates: Sequence[Candidate]) -> Reader:
    """The reader of what some candidates need of a history; a worker has none of its own.

    Raises:
        InputError: the history can be read only once.
    """
    if path is not None and _exists(path) and not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{path}: found a pipe or a device, expected a file or a folder, as a history is read "
            "more than once: write it to a file first"
        )
    wanted: dict[str, set[str]] = {}
    for candidate in candidates:
        for name, bound in candidate.scorer.types.items():
            wanted.setdefault(name, set()).update(fact.digest for fact in bound.facts)
    return Reader(path or Path(), catalog_of(candidates[0].scorer.registry), wanted)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # told when it is read
