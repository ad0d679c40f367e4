"""A bound step: a pure, exact function of earlier columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.canonical import digest
from tallystick.errors import AllocationError
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick.rules.structure import table_of
from tallystick.rules.toml import KeyPath
from tallystick_allocation import column as columns
from tallystick_allocation.column import Column, Number, Values
from tallystick_allocation.population import Population
from tallystick_allocation.rules import MINER, ROUND, UNGROUPED, Collect, Shape, StepRules

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry

Range = tuple[Fraction, Fraction]
"""The smallest and the largest value that a step can give."""
NOTHING: Range = (Fraction(), Fraction())
UNIT: Range = (Fraction(), Fraction(1))


@attrs.frozen
class Stop:
    """What a step gives that ends the allocation: 0 for each place that has a value."""

    places: tuple[int, ...]


@attrs.frozen(slots=False)
class Given:
    """What a step is given.

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
        """How many of the places are of miners; they are the first."""
        return len(self.population.miners)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each key."""
        return {key: place for place, key in enumerate(self.keys)}

    def flat(self, name: str) -> Column:
        """The column of a step that gives one."""
        found = self.values[name]
        assert not isinstance(found, Number | Mapping)  # noqa: S101  # as binding has seen to
        return found

    def grouped(self, name: str) -> Mapping[str, Column]:
        """The columns of a step by group; its one column under the name of the one group."""
        found = self.values[name]
        assert not isinstance(found, Number)  # noqa: S101  # as binding has seen to
        return found if isinstance(found, Mapping) else {"": found}


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


@attrs.frozen(eq=False, slots=False)
class Step(ABC):
    """A step of an allocation, bound.

    Attributes:
        rules: what the rule set says of it.
        inputs: the earlier steps that it reads.
        shape: what it gives.
        origin: the keys of the rule set that say it.
    """

    rules: StepRules
    inputs: tuple[Step, ...]
    shape: Shape
    origin: KeyPath

    @classmethod
    def bound(cls, parts: Mapping[str, Any], surroundings: Surroundings) -> Step:
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

    @cached_property
    def digest(self) -> str:
        """The identity of what is computed: of the operation and of all that it reads."""
        return digest([self.operation, {step.name: step.digest for step in self.inputs}])

    @property
    def operation(self) -> list[Any]:
        """The operation without its inputs, as JSON values."""
        table = table_of(self.rules)
        return [{key: value for key, value in table.items() if key != "name"}]

    @property
    def carries(self) -> bool:
        """Whether what it gives is kept for the next round."""
        return False

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers of nano."""
        return self.rules.publish or self.carries

    @property
    def attributes(self) -> tuple[str, ...]:
        """The flags and numbers of miners that it reads, by name."""
        return ()

    def others(self, population: Population) -> tuple[str, ...]:
        """Who gets a share though it is no miner of the population."""
        del population
        return ()

    @abstractmethod
    def range_of(self, ranges: Mapping[str, Range]) -> Range:
        """What its values can be when those of its inputs are in some ranges, by name."""

    @abstractmethod
    def apply(self, given: Given) -> Values | Stop:
        """What the step gives.

        Raises:
            AllocationError: where the step refuses what it is given.
            UndecidedError: a comparison is not decided.
        """

    def reason(self) -> str:
        """Why a miner has nothing here that has something before, for people."""
        return "the value is 0"

    def nothing(self) -> str:
        """The same of a miner who has no value here, rather than one of 0."""
        return self.reason()


COMPUTED_BY: dict[type[StepRules], type[Step]] = {}
"""The step that is computed for some rules, by their class; `computes` adds each."""
_Step = TypeVar("_Step", bound=Step)


def computes(rules: type[StepRules]) -> Callable[[type[_Step]], type[_Step]]:
    """Let a step be the one that is bound for rules of a class."""

    def add(step: type[_Step]) -> type[_Step]:
        COMPUTED_BY[rules] = step
        return step

    return add


@attrs.frozen(eq=False, slots=False)
class ColumnStep(Step):
    """A step that changes one column, in each group on its own."""

    def apply(self, given: Given) -> Values | Stop:
        """The column, or one for each group."""
        source = given.values[self.inputs[0].name]
        if isinstance(source, Mapping):
            return {group: self.changed(each, group, given) for group, each in source.items()}
        assert not isinstance(source, Number)  # noqa: S101  # as binding has seen to
        return self.changed(source, "", given)

    @abstractmethod
    def changed(self, column: Column, group: str, given: Given) -> Column:
        """The column of a group."""

    def range_of(self, ranges: Mapping[str, Range]) -> Range:
        """The range of the column, and 0."""
        return hull(ranges[self.inputs[0].name], NOTHING)


