"""Plans: how rows of facts of one skill type are scored, under one or many bound types at once.

What several candidates compute alike is computed once: a value is the same where its operation is,
over the same inputs, facts of one schema and under the same requirements. A plan is worked out once
as a list of steps, each over the results of earlier ones; a result is dropped when nobody further
reads it. Every value is the integer that scoring the record alone gives. Scoring a batch is a plan
with one candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.errors import UndecidedError
from tallystick.formula.columns import Column, ColumnProgram, Rows, Truths
from tallystick.formula.tree import Node
from tallystick.numbers.doubles import Doubles, nearest
from tallystick.numbers.geometric_mean_columns import geometric_means, logarithms
from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Value

Compute = Callable[[list[Any], int], Any]
"""A computation over columns: from those that it reads and the number of rows."""
Ratios = npt.NDArray[np.object_]
"""Fractions."""
Facts = Callable[[str], Column]
"""A column of facts by digest."""

_PLANS = 1 << 8
"""Maximum number of plans with one bound type that are kept, one for each type and thresholds."""
_MOST_FACTORS = 1 << 3
_ROUNDINGS = 2.0**-48
"""Relative error of a double that went through at most 2⁵ roundings.

Eight factors go through 17: of the constant, of each factor, and of each product.
"""
_MOST_ERROR = 2.0**-7
_SELDOM_SHARED = frozenset({"quality", "tier_multiplier"})
"""Roles of the factors of a product in which candidates often differ."""


@attrs.frozen(eq=False)
class ScoreColumns:
    """Scores of rows of facts under one bound type.

    Attributes:
        bound: the skill type.
        columns: the values that were asked for, a column each; 1 where a value does not apply.
        given: where those apply that have a condition.
        ratios: the exact measures that were asked for, columns of fractions.
    """

    bound: BoundType
    columns: Mapping[Value, Any]
    given: Mapping[Value, Any] = attrs.field(factory=dict)
    ratios: Mapping[Value, Any] = attrs.field(factory=dict)

    @property
    def axes(self) -> Mapping[str, Column]:
        """The axes that were asked for, by name."""
        return {axis.name: self.columns[axis] for axis in self.bound.axes if axis in self.columns}

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
    def gate(self) -> Column | None:
        """The number, from 1, of the gate that decides, 0 for none; None without gates."""
        return None if self.bound.gate is None else self.columns[self.bound.gate]

    @property
    def emission(self) -> Column | None:
        """The emission; None without one."""
        return None if self.bound.emission is None else self.columns[self.bound.emission]

    def take(self, rows: Rows) -> ScoreColumns:
        """Return some of the rows."""
        return self.each(lambda column: column[rows])

    def each(self, change: Callable[[Any], Any]) -> ScoreColumns:
        """Return what a function makes of each column."""
        parts = (self.columns, self.given, self.ratios)
        return ScoreColumns(
            self.bound, *({value: change(column) for value, column in p.items()} for p in parts)
        )


@attrs.frozen(eq=False)
class Target:
    """One bound type to score, and what is wanted of it.

    Attributes:
        bound: the skill type.
        values: the values to give.
        constants: values that are one number in every row, such as `BoundType.tracked`.
        ratios: the measures whose ratios to give.
    """

    bound: BoundType
    values: tuple[Value, ...]
    constants: Mapping[Value, int] = attrs.field(factory=dict)
    ratios: tuple[Value, ...] = ()


@attrs.frozen(eq=False)
class _Step:
    """The step that computes one result.

    Attributes:
        inputs: the steps whose results it reads.
        compute: how; of the column of a fact its digest.
        value: the value that the result is of, if it is the whole of one.
    """

    inputs: tuple[_Step, ...]
    compute: Compute | str
    value: Value | None = None


class Plan:
    """Targets that score the same rows; what several compute alike is computed once."""

    def __init__(self, targets: Iterable[Target]) -> None:
        """Plan the targets, which are of one schema and have the same requirements."""
        planner, self._uses = _Planner(), Counter[_Step]()
        self._works = [planner.work(target) for target in targets]
        for steps, scores in self._works:
            self._uses.update(read for step in steps for read in step.inputs)
            scores.each(lambda step: self._uses.update([step]))

    def run(self, facts: Facts, rows: int) -> Iterator[ScoreColumns]:
        """Yield the scores of valid rows for each target, one target after the other.

        Args:
            facts: gives an int64 column for a digest; each is asked for when it is first read.
            rows: how many rows it has, at least 1.
        """
        results = dict[_Step, Any]()
        uses = self._uses.copy()

        def read(step: _Step) -> Any:  # noqa: ANN401  # a column
            """Return a result, which is dropped when nobody further reads it."""
            uses[step] -= 1
            return results[step] if uses[step] else results.pop(step)

        with np.errstate(all="ignore"):
            for steps, scores in self._works:
                for step in steps:
                    if isinstance(step.compute, str):
                        results[step] = facts(step.compute)
                    else:
                        try:
                            results[step] = step.compute([*map(read, step.inputs)], rows)
                        except UndecidedError as error:
                            if step.value is None:
                                raise
                            raise step.value.undecided(error) from error
                yield scores.each(read)


def score_columns(
    bound: BoundType, facts: Facts, thresholds: Thresholds, rows: int
) -> ScoreColumns:
    """Return the values of valid rows of one type that results show.

    Args:
        bound: the skill type.
        facts: gives an int64 column for the digest of a fact.
        thresholds: by which tiers begin.
        rows: how many there are, at least 1.
    """
    (scores,) = _plan(bound, tuple(bound.cuts(thresholds).items())).run(facts, rows)
    return scores


@lru_cache(maxsize=_PLANS)
def _plan(bound: BoundType, constants: tuple[tuple[Value, int], ...]) -> Plan:
    return Plan([Target(bound, bound.shown, dict(constants), bound.exact)])


class _Planner:
    """Gives every different result one step.

    Two shapes of trees have kernels of their own, as many candidates share most of their work: a
    geometric mean takes the logarithms of its axes once, and a product multiplies first what
    candidates seldom differ in.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, _Step] = {}
        self._values: dict[Value, _Step] = {}
        self._steps: list[_Step] = []

    def work(self, target: Target) -> tuple[list[_Step], ScoreColumns]:
        """Return the steps of a target beyond those of earlier ones, and those of its scores."""
        self._steps, self._values = [], {}
        for value, nano in target.constants.items():
            self._values[value] = self._constant(nano)
        scores = ScoreColumns(
            target.bound,
            {value: self._of(value) for value in target.values},
            {
                value: self._holds(value.applies)
                for value in (*target.values, *target.ratios)
                if value.applies is not None
            },
            {value: self._ratio(value) for value in target.ratios},
        )
        return self._steps, scores

    def _of(self, value: Value) -> _Step:
        """Return the step of a value, 1 where it does not apply."""
        if value not in self._values:
            self._values[value] = self._planned(value)
        return self._values[value]

    def _planned(self, value: Value) -> _Step:
        inputs, compiled = self._inputs(value), value.compiled
        if value.applies is not None:
            # a formula that may be undecided is asked only where it applies
            inputs = (self._holds(value.applies), *inputs)
            return self._step(("applied", compiled), inputs, _applied(compiled.columns), value)
        weights, product = compiled.mean, product_of(compiled)
        if weights is not None:
            logs = self._step("logarithms", inputs, lambda columns, _: logarithms(columns))
            return self._step(
                ("geometric", weights),
                (logs, *inputs),
                lambda columns, _: geometric_means(columns[1:], columns[0], weights),
            )
        if product is not None:
            return self._product(product, inputs, value)
        return self._step(("formula", compiled), inputs, compiled.columns, value)

    def _step(
        self,
        key: Hashable,
        inputs: tuple[_Step, ...],
        compute: Compute | str,
        value: Value | None = None,
    ) -> _Step:
        """Return the step of a result, which is the same for the same key and inputs."""
        whole = (key, inputs)
        if whole not in self._known:
            self._known[whole] = _Step(inputs, compute, value)
            self._steps.append(self._known[whole])
        return self._known[whole]

    def _constant(self, number: int) -> _Step:
        def compute(_: list[Any], rows: int) -> Column:
            return np.broadcast_to(np.int64(number), (rows,))

        return self._step(("constant", number), (), compute)

    def _inputs(self, value: Value) -> tuple[_Step, ...]:
        """Return the steps of the facts and the values that the tree of a value reads."""
        named = {read.name: read for read in value.inputs}
        return tuple(
            self._fact(node.digest) if node.op == "fact" else self._of(named[str(node.data[0])])
            for node in value.compiled.reads
        )

    def _fact(self, digest: str) -> _Step:
        return self._step(("fact", digest), (), digest)

    def _product(self, product: Product, inputs: tuple[_Step, ...], value: Value) -> _Step:
        """Return a product: first the factors in which candidates seldom differ."""
        seldom = {read.name for read in value.inputs if read.role in _SELDOM_SHARED}
        places = {node.digest: place for place, node in enumerate(value.compiled.reads)}
        own = [
            places[node.digest]
            for node in product.factors
            if node.op == "published" and node.data[0] in seldom
        ]
        factors = [places[node.digest] for node in product.factors]
        shared = tuple(inputs[place] for place in factors if place not in own)

        def rounded(columns: list[Any], _: int) -> Column:
            partial, *columns = columns
            return product.rounded(partial, [columns[place] for place in own], columns)

        first = self._step(
            ("partial", product.scale), shared, lambda columns, _: product.partial(columns)
        )
        return self._step(("product", value.compiled), (first, *inputs), rounded)

    def _ratio(self, value: Value) -> _Step:
        """The fractions of an exact measure; of rows where it does not apply they mean nothing."""
        function = value.compiled.ratio

        def compute(columns: list[Any], rows: int) -> Ratios:
            if not columns:
                return np.full(rows, Fraction(*function()), object)
            rows_of_inputs = zip(*(column.tolist() for column in columns), strict=True)
            return np.fromiter((Fraction(*function(*row)) for row in rows_of_inputs), object, rows)

        return self._step(("ratio", value.compiled), self._inputs(value), compute)

    def _holds(self, condition: Compiled) -> _Step:
        """Plan the rows where a condition on facts holds."""

        def compute(columns: list[Any], rows: int) -> Truths:
            holds: Truths = condition.columns(columns, rows) == NANO
            return holds

        inputs = tuple(self._fact(node.digest) for node in condition.reads)
        return self._step(("holds", condition), inputs, compute)


