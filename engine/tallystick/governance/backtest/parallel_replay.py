"""Replays: the epochs of a history under every candidate, here or by workers, one candidate each.

A worker reads the history by its path, as it reads pieces of it. It gives the states of a candidate
back with the outcome, so those of a few candidates wait in memory for their turn.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.governance.backtest.candidates import Candidate
from tallystick.governance.backtest.comparison_model import (
    EpochState,
    OnEpoch,
    Outcome,
    StateOutcome,
)
from tallystick.governance.backtest.epoch_replay import Calendar, calendar_of, replay
from tallystick.governance.backtest.history import Reader, reader_of
from tallystick.governance.backtest.shared import candidate_of, recipe_of
from tallystick.scoring.executors.scorer_spec import ScorerSpec
from tallystick.scoring.executors.work import Engine


def replays(
    reader: Reader,
    candidates: Sequence[Candidate],
    outcome: Outcome,
    on_epoch: OnEpoch,
    engine: Engine | None = None,
) -> Generator[StateOutcome]:
    """What the epochs of a history come to under each candidate, in their order.

    Args:
        reader: the history.
        candidates: the rule sets.
        outcome: what the history comes to without epochs.
        on_epoch: takes the states.
        engine: whose workers replay; by default this process does.

    Raises:
        StateError: a rule set has no epochs.
        InputError: the history cannot be read.
        EngineError: the workers cannot be used.
    """
    calendar = calendar_of(reader)
    miners = tuple(miner.hotkey for miner in outcome.miners)
    if engine is None:
        for place, candidate in enumerate(candidates):
            yield replay(place, candidate, reader, calendar, miners, on_epoch)
        return
    # workers may have another working directory
    work = Replaying(reader.path.absolute(), outcome.history.digest, calendar, miners)
    tasks = [Turn(place, recipe_of(candidate)) for place, candidate in enumerate(candidates)]
    answers: Any = engine.run(work, tasks)
    with closing(answers):
        for replayed in answers:
            for state in replayed.epochs:
                on_epoch(state)
            yield replayed.outcome


@attrs.frozen
class Turn:
    """One candidate.

    Attributes:
        place: its position.
        recipe: the rule set.
    """

    place: int
    recipe: ScorerSpec


@attrs.frozen
class Replayed:
    """What the replay of one candidate comes to.

    Attributes:
        outcome: the sums and the last state.
        epochs: the states, in the order in which one process would tell them.
    """

    outcome: StateOutcome
    epochs: tuple[EpochState, ...]


@attrs.frozen
class Replaying:
    """Replays a history in a worker.

    Attributes:
        path: of the history.
        digest: of the history, by which another one of that name is known.
        calendar: of the history.
        miners: the hotkeys in the order of the outcome's counts.
    """

    path: Path
    digest: str
    calendar: Calendar = attrs.field(repr=False)
    miners: tuple[str, ...] = attrs.field(repr=False)

    def __call__(self, turn: Turn) -> Replayed:
        """What the replay of one candidate comes to.

        Raises:
            EngineError: the worker is not like the process that began it.
            InputError: the history cannot be read, or is another one than before.
            StateError: the rule set has no epochs.
        """
        candidate, epochs = candidate_of(turn.recipe), list[EpochState]()
        reader = reader_of(self.path, [candidate])
        if reader.digest() != self.digest:
            raise InputError(
                f"{self.path}: found another history than before, expected one that stays as it "
                "is, the same for every worker: run again"
            )
        outcome = replay(turn.place, candidate, reader, self.calendar, self.miners, epochs.append)
        return Replayed(outcome, tuple(epochs))
