"""Scoring a file: results, rejects and a receipt, whole or not at all, whoever does the work.

Snapshots are read from a state as records name their epochs, so workers begin without any. A part
whose epochs a worker did not have is made again here; what was learned goes with the chunks that
follow, and so do as many epochs after it, so that it seldom happens twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from itertools import islice

import attrs

from tallystick.errors import TallystickError
from tallystick.io.sources import Chunk, Source
from tallystick.records.schema import schema_digest
from tallystick.rules.digest import used_formulas
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.executors.portable import BoundRulesSpec, PortableFunction, code_of
from tallystick.scoring.facts.results import ChunkScorer
from tallystick.scoring.output import OutputFormat, format_of
from tallystick.scoring.receipt import Counts, Receipt, engine_name, plugin_names, rules_by_epoch
from tallystick.scoring.run_files import Part, RunFiles
from tallystick.scoring.sources import source_of
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot

PREFETCH = 32
"""Minimum number of epochs that are read when a worker misses one."""


def score_run(
    rules: BoundRules,
    files: RunFiles,
    format_name: str | None,
    executor: Executor,
    settings: str | None,
) -> Receipt:
    """Score the records of a run into its files.

    Args:
        rules: the bound rule set.
        files: of the run; a JSONL file, a facts file, or a folder of such files is its source.
        format_name: of ``FORMATS``; None is that of the name of the output.
        executor: who scores the chunks.
        settings: the settings file that counted, for the receipt.

    Raises:
        InputError: the file cannot be read, or has no records.
        OutputError: a file cannot be written.
        EngineError: the workers cannot be used.
    """
    chosen = format_of(files.target, format_name)
    # as it is when the run begins: a long one may outlive an installation
    records, code = source_of(files.source), code_of(rules)
    made = parts(rules, records, chosen, executor)
    counts, epochs = files.write(made, partial(chosen.writer, rules.layout), records)
    formulas = {n for r in rules.each() for n in used_formulas(r.rule_set)}
    spans = tuple(rules_by_epoch(rules))
    result = Receipt(
        rule_set=rules.rule_set.reference,
        rule_set_digest=rules.digest,
        formulas={name: rules.registry.formulas[name].digest for name in sorted(formulas)},
        schemas={name: schema_digest(schema) for name, schema in rules.schemas.items()},
        engine=engine_name(),
        plugins=plugin_names(rules.registry),
        code=code,
        snapshots=_snapshot_digests(rules, epochs),
        input_digest=records.digest,
        output_digest=files.output.digest(),
        rejects_digest=files.rejects.digest(),
        counts=counts,
        rules_by_epoch=spans if len(spans) > 1 else None,
        settings=settings,
    )
    files.receipt.write(result.to_json().encode())
    return result


def _snapshot_digests(rules: BoundRules, epochs: Iterable[int]) -> dict[str, str] | None:
    """Return the digests of the snapshots of some epochs; None without a state."""
    if not rules.pinned:
        return None
    return {str(epoch): rules.pinned[epoch].digest for epoch in sorted(epochs)}


class PartScorer:
    """Scores chunks into parts of a run; a function that executors map."""

    def __init__(self, rules: BoundRules, output_format: OutputFormat) -> None:
        """Take the rule set and the format of the results."""
        self._scoring, self._format = ChunkScorer(rules), output_format

    def __call__(self, chunk: Chunk) -> Part:
        """Return the part of one chunk.

        Raises:
            TallystickError: as scoring.
        """
        table = self._scoring.chunk(chunk)
        counts = Counts.of(len(table), table.answered, table.rejects)
        return Part(self._format.encode(table), table.rejects, counts, table.snapshots)


@attrs.frozen
class ScoringTask:
    """A chunk, and the snapshots by which a worker may score it.

    Attributes:
        chunk: the records.
        snapshots: those that are known by now, complete.
    """

    chunk: Chunk
    snapshots: Mapping[int, ThresholdSnapshot] = attrs.field(factory=dict, repr=False)


Missing = frozenset[int]
"""The epochs whose snapshots a worker did not have; in place of a part."""
_UNKNOWN = ThresholdSnapshot({}, "")
"""The snapshot of an epoch that a worker does not have."""


@attrs.frozen
class PortableScoring(PortableFunction[ScoringTask, Part | Missing]):
    """Scores chunks in a worker, by the snapshots that are sent with each.

    Attributes:
        scorer: the rule set.
        output_format: of the results.
        epochs: those that have a snapshot, known or not.
    """

    scorer: BoundRulesSpec
    output_format: OutputFormat
    epochs: frozenset[int] = frozenset()

    def make(self) -> Callable[[ScoringTask], Part | Missing]:
        """Bind the rule set."""
        pinned = dict.fromkeys(self.epochs, _UNKNOWN)
        # a snapshot is complete already, so it is not completed once more
        rules = attrs.evolve(self.scorer.rules(), pinned=pinned)
        part_of = PartScorer(rules, self.output_format)

        def scored(task: ScoringTask) -> Part | Missing:
            # no key is new, so the threads of a worker may read and write at once; of an epoch that
            # another task brings meanwhile this part is told to lack the snapshot
            pinned.update(task.snapshots)
            part = part_of(task.chunk)
            return part.snapshots - task.snapshots.keys() or part

        return scored


def parts(
    rules: BoundRules,
    source: Source,
    output_format: OutputFormat,
    executor: Executor,
) -> Generator[Part, None, None]:
    """Return the parts of the results of a source, in order; the same whoever makes them.

    Args:
        rules: the bound rule set.
        source: the records.
        output_format: of the results.
        executor: who scores the chunks.

    Raises:
        InputError: the records cannot be read.
        EngineError: the workers cannot be used.
    """
    here = PartScorer(rules, output_format)
    if not executor.is_elsewhere:
        return executor.map(here, source)
    function = PortableScoring(BoundRulesSpec.of(rules), output_format, frozenset(rules.pinned))
    return _parts_elsewhere(executor, function, source.places(), rules.pinned, here)


def _parts_elsewhere(
    executor: Executor,
    function: PortableScoring,
    chunks: Iterable[Chunk],
    pinned: Mapping[int, ThresholdSnapshot],
    here: PartScorer,
) -> Generator[Part, None, None]:
    """Yield the parts that workers make, and those made here for want of a snapshot there."""
    known: Mapping[int, ThresholdSnapshot] = {}
    waiting = deque[Chunk]()

    def tasks() -> Iterator[ScoringTask]:
        for chunk in chunks:
            waiting.append(chunk)
            yield ScoringTask(chunk, known)

    with closing(executor.map(function, tasks())) as results:
        for result in results:
            chunk = waiting.popleft()
            if isinstance(result, Part):
                yield result
            else:
                known = _with_more(known, pinned, result)
                yield here(chunk)


def _with_more(
    known: Mapping[int, ThresholdSnapshot],
    pinned: Mapping[int, ThresholdSnapshot],
    missing: Missing,
) -> Mapping[int, ThresholdSnapshot]:
    """Return the known snapshots with those that were missing, and with as many later ones."""
    # a new mapping, as the old one may be on its way to a worker
    result = dict(known) | {epoch: pinned[epoch] for epoch in missing}
    later = (epoch for epoch in sorted(pinned) if epoch > max(missing))
    # what is wrong with a snapshot is told when a record needs it
    with suppress(TallystickError):
        for epoch in islice(later, max(PREFETCH, len(known))):
            result[epoch] = pinned[epoch]
    return result