def _applied(compute: Compute) -> Compute:
    """Return a step in the rows in which its first column holds; 1 in the others."""

    def applied(columns: list[Any], rows: int) -> Column:
        places = np.flatnonzero(columns[0])
        result = np.full(rows, NANO, np.int64)
        if len(places):
            result[places] = compute([column[places] for column in columns[1:]], len(places))
        return result

    return applied


@attrs.frozen(eq=False)
class Product:
    """A formula that is one product over a constant, such as an emission: scale · Π factor.

    The factors that candidates share are multiplied once, in doubles; each candidate multiplies in
    its own. The product in doubles decides a row that is clearly off every half; the formula's own
    program settles the others, ties among them.

    Attributes:
        factors: the facts and published values, which may repeat.
        scale: the constant, of a product in nano.
        error: the largest error of the product in doubles, in nano.
        program: the formula.
    """

    factors: tuple[Node, ...]
    scale: Fraction
    error: float
    program: ColumnProgram

    def partial(self, columns: Sequence[Column]) -> Doubles:
        """Return the constant times some factors, in doubles; of one row without any factor."""
        result = np.array([float(self.scale)])
        for column in columns:
            result = result * column
        return result

    def rounded(self, partial: Doubles, own: Sequence[Column], columns: Sequence[Column]) -> Column:
        """Return the published product of every row.

        Args:
            partial: that of the constant and the other factors.
            own: the factors that are multiplied in.
            columns: the inputs of the program.
        """
        double = np.empty(len(columns[0]))
        double[:] = partial
        for column in own:
            np.multiply(double, column, out=double)
        result, is_open = nearest(double, self.error)
        unsure = np.flatnonzero(is_open)
        if len(unsure):
            result[unsure] = self.program([c.take(unsure) for c in columns], len(unsure))
        return result


def product_of(compiled: Compiled) -> Product | None:
    """Return the product that a formula is; None if anything else, or not proved to be near."""
    factors, scale = compiled.program.product or ((), Fraction())
    if not 0 < len(factors) <= _MOST_FACTORS:
        return None
    columns, program = compiled.columns, compiled.program
    error = _ROUNDINGS * float(max(abs(program.low), abs(program.high)) * NANO)
    if not isinstance(columns, ColumnProgram) or columns.proposals or error >= _MOST_ERROR:
        return None
    return Product(factors, scale * NANO, error, columns)
