"""The named values of a record, each an operation on facts and earlier values.

A skill type is an ordered list of them: axes, measures, composite, gates, tier, multiplier,
factors, emission. A kind of value describes itself once, in the primitives of a `Planner`, and
every tool is an interpreter of these: what computes columns or one record, finds ranges, or proves
and compares. A further kind of value is a further subclass of `Value`, here or beside what it is
made of (`composite`, `tiers`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import attrs

from tallystick.errors import UndecidedError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Trace
from tallystick.formula.facts import scale_of
from tallystick.formula.formula import Formula
from tallystick.formula.text import decimal_text, lines, render, substituted
from tallystick.formula.tree import Node, leaves
from tallystick.numbers.means import arithmetic_mean, geometric_mean
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact, publish
from tallystick.numbers.weights import Weights
from tallystick.scoring.compiled import Compiled, compile_tree
from tallystick.scoring.computation import NamedValue, NotAnalysed, NotAnalysedError
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
    "component",
]
"""The role of a value in its list; a type may have several of one role, each with its name."""
_NAMED_FIELDS = frozenset({"axis", "measure", "factor"})
Range = tuple[int, int]
"""The smallest and the largest, in nano."""
Slot = int
"""The position of a column among the results of a plan."""
S = TypeVar("S")
"""The result of a primitive: the slot of a column, an interval, a term, a text."""


class Planner(ABC, Generic[S]):
    """An interpreter of the primitives that values describe themselves by (`Value.plan`).

    The executor of columns is one (`planner`), as are ranges (`Ranges`), the terms of a solver and
    whatever else is to be said of every value. A kind of value that is made of these primitives
    is understood by all of them. An interpreter leaves out the primitives that it does not know:
    a value that needs one raises `NotAnalysedError` there, with its name.

    Attributes:
        tool: the name of the tool, for messages.
    """

    tool: str = "this tool"

    @abstractmethod
    def slot(self, value: Value) -> S:
        """Return what another value is; `interpreted` asks the value for its plan."""

    def interpreted(self, value: Value) -> S:
        """Return what a value is by its plan.

        Raises:
            NotAnalysedError: it needs a primitive that this interpreter does not know.
        """
        try:
            return value.plan(self)
        except UnknownPrimitive as error:
            reason = f"it is made of {error}, which {self.tool} does not know"
            raise NotAnalysedError(NotAnalysed.of(value, self.tool, reason)) from None

    def constant(self, number: int) -> S:
        """Return one number for all rows, in nano."""
        del number
        raise UnknownPrimitive("a constant")

    def formula(
        self,
        compiled: Compiled,
        inputs: Sequence[Value],
        applies: Compiled | None = None,
        undecided: Callable[[UndecidedError], UndecidedError] | None = None,
    ) -> S:
        """Return a formula over facts and values, rounded; 1 where it does not apply."""
        del compiled, inputs, applies, undecided
        raise UnknownPrimitive("a formula")

    def where_given(self, slot: S, applies: Compiled) -> S:
        """Return a column that is 1 where it does not apply."""
        del slot, applies
        raise UnknownPrimitive("a condition")

    def geometric_mean(self, axes: tuple[S, ...], weights: Weights) -> S:
        """Return a weighted geometric mean of the axes whose weight is not 0, rounded."""
        del axes, weights
        raise UnknownPrimitive("a geometric mean")

    def arithmetic_mean(self, axes: tuple[S, ...], weights: Weights) -> S:
        """Return a weighted arithmetic mean of the axes whose weight is not 0, rounded."""
        del axes, weights
        raise UnknownPrimitive("an arithmetic mean")

    def gate_number(self, axes: tuple[S, ...], limits: tuple[int, ...]) -> S:
        """Return the number, from 1, of the last gate whose axis is below its limit; 0 for none."""
        del axes, limits
        raise UnknownPrimitive("the number of a gate")

    def gated(self, ungated: S, gate: S, composites: tuple[int, ...]) -> S:
        """Return a composite that is written over where a gate decides."""
        del ungated, gate, composites
        raise UnknownPrimitive("a gated composite")

    def level(self, quality: S, levels: int, starts: Callable[[Thresholds], tuple[int, ...]]) -> S:
        """Return the position of the highest level that a quality reaches.

        Args:
            quality: the quality.
            levels: the number of levels.
            starts: gives by thresholds the least quality of each level but the lowest, ascending.
        """
        del quality, levels, starts
        raise UnknownPrimitive("a level")

    def looked_up(self, slot: S, numbers: tuple[int, ...], *, in_doubles: bool = False) -> S:
        """A number for each position; ``in_doubles`` allows columns of doubles that hold it."""
        del slot, numbers, in_doubles
        raise UnknownPrimitive("a table")

    def step(self, key: Hashable, inputs: tuple[S, ...], compute: Compute) -> S:
        """Return a computation over columns that only the executor of columns understands.

        Args:
            key: its identity; the same key over the same inputs is computed once.
            inputs: the columns that it reads.
            compute: gives the column from those of the inputs and the number of rows.
        """
        del key, inputs, compute
        raise UnknownPrimitive("a computation of its own")


Compute = Callable[[list[Any], int], Any]
"""A computation over columns: from those that it reads and the number of rows."""


class UnknownPrimitive(Exception):  # noqa: N818  # never leaves `Planner.interpreted`
    """A primitive that an interpreter does not know."""


@attrs.frozen(eq=False, slots=False)
class Value(NamedValue[Range]):
    """A named value of a record. What it publishes is nano, for a tier its position.

    A kind has an `operation` and a `plan`; the range, the executors of one record and of columns,
    and the tools that analyse follow from the plan. `nano` may be written again for speed; the
    kit (`tallystick plugins check`) compares both.

    Attributes:
        name: the name under which it is published and read.
        role: its role in the skill type.
        inputs: the earlier values that it reads; a formula reads each by its name.
        domain: the range of what others read of it.
    """

    name: str
    role: Role
    inputs: tuple[Value, ...]
    domain: Domain

    @cached_property
    def field(self) -> str:
        """The field of a result that shows it: of axes, measures and factors its name."""
        return self.name if self.role in _NAMED_FIELDS else self.role

    @abstractmethod
    def plan(self, planner: Planner[S]) -> S:
        """Return the value by the primitives of an interpreter; 1 where it does not apply."""

    def plan_factor(self, planner: Planner[S]) -> S:
        """Return it as a factor of a product: whole numbers, perhaps as doubles that hold them."""
        return planner.slot(self)

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the value of one record; None where it does not apply, which others read as 1.

        Args:
            facts: those of the record, in the order of the skill type.
            values: at least the inputs.
            thresholds: by which tiers begin.
        """
        return OneRecord(facts, values, thresholds).interpreted(self)

    def reference(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the same by exact fractions, also where inputs are outside their domain."""
        return self.nano(facts, values, thresholds)

    def range_of(self, ranges: Mapping[Value, Range], /) -> Range:
        """Return its range from those of its inputs; its domain where no more is known."""
        try:
            return Ranges(ranges).interpreted(self)
        except NotAnalysedError:
            return self.domain.low, self.domain.high

    def lines(self) -> list[str]:
        """Return the lines that show it in the text of a rule set."""
        return [f"{self.name}: {self.described}"]

    def substituted(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> str:
        """Return its operation with the values of one record, as one line of an explanation."""
        del facts
        read = (f"{value.name} {nano_text(values[value])}" for value in self.inputs)
        return f"{self.described}: {', '.join(read)}"


def nano_text(nano: int | None) -> str:
    """Return a value as a short exact decimal; 1 where it does not apply."""
    return decimal_text(Fraction(NANO if nano is None else nano, NANO))


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
        """The digests of the trees, their parameters bound."""
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
        """Return the value by the generated function of integers."""
        del thresholds
        if self.applies is not None and not self.applies.holds(facts):
            return None
        try:
            return self.compiled.proved.integers(*self.taken(facts, values))
        except UndecidedError as error:
            raise self.undecided(error) from error

    def taken(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> list[int]:
        """Return the inputs of the generated functions, of a record to which it applies."""
        return [
            facts[s] if s.__class__ is int else NANO if (n := values[s]) is None else n  # type: ignore[index]
            for s in self.sources
        ]

    def reference(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the value by exact fractions, rounded once."""
        del thresholds
        if self.applies is not None and not self.applies.exact(facts, {}):
            return None
        try:
            return publish(self.exact(facts, values))
        except UndecidedError as error:
            raise self.undecided(error) from error

    def undecided(self, error: UndecidedError) -> UndecidedError:
        """Return the error with the names of the value and of its formula."""
        return UndecidedError(str(error), value=self.name, formula=self.formula.name)

    def exact(
        self,
        facts: Sequence[int],
        values: Mapping[Value, int | None],
        trace: Trace | None = None,
    ) -> Exact:
        """Return the exact value of one record to which it applies."""
        return self.compiled.exact(facts, self.read(values), trace)

    def read(self, values: Mapping[Value, int | None]) -> dict[str, int]:
        """Return its inputs among some values by name; 1 where one does not apply."""
        inputs = {value.name: values[value] for value in self.inputs}
        return {name: NANO if nano is None else nano for name, nano in inputs.items()}

    def plan(self, planner: Planner[S]) -> S:
        """Return the formula; one that may be undecided is asked only where it applies."""
        if self.applies is None:
            return planner.formula(self.compiled, self.inputs, undecided=self.undecided)
        if self.compiled.program.is_rational:
            return planner.where_given(planner.formula(self.compiled, self.inputs), self.applies)
        return planner.formula(self.compiled, self.inputs, self.applies, self.undecided)

    def lines(self) -> list[str]:
        """Return the formula's name and digest, and its text with parameters bound."""
        formula = self.formula
        text = lines(formula.symbol or self.name, self.compiled.tree)
        return [f"{self.name}: {formula.name}  {formula.digest}", *(f"    {line}" for line in text)]

    def substituted(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> str:
        """Return the formula with the values put in, and the exact value of each label."""
        trace = dict[str, Exact]()
        self.exact(facts, values, trace)
        labels = ", ".join(f"{label} = {decimal_text(exact)}" for label, exact in trace.items())
        texts = input_texts(self.compiled, facts, self.read(values))
        text = render(self.compiled.tree, substituted(texts))
        return f"{text}, where {labels}" if labels else text


@attrs.frozen(eq=False, slots=False)
class MeasureValue(FormulaValue):
    """A measure: in nano a value as any other; results may show its ratio.

    Attributes:
        is_exact: whether results show the ratio.
    """

    is_exact: bool = False

    @property
    def operation(self) -> list[Any]:
        """The trees, and whether it is exact."""
        return [*super().operation, "exact"] if self.is_exact else super().operation

    def lines(self) -> list[str]:
        """Return the formula, with how results show the measure, and where they do."""
        name, *text = super().lines()
        name += ", as a ratio" if self.is_exact else ""
        name += "" if self.applies is None else f", if {render(self.applies.tree)}"
        return [name, *text]

    def ratio(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> Fraction | None:
        """Return the exact value of one record; None where it does not apply."""
        if self.applies is not None and not self.applies.holds(facts):
            return None
        return Fraction(*self.compiled.proved.ratio(*self.taken(facts, values)))


@attrs.frozen(eq=False, slots=False)
class ConstantValue(Value):
    """A constant of the rule set: a base weight, or a factor that the type does not have."""

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
        """Return the number."""
        del facts, values, thresholds
        return self.constant

    def plan(self, planner: Planner[S]) -> S:
        """Return one number for all rows."""
        return planner.constant(self.constant)

    def lines(self) -> list[str]:
        """Return the number under the name of the value."""
        return [f"{self.name.replace('_', ' ')}: {nano_text(self.constant)}"]


def fact_value_text(fact: Node, integer: int) -> str:
    """Return the value of a fact for people: yes or no, a choice by its name, else a decimal."""
    if fact.kind == "truth":
        return "yes" if integer else "no"
    if fact.kind == "choice" and isinstance(fact.data[2], tuple):
        return str(fact.data[2][integer])
    return decimal_text(Fraction(integer, scale_of(fact)))


def input_texts(
    compiled: Compiled, facts: Sequence[int], published: Mapping[str, int]
) -> dict[str, str]:
    """Return by the digest of each fact and published value of a formula the text put in for it.

    A condition is the 1 or 0 that it counts as.
    """
    # a formula that reads no facts knows none
    integers = dict(zip(compiled.facts, facts, strict=False))
    texts = {
        fact.digest: str(integers[fact.digest])
        if fact.kind == "truth"
        else fact_value_text(fact, integers[fact.digest])
        for fact in leaves(compiled.tree, "fact")
    }
    for node in leaves(compiled.tree, "published"):
        texts[node.digest] = nano_text(published[str(node.data[0])])
    return texts


@attrs.frozen(eq=False)
class OneRecord(Planner["int | None"]):
    """The executor of one record: each primitive is the nano of it; None where it does not apply.

    Attributes:
        facts: those of the record, in the order of the skill type.
        values: at least the inputs of what is interpreted.
        thresholds: by which tiers begin.
    """

    facts: Sequence[int]
    values: Mapping[Value, int | None]
    thresholds: Thresholds
    tool: str = "the executor of one record"

    def slot(self, value: Value) -> int:
        """Return an earlier value, 1 where it does not apply."""
        nano = self.values[value]
        return NANO if nano is None else nano

    def constant(self, number: int) -> int:
        """Return the number."""
        return number

    def formula(
        self,
        compiled: Compiled,
        inputs: Sequence[Value],
        applies: Compiled | None = None,
        undecided: Callable[[UndecidedError], UndecidedError] | None = None,
    ) -> int | None:
        """Return the formula by its generated function of integers."""
        if applies is not None and not applies.holds(self.facts):
            return None
        try:
            return compiled.nano(self.facts, {value.name: self.slot(value) for value in inputs})
        except UndecidedError as error:
            raise (error if undecided is None else undecided(error)) from error

    def where_given(self, slot: int | None, applies: Compiled) -> int | None:
        """Return the number where the condition holds."""
        return slot if applies.holds(self.facts) else None

    def geometric_mean(self, axes: tuple[int | None, ...], weights: Weights) -> int:
        """Return the mean by whole numbers."""
        return geometric_mean(_given(axes), dense(weights))

    def arithmetic_mean(self, axes: tuple[int | None, ...], weights: Weights) -> int:
        """Return the mean by whole numbers."""
        return arithmetic_mean(_given(axes), dense(weights))

    def gate_number(self, axes: tuple[int | None, ...], limits: tuple[int, ...]) -> int:
        """Return the number of the last gate that closes."""
        gates = enumerate(zip(_given(axes), limits, strict=True), 1)
        return max((number for number, (axis, below) in gates if axis < below), default=0)

    def gated(
        self, ungated: int | None, gate: int | None, composites: tuple[int, ...]
    ) -> int | None:
        """Return the composite of the gate, if one closes."""
        return composites[gate - 1] if gate else ungated

    def level(
        self,
        quality: int | None,
        levels: int,
        starts: Callable[[Thresholds], tuple[int, ...]],
    ) -> int:
        """Return the position of the highest level that is reached."""
        del levels
        return bisect_right(starts(self.thresholds), quality or 0)

    def looked_up(
        self, slot: int | None, numbers: tuple[int, ...], *, in_doubles: bool = False
    ) -> int:
        """Return the number at the position."""
        del in_doubles
        return numbers[slot or 0]


@attrs.frozen(eq=False)
class Ranges(Planner[Range]):
    """Interval arithmetic: each primitive is its smallest and largest nano.

    Attributes:
        known: the ranges of earlier values; of one that is missing the domain counts.
    """

    known: Mapping[Value, Range]
    tool: str = "interval arithmetic"

    def slot(self, value: Value) -> Range:
        """Return the range of an earlier value."""
        result = self.known.get(value)
        return (value.domain.low, value.domain.high) if result is None else result

    def constant(self, number: int) -> Range:
        """Return the number alone."""
        return number, number

    def formula(
        self,
        compiled: Compiled,
        inputs: Sequence[Value],
        applies: Compiled | None = None,
        undecided: Callable[[UndecidedError], UndecidedError] | None = None,
    ) -> Range:
        """Return the range of the formula over narrower inputs, or the one that was proved."""
        del undecided
        program = compiled.program
        # what is known of facts together is in the proof alone
        if not any(isinstance(source, int) for source in compiled.sources):
            domains = {value.name: Domain(*self.slot(value)) for value in inputs}
            program = compile_tree(compiled.tree, {}, domains).program
        proved = publish(program.low), publish(program.high)
        return proved if applies is None else self.where_given(proved, applies)

    def where_given(self, slot: Range, applies: Compiled) -> Range:
        """Return the range with 1, which counts where the condition does not hold."""
        del applies
        return min(slot[0], NANO), max(slot[1], NANO)

    def geometric_mean(self, axes: tuple[Range, ...], weights: Weights) -> Range:
        """Return the means of the ends, as a mean grows with each of its inputs."""
        low, high = (geometric_mean([axis[end] for axis in axes], dense(weights)) for end in (0, 1))
        return low, high

    def arithmetic_mean(self, axes: tuple[Range, ...], weights: Weights) -> Range:
        """Return the means of the ends, as a mean grows with each of its inputs."""
        low, high = (
            arithmetic_mean([axis[end] for axis in axes], dense(weights)) for end in (0, 1)
        )
        return low, high

    def gate_number(self, axes: tuple[Range, ...], limits: tuple[int, ...]) -> Range:
        """Return none to all of the gates."""
        del axes
        return 0, len(limits)

    def gated(self, ungated: Range, gate: Range, composites: tuple[int, ...]) -> Range:
        """Return the range of the composite with what each gate gives."""
        del gate
        return min([ungated[0], *composites]), max([ungated[1], *composites])

    def level(
        self, quality: Range, levels: int, starts: Callable[[Thresholds], tuple[int, ...]]
    ) -> Range:
        """Return every level, as thresholds follow the state."""
        del quality, starts
        return 0, levels - 1

    def looked_up(
        self, slot: Range, numbers: tuple[int, ...], *, in_doubles: bool = False
    ) -> Range:
        """Return the smallest and the largest number of the positions in range."""
        del in_doubles
        reached = numbers[slot[0] : slot[1] + 1]
        return min(reached), max(reached)


def dense(weights: Weights) -> Weights:
    """Return the weights that are not zero as weights of their own: of as many axes."""
    count = len(weights.kept)
    return attrs.evolve(weights, count=count, kept=tuple(range(count)))


def _given(axes: Sequence[int | None]) -> list[int]:
    return [NANO if axis is None else axis for axis in axes]
