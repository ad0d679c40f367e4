"""The weights of a line: its allocation, run on what its records came to.

What the chain is given, what a log of epochs says of it and what a dispute derives again are all
made here, of records that come from a store or from proven rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from tallystick.errors import AllocationError
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import repr_as
from tallystick.rules.model import RuleSet
from tallystick_allocation.allocate import Allocation, allocate, roster
from tallystick_allocation.column import Number, RationalColumn, Values, nano
from tallystick_allocation.files import RoundFile
from tallystick_allocation.population import Miner, Population
from tallystick_allocation.rules import (
    ALLOCATION,
    AllocationRules,
    Average,
    Collect,
    Filter,
    FormulaStep,
    Mix,
    StepRules,
)
from tallystick_allocation.step import AllocationStep, BoundAllocation
from tallystick_state.event import StateEvent
from tallystick_state.model import Columns
from tallystick_state.rules import StateRules
from tallystick_state.samples import Records, samples_of

IMMUNE = "immune"
"""The flag of a miner that the chain still protects."""


@attrs.frozen
class LineWeights:
    """What the miners of a line weigh.

    Attributes:
        weights: in nano, by hotkey, or ``uid:N`` of a slot that burns; empty where nobody has one.
        scores: by hotkey, the last rounded values that all weights come of, in nano; empty where
            there is no such column.
        allocation: every column; None where a step refused what it was given.
        refused: why it did; empty where none did.
    """

    weights: Mapping[str, int] = attrs.field(repr=repr_as("miner"))
    scores: Mapping[str, int] = attrs.field(repr=repr_as("miner"))
    allocation: Allocation | None
    refused: str = ""


@attrs.frozen(kw_only=True)
class Weighing:
    """What the weights of a line come of.

    Attributes:
        rules: which give them.
        records: of the line.
        hotkeys: of the miners with a slot.
        of_round: the events of the round that steps collect of which read one alone.
        carry: the columns that are carried, after all that counts.
        immune: the hotkeys of miners that the chain still protects.
        said: the attributes of miners, beside that, and of the round.
    """

    rules: StateRules
    records: Records
    hotkeys: Collection[str]
    of_round: Iterable[StateEvent]
    carry: Columns = attrs.field(factory=dict)
    immune: Collection[str] = ()
    said: RoundFile = attrs.field(factory=RoundFile)

    def population(self, rules: AllocationRules) -> Population:
        """The miners, and what is known of them."""
        hotkeys = {*self.hotkeys}
        found = samples_of(rules, self.records, hotkeys, self.of_round)
        if is_of_round(self.rules.rule_set):
            hotkeys = found.hotkeys
        return Population(
            tuple(map(self._miner, hotkeys)),
            found.of_all,
            of_round=found.of_round,
            round=self.said.round,
            carry=self.carry,
        )

    def _miner(self, hotkey: str) -> Miner:
        attributes = {IMMUNE: hotkey in self.immune, **self.said.miners.get(hotkey, {})}
        return Miner(hotkey, attributes=attributes)


def weigh(weighing: Weighing) -> LineWeights:
    """The weights of a line; what is carried takes the place of the step that carries it."""
    bound, rules = weighing.rules.allocation, weighing.rules.rule_set.section(ALLOCATION)
    if bound is None or rules is None:
        return LineWeights({}, {}, None)
    population = weighing.population(rules)
    keys = roster(bound, population)
    given = {step.name: _column(weighing.carry.get(step.name, {}), keys) for step in bound.carried}
    try:
        found = allocate(bound, population, given)
    except AllocationError as error:
        return LineWeights({}, {}, None, str(error))
    base = base_of(bound)
    scores = {} if base is None or found.stopped else _by_key(found.columns[base.name], keys)
    return LineWeights(_weights(found), scores, found)


def before_carried(found: Allocation) -> Mapping[str, Values]:
    """What the steps before a carried column give of the records of the last closed round.

    Weights come of what is carried, so that these are only to be shown; none where a step refuses
    that round alone.
    """
    bound = found.bound
    lacking = [step.name for step in bound.steps if step.name not in found.columns]
    kept = {step.name: found.columns[step.name] for step in bound.carried}
    try:
        columns = allocate(bound, found.given.population, kept, lacking).columns if lacking else {}
    except AllocationError:
        columns = {}
    return {name: columns[name] for name in lacking if name in columns}


def scores_of(weighing: Weighing) -> Mapping[str, int]:
    """The values of the step `base_of` by hotkey, in nano, of miners that may be a few of all."""
    bound, rules = weighing.rules.allocation, weighing.rules.rule_set.section(ALLOCATION)
    base = None if bound is None else base_of(bound)
    if bound is None or rules is None or base is None:
        return {}
    if base.carries:
        return weighing.carry.get(base.name, {})
    part = attrs.evolve(bound, steps=bound.steps[: bound.steps.index(base) + 1])
    population = weighing.population(rules)
    try:
        return allocate(part, population).weights
    except AllocationError:
        return {}


def is_of_each(bound: BoundAllocation) -> bool:
    """Whether what weights come of, and what is carried, is of each miner's own records alone."""
    base = base_of(bound)
    if base is None:
        return False
    steps = bound.needed((base, *bound.carried), {})
    return all(_is_of_each(step.rules) and _has_columns(step) for step in steps)


