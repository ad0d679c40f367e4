"""The history of a back-test: any file or folder of records or facts, as batches of facts.

Facts files are read as they are; of records, the facts that the candidates read are taken on the
way. Lines are numbered over all files of a folder, as if they were one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import attrs

from tallystick.errors import InputError
from tallystick.io.chunks import Chunk
from tallystick.io.sources import Source, input_digest
from tallystick.scoring.facts.batch import IDENTITY, FactBatch
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.file import FactsRequest
from tallystick.scoring.facts.results import wanted_by as wanted_by_rules
from tallystick.scoring.facts.source import FactsChunk
from tallystick.scoring.sources import source_of
from tallystick_governance.backtest.candidates import Candidate

COUNTED = ("round", "miner_uid", "miner_hotkey")
"""What is counted by, of who a record is."""
TOLD = (*COUNTED, "task_id")
"""What is told of a flip."""
_ALWAYS = ("epoch",)


@attrs.frozen(eq=False, slots=False)
class FactsWanted:
    """The facts that some candidates need of a history.

    Attributes:
        catalogs: what is installed.
        wanted: by skill type, the digests of the facts.
        fields: of ``IDENTITY``, what is needed of who a record is.
        groups: by skill type, the field that says the group of a miner, where a candidate asks.
    """

    catalogs: Mapping[str, FactCatalog]
    wanted: Mapping[str, Collection[str]]
    fields: Collection[str] = tuple(IDENTITY)
    groups: Mapping[str, str] = attrs.field(factory=dict)

    def batch(self, chunk: Chunk) -> FactBatch:
        """The facts of one chunk.

        Raises:
            InputError: it cannot be read, or its facts are of other definitions.
        """
        if isinstance(chunk, FactsChunk):
            return chunk.facts(self._request)
        return self._extractor.facts(chunk.items(), chunk.first)

    @cached_property
    def _request(self) -> FactsRequest:
        return FactsRequest(self.catalogs, self.wanted, self.fields)

    @cached_property
    def _extractor(self) -> Extractor:
        selections = (
            attrs.evolve(each.selection(self.wanted.get(name, ())), group=self.groups.get(name))
            for name, each in self.catalogs.items()
        )
        return Extractor(selections, (*self.fields, *_ALWAYS))


def wanted_by(
    candidates: Sequence[Candidate], fields: Collection[str] = tuple(IDENTITY)
) -> FactsWanted:
    """The facts that some candidates read, and some fields.

    Raises:
        InputError: two candidates make groups by other fields of the records of one type.
    """
    wanted: dict[str, set[str]] = {}
    for candidate in candidates:
        for name, facts in wanted_by_rules(candidate.rules).items():
            wanted.setdefault(name, set()).update(facts)
    catalogs = catalog_of(candidates[0].rules.registry)
    return FactsWanted(catalogs, wanted, fields, _groups(candidates))


def _groups(candidates: Sequence[Candidate]) -> dict[str, str]:
    found: dict[str, str] = {}
    for candidate in candidates:
        for _, rules in candidate.rules.spans():
            for name, bound in rules.types.items():
                if bound.group is not None and found.setdefault(name, bound.group) != bound.group:
                    raise InputError(
                        f"found groups of {name} by {found[name]} and by {bound.group}, expected "
                        "candidates that make them by one field: compare them one by one"
                    )
    return found


@attrs.frozen(eq=False)
class Reader:
    """Reads a history, as often as it is asked to.

    Attributes:
        path: a file or a folder.
        facts: what is needed of it.
    """

    path: Path
    facts: FactsWanted

    def source(self) -> Source:
        """The history as chunks.

        Raises:
            InputError: it cannot be read.
        """
        return source_of(self.path)

    def batches(self, fields: Collection[str] = tuple(IDENTITY)) -> Iterator[FactBatch]:
        """The facts, batch after batch.

        Args:
            fields: what is needed of who a record is.

        Raises:
            InputError: a file cannot be read, or its facts are of other definitions.
        """
        # a map lets go of a batch before it asks for the next
        return map(attrs.evolve(self.facts, fields=fields).batch, self.source())


def reader_of(path: Path, candidates: Sequence[Candidate]) -> Reader:
    """The reader of what some candidates need of a history.

    Raises:
        InputError: the history can be read only once.
    """
    if _exists(path) and not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{path}: found a pipe or a device, expected a file or a folder, as a history is read "
            "more than once: write it to a file first"
        )
    return Reader(path, wanted_by(candidates))


def check_unchanged(path: Path, digest: str) -> None:
    """Check that a history is the one that was read before.

    Raises:
        InputError: it is not.
    """
    if input_digest(path) != digest:
        raise InputError(
            f"{path}: found another history than before, expected one that stays as it is, the "
            "same for every worker: run again"
        )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # told when it is read
