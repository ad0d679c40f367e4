"""Taking the facts of a file: facts, rejects and a receipt, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import attrs

from tallystick.errors import OutputError
from tallystick.io.paths import PathLike
from tallystick.io.sources import Chunk
from tallystick.io.streams import is_stream
from tallystick.json_values import JsonKey, json_fields, json_object
from tallystick.plugins.code import Code
from tallystick.plugins.registry import Registry
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick.scoring.executors.portable import Installation, PortableFunction
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.file import CHUNK, FactsWriter
from tallystick.scoring.receipt import FORMAT, Counts, RunReceipt, engine_name, plugin_names
from tallystick.scoring.run_files import Part, Progress, run_files
from tallystick.scoring.sources import source_of


@json_object(
    "records", "answered", "missed", "rejected", JsonKey("internal_errors", left_out="empty")
)
@attrs.frozen
class FactCounts(Counts):
    """Numbers of records whose facts were taken: none of them is scored yet."""

    @property
    def answered(self) -> int:
        """The number of good records with a submission."""
        return self.scored


@json_fields(FORMAT, empty=("settings",))
@attrs.frozen
class FactsReceipt(RunReceipt):
    """The receipt of an extraction: input, facts, engine and plugins.

    Attributes:
        schemas: the digest of each record schema, by skill type.
        definitions: the digest of the definitions of the facts, by skill type.
        engine: the version of the engine.
        plugins: the distribution and version of each plugin in use.
        code: the digests of their files and of the engine's, and the versions of what they rest on.
        input_digest: sha256 of the bytes that were read.
        output_digest: sha256 of the bytes that were written.
        rejects_digest: sha256 of the rejects that were written.
        counts: how many records there were.
        settings: the settings file that counted, from the working folder; receipts leave it out
            where none did, as in a program.
    """

    schemas: Mapping[str, str]
    definitions: Mapping[str, str]
    engine: str
    plugins: Mapping[str, str]
    code: Code
    input_digest: str
    output_digest: str
    rejects_digest: str
    counts: FactCounts
    settings: str | None = None


class ChunkExtraction:
    """Takes the facts of chunks of records; a function that executors map."""

    def __init__(self, catalogs: Mapping[str, FactCatalog]) -> None:
        """Take every fact of some catalogs."""
        self._extractor = Extractor(catalogs.values())

    def __call__(self, chunk: Chunk) -> Part:
        """Return the part of one chunk: its facts.

        Raises:
            InputError: it cannot be read.
        """
        batch = self._extractor.facts(chunk.items(), chunk.first)
        answered = sum(int(rows.answered.sum()) for rows in batch.types.values())
        counts = Counts.of(sum(map(len, batch.types.values())), answered, batch.rejects)
        return Part(batch, batch.rejects, counts)


@attrs.frozen
class ExtractionSpec(PortableFunction[Chunk, Part]):
    """Takes the facts of chunks in a worker.

    Attributes:
        installation: the engine and the plugins, of which every fact is taken.
    """

    installation: Installation

    def make(self) -> ChunkExtraction:
        """Find the plugins."""
        return ChunkExtraction(catalog_of(self.installation.registry()))


def extract_file(  # noqa: PLR0913  # what a run needs
    source: PathLike,
    output: PathLike,
    registry: Registry,
    *,
    rejects: PathLike | None = None,
    follow_links: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
    chunk: int = CHUNK,
    settings: str | None = None,
) -> FactsReceipt:
    """Take the facts of the records of a file into a facts file, rejects and a receipt.

    Args:
        source: a JSONL file, or a folder of such files.
        output: where the facts go.
        registry: the plugins; facts of all their skill types and formulas are taken.
        rejects: where rejected records go; by default beside the output.
        follow_links: whether the name of an output may be a link.
        progress: told how far the run is.
        executor: who takes the facts; by default this process.
        chunk: how many lines a chunk of the file covers.
        settings: the settings file that counted, for the receipt.

    Raises:
        InputError: the file cannot be read, or has no records.
        OutputError: a file cannot be written.
        EngineError: the workers cannot be used.
    """
    executor, catalogs = executor or InProcess(), catalog_of(registry)
    with run_files(source, output, rejects, follow_links=follow_links, progress=progress) as files:
        if is_stream(files.target):
            raise OutputError(f"{files.target}: found a stream, expected a file for a table")
        records, code = source_of(files.source), Code.of(registry)
        if executor.is_elsewhere:
            there = ExtractionSpec(Installation.of(registry))
            parts = executor.map(there, records.places())
        else:
            parts = executor.map(ChunkExtraction(catalogs), records)
        begin = partial(FactsWriter, catalogs=catalogs, chunk=chunk, source=records)
        counts, _ = files.write(parts, begin, records)
        receipt = FactsReceipt(
            schemas={name: catalog.metadata.schema for name, catalog in catalogs.items()},
            definitions={name: catalog.metadata.definitions for name, catalog in catalogs.items()},
            engine=engine_name(),
            plugins=plugin_names(registry),
            code=code,
            input_digest=records.digest,
            output_digest=files.output.digest(),
            rejects_digest=files.rejects.digest(),
            counts=FactCounts(*attrs.astuple(counts)),
            settings=settings,
        )
        files.receipt.write(receipt.to_json().encode())
    return receipt
