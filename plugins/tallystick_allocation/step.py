"""A bound step: a pure, exact function of earlier columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick.rules.structure import table_of
from tallystick.rules.toml import KeyPath
from tallystick.scoring.computation import NamedValue, named, needed, ranges, unread
from tallystick_allocation import column as columns
from tallystick_allocation.column import Column, Number, Values
from tallystick_allocation.population import Population
from tallystick_allocation.rules import MINER, ROUND, UNGROUPED, Shape, StepRules

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry

Range = tuple[Fraction, Fraction]
"""The smallest and the largest value that a step can give."""
NOTHING: Range = (Fraction(), Fraction())
UNIT: Range = (Fraction(), Fraction(1))


@attrs.frozen
class Stop:
    """The end of the allocation: 0 for each place that has a value."""

    places: tuple[int, ...]


@attrs.frozen(slots=False)
class Given:
    """The input of a step: the population and the results of earlier steps.

    Attributes:
        population: the miners, and what is known of them.
        keys: whose the places of a column are: the hotkeys of the population, and after them who
            else may get a share.
        values: what earlier steps gave, by name.
    """

    population: Population
    keys: tuple[str, ...]
    values: Mapping[str, Values]

    def __repr__(self) -> str:
        return f"<Given of {numbered(self.miners, 'miner')}: {', '.join(self.values)}>"

    @property
    def miners(self) -> int:
        """The number of miners, whose places are the first."""
        return len(self.population.miners)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each key."""
        return {key: index for index, key in enumerate(self.keys)}

    def flat(self, name: str) -> Column:
        """Return the column of a step that gives one."""
        column = self.values[name]
        assert not isinstance(column, Number | Mapping)  # noqa: S101  # as binding has seen to
        return column

    def grouped(self, name: str) -> Mapping[str, Column]:
        """Return the columns of a step by group; its one column under the name of the one group."""
        column = self.values[name]
        assert not isinstance(column, Number)  # noqa: S101  # as binding has seen to
        return column if isinstance(column, Mapping) else {"": column}


@attrs.frozen(eq=False)
class Surroundings:
    """The surroundings that a step is bound in.

    Attributes:
        registry: the plugins that the rule set names.
        groups: the share of each group, by name in order; empty without groups.
        grouping: what the groups are made by.
        within: by the ``value`` of a collect step, the range of the values of records, where it is
            known.
        exact: the measures that are fractions of any length rather than rounded.
    """

    registry: Registry
    groups: Mapping[str, Fraction]
    grouping: str
    within: Mapping[str, Range]
    exact: frozenset[str]

    def groups_of(self, shape: Shape) -> tuple[str, ...]:
        """Return the names of the groups in which a step of a shape is computed."""
        return tuple(self.groups) or (UNGROUPED,) if shape == "grouped" else (UNGROUPED,)


@attrs.frozen
class Collected:
    """The values of records that a step collects.

    Attributes:
        value: the value of a record that is collected.
        factors: what a weighted mean weighs by, sorted.
        counts_missed: whether a missed deadline counts as 0.
        within: the range of each value, where it is known.
    """

    value: str
    factors: frozenset[str]
    counts_missed: bool
    within: Range | None


