"""Taking the facts of a file: written whole or not at all, with rejects and a receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from tallystick.io.atomic import AtomicFile, atomic_files, output_errors
from tallystick.plugins.registry import Registry
from tallystick.scoring.executors.work import Engine
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.file import CHUNK, FactsWriter
from tallystick.scoring.facts.work import batches_of
from tallystick.scoring.files import Paths, Progress, check_apart
from tallystick.scoring.sources import source_of


@attrs.frozen
class FactCounts:
    """How many records there were.

    Attributes:
        records: all of them, good and bad.
        answered: good ones with a submission.
        missed: good ones without.
        rejected: bad ones.
    """

    records: int = 0
    answered: int = 0
    missed: int = 0
    rejected: int = 0

    def plus(self, batch: FactBatch) -> FactCounts:
        """The counts with those of one more batch."""
        good = sum(map(len, batch.types.values()))
        answered = sum(int(rows.answered.sum()) for rows in batch.types.values())
        return FactCounts(
            records=self.records + batch.lines,
            answered=self.answered + answered,
            missed=self.missed + good - answered,
            rejected=self.rejected + len(batch.rejects),
        )


@attrs.frozen
class FactsReceipt:
    """What facts were taken with what.

    Attributes:
        schemas: the digest of each record schema, by skill type.
        definitions: the digest of the definitions of the facts, by skill type.
        engine: the version of the engine.
        plugins: the distribution and version of each plugin in use.
        input_digest: sha256 of the bytes that were read.
        output_digest: sha256 of the bytes that were written.
        counts: how many records there were.
    """

    schemas: Mapping[str, str]
    definitions: Mapping[str, str]
    engine: str
    plugins: Mapping[str, str]
    input_digest: str
    output_digest: str
    counts: FactCounts

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON values."""
        return {"format": 1, **attrs.asdict(self)}

    def to_json(self) -> str:
        """The receipt as indented JSON with sorted keys."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def extract_file(  # noqa: PLR0913  # what a run needs
    source: Path,
    output: Path,
    registry: Registry,
    *,
    rejects: Path | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    chunk: int = CHUNK,
) -> FactsReceipt:
    """Take the facts of the records of a file into a facts file, rejects and a receipt.

    Args:
        source: a JSONL file, a Parquet file with the same columns, or a folder of such files.
        output: where the facts go.
        registry: the plugins; facts of all their skill types and formulas are taken.
        rejects: where rejected records go; by default beside the output.
        progress: told how far the run is.
        engine: whose workers take the facts; by default this process does.
        chunk: how many lines a chunk of the file covers.

    Raises:
        InputError: the file cannot be read, or has no records.
        OutputError: a file cannot be written.
        EngineError: the workers cannot be used.
    """
    paths, catalogues, reader = Paths.of(output, rejects), catalog_of(registry), source_of(source)
    check_apart(source, paths)
    with atomic_files(paths.output, paths.rejects, paths.receipt) as (facts, refused, proof):
        with (
            _writing(facts, catalogues, chunk) as writer,
            # workers end with the block, whatever ends it
            closing(batches_of(reader, catalogues, engine)) as found,
        ):
            counts = FactCounts()
            for batch in found:
                _append(batch, writer, facts, refused)
                counts = counts.plus(batch)
                if progress is not None:
                    progress(reader.bytes_read, reader.size)
            with output_errors(facts.path):
                writer.close(reader.digest)
        receipt = _receipt(registry, catalogues, reader.digest, facts.digest(), counts)
        proof.write(receipt.to_json().encode())
    return receipt


def _append(batch: FactBatch, writer: FactsWriter, facts: AtomicFile, refused: AtomicFile) -> None:
    with output_errors(facts.path):
        writer.write(batch)
    refused.write(b"".join(reject.to_json() + b"\n" for reject in batch.rejects))


@contextmanager
def _writing(
    facts: AtomicFile, catalogues: Mapping[str, FactCatalog], chunk: int
) -> Iterator[FactsWriter]:
    with output_errors(facts.path):
        writer = FactsWriter(facts.file, catalogues, chunk)
    try:
        yield writer
    except BaseException:
        # the file is thrown away, but a writer that is left open complains when it is collected
        writer.abandon()
        raise


def _receipt(
    registry: Registry,
    catalogues: Mapping[str, FactCatalog],
    input_digest: str,
    output_digest: str,
    counts: FactCounts,
) -> FactsReceipt:
    return FactsReceipt(
        schemas={name: each.schema_digest for name, each in catalogues.items()},
        definitions={name: each.definitions for name, each in catalogues.items()},
        engine=f"tallystick {version('tallystick')}",
        plugins={p.name: f"{p.distribution} {p.version}" for p in registry.plugins.values()},
        input_digest=input_digest,
        output_digest=output_digest,
        counts=counts,
    )
