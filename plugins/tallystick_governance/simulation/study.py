"""A study of a rule set: what each strategy pays, and what miners who follow pay come to.

Skill types are studied one by one, each by whoever an executor has; the answers do not depend on
it. What a study says is of made-up miners, and rests on assumptions. So it is best read as a change
against the rules in force, which the same miners meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.numbers.nano import NANO
from tallystick.records.messages import shown
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.executors.executor import Executor, InProcess
from tallystick.scoring.executors.portable import BoundRulesSpec, PortableFunction
from tallystick_governance.simulation.proofs import RetiredStrategy
from tallystick_simulation.assumptions import Assumptions
from tallystick_simulation.constant_answer import (
    CONSTANT,
    ConstantAnswer,
    constant_answer,
    constant_strategy,
)
from tallystick_simulation.mixture import Course, course
from tallystick_simulation.newcomer import Newcomer, newcomer
from tallystick_simulation.response import (
    Response,
    Setting,
    Trial,
    best_of,
    deterring_detection,
    responses,
    trials,
)
from tallystick_simulation.strategy import HONEST
from tallystick_simulation.switches import exercised_by_none

MIXED = 4
"""Maximum number of deviations in a mixture: those that gain most."""
EPSILON = NANO // 50
"""Change of a gain, in nano of honest pay, up to which it is no news."""
Progress = Callable[[int, int], None]


@attrs.frozen(kw_only=True)
class TypeStudy:
    """The study of one skill type.

    Attributes:
        skill_type: its name.
        responses: of each strategy, honest work among them.
        detection: of the best deviation, the fewest of 100 dishonest answers that must be caught
            for honest work to pay; 0 where it pays anyway, None where no rate is enough.
        course: what honest work and the deviations that gain most come to; None where none gains.
        newcomer: what becomes of a newcomer.
        constant: the best answer to every task that a search found; None where none was searched.
        retired: the strategies that were not tried, as proofs tell what they come to.
    """

    skill_type: str
    responses: tuple[Response, ...]
    detection: int | None
    course: Course | None
    newcomer: Newcomer
    constant: ConstantAnswer | None = None
    retired: tuple[RetiredStrategy, ...] = ()

    @cached_property
    def best(self) -> Response | None:
        """The best deviation; None where none is tried, or honest work is paid nothing."""
        return best_of(self.responses)

    @cached_property
    def of_constant(self) -> Response | None:
        """The response of the constant answer; None where none was searched."""
        return next((r for r in self.responses if r.strategy == CONSTANT), None)


@attrs.frozen(eq=False, kw_only=True)
class Study:
    """The study of a rule set.

    Attributes:
        reference: the rule set.
        digest: its digest.
        setting: the size of the networks.
        assumptions: what was assumed.
        types: the studies of its skill types, in their order.
    """

    reference: str
    digest: str
    setting: Setting
    assumptions: Assumptions
    types: tuple[TypeStudy, ...]

    @property
    def responses(self) -> list[Response]:
        """The responses of all skill types."""
        return [response for of_type in self.types for response in of_type.responses]

    @property
    def not_exercised(self) -> tuple[str, ...]:
        """The switches of the rules that no strategy exercised which was tried alone."""
        return exercised_by_none(r.own.not_exercised for r in self.responses)


@attrs.frozen
class ResponseChange:
    """One strategy under the rules in force and under others.

    Attributes:
        before: under the rules in force.
        after: under the others.
    """

    before: Response
    after: Response

    @property
    def change(self) -> int | None:
        """The change of its gain, in nano of honest pay; None where one is not known."""
        if self.before.gain is None or self.after.gain is None:
            return None
        return self.after.gain - self.before.gain

    @property
    def begins_to_pay(self) -> bool:
        """True if it pays under the new rules and did not before."""
        return (self.after.gain or 0) > 0 >= (self.before.gain or 0) and not self.after.is_honest

    @property
    def is_clear(self) -> bool:
        """True if every seed agrees about whether it pays, under both."""
        return self.before.is_clear and self.after.is_clear

    @property
    def is_news(self) -> bool:
        """True if the change is larger than what two equal studies are held to."""
        return self.change is not None and abs(self.change) > EPSILON


def changes(before: Iterable[Response], after: Iterable[Response]) -> list[ResponseChange]:
    """Return the strategies that are tried in both, those that gain most by the change first."""
    known = {(response.skill_type, response.strategy): response for response in before}
    pairs = ((known.get((r.skill_type, r.strategy)), r) for r in after)
    both = [ResponseChange(old, response) for old, response in pairs if old is not None]
    return sorted(both, key=lambda change: -(change.change or 0))


def study(  # noqa: PLR0913  # the rules, and what decides the rest
    rules: BoundRules,
    setting: Setting,
    assumptions: Assumptions,
    *,
    strategies: Sequence[str] = (),
    types: Iterable[str] = (),
    examples: Mapping[str, dict[str, Any]] | None = None,
    retired: Sequence[RetiredStrategy] = (),
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Study:
    """Return the study of a rule set.

    Args:
        rules: the rule set, bound.
        setting: the size of the networks.
        assumptions: costs, accuracies and other numbers.
        strategies: the names of those that are tried; by default all that there are.
        types: the skill types; by default all of the rules.
        examples: records by the name of the strategy that answers like them, such as the
            counterexamples of a proof.
        retired: the strategies of examples that are not tried.
        executor: who works; by default this process.
        progress: told how many skill types are done, and of how many.

    Raises:
        InputError: there is no such skill type or strategy, or the rules read of records what a
            simulation cannot put in.
        StateError: the rules cannot be those of a state.
    """
    names, gone = _chosen(rules, types), {one.strategy for one in retired}
    tried = [name for name in strategies if name not in gone]
    spec = StudySpec(
        BoundRulesSpec.of(rules, __package__),
        setting,
        assumptions,
        # all that were asked for are retired: without a name all others would be tried
        tried or ([HONEST] if strategies else []),
        {name: record for name, record in (examples or {}).items() if name not in gone},
    )
    executor, studies = executor or InProcess(), list[TypeStudy]()
    function = spec if executor.is_elsewhere else partial(spec.of_type, rules)
    with closing(executor.map(function, names)) as studied:
        for of_type in studied:
            own = (one for one in retired if one.question.skill_type == of_type.skill_type)
            studies.append(attrs.evolve(of_type, retired=tuple(own)))
            if progress is not None:
                progress(len(studies), len(names))
    return Study(
        reference=rules.rule_set.reference,
        digest=rules.digest,
        setting=setting,
        assumptions=assumptions,
        types=tuple(studies),
    )


def _chosen(rules: BoundRules, types: Iterable[str]) -> list[str]:
    wanted = [*types]
    for name in wanted:
        if name not in rules.types:
            raise InputError(
                f"found the skill type {shown(name)}, expected one of {', '.join(rules.types)}"
            )
    return [name for name in rules.types if not wanted or name in wanted]


@attrs.frozen(eq=False)
class StudySpec(PortableFunction[str, TypeStudy]):
    """The arguments of a study as a value that workers can be sent.

    Attributes:
        scorer: the rules.
        setting: the size of the networks.
        assumptions: costs, accuracies and other numbers.
        strategies: the names of those that are tried; none for all.
        examples: records by the name of the strategy.
    """

    scorer: BoundRulesSpec
    setting: Setting
    assumptions: Assumptions = attrs.field(repr=False)
    strategies: Sequence[str]
    examples: Mapping[str, dict[str, Any]] = attrs.field(repr=False)

    def make(self) -> Callable[[str], TypeStudy]:
        """Return the function that studies a skill type.

        Raises:
            EngineError: the worker is not like the process that began it.
        """
        return partial(self.of_type, self.scorer.rules())

    def of_type(self, rules: BoundRules, name: str) -> TypeStudy:
        """Return the study of a skill type of the rules, which are bound."""
        (trial,) = trials(
            rules,
            self.setting,
            types=(name,),
            assumptions=self.assumptions,
            examples=self.examples,
        )
        return _studied(trial, self.strategies)


def _studied(trial: Trial, strategies: Sequence[str]) -> TypeStudy:
    """Return the study of one skill type."""
    constant = constant_answer(trial) if not strategies or CONSTANT in strategies else None
    if constant is not None:
        trial = attrs.evolve(trial, further=(*trial.further, constant_strategy(trial, constant)))
    tried = responses((trial,), strategies)
    best = best_of(tried)
    gaining = sorted(
        (r for r in tried if not r.is_honest and (r.gain or 0) > 0),
        key=lambda response: -(response.gain or 0),
    )
    mixed = [trial.strategies[response.strategy] for response in gaining[:MIXED]]
    fits = trial.setting.miners >= 2 * (1 + len(mixed))
    return TypeStudy(
        skill_type=trial.skill_type,
        responses=tried,
        detection=0
        if best is None or (best.gain or 0) <= 0
        else deterring_detection(trial, trial.strategies[best.strategy]),
        course=course(trial, mixed) if mixed and fits else None,
        newcomer=newcomer(trial),
        constant=constant,
    )
