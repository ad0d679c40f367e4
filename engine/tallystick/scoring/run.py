"""Scoring a file: results, rejects and a receipt, whole or not at all, whoever does the work.

Snapshots are read from a state as records name their epochs, so workers begin without any. A part
whose epochs a worker did not have is made again here; what was learned goes with the chunks that
follow, and so do as many epochs after it, so that it seldom happens twice.
"""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from threading import Lock

import attrs

from tallystick.errors import TallystickError
from tallystick.io.sources import Chunk, Source
from tallystick.records.schema import schema_digest
from tallystick.rules.digest import used_formulas
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick.scoring.executors.portable import PortableFunction, ScorerSpec, code_of
from tallystick.scoring.facts.results import Scoring
from tallystick.scoring.output import OutputFormat, format_of
from tallystick.scoring.receipt import (
    Counts,
    Part,
    Progress,
    Receipt,
    engine_name,
    plugin_names,
    rules_by_epoch,
    run_files,
)
from tallystick.scoring.sources import source_of
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot

_LOG = logging.getLogger(__name__)

PREFETCH = 32
"""Minimum number of epochs that are read when a worker misses one."""


def score_file(  # noqa: PLR0913  # what a run needs
    rules: BoundRules,
    source: Path,
    output: Path,
    *,
    format_name: str | None = None,
    rejects: Path | None = None,
    receipt: Path | None = None,
    follow_links: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
    settings: str | None = None,
) -> Receipt:
    """Score the records of a file into results, rejects and a receipt.

    Args:
        rules: the bound rule set.
        source: a JSONL file, a facts file, or a folder of such files.
        output: where the results go; ``-`` is the standard output.
        format_name: of ``FORMATS``; by default by the name of the output.
        rejects: where rejected records go; by default beside the output.
        receipt: where the receipt goes; by default beside the output.
        follow_links: whether the name of an output may be a link.
        progress: told how far the run is.
        executor: who scores the chunks; by default this process.
        settings: the settings file that counted, for the receipt.

    Raises:
        InputError: the file cannot be read, or has no records.
        OutputError: a file cannot be written.
        EngineError: the workers cannot be used.
    """
    with run_files(
        source, output, rejects, receipt, follow_links=follow_links, progress=progress
    ) as files:
        chosen = format_of(output, format_name)
        # as it is when the run begins: a long one may outlive an installation
        records, code = source_of(source), code_of(rules)
        made = parts(rules, records, chosen, executor or InProcess())
        begin = partial(chosen.writer, rules.layout)
        counts, epochs = files.write(made, begin, records)
        formulas = {n for r in rules.each() for n in used_formulas(r.rule_set, r.registry)}
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
    _LOG.info("scored a file", extra={"source": source, "output": output, **attrs.asdict(counts)})
    return result


def _snapshot_digests(rules: BoundRules, epochs: Iterable[int]) -> dict[str, str] | None:
    """Return the digests of the snapshots of some epochs; None without a state."""
    if not rules.pinned:
        return None
    return {str(epoch): rules.pinned[epoch].digest for epoch in sorted(epochs)}


