"""Sharing a back-test: workers count pieces of the history, and their counts are added up.

A worker gets the rule sets as recipes and binds them once. What it counted of a piece, and the
flips that it found, come back as values.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.governance.backtest.aggregate import Counted, Counting
from tallystick.governance.backtest.candidates import Candidate
from tallystick.governance.backtest.comparison_model import FlipRows, Identity
from tallystick.governance.backtest.history import COUNTED, TOLD, Reader, reader_of
from tallystick.io.chunks import Scorable
from tallystick.scoring.executors.scorer_spec import ScorerSpec
from tallystick.scoring.executors.work import Engine
from tallystick.scoring.facts.batch import FactBatch, shifted
from tallystick.scoring.facts.extraction import Extractor, Taking
from tallystick.scoring.facts.file import about, read
from tallystick.scoring.facts.source import FactsPiece


@attrs.frozen
class Share:
    """What one piece comes to.

    Attributes:
        counted: the counts.
        flips: in the order in which one process would tell them.
    """

    counted: Counted
    flips: tuple[FlipRows, ...]


@attrs.frozen
class Work:
    """Counts pieces in a worker.

    Attributes:
        recipes: the rule sets, the baseline first.
        flips: whether flips are wanted.
    """

    recipes: tuple[ScorerSpec, ...]
    flips: bool

    def __call__(self, piece: Scorable) -> Share:
        """What one piece comes to.

        Raises:
            EngineError: the worker is not like the process that began it.
            InputError: the piece cannot be read.
        """
        bench = _bench(self.recipes)
        flips = list[FlipRows]()
        counting = bench.counting.emptied(flips.append if self.flips else None)
        counting.add(_batch_of(piece, bench, TOLD if self.flips else COUNTED))
        return Share(counting.counted(), tuple(flips))


def shares(
    reader: Reader, candidates: Sequence[Candidate], engine: Engine, *, flips: bool
) -> Generator[Share]:
    """What the pieces of a history come to, in order, counted by the workers of an engine.

    Raises:
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    recipes = tuple(map(recipe_of, candidates))
    answers: Any = engine.run(Work(recipes, flips), reader.source().pieces())
    with closing(answers):
        yield from answers


@attrs.frozen(eq=False)
class WorkerContext:
    """What a worker needs for every piece."""

    counting: Counting
    reader: Reader
    taking: Taking


@lru_cache(maxsize=1)
def _bench(recipes: tuple[ScorerSpec, ...]) -> WorkerContext:
    candidates = [candidate_of(recipe) for recipe in recipes]
    reader = reader_of(None, candidates)
    return WorkerContext(Counting(candidates), reader, Taking(Extractor(reader.catalogues)))


def recipe_of(candidate: Candidate) -> ScorerSpec:
    """What a worker needs to be one candidate."""
    scorer = candidate.scorer
    return ScorerSpec.of(scorer.loaded, scorer.registry, scorer.thresholds)


def candidate_of(recipe: ScorerSpec) -> Candidate:
    """The candidate of a recipe, named by its digest.

    Raises:
        EngineError: the worker is not like the process that began it.
    """
    scorer = recipe.scorer()
    return Candidate(Identity(recipe.digest, scorer.rule_set.reference, recipe.digest), scorer)


def _batch_of(piece: Scorable, bench: WorkerContext, fields: Sequence[str]) -> FactBatch:
    if not isinstance(piece, FactsPiece):
        return piece.results(bench.taking)
    if about(piece.path).checksum != piece.checksum:
        raise InputError(
            f"{piece.path}: found another facts file than before, expected one that stays as it "
            "is, the same for every worker: run again"
        )
    reader = bench.reader
    found = read(piece.path, reader.catalogues, reader.wanted, fields, piece.chunk)
    return shifted(next(found), piece.before)