def _is_of_each(rules: StepRules) -> bool:
    match rules:
        case Collect() | Filter() | FormulaStep():
            return True
        case Average():
            return not rules.normalise
        case Mix():
            return rules.empty == "leave"
    return False


def _has_columns(step: AllocationStep) -> bool:
    """Whether a step reads columns alone, and no number of all miners."""
    return all(each.shape != "number" for each in step.inputs)


def weights_of(rules: StateRules, scores: Mapping[str, int]) -> Mapping[str, int]:
    """The weights in nano, by hotkey, that come of the scores of all; empty where nobody has one.

    Args:
        rules: which give them.
        scores: the values of the step `base_of`, in nano, by hotkey.
    """
    return weighed_by(rules, scores).weights


def weighed_by(rules: StateRules, scores: Mapping[str, int]) -> LineWeights:
    """The same with every column, and with the reason where a step refuses."""
    bound = rules.allocation
    base = None if bound is None else base_of(bound)
    if bound is None or base is None:
        return LineWeights({}, scores, None)
    population = Population(tuple(map(Miner, scores)))
    keys = roster(bound, population)
    try:
        found = allocate(bound, population, {base.name: _column(scores, keys)})
    except AllocationError as error:
        return LineWeights({}, scores, None, str(error))
    return LineWeights(_weights(found), scores, found)


def base_of(bound: BoundAllocation) -> AllocationStep | None:
    """The last step before the weight whose rounded values are all that the weight comes of."""
    for step in reversed(bound.steps[:-1]):
        if step.shape == "flat" and (step.rules.publish or step.carries):
            after = bound.needed((bound.weight,), {step.name: Number(None)})
            if not any(isinstance(each.rules, Collect) for each in after):
                return step
    return None


def is_of_round(rule_set: RuleSet) -> bool:
    """Whether weights are of who has a record in the round alone."""
    rules = rule_set.section(ALLOCATION)
    return rules is not None and rules.miners == "round"


def _weights(found: Allocation) -> Mapping[str, int]:
    """None rather than one of 0 for each, where nobody has a weight."""
    return found.weights if any(found.weights.values()) else {}


def _column(values: Mapping[str, int], keys: Sequence[str]) -> RationalColumn:
    return RationalColumn(tuple(map(values.get, keys)), NANO)


def _by_key(values: Values, keys: Sequence[str]) -> dict[str, int]:
    assert isinstance(values, RationalColumn)  # noqa: S101  # it is rounded
    return {key: each for key, each in zip(keys, nano(values), strict=True) if each is not None}
