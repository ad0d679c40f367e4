"""The replays of all candidates, one task each, by whoever an executor has.

A worker reads the history by its path. It gives the states of a candidate back with the outcome, so
those of a few candidates wait in memory for their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

import attrs

from tallystick.scoring.executors.executor import Executor
from tallystick.scoring.executors.portable import PortableFunction, ScorerSpec
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.chunk_count import candidate_of
from tallystick_governance.backtest.comparison_model import (
    EpochState,
    OnEpoch,
    Outcome,
    StateOutcome,
)
from tallystick_governance.backtest.epoch_replay import Calendar, calendar_of, replay
from tallystick_governance.backtest.history import Reader, check_unchanged, reader_of


def replays(
    reader: Reader,
    candidates: Sequence[Candidate],
    outcome: Outcome,
    on_epoch: OnEpoch,
    executor: Executor,
) -> Generator[StateOutcome, None, None]:
    """What the epochs of a history come to under each candidate, in their order.

    Args:
        reader: the history.
        candidates: the rule sets.
        outcome: what the history comes to without epochs.
        on_epoch: takes the states.
        executor: who replays.

    Raises:
        StateError: a rule set has no epochs.
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    calendar = calendar_of(reader, outcome.history.defects)
    miners = tuple(miner.hotkey for miner in outcome.miners)
    function = PortableFunction(
        lambda: ReplaySpec(
            tuple(ScorerSpec.of(each.rules) for each in candidates),
            # workers may have another working directory
            reader.path.absolute(),
            outcome.history.digest,
            calendar,
            miners,
        ),
        Replay(candidates.__getitem__, lambda _: reader, calendar, miners),
    )
    with closing(executor.map(function, range(len(candidates)))) as found:
        for replayed in found:
            for state in replayed.epochs:
                on_epoch(state)
            yield replayed.outcome


@attrs.frozen
class Replayed:
    """What the replay of one candidate comes to.

    Attributes:
        outcome: the sums and the last state.
        epochs: the states in their order.
    """

    outcome: StateOutcome
    epochs: tuple[EpochState, ...]


@attrs.frozen(eq=False)
class Replay:
    """Replays a history under the candidate at a position; a function that executors map.

    Attributes:
        candidate: the candidate at a position.
        reader: the history as a candidate needs it.
        calendar: of the history.
        miners: the hotkeys in the order of the outcome's counts.
    """

    candidate: Callable[[int], Candidate]
    reader: Callable[[Candidate], Reader]
    calendar: Calendar
    miners: tuple[str, ...]

    def __call__(self, place: int) -> Replayed:
        """What the replay of one candidate comes to.

        Raises:
            EngineError: the worker is not like the process that began it.
            InputError: the history cannot be read, or is another one than before.
            StateError: the rule set has no epochs.
        """
        candidate, epochs = self.candidate(place), list[EpochState]()
        reader = self.reader(candidate)
        outcome = replay(place, candidate, reader, self.calendar, self.miners, epochs.append)
        return Replayed(outcome, tuple(epochs))


@attrs.frozen(eq=False)
class ReplaySpec:
    """What a worker needs to replay.

    Attributes:
        scorers: the rule sets.
        path: of the history.
        digest: of the history, by which another one of that name is known.
        calendar: of the history.
        miners: the hotkeys in the order of the outcome's counts.
    """

    scorers: tuple[ScorerSpec, ...]
    path: Path
    digest: str
    calendar: Calendar = attrs.field(repr=False)
    miners: tuple[str, ...] = attrs.field(repr=False)

    def make(self) -> Replay:
        """The function, which binds a candidate when it is its turn."""
        return Replay(
            lambda place: candidate_of(self.scorers[place]),
            self._reader,
            self.calendar,
            self.miners,
        )

    def _reader(self, candidate: Candidate) -> Reader:
        check_unchanged(self.path, self.digest)
        return reader_of(self.path, [candidate])
