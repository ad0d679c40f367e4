"""Taking facts as work: a piece of records becomes a batch of facts, wherever that is done."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import attrs

from tallystick.errors import EngineError
from tallystick.io.chunks import Scorable
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.work import Engine
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor, Taking
from tallystick.scoring.sources import Source


@attrs.frozen
class Extracting:
    """Takes the facts of pieces in a worker.

    Attributes:
        engine: the version of the engine.
        definitions: of each skill type, the digests of its schema and of its facts, by name.
    """

    engine: str
    definitions: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, catalogues: Mapping[str, FactCatalog]) -> Extracting:
        """The work by some catalogues."""
        return cls(version("tallystick"), _definitions(catalogues))

    def __call__(self, piece: Scorable) -> FactBatch:
        """The facts of one piece.

        Raises:
            EngineError: the worker is not like the process that began it.
        """
        return piece.results(_taking(self))


@lru_cache(maxsize=2)
def _taking(work: Extracting) -> Taking:
    catalogues = catalog_of(installed())
    found, same = Extracting.of(catalogues), "install the same engine and plugins on every worker"
    if found.engine != work.engine:
        raise EngineError(
            f"found the engine tallystick {found.engine}, expected {work.engine}: {same}"
        )
    other = sorted(set(found.definitions) ^ set(work.definitions))
    if other:
        raise EngineError(f"found other facts of {other[0][0]}, expected the same: {same}")
    return Taking(Extractor(catalogues))


def _definitions(catalogues: Mapping[str, FactCatalog]) -> tuple[tuple[str, str, str], ...]:
    return tuple((name, each.schema_digest, each.definitions) for name, each in catalogues.items())


def batches_of(
    source: Source, catalogues: Mapping[str, FactCatalog], engine: Engine | None
) -> Generator[FactBatch]:
    """The facts of a source, in order; the same whoever takes them.

    Args:
        source: the records.
        catalogues: what is taken; with an engine, of the installed plugins.
        engine: whose workers take the facts; None takes them here.

    Raises:
        InputError: the records cannot be read.
        EngineError: the workers cannot be used.
    """
    if engine is None:
        yield from source.batches(Taking(Extractor(catalogues)))
        return
    answers: Any = engine.run(Extracting.of(catalogues), source.pieces())
    with closing(answers):
        yield from answers
