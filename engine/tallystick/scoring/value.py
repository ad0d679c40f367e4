"""The named values of a bound skill type, each an operation on facts and earlier values.

A skill type is an ordered list of them: axes, measures, composite, gates, tier, multiplier,
factors, emission. What runs the list (one record, columns), explains it, or proves something about
it walks it and asks each value; nothing else says in which order they come. A further kind of value
is a further subclass, here or beside what it is made of (`composite`, `tiers`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol

import attrs

from tallystick.canonical import digest
from tallystick.errors import UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Trace
from tallystick.formula.formula import Formula
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact, publish
from tallystick.numbers.weights import Weights
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.threshold_snapshots import Thresholds

Role = Literal[
    "axis",
    "composite",
    "quality",
    "tier",
    "tier_multiplier",
    "base_weight",
    "factor",
    "emission",
    "threshold",
    "measure",
]
"""What a value is to its skill type. Axes, measures, factors and thresholds have own names."""
Range = tuple[int, int]
"""The smallest and the largest, in nano."""
Slot = int
"""The position of a column among the results of a plan."""


class Planner(Protocol):
    """The steps of a plan that values describe themselves by; `planner` has the one that runs.

    Each method returns the slot of the step's column.
    """

    thresholds: Thresholds
    """The thresholds by which tiers begin."""

    def slot(self, value: Value) -> Slot:
        """Return the slot of another value."""

    def constant(self, number: int) -> Slot:
        """Plan one number for all rows."""

    def formula(
        self,
        compiled: Compiled,
        inputs: Sequence[Value],
        applies: Compiled | None = None,
        undecided: Callable[[UndecidedError], UndecidedError] | None = None,
    ) -> Slot:
        """Plan a formula over facts and values, where it applies."""

    def where_given(self, slot: Slot, applies: Compiled) -> Slot:
        """Plan a column that is 1 where it does not apply."""

    def geometric_mean(self, axes: tuple[Slot, ...], weights: Weights) -> Slot:
        """Plan a weighted geometric mean."""

    def arithmetic_mean(self, axes: tuple[Slot, ...], weights: Weights) -> Slot:
        """Plan a weighted arithmetic mean."""

    def gate_number(self, axes: tuple[Slot, ...], limits: tuple[int, ...]) -> Slot:
        """Plan the number, from 1, of the last gate whose axis is below its limit."""

    def gated(self, ungated: Slot, gate: Slot, composites: tuple[int, ...]) -> Slot:
        """Plan a composite that is written over where a gate decides."""

    def level(self, quality: Slot, starts: tuple[int, ...]) -> Slot:
        """Plan how many of some ascending starts a quality reaches."""

    def looked_up(self, slot: Slot, numbers: tuple[int, ...], *, in_doubles: bool = False) -> Slot:
        """Plan a number for each position; ``in_doubles`` where these hold it."""


@attrs.frozen(eq=False, slots=False)
class Value:
    """A named value. What it publishes is nano, for a tier its position.

    Attributes:
        name: the name under which it is published and read.
        role: what it is to its type.
        inputs: the earlier values that it reads; a formula reads each by its name.
        domain: the range of what others read of it.
    """

    name: str
    role: Role
    inputs: tuple[Value, ...]
    domain: Domain

    @cached_property
    def digest(self) -> str:
        """The identity of what is computed: of the operation and of all that it reads."""
        read = {value.name: value.digest for value in self.inputs}
        return digest([self.operation, read])

    @property
    @abstractmethod
    def operation(self) -> list[Any]:
        """The operation without its inputs, as JSON values."""

    @abstractmethod
    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """The value of one record; None where it does not apply, which others read as 1.

        Args:
            facts: those of the record, in the order of the skill type.
            values: at least the inputs.
            thresholds: by which tiers begin.
        """

    def reference(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """The same by exact fractions, also where inputs are outside their domain."""
        return self.nano(facts, values, thresholds)

    @abstractmethod
    def plan(self, planner: Planner) -> Slot:
        """The slot of its column, in which it is 1 where it does not apply."""

    def plan_factor(self, planner: Planner) -> Slot:
        """The slot of its column as a factor: whole numbers, perhaps as doubles that hold them."""
        return planner.slot(self)

    def range_of(self, ranges: Mapping[Value, Range]) -> Range:
        """What it can be when its inputs are in some ranges; at most its domain."""
        del ranges
        return self.domain.low, self.domain.high


@attrs.frozen(eq=False, slots=False)
class FormulaValue(Value):
    """A formula of a rule set: an axis, a composite, a factor, a threshold or the emission.

    Attributes:
        formula: the formula under its name.
        compiled: the formula with its parameters bound.
        applies: where it is published at all; None is everywhere.
    """

    formula: Formula
    compiled: Compiled
    applies: Compiled | None = None

    @property
    def operation(self) -> list[Any]:
        """The trees, their parameters bound."""
        applies = None if self.applies is None else self.applies.tree.digest
        return ["formula", self.compiled.tree.digest, applies]

    @cached_property
    def sources(self) -> tuple[int | Value, ...]:
        """For each input of the generated function, the position of a fact or a value."""
        named: dict[str, Value] = {value.name: value for value in self.inputs}
        return tuple(s if isinstance(s, int) else named[s] for s in self.compiled.sources)

    @property
    def trees(self) -> tuple[Node, ...]:
        """The tree of the formula, and the condition under which it applies."""
        applies = () if self.applies is None else (self.applies.tree,)
        return (self.compiled.tree, *applies)

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """By the generated function of integers."""
        del thresholds
        if self.applies is not None and not self.applies.holds(facts):
            return None
        try:
            return self.compiled.proved.integers(*self.taken(facts, values))
        except UndecidedError as error:
            raise self.undecided(error) from error

    def taken(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> list[int]:
        """The inputs of the generated functions, of a record to which it applies."""
        return [
            facts[s] if s.__class__ is int else NANO if (n := values[s]) is None else n  # type: ignore[index]
            for s in self.sources
        ]

    def reference(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """By exact fractions, rounded once."""
        del thresholds
        if self.applies is not None and not self.applies.exact(facts, {}):
            return None
        try:
            return publish(self.exact(facts, values))
        except UndecidedError as error:
            raise self.undecided(error) from error

    def undecided(self, error: UndecidedError) -> UndecidedError:
        """The error, with the names of the value and of its formula."""
        return UndecidedError(str(error), value=self.name, formula=self.formula.name)

    def exact(
        self,
        facts: Sequence[int],
        values: Mapping[Value, int | None],
        trace: Trace | None = None,
    ) -> Exact:
        """The exact value of one record to which it applies."""
        return self.compiled.exact(facts, self.read(values), trace)

    def read(self, values: Mapping[Value, int | None]) -> dict[str, int]:
        """What it reads of some values, by name."""
        found = {value.name: values[value] for value in self.inputs}
        return {name: NANO if value is None else value for name, value in found.items()}

    def plan(self, planner: Planner) -> Slot:
        """The lowered form over columns; what may be undecided is asked where it applies alone."""
        if self.applies is None:
            return planner.formula(self.compiled, self.inputs, undecided=self.undecided)
        if self.compiled.program.is_rational:
            return planner.where_given(planner.formula(self.compiled, self.inputs), self.applies)
        return planner.formula(self.compiled, self.inputs, self.applies, self.undecided)

    def range_of(self, ranges: Mapping[Value, Range]) -> Range:
        """By interval arithmetic; of formulas that read no facts."""
        if any(isinstance(source, int) for source in self.compiled.sources):
            return super().range_of(ranges)
        domains = {value.name: Domain(*ranges[value]) for value in self.inputs}
        program = compile_tree(self.compiled.tree, {}, domains).program
        return publish(program.low), publish(program.high)


@attrs.frozen(eq=False, slots=False)
class MeasureValue(FormulaValue):
    """A measure. In nano it is a value as any other; results may show the ratio that it is.

    Attributes:
        is_exact: whether results show the ratio.
    """

    is_exact: bool = False

    @property
    def operation(self) -> list[Any]:
        """The trees, and whether it is exact."""
        return [*super().operation, "exact"] if self.is_exact else super().operation

    def ratio(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> Fraction | None:
        """The exact value of one record; None where it does not apply."""
        if self.applies is not None and not self.applies.holds(facts):
            return None
        return Fraction(*self.compiled.proved.ratio(*self.taken(facts, values)))


@attrs.frozen(eq=False, slots=False)
class ConstantValue(Value):
    """A number of the rule set: a base weight, or a factor that the type does not have."""

    @property
    def constant(self) -> int:
        """The number, in nano."""
        return self.domain.low

    @property
    def operation(self) -> list[Any]:
        """The number."""
        return ["constant", str(self.constant)]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """The number."""
        del facts, values, thresholds
        return self.constant

    def plan(self, planner: Planner) -> Slot:
        """One number for all rows."""
        return planner.constant(self.constant)
