"""The constant answer: the best that a miner can send to every task without reading one.

A seeded search proposes answers to a few tasks. Each is then given to other tasks of the pool, and
fields of the best are exchanged for those of the others, or for lists with the items of all, where
the mean score grows. That there is no better answer is not said.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from tallystick.errors import UndecidedError
from tallystick.json_values import json_fields
from tallystick.plugins.generator import Draw
from tallystick.scoring.bound import BoundType
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.scores import walk
from tallystick.scoring.value import Value
from tallystick_conformance.search import SUBMISSION, Effort, best_moves
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_simulation.behaviour import (
    BEHAVIOURS,
    Behave,
    Behaviour,
    RecordObject,
    idle,
    rush,
)
from tallystick_simulation.pool import Key, TypePool
from tallystick_simulation.response import Trial
from tallystick_simulation.strategy import HONEST, MinerStrategy
from tallystick_simulation.type_profile import TypeProfile

CONSTANT = "constant"
"""Name of the strategy that gives a constant answer."""
_IDLE = "idle"
"""Name of the strategy from which it differs by the answer alone, and whose assumptions it has."""
_SEARCHED = 4
"""Maximum number of tasks to which answers are searched."""
_PROPOSED = 2
"""Maximum number of answers that are taken of the search for one task."""
_JUDGED = 8
"""Maximum number of other tasks by which answers are compared."""
_EFFORT = Effort(points=256, rounds=8, parents=6)

Submission = Mapping[str, Any]
"""The part of a record that its miner writes, as JSON values."""


@json_fields(nano=("mean",))
@attrs.frozen
class ConstantAnswer:
    """The best answer to every task that a search found.

    Attributes:
        submission: as a record has it; times are moved to the first moment that is no fault.
        mean: the mean score over tasks that were not searched, in nano: of emissions, or of
            qualities where the rules have no emission; where it is not valid it counts 0.
    """

    submission: Submission
    mean: int


def constant_answer(trial: Trial) -> ConstantAnswer | None:
    """Return the best constant answer that a search finds.

    None where nothing is scored, or nothing of what a miner answered is in the records.

    Args:
        trial: the rules, the skill type, and the pool that has the tasks; its seed decides.
    """
    bound = trial.rules.types[trial.skill_type]
    if not bound.has_quality or SUBMISSION not in bound.schema["properties"]:
        return None
    judge = _Judge(trial, bound.emission or bound.quality)
    proposed = [*_proposed(trial, judge.value)]
    means = [judge.mean(submission) for submission in proposed]
    mean = max(means)
    best = proposed[means.index(mean)]
    for name in sorted({name for submission in proposed for name in submission}):
        for value in _values(name, proposed):
            mixed = {**best, name: value}
            of_mixed = judge.mean(mixed)
            if of_mixed > mean:
                best, mean = mixed, of_mixed
    return ConstantAnswer(best, mean)


def _values(name: str, proposed: Sequence[Submission]) -> list[Any]:
    """Return the values of a field in some answers, and of lists the one with all their items."""
    values = _different(submission[name] for submission in proposed if name in submission)
    if all(isinstance(value, list) for value in values):
        values.append(_different(item for value in values for item in value))
    return values


def _different(values: Iterable[Any]) -> list[Any]:
    """Return each of some JSON values once."""
    return [*{json.dumps(value, sort_keys=True): value for value in values}.values()]


def constant_strategy(trial: Trial, answer: ConstantAnswer) -> MinerStrategy:
    """Return the strategy that gives a constant answer."""
    # trials of several rule sets can share a pool, and differ in the answer
    name = f"{CONSTANT}:{json.dumps(answer.submission, sort_keys=True)}"
    return MinerStrategy(
        name=CONSTANT,
        summary="gives one answer to every task, the best that a search found",
        behaviour=Behaviour(name, constant(answer.submission)),
        cost=trial.assumptions.cost(_IDLE),
        accuracy=trial.assumptions.accuracy(_IDLE),
    )


def constant(submission: Submission) -> Behave:
    """Return the behaviour that gives one answer to every task, and does nothing else.

    A task for which the answer is not valid has none.
    """

    def answer(profile: TypeProfile, draw: Draw, record: RecordObject) -> RecordObject | None:
        return _given(submission, profile, draw, idle(profile, draw, record))

    return answer


def _given(
    submission: Submission, profile: TypeProfile, draw: Draw, idle: RecordObject | None
) -> RecordObject | None:
    """Return the record of who did nothing but give an answer, at the first moment for it."""
    assert idle is not None  # noqa: S101  # who is idle answers
    changed = {**idle, SUBMISSION: copy.deepcopy(dict(submission))}
    return rush(profile, draw, changed) if profile.integers(changed) is not None else None


def _proposed(trial: Trial, value: Value) -> Iterator[Submission]:
    """Yield honest answers to some tasks, each before those that score more there."""
    scorer, pool = Scorer.of(trial.rules), trial.pool.of(trial.skill_type)
    honest = pool.block(Key(BEHAVIOURS[HONEST], trial.assumptions.accuracy(HONEST))).records
    for number, record in enumerate(honest[:_SEARCHED]):
        yield record[SUBMISSION]
        seed = trial.setting.seed + number
        moves = best_moves(scorer, record, value, seed, _EFFORT)
        yield from (move.record[SUBMISSION] for move in moves[:_PROPOSED])


@attrs.frozen(eq=False, slots=False)
class _Judge:
    """Compares constant answers by their mean score over the tasks of a pool.

    Attributes:
        trial: the rules, the skill type and the pool.
        value: the score.
    """

    trial: Trial
    value: Value

    @cached_property
    def _pool(self) -> TypePool:
        return self.trial.pool.of(self.trial.skill_type)

    @cached_property
    def _bound(self) -> BoundType:
        return self.trial.rules.types[self.trial.skill_type]

    @cached_property
    def _reader(self) -> FactReader:
        return FactReader(self._bound.schema, self._bound.facts)

    @cached_property
    def _idle(self) -> tuple[RecordObject, ...]:
        """The records of who does nothing, in which a constant answer stands.

        Those of the tasks that were searched would count as if every miner knew them.
        """
        key = Key(BEHAVIOURS[_IDLE], self.trial.assumptions.accuracy(_IDLE))
        return self._pool.block(key).records[_SEARCHED : _SEARCHED + _JUDGED]

    def mean(self, submission: Submission) -> int:
        """Return the mean score of an answer, in nano."""
        profile, draw = self._pool.profile, Draw(0)
        answers = (_given(submission, profile, draw, record) for record in self._idle)
        return sum(map(self._score, answers)) // max(1, len(self._idle))

    def _score(self, answer: RecordObject | None) -> int:
        """Return the score of a record in nano; 0 of one that has none."""
        facts = None if answer is None else self._reader.integers(answer)
        if facts is None:
            return 0
        cuts = self._bound.cuts(self.trial.rules.thresholds[self._bound.name])
        try:
            return walk(self._bound.values, facts, cuts)[self.value] or 0
        except UndecidedError:
            return 0