@attrs.frozen(eq=False, slots=False)
class AllocationStep(NamedValue[Range]):
    """A step of an allocation, bound.

    Laws of weights are asked of steps: `sums_to_one`, `prefers_hotkeys`, `sizes`, `marks`,
    `collected`, `is_score` and the range. A further kind of step answers them itself.

    Attributes:
        rules: its values in the rule set.
        inputs: the earlier steps that it reads.
        shape: the shape of its result.
        origin: the keys of the rule set that have the step.
    """

    rules: StepRules
    inputs: tuple[AllocationStep, ...]
    shape: Shape
    origin: KeyPath

    @classmethod
    def bound(cls, parts: Mapping[str, Any], surroundings: Surroundings) -> AllocationStep:
        """Return the step of its rules.

        Args:
            parts: the attributes of every step, by name.
            surroundings: what else a step can be bound to.
        """
        del surroundings
        return cls(**parts)

    @property
    def name(self) -> str:
        """The name by which later steps read it."""
        return self.rules.name

    @property
    def kind(self) -> str:
        """The word in ``do``."""
        return self.rules.do

    @property
    def operation(self) -> list[Any]:
        """The operation without its inputs, as JSON values."""
        table = table_of(self.rules)
        return [{key: value for key, value in table.items() if key != "name"}]

    @property
    def carries(self) -> bool:
        """True where its result is kept for the next round."""
        return False

    @property
    def is_whole(self) -> bool:
        """True where its values are whole numbers of nano."""
        return self.rules.publish or self.carries

    @property
    def attributes(self) -> tuple[str, ...]:
        """The flags and numbers of miners that it reads, by name."""
        return ()

    def recipients(self, population: Population) -> tuple[str, ...]:
        """Return the keys that get a share by name, of miners of the population too."""
        del population
        return () if self.rules.recipient is None else (self.rules.recipient,)

    @property
    @abstractmethod
    def prefers_hotkeys(self) -> bool:
        """True where it prefers the same ones of miners that are alike in every round."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of miners from which on it leaves some out."""
        return ()

    @property
    def marks(self) -> frozenset[Decimal]:
        """The values of its input at which it begins to treat miners in another way."""
        return frozenset()

    @property
    def collected(self) -> Collected | None:
        """The values of records that it collects."""
        return None

    @property
    def is_score(self) -> bool:
        """True where it makes the values that other steps choose or share by."""
        return False

    def sums_to_one(self, inputs: bool) -> bool:
        """Return whether its values, before they are rounded, sum to 1, or are all 0 or absent.

        Args:
            inputs: whether it holds of all that the step reads.
        """
        return self.rules.sums_to_one(inputs)

    @abstractmethod
    def apply(self, given: Given) -> Values | Stop:
        """Return the result of the step.

        Raises:
            AllocationError: where the step refuses what it is given.
            UndecidedError: a comparison is not decided.
        """

    def notes(self, given: Given) -> Iterator[str]:
        """Yield what it does with its input otherwise than its rules say alone, for people."""
        del given
        yield from ()

    def reason(self) -> str:
        """Return why a miner has nothing here who has something before, for people."""
        return "the value is 0"

    def nothing(self) -> str:
        """Return the same of a miner who has no value here, rather than one of 0."""
        return self.reason()


COMPUTED_BY: dict[type[StepRules], type[AllocationStep]] = {}
"""The step that is computed for some rules, by their class; `computes` adds each."""
_Step = TypeVar("_Step", bound=AllocationStep)


def computes(rules: type[StepRules]) -> Callable[[type[_Step]], type[_Step]]:
    """Let a step be the one that is bound for rules of a class."""

    def add(step: type[_Step]) -> type[_Step]:
        COMPUTED_BY[rules] = step
        return step

    return add


@attrs.frozen(eq=False, slots=False)
class ColumnStep(AllocationStep):
    """A step that changes one column, in each group on its own."""

    def apply(self, given: Given) -> Values | Stop:
        """Return the column, or one for each group."""
        source = given.values[self.inputs[0].name]
        if isinstance(source, Mapping):
            return {group: self.changed(cells, group, given) for group, cells in source.items()}
        assert not isinstance(source, Number)  # noqa: S101  # as binding has seen to
        return self.changed(source, "", given)

    @abstractmethod
    def changed(self, column: Column, group: str, given: Given) -> Column:
        """Return the column of a group."""

    def range_of(self, ranges: Mapping[AllocationStep, Range]) -> Range:
        """Return the range of the column, and 0."""
        return hull(ranges[self.inputs[0]], NOTHING)