@attrs.frozen(slots=False)
class BoundAllocation:
    """An allocation, bound: its steps in order, the last of which is the weight.

    Attributes:
        steps: in order.
        group: what groups are made by; empty without groups.
        groups: the share of each group, in name order; empty without groups.
        reference: the rule set, as ``name@version``.
    """

    steps: tuple[Step, ...]
    group: str
    groups: Mapping[str, Fraction]
    reference: str

    def __repr__(self) -> str:
        return f"<BoundAllocation of {self.reference}, {numbered(len(self.steps), 'step')}>"

    @property
    def weight(self) -> Step:
        """The step that gives the weights."""
        return self.steps[-1]

    @property
    def digest(self) -> str:
        """The identity of the whole computation."""
        return self.weight.digest

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        """What each step can come to, by its name, where the allocation is proved."""
        found: dict[str, Range] = {}
        for step in self.steps:
            found[step.name] = step.range_of(found)
        return found

    @property
    def carried(self) -> tuple[Step, ...]:
        """The steps whose values are kept for the next round."""
        return tuple(step for step in self.steps if step.carries)

    def step(self, name: str) -> Step:
        """The step of a name.

        Raises:
            AllocationError: there is none.
        """
        for step in self.steps:
            if step.name == name:
                return step
        raise unknown_step(name, [step.name for step in self.steps])

    def needed(self, sinks: tuple[Step, ...], given: Mapping[str, Values]) -> tuple[Step, ...]:
        """The steps that some steps need, in order, where the values of others are given."""
        wanted: dict[str, Step] = {}
        pending = [step for step in sinks if step.name not in given]
        while pending:
            step = pending.pop()
            if step.name not in wanted:
                wanted[step.name] = step
                pending += (each for each in step.inputs if each.name not in given)
        return tuple(step for step in self.steps if step.name in wanted)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """What is collected of records, in name order."""
        return tuple(sorted({rules.value for rules in self._collected}))

    @cached_property
    def weighed(self) -> Mapping[str, frozenset[str]]:
        """By the value of a weighted mean what it is weighed by."""
        found: dict[str, frozenset[str]] = {}
        for rules in self._collected:
            names = frozenset((*rules.times, *rules.over))
            found[rules.value] = found.get(rules.value, frozenset()) | names
        return found

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """What weighted means weigh by, in name order."""
        return tuple(sorted(frozenset[str]().union(*self.weighed.values())))

    @cached_property
    def missed(self) -> frozenset[str]:
        """The values of which a missed deadline counts as 0."""
        return frozenset(rules.value for rules in self._collected if rules.missed == "zero")

    @property
    def _collected(self) -> Iterator[Collect]:
        return (step.rules for step in self.steps if isinstance(step.rules, Collect))

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """What steps ask of miners and of the round: what each is, by its name."""
        asked = {name: kind for step in self.steps for _, name, kind in step.rules.attributes()}
        read = {name for step in self.steps for name in step.attributes}
        return {**dict.fromkeys(sorted(read - asked.keys()), "a number"), **asked}

    @property
    def miner_attributes(self) -> Mapping[str, str]:
        """Those of miners, by their names alone."""
        return _of(MINER, self.attributes)

    @property
    def round_attributes(self) -> Mapping[str, str]:
        """Those of the round, by their names alone."""
        return _of(ROUND, self.attributes)

    @property
    def unread(self) -> tuple[Step, ...]:
        """The steps that no other step reads; the weight is one."""
        read = {each.name for step in self.steps for each in step.inputs}
        return tuple(step for step in self.steps if step.name not in read)


def unknown_step(name: str, known: Iterable[str]) -> AllocationError:
    """The error of a name that no step has."""
    return AllocationError(
        f"found the step {escaped(name)}, expected one of {', '.join(known)}", code="unknown-step"
    )


def _of(owner: str, attributes: Mapping[str, str]) -> Mapping[str, str]:
    owned = (item for item in attributes.items() if item[0].startswith(owner))
    return {name.removeprefix(owner): kind for name, kind in owned}


def hull(*ranges: Range) -> Range:
    """The range that holds some ranges."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def refuse_negative(column: Column, step: Step, given: Given) -> None:
    """Refuse a column that has a value below 0.

    Raises:
        AllocationError: it has one.
    """
    for place in columns.negative(column):
        value = columns.shown(column, place)
        raise AllocationError(
            f"{step.name}: found {value} of {escaped(given.keys[place])}, expected at least 0: "
            "shares are of values that are not negative",
            code="negative",
        )
