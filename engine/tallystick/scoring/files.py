"""Scoring a file: read in batches, write results, rejects and a receipt, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from tallystick.errors import OutputError
from tallystick.plugins.registry import Registry
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.bound import BoundType
from tallystick.scoring.output import Writer, format_of, writing
from tallystick.scoring.pinned import Pinned
from tallystick.scoring.receipt import Counts, Receipt, receipt_of
from tallystick.scoring.sources import ScoresBatches, Source, source_of
from tallystick.scoring.staging import Staged, named, place_of, staged

if TYPE_CHECKING:
    from tallystick.scoring.batch import ResultBatch

Progress = Callable[[int, int], None]
"""Told after every batch how many bytes of how many were read."""


class ScoresFiles(ScoresBatches["ResultBatch"], Protocol):
    """What scores a file: a bound rule set that can say what it is."""

    @property
    def loaded(self) -> LoadedRuleSet:
        """The rule set and where it comes from."""

    @property
    def registry(self) -> Registry:
        """The plugins that it was bound with."""

    @property
    def types(self) -> Mapping[str, BoundType]:
        """The bound skill types."""

    @property
    def pinned(self) -> Mapping[int, Pinned]:
        """The snapshots that it scores by."""

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Every axis, in order."""


@attrs.frozen
class Paths:
    """Where a run writes.

    Attributes:
        output: the results.
        rejects: the rejected records, one JSON object a line.
        receipt: the receipt.
    """

    output: Path
    rejects: Path
    receipt: Path

    @classmethod
    def of(cls, output: Path, rejects: Path | None) -> Paths:
        """The places beside an output: its name with ``.rejects.jsonl`` and ``.receipt.json``.

        Raises:
            OutputError: the output is a folder by its name, such as ``.``.
        """
        if not output.name:
            raise OutputError(f"{output}: a folder, expected the name of a file to write")
        beside = output.with_name(f"{output.name}.rejects.jsonl")
        receipt = output.with_name(f"{output.name}.receipt.json")
        return cls(output, rejects or beside, receipt)


def score_file(  # noqa: PLR0913  # what a run needs
    scorer: ScoresFiles,
    source: Path,
    output: Path,
    *,
    format_name: str | None = None,
    rejects: Path | None = None,
    progress: Progress | None = None,
) -> Receipt:
    """Score the records of a file into results, rejects and a receipt.

    Args:
        scorer: the bound rule set.
        source: a JSONL file, or a Parquet file with the same columns.
        output: where the results go.
        format_name: ``jsonl``, ``parquet`` or ``csv``; by default by the name of the output.
        rejects: where rejected records go; by default beside the output.
        progress: told how far the run is.

    Raises:
        InputError: the file cannot be read, or has no records.
        OutputError: a file cannot be written.
    """
    paths, chosen = Paths.of(output, rejects), format_of(output, format_name)
    _check_apart(source, paths)
    reader = source_of(source)
    with staged(paths.output, paths.rejects, paths.receipt) as (results, refused, proof):
        with writing(chosen, results, scorer.axis_names) as out:
            counts, epochs = _written(_batches(reader, scorer, progress), results, out, refused)
        receipt = receipt_of(
            scorer.loaded,
            scorer.registry,
            scorer.types,
            snapshots=_snapshots(scorer, epochs),
            input_digest=reader.digest,
            output_digest=results.digest(),
            counts=counts,
        )
        proof.write(receipt.to_json().encode())
    return receipt


def _check_apart(source: Path, paths: Paths) -> None:
    places = [place_of(path) for path in (paths.output, paths.rejects, paths.receipt)]
    # a name that leads nowhere is told when it is read
    with suppress(OSError, ValueError):
        places.append(Path(os.path.realpath(source)))
    if len(set(places)) < len(places):
        raise OutputError(
            f"{paths.output}: found two of input, output, rejects and receipt in one file, "
            "expected a file for each"
        )


def _batches(
    reader: Source, scorer: ScoresFiles, progress: Progress | None
) -> Iterator[ResultBatch]:
    for batch in reader.batches(scorer):
        yield batch
        if progress is not None:
            progress(reader.bytes_read, reader.size)


def _written(
    batches: Iterable[ResultBatch], results: Staged, out: Writer, refused: Staged
) -> tuple[Counts, set[int]]:
    counts, epochs = Counts(0, 0, 0, 0), set[int]()
    for batch in batches:
        with named(results.path):
            out.write(batch)
        refused.write(b"".join(reject.to_json() + b"\n" for reject in batch.rejects))
        counts = _counted(counts, batch)
        epochs |= batch.snapshots
    return counts, epochs


def _snapshots(scorer: ScoresFiles, epochs: set[int]) -> dict[str, str] | None:
    """The digests of the snapshots of some epochs; None without a state."""
    if not scorer.pinned:
        return None
    return {str(epoch): scorer.pinned[epoch].digest for epoch in sorted(epochs)}


def _counted(counts: Counts, batch: ResultBatch) -> Counts:
    scored = int(batch.decimals["quality"].given.sum())
    return Counts(
        records=counts.records + len(batch) + len(batch.rejects),
        scored=counts.scored + scored,
        missed=counts.missed + len(batch) - scored,
        rejected=counts.rejected + len(batch.rejects),
    )
