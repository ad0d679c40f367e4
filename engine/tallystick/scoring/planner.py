"""Plans: how rows of facts of one skill type are scored, under one or many bound types at once.

What several candidates compute alike is computed once: a value is the same where its operation is,
over the same inputs, facts of one schema and under the same requirements. A plan is worked out once
as a list of steps, each over the results of earlier ones; a result is dropped when nobody further
reads it. Every value is the integer that scoring the record alone gives. Scoring a batch is a plan
with one candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import UndecidedError
from tallystick.formula.columns import Column, Rows, Truths

# kernels of their own, each with the proof of its error bound
from tallystick.numbers.geometric_mean_columns import geometric_means, logarithms
from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.products import Product, finished, partial_product, product_of
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Value

Slot = int
"""The position of a column among the results of a plan."""
Compute = Callable[[list[Any], int], Any]
"""A computation over columns: from those that it reads and the number of rows."""
Ratios = npt.NDArray[np.object_]
"""Fractions."""
Facts = Callable[[str], Column]
"""A column of facts by digest."""

_PLANS = 1 << 8
"""Maximum number of plans that are kept of a type, one for each set of thresholds."""


@attrs.frozen(eq=False, slots=False)
class ScoreColumns:
    """Scores of rows of facts under one bound type.

    Attributes:
        bound: the skill type.
        columns: the values that were asked for, a column each; 1 where a value does not apply.
        given: where those apply that have a condition.
        gate: the number, from 1, of the gate that decides; 0 for none; None without gates, or
            where it was not asked for.
        ratios: the exact measures that were asked for, columns of fractions.
    """

    bound: BoundType
    columns: Mapping[Value, Any]
    given: Mapping[Value, Truths]
    gate: Column | None
    ratios: Mapping[Value, Ratios] = attrs.field(factory=dict)

    @cached_property
    def axes(self) -> Mapping[str, Column]:
        """The axes that were asked for, by name."""
        result = self.columns
        return {axis.name: result[axis] for axis in self.bound.axes if axis in result}

    @property
    def quality(self) -> Column:
        """The composite after its gates."""
        column: Column = self.columns[self.bound.quality]
        return column

    @property
    def level(self) -> Column | None:
        """The position of the tier; None without tiers."""
        return None if self.bound.tier is None else self.columns[self.bound.tier]

    @property
    def emission(self) -> Column | None:
        """The emission; None without one."""
        return None if self.bound.emission is None else self.columns[self.bound.emission]

    def take(self, rows: Rows) -> ScoreColumns:
        """Return some of the rows."""
        return ScoreColumns(
            self.bound,
            {value: column[rows] for value, column in self.columns.items()},
            {value: applies[rows] for value, applies in self.given.items()},
            None if self.gate is None else self.gate[rows],
            {value: column[rows] for value, column in self.ratios.items()},
        )


def joined(parts: Sequence[ScoreColumns]) -> ScoreColumns:
    """Return the rows of parts, one part after the other, all of one bound type."""
    first = parts[0]
    return ScoreColumns(
        first.bound,
        {v: np.concatenate([part.columns[v] for part in parts]) for v in first.columns},
        {v: np.concatenate([part.given[v] for part in parts]) for v in first.given},
        None if first.gate is None else np.concatenate([part.gate for part in parts]),
        {v: np.concatenate([part.ratios[v] for part in parts]) for v in first.ratios},
    )


@attrs.frozen(eq=False)
class Target:
    """One bound type to score, and what is wanted of it.

    Attributes:
        candidate: its number, by which its scores are known.
        bound: the skill type.
        thresholds: its tier thresholds.
        values: the values to give.
        gate: whether to tell the gate that decides.
        ratios: the measures whose ratios to give.
    """

    candidate: int
    bound: BoundType
    thresholds: Thresholds
    values: tuple[Value, ...]
    gate: bool = False
    ratios: tuple[Value, ...] = ()


@attrs.frozen(eq=False)
class _Step:
    """The step that computes one result.

    Attributes:
        slot: where it stands.
        inputs: the slots that it reads.
        compute: how; None for the column of a fact.
        fact: the digest of that fact.
        dropped: slots that are free when it is done.
    """

    slot: Slot
    inputs: tuple[Slot, ...]
    compute: Compute | None
    fact: str = ""
    dropped: tuple[Slot, ...] = ()


@attrs.frozen(eq=False)
class Work:
    """The steps of one candidate beyond those of earlier ones, and the slots of its scores.

    Attributes:
        candidate: the number of its target.
        bound: the skill type.
        steps: in their order.
        columns, given, gate, ratios: as of `ScoreColumns`, by slot.
        dropped: slots that are free when its scores are taken.
    """

    candidate: int
    bound: BoundType
    steps: tuple[_Step, ...]
    columns: Mapping[Value, Slot]
    given: Mapping[Value, Slot]
    gate: Slot | None
    ratios: Mapping[Value, Slot]
    dropped: tuple[Slot, ...] = ()

    @property
    def results(self) -> Iterator[Slot]:
        """The slots of its scores."""
        yield from (*self.columns.values(), *self.given.values(), *self.ratios.values())
        if self.gate is not None:
            yield self.gate

    def run(self, held: list[Any], facts: Facts, rows: int) -> ScoreColumns:
        """Return the scores, from the slots that earlier candidates filled and its own steps."""
        for step in self.steps:
            if step.compute is None:
                held[step.slot] = facts(step.fact)
            else:
                held[step.slot] = step.compute([held[slot] for slot in step.inputs], rows)
            for slot in step.dropped:
                held[slot] = None
        scores = ScoreColumns(
            self.bound,
            {value: held[slot] for value, slot in self.columns.items()},
            {value: held[slot] for value, slot in self.given.items()},
            None if self.gate is None else held[self.gate],
            {value: held[slot] for value, slot in self.ratios.items()},
        )
        for slot in self.dropped:
            held[slot] = None
        return scores


@attrs.frozen(eq=False)
class Plan:
    """Candidates that score the same rows.

    Attributes:
        works: one a candidate.
        slots: how many slots there are.
    """

    works: tuple[Work, ...]
    slots: int

    def run(self, facts: Facts, rows: int) -> Iterator[tuple[int, ScoreColumns]]:
        """Yield the scores of valid rows by each candidate, one candidate after the other.

        Args:
            facts: gives an int64 column for a digest; each is asked for when it is first read.
            rows: how many rows it has, at least 1.
        """
        slots: list[Any] = [None] * self.slots
        with np.errstate(all="ignore"):
            for work in self.works:
                yield work.candidate, work.run(slots, facts, rows)


def plan_of(targets: Iterable[Target]) -> Plan:
    """Return the plan of candidates that accept the same records of one type.

    All have the same schema and the same requirements.
    """
    slots: dict[Hashable, Slot] = {}
    works = [ColumnPlanner(slots).work(target) for target in targets]
    return Plan(_dropping(works), len(slots))


def _dropping(works: Sequence[Work]) -> tuple[Work, ...]:
    """Return the same work, where each result is dropped by the last that reads it."""
    read = set[Slot]()

    def last(slots: Iterable[Slot]) -> tuple[Slot, ...]:
        result = {slot for slot in slots if slot not in read}
        read.update(result)
        return tuple(result)

    result: list[Work] = []
    for work in reversed(works):
        dropped, steps = last(work.results), list[_Step]()
        for step in reversed(work.steps):
            steps.append(attrs.evolve(step, dropped=last((step.slot, *step.inputs))))
        result.append(attrs.evolve(work, steps=tuple(reversed(steps)), dropped=dropped))
    return tuple(reversed(result))


_plans: WeakKeyDictionary[BoundType, dict[tuple[int, ...], Plan]] = WeakKeyDictionary()
"""Plans by the starts of tiers; they live as long as their type."""


def score_columns(
    bound: BoundType, facts: Facts, thresholds: Thresholds, rows: int
) -> ScoreColumns:
    """Return the values of valid rows of one type that results show.

    Args:
        bound: the skill type; plans with it as their one candidate are kept with it.
        facts: gives an int64 column for the digest of a fact.
        thresholds: by which tiers begin.
        rows: how many there are, at least 1.
    """
    ((_, scores),) = _plan(bound, thresholds).run(facts, rows)
    return scores


def _plan(bound: BoundType, thresholds: Thresholds) -> Plan:
    starts = () if bound.tiers is None else bound.tiers.starts(thresholds)
    plans = _plans.setdefault(bound, {})
    if starts not in plans:
        if len(plans) >= _PLANS:
            plans.clear()
        target = Target(0, bound, thresholds, bound.shown, ratios=bound.exact)
        plans[starts] = plan_of([target])
    return plans[starts]


def column_of(
    bound: BoundType,
    value: Value,
    facts: Sequence[Column],
    given: Mapping[Value, Column],
    thresholds: Thresholds,
) -> Column:
    """Return one value of many records, 1 where it does not apply.

    Args:
        bound: the skill type.
        value: one of its values.
        facts: an int64 column for each of ``bound.facts``, at least one row.
        given: columns of values that are not computed.
        thresholds: the tier thresholds.
    """
    planner = ColumnPlanner({})
    columns = {planner.given(given_value): column for given_value, column in given.items()}
    work = planner.work(Target(0, bound, thresholds, (value,)))
    slots: list[Any] = [columns.get(slot) for slot in range(planner.slots)]
    named = {fact.digest: column for fact, column in zip(bound.facts, facts, strict=True)}
    with np.errstate(all="ignore"):
        column: Column = work.run(slots, named.__getitem__, len(facts[0])).columns[value]
    return column


class ColumnPlanner:
    """Gives every different result of one candidate a slot, and every slot the step that fills it.

    Two shapes of trees have kernels of their own, as many candidates share most of their work: a
    geometric mean takes the logarithms of its axes once, and a product multiplies first what
    candidates seldom differ in.
    """

    def __init__(self, known: dict[Hashable, Slot]) -> None:
        """Take the slots that earlier candidates fill, which this one reads."""
        self._known = known
        self._slots: dict[Value, Slot] = {}
        self._steps: list[_Step] = []

    def work(self, target: Target) -> Work:
        """Return the work of a candidate; what earlier ones do is not done again."""
        for value, nano in target.bound.tracked(target.thresholds).items():
            self._slots[value] = self._constant(nano)
        columns = {value: self.slot(value) for value in target.values}
        ratios: dict[Value, Slot] = {value: self._ratio(value) for value in target.ratios}
        conditions = {
            value: value.applies
            for value in (*target.values, *target.ratios)
            if value.applies is not None
        }
        gate = target.bound.gate if target.gate else None
        return Work(
            target.candidate,
            target.bound,
            columns=columns,
            given={value: self._holds(applies) for value, applies in conditions.items()},
            gate=None if gate is None else self.slot(gate),
            ratios=ratios,
            steps=tuple(self._steps),
        )

    @property
    def slots(self) -> int:
        """The number of slots by now."""
        return len(self._known)

    def slot(self, value: Value) -> Slot:
        """Return the slot of a value, 1 where it does not apply."""
        if value not in self._slots:
            self._slots[value] = self._planned(value)
        return self._slots[value]

    def given(self, value: Value) -> Slot:
        """Return the slot of a value that is not computed."""
        self._slots[value] = self._known["given", value] = len(self._known)
        return self._slots[value]

    def _planned(self, value: Value) -> Slot:
        compiled = value.compiled
        if value.applies is None:
            return self._formula(compiled, value)
        if not compiled.program.is_rational:
            # a formula that may be undecided is asked only where it applies
            slots = (self._holds(value.applies), *self._sources(compiled, value))
            compute = _applied(_telling(compiled.lowered.columns, value.undecided))
            return self._step(("applied", compiled.lowered.key), slots, compute)
        return self._step(
            "where given",
            (self._formula(compiled, value), self._holds(value.applies)),
            lambda columns, _: np.where(columns[1], columns[0], NANO),
        )

    def _step(self, key: Hashable, inputs: tuple[Slot, ...], compute: Compute) -> Slot:
        """Return the slot of a result, which is the same for the same key and inputs."""
        whole = (key, inputs)
        if whole not in self._known:
            self._known[whole] = len(self._known)
            self._steps.append(_Step(self._known[whole], inputs, compute))
        return self._known[whole]

    def _fact(self, digest: str) -> Slot:
        if ("fact", digest) not in self._known:
            slot = self._known["fact", digest] = len(self._known)
            self._steps.append(_Step(slot, (), None, digest))
        return self._known["fact", digest]

    def _constant(self, number: int) -> Slot:
        def compute(_: list[Any], rows: int) -> Column:
            return np.broadcast_to(np.int64(number), (rows,))

        return self._step(("constant", number), (), compute)

    def _formula(self, compiled: Compiled, value: Value | None = None) -> Slot:
        """Return a tree over facts and the inputs of a value, rounded."""
        slots, weights = self._sources(compiled, value), compiled.lowered.mean
        if weights is not None:
            logs = self._step("logarithms", slots, lambda columns, _: logarithms(columns))
            return self._step(
                ("geometric", weights),
                (logs, *slots),
                lambda columns, _: geometric_means(columns[1:], columns[0], weights),
            )
        if value is not None and not any(isinstance(s, int) for s in compiled.sources):
            product = product_of(compiled.lowered.columns)
            if product is not None:
                return self._product(product, slots, value)
        compute: Compute = compiled.lowered.columns
        if value is not None and not compiled.program.is_rational:
            compute = _telling(compute, value.undecided)
        return self._step(("formula", compiled.lowered.key), slots, compute)

    def _ratio(self, value: Value) -> Slot:
        """The fractions of an exact measure; of rows where it does not apply they mean nothing."""
        function = value.compiled.lowered.ratio

        def compute(columns: list[Any], rows: int) -> Ratios:
            if not columns:
                return np.full(rows, Fraction(*function()), object)
            rows_of_inputs = zip(*(column.tolist() for column in columns), strict=True)
            return np.fromiter((Fraction(*function(*row)) for row in rows_of_inputs), object, rows)

        slots = self._sources(value.compiled, value)
        return self._step(("ratio", value.compiled.lowered.key), slots, compute)

    def _sources(self, compiled: Compiled, value: Value | None) -> tuple[Slot, ...]:
        """Return the slots of what a tree reads: facts, and inputs of a value."""
        named = {} if value is None else {read.name: read for read in value.inputs}
        return tuple(
            self._fact(compiled.facts[s]) if isinstance(s, int) else self.slot(named[s])
            for s in compiled.sources
        )

    def _holds(self, condition: Compiled) -> Slot:
        """Plan the rows where a condition on facts holds."""
        truth = self._formula(condition)
        return self._step("holds", (truth,), lambda columns, _: columns[0] == NANO)

    def _product(self, product: Product, slots: Sequence[Slot], value: Value) -> Slot:
        """Return a product of values: first those in which candidates seldom differ."""
        shared, own = list[tuple[Slot, int]](), list[tuple[Slot, int]]()
        roles = {read.name: read.role for read in value.inputs}
        for index, unit in zip(product.inputs, product.units, strict=True):
            differs = roles[str(value.compiled.sources[index])] in {"quality", "tier_multiplier"}
            (own if differs else shared).append((slots[index], unit))
        units = [tuple(unit for _, unit in factors) for factors in (shared, own)]
        whole = attrs.evolve(product, inputs=(), units=(*units[0], *units[1]))
        start = self._step(
            ("partial", whole, units[0]),
            tuple(slot for slot, _ in shared),
            lambda columns, _: partial_product(whole, units[0], columns),
        )
        return self._step(
            ("product", whole, units[1]),
            (start, *(slot for slot, _ in own)),
            lambda columns, rows: finished(whole, columns[0], units[1], columns[1:], rows),
        )


def _telling(compute: Compute, named: Callable[[UndecidedError], UndecidedError]) -> Compute:
    """Return a step whose error says what is undecided."""

    def told(columns: list[Any], rows: int) -> Column:
        try:
            column: Column = compute(columns, rows)
        except UndecidedError as error:
            raise named(error) from error
        return column

    return told


def _applied(compute: Compute) -> Compute:
    """Return a step in the rows in which its first column holds; 1 in the others."""

    def applied(columns: list[Any], rows: int) -> Column:
        places = np.flatnonzero(columns[0])
        result = np.full(rows, NANO, np.int64)
        if len(places):
            result[places] = compute([column[places] for column in columns[1:]], len(places))
        return result

    return applied
