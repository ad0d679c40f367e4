"""Runs: the parts of an input in order, made by this process or by the workers of an engine.

Snapshots are read from a state as records name their epochs, so workers begin without any. A part
whose epochs were not at hand is made again here; what was learned goes with the pieces that follow,
and so do as many epochs after it, so that it seldom happens twice.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from tallystick.errors import TallystickError
from tallystick.io.chunks import Scorable, ScoresBatches
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.scored import Part, Scoring, ScoringTask, part_of
from tallystick.scoring.executors.scorer_spec import ScorerSpec
from tallystick.scoring.executors.work import Engine
from tallystick.scoring.output import encoder
from tallystick.scoring.sources import Source
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot

if TYPE_CHECKING:
    from tallystick.scoring.batch import ResultBatch  # noqa: F401  # named in a base class

PREFETCH = 32
"""How many epochs are read at least, when one is missed."""


class ScoresFiles(BoundRules, ScoresBatches["ResultBatch"], Protocol):
    """What scores a file: a bound rule set that can say what it is."""

    @property
    def loaded(self) -> LoadedRuleSet:
        """The rule set and where it comes from."""


def parts(
    scorer: ScoresFiles, source: Source, format_name: str, engine: Engine | None
) -> Generator[Part]:
    """The parts of the results of a source, in order; the same whoever makes them.

    Args:
        scorer: the bound rule set.
        source: the records.
        format_name: of the results.
        engine: whose workers score the pieces; None scores them here.

    Raises:
        InputError: the records cannot be read.
        EngineError: the workers cannot be used.
    """
    if engine is None:
        encode = encoder(format_name, scorer.axis_names)
        return (part_of(batch, encode) for batch in source.batches(scorer))
    return _Shared(scorer, format_name).parts(source.pieces(), engine)


@attrs.define(eq=False)
class _Shared:
    """Scoring by workers, and what of the snapshots they have been told."""

    scorer: ScoresFiles
    format_name: str
    known: dict[int, ThresholdSnapshot] = attrs.field(factory=dict)
    snapshots: bytes | None = None
    waiting: deque[Scorable] = attrs.field(factory=deque)

    def parts(self, pieces: Iterable[Scorable], engine: Engine) -> Generator[Part]:
        scorer = self.scorer
        if scorer.pinned:
            self.snapshots = pickle.dumps(self.known)
        recipe = ScorerSpec.of(scorer.loaded, scorer.registry, scorer.thresholds)
        work = Scoring(recipe, self.format_name, frozenset(scorer.pinned))
        answers: Any = engine.run(work, self._tasks(pieces))
        with closing(answers):
            for part in answers:
                piece = self.waiting.popleft()
                yield self._again(piece, part.missing) if part.missing else part

    def _tasks(self, pieces: Iterable[Scorable]) -> Iterator[ScoringTask]:
        for piece in pieces:
            self.waiting.append(piece)
            yield ScoringTask(piece, self.snapshots)

    def _again(self, piece: Scorable, missing: Iterable[int]) -> Part:
        self._learn(sorted(missing))
        encode = encoder(self.format_name, self.scorer.axis_names)
        return part_of(piece.results(self.scorer), encode)

    def _learn(self, missing: list[int]) -> None:
        before = len(self.known)
        for epoch in missing:
            self._read(epoch)
        later = (epoch for epoch in sorted(self.scorer.pinned) if epoch > missing[-1])
        # what is wrong with a snapshot is told when a record needs it
        with suppress(TallystickError):
            for epoch in islice(later, max(PREFETCH, before)):
                self._read(epoch)
        if len(self.known) > before:
            self.snapshots = pickle.dumps(self.known)

    def _read(self, epoch: int) -> None:
        if epoch not in self.known:
            # workers score; the digest is for the receipt alone
            self.known[epoch] = attrs.evolve(self.scorer.pinned[epoch], digest="")