class PartScoring:
    """Scores chunks into parts of a run; a function that executors map."""

    def __init__(self, rules: BoundRules, output_format: OutputFormat) -> None:
        """Take the rule set and the format of the results."""
        self._scoring, self._format = Scoring(rules), output_format

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
        snapshots: pickled, those that are known by now.
    """

    chunk: Chunk
    snapshots: bytes = attrs.field(default=pickle.dumps({}), repr=False)


Missing = frozenset[int]
"""The epochs whose snapshots a worker did not have; in place of a part."""


class WorkerScoring:
    """Scores chunks in a worker, by the snapshots that are sent with each."""

    def __init__(self, rules: BoundRules, output_format: OutputFormat, epochs: Missing) -> None:
        """Take the rule set, the format of the results and the epochs that have a snapshot."""
        self._sent, self._lock = SnapshotCache(epochs), Lock()
        # a snapshot is complete already, so it is not completed once more
        self._score = PartScoring(attrs.evolve(rules, pinned=self._sent), output_format)

    def __call__(self, task: ScoringTask) -> Part | Missing:
        """Return the part of one chunk, or the epochs whose snapshots are missing.

        Raises:
            TallystickError: as scoring.
        """
        # the threads of a worker share the rule set, and one interpreter
        with self._lock:
            self._sent.turn_to(_unpickled(task.snapshots))
            part = self._score(task.chunk)
            return frozenset(self._sent.missing) or part


@attrs.frozen
class ScoringSpec(PortableFunction[ScoringTask, Part | Missing]):
    """Scores chunks in a worker.

    Attributes:
        scorer: the rule set.
        output_format: of the results.
        epochs: those that have a snapshot, known or not.
    """

    scorer: ScorerSpec
    output_format: OutputFormat
    epochs: frozenset[int] = frozenset()

    def make(self) -> WorkerScoring:
        """Bind the rule set."""
        return WorkerScoring(self.scorer.rules(), self.output_format, self.epochs)


@lru_cache(maxsize=2)
def _unpickled(data: bytes) -> Mapping[int, ThresholdSnapshot]:
    result: Mapping[int, ThresholdSnapshot] = pickle.loads(data)  # noqa: S301  # of the run's own making
    return result


@attrs.define(eq=False)
class SnapshotCache(Mapping[int, ThresholdSnapshot]):
    """Snapshots of which some are at hand; it notes which others were asked for.

    Attributes:
        every: the epochs that have a snapshot.
        known: the snapshots at hand.
        missing: those epochs that were asked for in vain.
    """

    every: frozenset[int]
    known: Mapping[int, ThresholdSnapshot] = attrs.field(factory=dict, init=False)
    missing: set[int] = attrs.field(factory=set, init=False)

    def turn_to(self, known: Mapping[int, ThresholdSnapshot]) -> None:
        """Begin anew, with other snapshots at hand."""
        self.known = known
        self.missing.clear()

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        if epoch not in self.every:
            raise KeyError(epoch)
        if epoch not in self.known:
            self.missing.add(epoch)
            return ThresholdSnapshot({}, "")
        return self.known[epoch]

    def __iter__(self) -> Iterator[int]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)


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
    here = PartScoring(rules, output_format)
    if not executor.is_elsewhere:
        return executor.map(here, source)
    function = ScoringSpec(ScorerSpec.of(rules), output_format, frozenset(rules.pinned))
    return _Learning(rules, here).parts(executor, function, source.places())


@attrs.define(eq=False)
class _Learning:
    """The snapshots of a state that workers have."""

    rules: BoundRules
    here: Callable[[Chunk], Part]
    known: dict[int, ThresholdSnapshot] = attrs.field(factory=dict)
    snapshots: bytes = attrs.field(default=pickle.dumps({}))
    waiting: deque[Chunk] = attrs.field(factory=deque)

    def parts(
        self,
        executor: Executor,
        function: Callable[[ScoringTask], Part | Missing],
        chunks: Iterable[Chunk],
    ) -> Generator[Part, None, None]:
        with closing(executor.map(function, self._tasks(chunks))) as result:
            for part in result:
                chunk = self.waiting.popleft()
                if isinstance(part, Part):
                    yield part
                else:
                    self._learn(sorted(part))
                    yield self.here(chunk)

    def _tasks(self, chunks: Iterable[Chunk]) -> Iterator[ScoringTask]:
        for chunk in chunks:
            self.waiting.append(chunk)
            yield ScoringTask(chunk, self.snapshots)

    def _learn(self, missing: list[int]) -> None:
        before = len(self.known)
        for epoch in missing:
            self._read(epoch)
        later = (epoch for epoch in sorted(self.rules.pinned) if epoch > missing[-1])
        # what is wrong with a snapshot is told when a record needs it
        with suppress(TallystickError):
            for epoch in islice(later, max(PREFETCH, before)):
                self._read(epoch)
        if len(self.known) > before:
            self.snapshots = pickle.dumps(self.known)

    def _read(self, epoch: int) -> None:
        if epoch not in self.known:
            # workers score; the digest is for the receipt alone
            self.known[epoch] = attrs.evolve(self.rules.pinned[epoch], digest="")
