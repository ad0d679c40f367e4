"""Taking the facts of a file: facts, rejects and a receipt, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import attrs

from tallystick.errors import EngineError, OutputError
from tallystick.io.atomic import OutputFile, output_errors
from tallystick.io.paths import PathLike, path_of
from tallystick.io.sources import Chunk
from tallystick.io.streams import is_stream
from tallystick.json_values import json_fields
from tallystick.plugins.code import Code
from tallystick.plugins.registry import Registry, installed
from tallystick.records.defects import DefectLog, defects_of
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick.scoring.executors.portable import Installation, PortableFunction
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import every_fact
from tallystick.scoring.facts.file import CHUNK, FactsWriter
from tallystick.scoring.receipt import (
    FORMAT,
    Progress,
    RunReceipt,
    engine_name,
    plugin_names,
    run_files,
    run_paths,
)
from tallystick.scoring.sources import source_of


@json_fields(empty=("internal_errors",))
@attrs.frozen
class FactCounts:
    """Numbers of records that were read, taken and rejected.

    Attributes:
        records: all of them, good and bad.
        answered: good ones with a submission.
        missed: good ones without.
        rejected: bad ones.
        internal_errors: those of them on which the engine fails; receipts leave out 0.
    """

    records: int = 0
    answered: int = 0
    missed: int = 0
    rejected: int = 0
    internal_errors: int = 0

    def plus(self, batch: FactBatch) -> FactCounts:
        """Return the counts with those of one more batch."""
        good = sum(map(len, batch.types.values()))
        answered = sum(int(rows.answered.sum()) for rows in batch.types.values())
        return FactCounts(
            records=self.records + batch.lines,
            answered=self.answered + answered,
            missed=self.missed + good - answered,
            rejected=self.rejected + len(batch.rejects),
            internal_errors=self.internal_errors + len(defects_of(batch.rejects)),
        )


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
        self._extractor = every_fact(catalogs)

    def __call__(self, chunk: Chunk) -> FactBatch:
        """Return the facts of one chunk.

        Raises:
            InputError: it cannot be read.
        """
        return self._extractor.facts(chunk.items(), chunk.first)


@attrs.frozen
class ExtractionSpec:
    """The specification of an extraction for a worker.

    Attributes:
        installation: the engine and the plugins.
        definitions: of each skill type, the digests of its schema and of its facts, by name.
    """

    installation: Installation
    definitions: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, registry: Registry) -> ExtractionSpec:
        """Return the specification of every fact of the installed plugins."""
        catalogs = catalog_of(registry).values()
        definitions = tuple(
            (catalog.name, catalog.schema_digest, catalog.definitions) for catalog in catalogs
        )
        return cls(Installation.of(registry), definitions)

    def make(self) -> ChunkExtraction:
        """Return the function.

        Raises:
            EngineError: the worker is not like the process that began it.
        """
        registry = installed()
        self.installation.check(registry)
        result = ExtractionSpec.of(registry).definitions
        # a further plugin, too, may add facts
        other = sorted(set(result) ^ set(self.definitions))
        if other:
            raise EngineError(
                f"found other facts of {other[0][0]}, expected the same: install the same engine "
                "and plugins on every worker"
            )
        return ChunkExtraction(catalog_of(registry))


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
    source, output = path_of(source, "a file or a folder of records"), path_of(output)
    if is_stream(output):
        raise OutputError(f"{output}: found a stream, expected a file for a table")
    executor, catalogs = executor or InProcess(), catalog_of(registry)
    beside = None if rejects is None else path_of(rejects)
    paths = run_paths(source, output, beside, follow_links=follow_links)
    counts, defects = FactCounts(), DefectLog(source)
    records, code = source_of(source), Code.of(registry)
    function = PortableFunction(lambda: ExtractionSpec.of(registry), ChunkExtraction(catalogs))
    with run_files(paths, progress) as files:
        chunks = records.places() if executor.is_elsewhere else iter(records)
        with (
            _writing(files.output, catalogs, chunk) as writer,
            # workers end with the block, whatever ends it
            closing(executor.map(function, chunks)) as result,
        ):
            for batch in result:
                with output_errors(files.output.path):
                    writer.write(batch)
                files.rejects.write(b"".join(r.to_json() + b"\n" for r in batch.rejects))
                defects.tell(batch.rejects)
                counts = counts.plus(batch)
                files.tell(records)
            with output_errors(files.output.path):
                writer.close(records.digest)
        defects.close()
        receipt = FactsReceipt(
            schemas={name: catalog.schema_digest for name, catalog in catalogs.items()},
            definitions={name: catalog.definitions for name, catalog in catalogs.items()},
            engine=engine_name(),
            plugins=plugin_names(registry),
            code=code,
            input_digest=records.digest,
            output_digest=files.output.digest(),
            rejects_digest=files.rejects.digest(),
            counts=counts,
            settings=settings,
        )
        files.receipt.write(receipt.to_json().encode())
    return receipt


@contextmanager
def _writing(
    facts: OutputFile, catalogs: Mapping[str, FactCatalog], chunk: int
) -> Iterator[FactsWriter]:
    with output_errors(facts.path):
        writer = FactsWriter(facts.file, catalogs, chunk)
    try:
        yield writer
    except BaseException:
        # the file is thrown away, but a writer that is left open complains when it is collected
        writer.abandon()
        raise
