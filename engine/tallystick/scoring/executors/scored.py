"""Scoring as work: a piece of records becomes a part of the files of a run."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

import attrs

from tallystick.io.chunks import Scorable
from tallystick.scoring.executors.scorer_spec import ScorerSpec
from tallystick.scoring.output import Encode, Encoded, encoder
from tallystick.scoring.receipt import Counts
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot

if TYPE_CHECKING:
    from tallystick.scoring.batch import ResultBatch

_ONE_AT_A_TIME = Lock()


@attrs.frozen
class Part:
    """What a piece adds to the files of a run.

    Attributes:
        results: encoded for the writer of the format.
        rejects: lines of the rejects file.
        counts: how many records there were.
        snapshots: the epochs of records whose snapshots were pinned.
        missing: epochs whose snapshots were not at hand; if there are any, the part is void.
    """

    results: Encoded
    rejects: bytes
    counts: Counts
    snapshots: frozenset[int]
    missing: frozenset[int] = frozenset()


def part_of(batch: ResultBatch, encode: Encode) -> Part:
    """The part of the results of a piece."""
    scored, rejected = int(batch.decimals["quality"].given.sum()), len(batch.rejects)
    return Part(
        results=encode(batch),
        rejects=b"".join(reject.to_json() + b"\n" for reject in batch.rejects),
        counts=Counts(len(batch) + rejected, scored, len(batch) - scored, rejected),
        snapshots=batch.snapshots,
    )


@attrs.frozen
class ScoringTask:
    """A piece, and the snapshots by which it may be scored.

    Attributes:
        piece: the records.
        snapshots: pickled, those that are known by now; None without a state.
    """

    piece: Scorable
    snapshots: bytes | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Scoring:
    """Scores pieces in a worker.

    Attributes:
        recipe: of the scorer.
        format_name: of the results.
        epochs: those that have a snapshot, known or not.
    """

    recipe: ScorerSpec
    format_name: str
    epochs: frozenset[int] = frozenset()

    def __call__(self, task: ScoringTask) -> Part:
        """The part of one piece.

        Raises:
            TallystickError: as the scorer; and the worker is not like the process that began it.
        """
        # the threads of a worker share a scorer, and one interpreter
        with _ONE_AT_A_TIME:
            scorer, at_hand = _prepared(self.recipe, self.epochs)
            if task.snapshots is not None:
                at_hand.turn_to(_unpickled(task.snapshots))
            batch = task.piece.results(scorer)
            if at_hand.missing:
                return Part(b"", b"", Counts(0, 0, 0, 0), frozenset(), frozenset(at_hand.missing))
            return part_of(batch, encoder(self.format_name, scorer.axis_names))


@lru_cache(maxsize=2)
def _prepared(recipe: ScorerSpec, epochs: frozenset[int]) -> tuple[Scorer, SnapshotCache]:
    at_hand = SnapshotCache(epochs)
    # a snapshot is complete already, so it is not completed once more
    return attrs.evolve(recipe.scorer(), pinned=at_hand), at_hand


@lru_cache(maxsize=2)
def _unpickled(data: bytes) -> Mapping[int, ThresholdSnapshot]:
    found: Mapping[int, ThresholdSnapshot] = pickle.loads(data)  # noqa: S301  # of the run's own making
    return found


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
