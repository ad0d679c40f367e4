"""Counting chunks of a history, by whoever an executor has; the counts are added up.

What was counted of a chunk, and the flips that were found in it, come back as values.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from functools import cached_property

import attrs

from tallystick.io.chunks import Chunk
from tallystick.io.sources import Source
from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.executors.portable import PortableFunction, ScorerSpec
from tallystick_governance.backtest.aggregate import Aggregate, BatchCounter
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.comparison_model import FlipRows, Identity, OnFlips
from tallystick_governance.backtest.history import COUNTED, TOLD, wanted_by
from tallystick_governance.backtest.rounds import RoundStretches
from tallystick_governance.backtest.tracked_thresholds import TrackedThresholds


@attrs.frozen
class ChunkCount:
    """What one chunk comes to.

    Attributes:
        aggregate: the counts, of this chunk alone or of all so far.
        flips: by type, then by candidate, then by line.
    """

    aggregate: Aggregate
    flips: tuple[FlipRows, ...]


class ChunkCounting:
    """Counts chunks under all candidates; a function that executors map."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        flips: bool,
        into: Aggregate | None = None,
        stretches: RoundStretches | None = None,
        tracked: Sequence[TrackedThresholds] | None = None,
    ) -> None:
        """Read nothing yet.

        Args:
            candidates: the baseline first.
            flips: whether flips are wanted.
            into: what every chunk is added to; by default each has an aggregate of its own.
            stretches: of epochs or rounds, whose miners are to be told apart; by default they are
                not.
            tracked: of each candidate, the thresholds of each epoch; by default the seeds.
        """
        self._candidates, self._flips, self._into = candidates, flips, into
        self._stretches, self._tracked = stretches, tracked
        self._facts = wanted_by(candidates, TOLD if flips else COUNTED)

    def __call__(self, chunk: Chunk) -> ChunkCount:
        """What one chunk comes to.

        Raises:
            InputError: the chunk cannot be read.
        """
        flips = list[FlipRows]()
        batch = self._facts.batch(chunk)
        if self._stretches is not None:
            batch = self._stretches.labelled(batch)
        aggregate = Aggregate() if self._into is None else self._into
        self._counter.count(batch, aggregate, flips.append if self._flips else None)
        return ChunkCount(aggregate, tuple(flips))

    @cached_property
    def _counter(self) -> BatchCounter:
        return BatchCounter(self._candidates, self._tracked)


@attrs.frozen
class CountingSpec:
    """What a worker needs to count chunks.

    Attributes:
        scorers: the rule sets, the baseline first.
        flips: whether flips are wanted.
        stretches: of epochs or rounds, whose miners are to be told apart; None if they are not.
        tracked: of each candidate, the thresholds of each epoch; None for the seeds.
    """

    scorers: tuple[ScorerSpec, ...]
    flips: bool
    stretches: RoundStretches | None = None
    tracked: tuple[TrackedThresholds, ...] | None = None

    def make(self) -> ChunkCounting:
        """The function.

        Raises:
            EngineError: the worker is not like the process that began it.
        """
        candidates = [candidate_of(spec) for spec in self.scorers]
        return ChunkCounting(
            candidates, flips=self.flips, stretches=self.stretches, tracked=self.tracked
        )


def candidate_of(spec: ScorerSpec) -> Candidate:
    """The candidate that a worker makes of a specification, named by its digest.

    Raises:
        EngineError: the worker is not like the process that began it.
    """
    rules = spec.rules()
    return Candidate(Identity(spec.digest, rules.rule_set.reference, spec.digest), rules)


def count_chunks(  # noqa: PLR0913, PLR0917  # what is counted, how and where
    source: Source,
    candidates: Sequence[Candidate],
    executor: Executor,
    into: Aggregate,
    on_flips: OnFlips | None,
    stretches: RoundStretches | None = None,
    tracked: tuple[TrackedThresholds, ...] | None = None,
) -> Generator[None, None, None]:
    """Add the chunks of a history to an aggregate, in order; gives way after each.

    Args:
        source: the history.
        candidates: the baseline first.
        executor: who counts.
        into: the aggregate.
        on_flips: takes the flips.
        stretches: of epochs or rounds, whose miners are to be told apart; by default they are not.
        tracked: of each candidate, the thresholds of each epoch; by default the seeds.

    Raises:
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    flips = on_flips is not None
    function = PortableFunction(
        lambda: CountingSpec(
            tuple(ScorerSpec.of(each.rules) for each in candidates), flips, stretches, tracked
        ),
        # this process adds each chunk where it belongs, which saves the merge
        ChunkCounting(candidates, flips=flips, into=into, stretches=stretches, tracked=tracked),
    )
    chunks = source.places() if executor.is_elsewhere else iter(source)
    with closing(executor.map(function, chunks)) as counts:
        for count in counts:
            if on_flips is not None:
                for rows in count.flips:
                    on_flips(rows)
            if count.aggregate is not into:
                into.merge(count.aggregate)
            yield