@attrs.frozen(slots=False)
class BoundAllocation:
    """An allocation, bound: its steps in order, the last of which is the weight.

    Attributes:
        steps: in order.
        group: what groups are made by; empty without groups.
        groups: the share of each group, in name order; empty without groups.
        reference: the rule set, as ``name@version``.
    """

    steps: tuple[AllocationStep, ...]
    group: str
    groups: Mapping[str, Fraction]
    reference: str

    def __repr__(self) -> str:
        return f"<BoundAllocation of {self.reference}, {numbered(len(self.steps), 'step')}>"

    @property
    def weight(self) -> AllocationStep:
        """The step that gives the weights."""
        return self.steps[-1]

    @property
    def digest(self) -> str:
        """The identity of the whole computation."""
        return self.weight.digest

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        """The range of each step by its name, where the allocation is proved."""
        return {step.name: result for step, result in ranges(self.steps).items()}

    @cached_property
    def wholes(self) -> Mapping[str, bool]:
        """Whether the values of each step sum to 1 but for rounding, by its name."""
        whole: dict[str, bool] = {}
        for step in self.steps:
            whole[step.name] = step.sums_to_one(all(whole[each.name] for each in step.inputs))
        return whole

    @property
    def carried(self) -> tuple[AllocationStep, ...]:
        """The steps whose values are kept for the next round."""
        return tuple(step for step in self.steps if step.carries)

    def step(self, name: str) -> AllocationStep:
        """Return the step of a name.

        Raises:
            AllocationError: there is none.
        """
        step = named(self.steps, name)
        if step is None:
            raise unknown_step(name, [step.name for step in self.steps])
        return step

    def needed(
        self, sinks: tuple[AllocationStep, ...], given: Mapping[str, Values]
    ) -> tuple[AllocationStep, ...]:
        """Return the steps that some steps need, in order, where the values of others are given."""
        return needed(self.steps, sinks, given)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values of records that are collected, in name order."""
        return tuple(sorted({collected.value for collected in self._collected}))

    @cached_property
    def weighed(self) -> Mapping[str, frozenset[str]]:
        """The factors that weighted means weigh by, by the value that is collected."""
        factors: dict[str, frozenset[str]] = {}
        for collected in self._collected:
            earlier = factors.get(collected.value, frozenset())
            factors[collected.value] = earlier | collected.factors
        return factors

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors of all weighted means, in name order."""
        return tuple(sorted(frozenset[str]().union(*self.weighed.values())))

    @cached_property
    def missed(self) -> frozenset[str]:
        """The values of which a missed deadline counts as 0."""
        return frozenset(
            collected.value for collected in self._collected if collected.counts_missed
        )

    @property
    def _collected(self) -> Iterator[Collected]:
        return (step.collected for step in self.steps if step.collected is not None)

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The kind of each attribute of miners and of the round that steps read, by its name."""
        kinds = {name: kind for step in self.steps for _, name, kind in step.rules.attributes()}
        read = {name for step in self.steps for name in step.attributes}
        return {**dict.fromkeys(sorted(read - kinds.keys()), "a number"), **kinds}

    @property
    def miner_attributes(self) -> Mapping[str, str]:
        """The attributes of miners, by their names alone."""
        return _of(MINER, self.attributes)

    @property
    def round_attributes(self) -> Mapping[str, str]:
        """The attributes of the round, by their names alone."""
        return _of(ROUND, self.attributes)

    @property
    def unread(self) -> tuple[AllocationStep, ...]:
        """The steps that no other step reads; the weight is one."""
        return unread(self.steps)


def unknown_step(name: str, known: Iterable[str]) -> AllocationError:
    """Return the error of a name that no step has."""
    return AllocationError(
        f"found the step {escaped(name)}, expected one of {', '.join(known)}", code="unknown-step"
    )


def _of(owner: str, attributes: Mapping[str, str]) -> Mapping[str, str]:
    owned = (item for item in attributes.items() if item[0].startswith(owner))
    return {name.removeprefix(owner): kind for name, kind in owned}


def hull(*ranges: Range) -> Range:
    """Return the range that holds some ranges."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def refuse_negative(column: Column, step: AllocationStep, given: Given) -> None:
    """Refuse a column that has a value below 0.

    Raises:
        AllocationError: it has one.
    """
    for index in columns.negative(column):
        value = columns.shown(column, index)
        raise AllocationError(
            f"{step.name}: found {value} of {escaped(given.keys[index])}, expected at least 0, or "
            "nobody has a weight: filter the values before (at_least = 0 with others = "
            '"zero"), or lift them',
            code="negative",
        )
