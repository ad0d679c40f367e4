"""Steps of an allocation, as rule sets have them and bound.

A step is one class: its attributes are the keys of the file, and its methods are all that follows
from them: checks, shape, range, computation, proof marks and words. A further kind of step is such
a class, its word in `rules.STEPS`, and its keys in the schema. Docs: docs/allocation.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import AllocationError
from tallystick.formula.tree import bind
from tallystick.io.text import escaped
from tallystick.numbers import real
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import FormulaReference, formula_of
from tallystick.rules.structure import table_of
from tallystick.scoring.computation import NamedValue
from tallystick_allocation.column import Column, Values
from tallystick_allocation.population import MINER, UNGROUPED, Population
from tallystick_allocation.recipients import key_of
from tallystick_allocation.step_input import StepInput

if TYPE_CHECKING:
    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.toml import KeyPath

Shape = Literal["grouped", "flat", "number"]
"""Results of steps: a column for each group, one column, or a number."""
Range = tuple[Fraction, Fraction]
"""The smallest and the largest value that a step can give."""
NOTHING: Range = (Fraction(), Fraction())
UNIT: Range = (Fraction(), Fraction(1))

_NAMES = "tallystick_allocation.names"
_STEPS = ("a column", "an order")
_NO_ATTRIBUTES = (*_STEPS, "a recipient")


def names(
    what: Literal[
        "a column", "an order", "a recipient", "a text", "a hotkey", "a flag", "a number"
    ],
) -> Mapping[str, str]:
    """Return the metadata of a key that names something, or several: a table by its keys.

    Args:
        what: a column is an earlier step, or a number of miners; an order is such a name, by which
            equal values are ordered, behind ``-`` from the least; a recipient gets a share by name,
            see `recipients`; the others are attributes of miners or of the round.
    """
    return {_NAMES: what}


@attrs.frozen
class Stop:
    """The end of the allocation by a step: 0 for each place that has a value."""

    step: str
    places: tuple[int, ...]


@attrs.frozen
class Remembered:
    """A result, and the other columns that the step keeps for the next round.

    Attributes:
        values: the result.
        memory: the others by name; whole numbers of nano.
    """

    values: Values
    memory: Mapping[str, Values]


StepResult = Values | Stop | Remembered
"""The result of a step, or how it ends the allocation."""


@attrs.frozen
class Collected:
    """The values of records that a step collects.

    Attributes:
        value: the value of a record that is collected.
        factors: what a weighted mean weighs by.
        counts_missed: whether a missed deadline counts as 0.
        of_round: whether it collects of the round alone that is closed.
        within: the range of each value, where it is known.
    """

    value: str
    factors: frozenset[str]
    counts_missed: bool
    of_round: bool
    within: Range | None


@attrs.frozen(kw_only=True)
class AllocationStep(ABC):
    """One step of an allocation.

    Laws of weights are asked of steps: `sums_to_one`, `can_empty`, `prefers_hotkeys`,
    `sizes`, `marks`, `is_score`, `can_bind`, `keeps_shares`, `needs_nonnegative`,
    `refuses_negative`, `collected` and the range. A further kind answers them.

    Attributes:
        name: by which later steps read it.
        do: what it does.
        publish: whether its values are rounded half-even to nine places; others stay exact.
        takes: the only shape of the columns that it reads; None where groups and one column do.
        gives: the shape of its result; None where that is the shape of what it reads.
        memory: the columns that it keeps for the next round: ``""`` is its result.
        recalls: whether it reads what another step keeps beside its result.
        needs_nonnegative: whether it may leave nobody with a weight where a value is below 0.
        keeps_shares: whether its values are shares of one whole where all that it reads are.
        limits: the range of its values, whatever it reads; None where the first column has it.
        keeps_somebody: whether somebody has more than 0 wherever somebody of its input has.
        meaning: the meaning of its values, for people; by default its keys say it.
        lack: the reason why a miner has nothing here who has something before. In both ``{step}``
            is the step, and ``{columns}`` are the names of those that it reads.
        is_score: whether it makes the values that other steps choose or share by.
        can_bind: whether it bounds the values of the one step that it reads, or chooses among them,
            so that it may leave each as it is.
    """

    name: str
    do: str
    publish: bool = False
    takes: ClassVar[Shape | None] = None
    gives: ClassVar[Shape | None] = None
    memory: ClassVar[tuple[str, ...]] = ()
    recalls: ClassVar[bool] = False
    limits: ClassVar[Range | None] = None
    keeps_somebody: ClassVar[bool] = False
    meaning: ClassVar[str] = ""
    lack: ClassVar[str] = "the value is 0"
    needs_nonnegative: ClassVar[bool] = False
    keeps_shares: ClassVar[bool] = False
    is_score: ClassVar[bool] = False
    can_bind: ClassVar[bool] = False

    @property
    def carries(self) -> bool:
        """True where something of it is kept for the next round."""
        return bool(self.memory)

    @property
    def is_rounded(self) -> bool:
        """True where its values are rounded, as they are published or carried."""
        return self.publish or self.carries

    @property
    def keeps_absent(self) -> bool:
        """True where who has no new value keeps what it had."""
        return False

    @property
    def refuses_negative(self) -> bool:
        """True where one value below 0 ends the allocation."""
        return self.needs_nonnegative

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of miners from which on it leaves some out."""
        return ()

    @property
    def marks(self) -> frozenset[Decimal]:
        """The values of its input at which it begins to treat miners in another way."""
        return frozenset()

    @property
    def sentence(self) -> str:
        """The meaning of its values, for people."""
        if self.meaning:
            return self._said(self.meaning)
        table = {k: v for k, v in table_of(self).items() if k not in ("name", "publish")}
        return ", ".join(f"{key} {value}" for key, value in table.items())

    # at loading

    def columns(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the earlier steps that it names, each with its key; a formula reads others too."""
        return ((path, name) for path, name, what in self._names if what == "a column")

    def named(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield the keys of who gets a share by name, each with its key in the table."""
        return ((path, name) for path, name, what in self._names if what == "a recipient")

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield the attributes that it names: its key, the name, and what the attribute is."""
        for (key, *_), name, what in self._names:
            if what not in _NO_ATTRIBUTES:
                yield str(key), name, what

    def reference(self, _: KeyPath, /) -> FormulaReference | None:
        """Return the formula that it names at a path of the rule set; None without one."""
        return None

    def source(self, name: str, /) -> str:
        """Return the step, or the attribute of miners, that is an input of its formula."""
        return name

    def inputs(self, _: Registry, /) -> Iterator[tuple[KeyPath, str]]:
        """Yield the earlier steps that it reads, each with the key that leads to it."""
        yield from self.columns()
        yield from ((path, name) for path, name, what in self._names if what == "an order")

    def mistakes(self, _: KeyPath, __: EarlierSteps, /) -> Iterator[Finding]:
        """Yield what is wrong with its keys, where every name leads to an earlier step."""
        yield from ()

    def mistakes_as_last(self, _: KeyPath, /) -> Iterator[Finding]:
        """Yield what is wrong with its keys where its values are the weights."""
        yield from ()

    def shape(self, inputs: Iterable[Shape], _: bool, /) -> Shape:
        """Return the shape of its result, by those of what it reads and if there are groups."""
        return self.gives or ("grouped" if "grouped" in inputs else "flat")

    def sums_to_one(self, _: bool, /) -> bool:
        """Return whether its values, before they are rounded, sum to 1, or are all 0 or absent.

        It is asked with whether this holds of all that the step reads. Of a column of groups it is
        so in each group. A step that can be given values below 0 refuses them, drops them, or sums
        them up as they are.
        """
        return False

    def can_empty(self, _: Mapping[str, Range], /) -> bool:
        """Return whether it can leave nobody with more than 0 though its input has somebody.

        It is asked with the ranges of the steps by name.
        """
        return not self.keeps_somebody

    # bound

    def identity(self, _: BoundStep, /) -> list[Any]:
        """Return the identity of what it computes beside its keys and inputs, as JSON values."""
        return []

    def is_whole(self, _: BoundStep, /) -> bool:
        """Return whether its values are whole numbers of nano."""
        return self.is_rounded

    def range_of(self, _: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range of its values from those of what it reads, in the order of `inputs`."""
        return self.limits or hull(inputs[0], NOTHING)

    def prefers_hotkeys(self, _: BoundStep, /) -> bool:
        """Return whether it prefers the same ones of miners that are alike in every round."""
        return False

    def collected(self, _: BoundStep, /) -> Collected | None:
        """Return the values of records that it collects; None without any."""
        return None

    def recipients(self, _: Population, /) -> tuple[str, ...]:
        """Return the keys that get a share by name, of miners of the population too."""
        return tuple(key for _, key in self.named())

    def range_of_memory(self, _: str, own: Range, __: Sequence[Range], /) -> Range:
        """Return the range of a part of its memory, from its own and those of what it reads."""
        return own

    @abstractmethod
    def apply(self, bound: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the result of the step.

        Raises:
            AllocationError: where the step refuses what it is given.
            UndecidedError: a comparison is not decided.
        """

    def notes(self, _: StepInput, /) -> Iterator[str]:
        """Yield what it does with its input otherwise than its rules say alone, for people."""
        yield from ()

    def reason(self) -> str:
        """Return why a miner has nothing here who has something before, for people."""
        return self._said(self.lack)

    def nothing(self) -> str:
        """Return the same of a miner who has no value here, rather than one of 0."""
        return self.reason()

    def refuse_negative(self, column: Column, step_input: StepInput) -> None:
        """Refuse a column that has a value below 0.

        Raises:
            AllocationError: it has one.
        """
        for place in column.negative:
            value, key = real.decimal(column.at(place)), escaped(step_input.keys[place])
            raise AllocationError(
                f"{self.name}: found {value} of {key}, expected at least 0, or nobody has a "
                'weight: filter the values before (at_least = 0 with others = "zero"), or lift '
                "them",
                code="negative",
            )

    def needless(self, path: KeyPath, key: str, expected: str) -> Iterator[Finding]:
        """Yield the mistake of a key that nothing reads, where the table has it."""
        value = getattr(self, key)
        if value != getattr(attrs.fields(type(self)), key).default:
            yield mistake((*path, key), shown(value), expected)

    def _said(self, text: str) -> str:
        return text.format(step=self, columns=", ".join(name for _, name in self.columns()))

    @property
    def _names(self) -> Iterator[tuple[KeyPath, str, str]]:
        """Each name in its table, with the key, and what it names."""
        for key, what in _named_by(type(self)).items():
            for path, name in _entries(key, getattr(self, key)):
                is_number = name.startswith(MINER) and what in _STEPS
                yield path, name, "a number" if is_number else what


@cache
def _named_by(step: type[AllocationStep]) -> Mapping[str, str]:
    """Return the kind of what each key of a step names, of those that name something."""
    metadata = {field.name: field.metadata for field in attrs.fields(step)}
    return {key: own[_NAMES] for key, own in metadata.items() if _NAMES in own}


def _entries(key: str, value: object) -> Iterator[tuple[KeyPath, str]]:
    """Yield the names that are the value of a key, each with its place."""
    match value:
        case str() | int():
            yield (key,), key_of(value)
        case tuple():
            yield from (((key, index), name.removeprefix("-")) for index, name in enumerate(value))
        case Mapping():
            yield from (((key, name), name) for name in value)


@attrs.frozen(kw_only=True)
class ColumnStep(AllocationStep):
    """A step that gives a column, in each group on its own."""

    def apply(self, bound: BoundStep, step_input: StepInput, /) -> StepResult:
        """Return the column, or one for each group."""
        return bound.by_group(lambda group: self.column(group, bound, step_input))

    @abstractmethod
    def column(self, group: str, bound: BoundStep, step_input: StepInput, /) -> Column:
        """Return the column of a group.

        Raises:
            AllocationError: where the step refuses what it is given.
        """


@attrs.frozen(kw_only=True)
class StepOfColumn(ColumnStep):
    """A step that reads one column, ``of``."""

    of: str = attrs.field(metadata=names("a column"))


@attrs.frozen
class EarlierSteps:
    """The checked steps before one, in their rule set.

    Attributes:
        rule_set: the rule set.
        sections: the names of its sections.
        groups: the names of the groups.
        registry: the plugins that it names.
        steps: the steps by name.
    """

    rule_set: RuleSet
    sections: Collection[str]
    groups: Collection[str]
    registry: Registry
    steps: dict[str, BoundStep] = attrs.field(factory=dict)

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Their shapes."""
        return {name: step.shape for name, step in self.steps.items()}

    def unknown_groups(self, path: KeyPath, names: Iterable[str]) -> Iterator[Finding]:
        """Yield the names that no group has."""
        for name in names:
            if name not in self.groups:
                hint = nearest(name, self.groups) or f": {one_of(self.groups)}"
                yield mistake(path, shown(name), f"a group of [allocation]{hint}")


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


@attrs.frozen(eq=False, slots=False)
class BoundStep(NamedValue):
    """A step that is bound to the earlier ones that it reads: a pure, exact function of them.

    Attributes:
        rules: the step as the rule set has it.
        inputs: the earlier steps that it reads.
        shape: the shape of its result.
        origin: the keys of the rule set that have the step.
        surroundings: what else it is bound to.
    """

    rules: AllocationStep
    inputs: tuple[BoundStep, ...]
    shape: Shape
    origin: KeyPath
    surroundings: Surroundings = attrs.field(repr=False)

    @classmethod
    def of(
        cls,
        origin: KeyPath,
        rules: AllocationStep,
        earlier: Mapping[str, BoundStep],
        surroundings: Surroundings,
    ) -> BoundStep:
        """Return a step that is bound to those of earlier ones that it reads, by name."""
        names = dict.fromkeys(name for _, name in rules.inputs(surroundings.registry))
        inputs = tuple(earlier[name] for name in names if name in earlier)
        shape = rules.shape([step.shape for step in inputs], bool(surroundings.groups))
        return cls(rules, inputs, shape, origin, surroundings)

    @cached_property
    def sums_to_one(self) -> bool:
        """True where its values sum to 1 but for rounding, or are all 0 or absent."""
        return self.rules.sums_to_one(all(step.sums_to_one for step in self.inputs))

    @cached_property
    def is_normalised(self) -> bool:
        """True where they do so exactly."""
        of_inputs = all(step.is_normalised for step in self.inputs)
        return not self.rules.is_rounded and self.rules.sums_to_one(of_inputs)

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
        own = {key: value for key, value in table.items() if key != "name"}
        return [own, *self.rules.identity(self)]

    @cached_property
    def formula(self) -> Formula | None:
        """The formula that it names, with its parameters bound; None without one."""
        reference = self.rules.reference(())
        if reference is None:
            return None
        formula = formula_of(reference, self.surroundings.registry)
        assert formula is not None  # noqa: S101  # as the checks have seen to
        parameters = {name: Fraction(value) for name, value in reference.parameters.items()}
        return attrs.evolve(formula, tree=bind(formula.tree, parameters))

    @property
    def read_by_formula(self) -> Mapping[str, str]:
        """The step, or the attribute of miners, that each input of its formula is, by its name."""
        names = () if self.formula is None else self.formula.published
        return {name: self.rules.source(name) for name in names}

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups in which it is computed; of one group ``""``."""
        groups = tuple(self.surroundings.groups) if self.shape == "grouped" else ()
        return groups or (UNGROUPED,)

    @property
    def is_whole(self) -> bool:
        """True where its values are whole numbers of nano."""
        return self.rules.is_whole(self)

    @property
    def collected(self) -> Collected | None:
        """The values of records that it collects."""
        return self.rules.collected(self)

    def range_of(self, ranges: Mapping[BoundStep, Range]) -> Range:
        """Return the range of its values from those of its inputs."""
        return self.rules.range_of(self, [ranges[read] for read in self.inputs])

    def by_group(self, column: Callable[[str], Column]) -> Values:
        """Return a column for each group, or the one of ``""``."""
        columns = {group: column(group) for group in self.groups}
        return columns if self.shape == "grouped" else columns[UNGROUPED]

    @property
    def memory(self) -> Iterator[tuple[str, str, str]]:
        """Each column that it keeps for the next round: its name, which one, and its group."""
        for part in self.rules.memory:
            for group in self.groups:
                yield memory_name(self.name, part, group), part, group

    def recalled(
        self, carry: Mapping[str, Mapping[str, int]], keys: Sequence[str]
    ) -> Mapping[str, Values]:
        """Return what it kept as values, by the name under which steps read each.

        Args:
            carry: what was carried, in nano, by column and key.
            keys: of the places.
        """
        columns: dict[str, dict[str, Column]] = {}
        for name, part, group in self.memory:
            of_part = columns.setdefault(memory_name(self.name, part, ""), {})
            of_part[group] = Column.of_nano(carry.get(name, {}), keys)
        return {name: self.by_group(by_group.__getitem__) for name, by_group in columns.items()}

    def apply(self, step_input: StepInput) -> StepResult:
        """Return the result of the step; see `AllocationStep.apply`."""
        return self.rules.apply(self, step_input)


def memory_name(step: str, part: str, group: str) -> str:
    """Return the name of a column that a step keeps: of itself, or a part of it, in a group."""
    return step + (f".{part}" if part else "") + (f":{group}" if group else "")


def hull(*ranges: Range) -> Range:
    """Return the range that holds some ranges."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)
