"""Scoring a file: read in batches, write results, rejects and a receipt, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import attrs

from tallystick.errors import OutputError
from tallystick.io.atomic import AtomicFile, atomic_files, output_errors, output_place
from tallystick.scoring.executors.run import ScoresFiles, parts
from tallystick.scoring.executors.scored import Part
from tallystick.scoring.executors.work import Engine
from tallystick.scoring.output import Writer, format_of, writing
from tallystick.scoring.receipt import Counts, Receipt, receipt_of
from tallystick.scoring.sources import Source, source_of

Progress = Callable[[int, int], None]
"""Told after every batch how many bytes of how many were read."""


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
    engine: Engine | None = None,
) -> Receipt:
    """Score the records of a file into results, rejects and a receipt.

    Args:
        scorer: the bound rule set.
        source: a JSONL file, a Parquet file with the same columns, or a folder of such files.
        output: where the results go.
        format_name: ``jsonl``, ``parquet`` or ``csv``; by default by the name of the output.
        rejects: where rejected records go; by default beside the output.
        progress: told how far the run is.
        engine: whose workers score the records; by default this process does.

    Raises:
        InputError: the file cannot be read, or has no records.
        OutputError: a file cannot be written.
        EngineError: the workers cannot be used.
    """
    paths, chosen = Paths.of(output, rejects), format_of(output, format_name)
    check_apart(source, paths)
    reader = source_of(source)
    with atomic_files(paths.output, paths.rejects, paths.receipt) as (results, refused, proof):
        with (
            writing(chosen, results, scorer.axis_names) as out,
            # workers end with the block, whatever ends it
            closing(parts(scorer, reader, chosen, engine)) as found,
        ):
            told = _told(found, reader, progress)
            counts, epochs = _written(told, results, out, refused)
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


def check_apart(source: Path, paths: Paths) -> None:
    """That input and outputs are different files.

    Raises:
        OutputError: two of them are one.
    """
    places = [output_place(path) for path in (paths.output, paths.rejects, paths.receipt)]
    # a name that leads nowhere is told when it is read
    with suppress(OSError, ValueError):
        places.append(Path(os.path.realpath(source)))
    _check_outside(source, paths, places)
    if len(set(places)) < len(places):
        raise OutputError(
            f"{paths.output}: found two of input, output, rejects and receipt in one file, "
            "expected a file for each"
        )


def _check_outside(source: Path, paths: Paths, places: Sequence[Path]) -> None:
    """That nothing is written into a folder that is read: the next run would read it."""
    inside = False
    # a name that leads nowhere is told when it is read
    with suppress(OSError, ValueError):
        folder = Path(os.path.realpath(source))
        inside = folder.is_dir() and any(place.parent == folder for place in places)
    if inside:
        raise OutputError(
            f"{paths.output}: found an output in the folder of the records, expected another "
            "folder: it would be read as records next time"
        )


def _told(parts: Iterator[Part], reader: Source, progress: Progress | None) -> Iterator[Part]:
    for part in parts:
        yield part
        if progress is not None:
            progress(reader.bytes_read, reader.size)


def _written(
    found: Iterable[Part], results: AtomicFile, out: Writer, refused: AtomicFile
) -> tuple[Counts, set[int]]:
    counts, epochs = Counts(0, 0, 0, 0), set[int]()
    for part in found:
        with output_errors(results.path):
            out.append(part.results)
        refused.write(part.rejects)
        counts += part.counts
        epochs |= part.snapshots
    return counts, epochs


def _snapshots(scorer: ScoresFiles, epochs: set[int]) -> dict[str, str] | None:
    """The digests of the snapshots of some epochs; None without a state."""
    if not scorer.pinned:
        return None
    return {str(epoch): scorer.pinned[epoch].digest for epoch in sorted(epochs)}
