"""Evidence: answers of the tools of governance about a change, asked only if a clause needs them.

Each property calls the tool itself; nothing is computed here that a command computes otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tallystick.extras import EXTRAS, missing
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.difference import RuleSetDifference, difference
from tallystick_governance.gate.measurement import (
    DeviationFigures,
    NotAskedError,
    WeightFigures,
)
from tallystick_governance.gate.policy import Measure
from tallystick_governance.lint.linting import Report, report_of
from tallystick_governance.prove.property import Answer, Status, is_late
from tallystick_governance.prove.unchanged import Unchanged, unchanged

if TYPE_CHECKING:
    from tallystick_governance.gate.sources import Source

_MILLION = 10**6
_BEST_FIRST: tuple[Status, ...] = ("proved", "undecided", "counterexample")
_Key = tuple[str, str, str, str]
"""Property, skill type, value and subject of a question."""


@attrs.frozen
class ChangedAnswer:
    """The answer to a question under the new rules, where it is worse than under the old ones.

    Attributes:
        answer: under the new rules.
        before: the status under the old rules; None where the question is new, or was late.
        is_late: whether one of the rule sets had no answer in time.
    """

    answer: Answer
    before: Status | None
    is_late: bool


@attrs.frozen(eq=False, slots=False)
class Evidence:
    """The answers of the tools about a change.

    Attributes:
        old: the rules before.
        new: the rules after.
        measure: the sizes of what is measured.
        source: the world that weights are measured on.
    """

    old: Scorer
    new: Scorer
    measure: Measure
    source: Source

    @cached_property
    def difference(self) -> RuleSetDifference:
        """The difference of the rule sets."""
        return difference(self.old, self.new)

    @cached_property
    def whole_lint(self) -> Report:
        """The report of the linter on the new rules."""
        return report_of(self.new)

    @cached_property
    def lint(self) -> Report:
        """The report of the linter on what is new beside the old rules."""
        return self.whole_lint.since(report_of(self.old))

    @cached_property
    def worse_answers(self) -> tuple[ChangedAnswer, ...]:
        """The answers that are not as good as under the old rules: refuted or undecided now.

        What both rule sets compute alike is asked of neither, and the old rules only what is not
        proved of the new ones.

        Raises:
            NotAskedError: the solver is not installed.
        """
        end = time.monotonic() + self.measure.proof_seconds
        replies = self._answers(self.new, end, unchanged(self.old, self.new))
        left = [answer for answer in replies if answer.status != "proved"]
        if not left:
            return ()
        before, late = dict[_Key, Status](), set[_Key]()
        for answer in self._answers(self.old, end, _all_but(self.old, left)):
            if is_late(answer):
                late.add(_key(answer))
                continue
            status = before.get(_key(answer), answer.status)
            before[_key(answer)] = min(status, answer.status, key=_BEST_FIRST.index)
        changed = list[ChangedAnswer]()
        for answer in left:
            key = _key(answer)
            was = before.get(key)
            if answer.status != was:
                changed.append(ChangedAnswer(answer, was, is_late(answer) or key in late))
        return tuple(changed)

    def _answers(self, rules: Scorer, end: float, left_out: Unchanged) -> tuple[Answer, ...]:
        try:
            from tallystick_governance.prove.process import prove_within  # loads the solver
        except ImportError as error:
            if error.name not in EXTRAS:
                raise
            raise NotAskedError(missing(error.name)) from None
        outcome = prove_within(
            rules,
            max(0.0, end - time.monotonic()),
            budget=self.measure.proof_steps * _MILLION,
            left_out=left_out,
        )
        if outcome.stopped is not None:
            raise outcome.stopped
        return outcome.answers

    @property
    def weights(self) -> tuple[WeightFigures, ...]:
        """The figures of weights, of each seed.

        Raises:
            NotAskedError: the source has none.
        """
        if isinstance(self._weights, NotAskedError):
            raise self._weights
        return self._weights

    @cached_property
    def _weights(self) -> tuple[WeightFigures, ...] | NotAskedError:
        # several clauses ask, and a history takes as long to fail as to succeed
        try:
            return self.source.weights()
        except NotAskedError as error:
            return error

    def deviations(self, strategies: Collection[str]) -> tuple[DeviationFigures, ...]:
        """Return the figures of some deviations, of all by default, of each seed.

        Raises:
            NotAskedError: the source has none.
        """
        return self.source.deviations(strategies)


def _key(answer: Answer) -> _Key:
    return answer.property, answer.skill_type, answer.axis, answer.about or ""


def _all_but(rules: Scorer, asked: Iterable[Answer]) -> Unchanged:
    """Return the values and sections of a rule set that some questions are not about."""
    from tallystick_governance.prove.proving import laws_of  # loads the solver

    values = {(name, value.name) for name, bound in rules.types.items() for value in bound.values}
    sections = {*rules.rule_set.sections}
    for answer in asked:
        laws = laws_of(answer.property)
        if laws is None:
            values.discard((answer.skill_type, answer.axis))
        else:
            sections.discard(laws.section)
    return Unchanged(frozenset(values), frozenset(sections))
