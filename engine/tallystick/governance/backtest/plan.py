"""Plans: how the records of one skill type are scored under many candidates at once.

What several candidates compute alike is computed once: an axis or a factor is the same where its
bound tree is, over the same facts and published values and under the same requirements; a composite
where its axes, weights and gates are, and so on. A plan is worked out once as a list of steps, each
over the results of earlier ones; a result is dropped when nobody further reads it. Every value is
the integer that scoring the record alone gives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.columns import Column
from tallystick.governance.backtest.means import geometric_means, logarithms
from tallystick.governance.backtest.products import Product, finished, partial, product_of
from tallystick.numbers.nano import NANO
from tallystick.numbers.weights import Weights
from tallystick.scoring.bound import BoundType
from tallystick.scoring.compiled import Compiled
from tallystick.scoring.tiers import Thresholds, Tiers
from tallystick.scoring.value import Value

Small = npt.NDArray[np.int8 | np.int16]
"""The number of a tier or a gate."""
Slot = int
"""Where a result of a step stands."""
Facts = Callable[[str], Column]
"""A column of facts by digest."""
_Compute = Callable[[list[Any], int], Any]

_DOUBLE = 1 << 53
"""Up to here doubles hold every whole number."""
_QUALITY = "quality"
_MULTIPLIER = "tier_multiplier"


@attrs.frozen(eq=False)
class Scored:
    """What one candidate makes of rows of facts.

    Attributes:
        quality: nano.
        level: the position of the tier; None without tiers.
        gate: the number, from 1, of the gate that decides; 0 for none; None without gates.
        emission: nano; None without an emission.
        axes: those that gates read, by name.
    """

    quality: Column
    level: Small | None
    gate: Small | None
    emission: Column | None
    axes: Mapping[str, Column]


@attrs.frozen(eq=False)
class _Step:
    slot: Slot
    compute: _Compute
    inputs: tuple[Slot, ...]


@attrs.frozen(eq=False)
class _Work:
    """One candidate: its own steps, what it comes to, and what may be dropped afterwards."""

    candidate: int
    steps: tuple[_Step, ...]
    quality: Slot
    level: Slot | None
    gate: Slot | None
    emission: Slot | None
    axes: Mapping[str, Slot]
    dropped: tuple[Slot, ...]


@attrs.frozen(eq=False)
class Plan:
    """Candidates that score the same rows.

    Attributes:
        works: one a candidate.
        facts: the digests of the facts that they read, each with its slot.
        slots: how many slots there are.
    """

    works: tuple[_Work, ...]
    facts: Mapping[str, Slot]
    slots: int

    def run(self, facts: Facts, rows: int) -> Iterator[tuple[int, Scored]]:
        """What each candidate makes of some valid rows, one candidate after the other.

        Args:
            facts: gives an int64 column for a digest.
            rows: how many rows it has, at least 1.
        """
        held: list[Any] = [None] * self.slots
        for digest, slot in self.facts.items():
            held[slot] = facts(digest)
        with np.errstate(all="ignore"):
            for work in self.works:
                for step in work.steps:
                    held[step.slot] = step.compute([held[slot] for slot in step.inputs], rows)
                yield work.candidate, _scored(work, held)
                for slot in work.dropped:
                    held[slot] = None


def plan_of(
    bounds: Mapping[int, BoundType],
    thresholds: Mapping[int, Thresholds],
    shown: AbstractSet[str] = frozenset(),
) -> Plan:
    """The plan of candidates that accept the same records of one type.

    Args:
        bounds: the type as each candidate binds it, by the position of the candidate; all have the
            same schema and the same requirements.
        thresholds: the tier thresholds of each.
        shown: axes to give beside those that gates read, where a candidate has them.
    """
    planning = _Planning()
    works = [planning.work(c, bound, thresholds[c], shown) for c, bound in bounds.items()]
    last = {slot: place for place, work in enumerate(works) for slot in _touched(work)}
    dropped: list[list[Slot]] = [[] for _ in works]
    for slot, place in last.items():
        dropped[place].append(slot)
    return Plan(
        tuple(attrs.evolve(w, dropped=tuple(d)) for w, d in zip(works, dropped, strict=True)),
        planning.facts,
        len(planning.known),
    )


def _touched(work: _Work) -> Iterator[Slot]:
    for step in work.steps:
        yield from (step.slot, *step.inputs)
    yield from (work.quality, *work.axes.values())
    yield from (s for s in (work.level, work.gate, work.emission) if s is not None)


def _scored(work: _Work, held: list[Any]) -> Scored:
    def at(slot: Slot | None) -> Any:  # noqa: ANN401  # a column of the kind that the slot has
        return None if slot is None else held[slot]

    return Scored(
        quality=held[work.quality],
        level=at(work.level),
        gate=at(work.gate),
        emission=at(work.emission),
        axes={name: held[slot] for name, slot in work.axes.items()},
    )


class _Planning:
    """Gives every different result one slot, and every slot the step that fills it."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Slot] = {}
        self.facts: dict[str, Slot] = {}
        self._new: list[_Step] = []

    def work(
        self, candidate: int, bound: BoundType, thresholds: Thresholds, shown: AbstractSet[str]
    ) -> _Work:
        """The work of one candidate; what earlier ones do is not done again."""
        self._new = []
        axes: dict[str, Slot] = {}
        for axis in bound.axes:
            axes[axis.name] = self._value(axis.compiled, bound, axes)
        gate = self._gate(bound, axes)
        quality = self._quality(bound, axes, gate)
        level = None
        if bound.tiers is not None:
            level = self._level(quality, cuts_of(bound.tiers, thresholds))
        emission = self._emission(bound, quality, level)
        gates = {each.axis for each in bound.composite.gates}
        read = {name: slot for name, slot in axes.items() if name in gates | shown}
        steps = tuple(self._new)
        return _Work(candidate, steps, quality, level, gate, emission, read, ())

    def _step(self, key: Hashable, inputs: tuple[Slot, ...], compute: _Compute) -> Slot:
        whole = (key, inputs)
        if whole not in self.known:
            self.known[whole] = len(self.known)
            self._new.append(_Step(self.known[whole], compute, inputs))
        return self.known[whole]

    def _fact(self, digest: str) -> Slot:
        if digest not in self.facts:
            self.facts[digest] = self.known["fact", digest] = len(self.known)
        return self.facts[digest]

    def _constant(self, nano: int) -> Slot:
        def compute(_: list[Any], rows: int) -> Column:
            return np.broadcast_to(np.int64(nano), (rows,))

        return self._step(("constant", nano), (), compute)

    def _value(self, compiled: Compiled, bound: BoundType, published: Mapping[str, Slot]) -> Slot:
        """A formula over facts and published values."""
        inputs = tuple(
            self._fact(bound.facts[s].digest) if isinstance(s, int) else published[s]
            for s in compiled.sources
        )
        return self._step(("value", compiled.tree.digest), inputs, compiled.proved.columns)

    def _gate(self, bound: BoundType, axes: Mapping[str, Slot]) -> Slot | None:
        gates = bound.composite.gates
        if not gates:
            return None
        limits = tuple(gate.below for gate in gates)

        def compute(columns: list[Any], rows: int) -> Small:
            found = np.zeros(rows, _small(len(limits)))
            for number, (column, below) in enumerate(zip(columns, limits, strict=True), 1):
                found[column < below] = number
            return found

        return self._step(("gate", limits), tuple(axes[gate.axis] for gate in gates), compute)

    def _quality(self, bound: BoundType, axes: Mapping[str, Slot], gate: Slot | None) -> Slot:
        ungated = self._ungated(bound, axes)
        if gate is None:
            return ungated
        instead = np.array([0, *(each.composite for each in bound.composite.gates)], np.int64)
        hits = self._step("hits", (gate,), lambda columns, _: np.flatnonzero(columns[0]))

        def compute(columns: list[Any], _: int) -> Column:
            quality: Column = columns[0]
            hit, gates = columns[1:]
            if len(hit):
                quality = quality.copy()
                quality[hit] = instead[gates[hit]]
            return quality

        return self._step(("gated", tuple(instead.tolist())), (ungated, hits, gate), compute)

    def _ungated(self, bound: BoundType, axes: Mapping[str, Slot]) -> Slot:
        composite = bound.composite
        if composite.formula is not None:
            return self._value(composite.formula, bound, axes)
        names, weights = composite.axes, composite.weights
        inputs = tuple(axes[name] for name in names)
        if composite.kind == "geometric" and weights is not None:
            kept = tuple(inputs[place] for place in weights.kept)
            logs = self._step("logarithms", kept, lambda columns, _: logarithms(columns))
            return self._step(("geometric", weights), (logs, *kept), _Geometric(weights))
        ungated = attrs.evolve(composite, gates=())

        def compute(columns: list[Any], rows: int) -> Column:
            return ungated.quality_columns(dict(zip(names, columns, strict=True)), rows)

        return self._step((composite.kind, weights), inputs, compute)

    def _level(self, quality: Slot, cuts: tuple[int, ...]) -> Slot:
        def compute(columns: list[Any], rows: int) -> Small:
            level = np.zeros(rows, _small(len(cuts)))
            for cut in cuts:
                # truths count as numbers of one byte
                np.add(level, (columns[0] >= cut).view(np.int8), out=level)
            return level

        return self._step(("level", cuts), (quality,), compute)

    def _multiplier(self, level: Slot, multipliers: tuple[int, ...]) -> Slot:
        return self._looked_up(level, np.array(multipliers, np.int64))

    def _whole_multiplier(self, level: Slot, multipliers: tuple[int, ...]) -> Slot:
        """Multipliers over their unit, as what they are multiplied with fastest."""
        held = max(multipliers) < _DOUBLE
        return self._looked_up(level, np.array(multipliers, np.float64 if held else np.int64))

    def _looked_up(self, level: Slot, table: npt.NDArray[Any]) -> Slot:
        key = ("looked up", table.dtype.char, tuple(table.tolist()))
        return self._step(key, (level,), lambda columns, _: table.take(columns[0], mode="clip"))

    def _factor(self, factor: Value, bound: BoundType, base: Slot) -> Slot:
        value = self._value(factor.compiled, bound, {"base_weight": base})
        if factor.applies is None:
            return value
        applies = self._value(factor.applies, bound, {})

        def compute(columns: list[Any], _: int) -> Column:
            applied: Column = np.where(columns[1] == NANO, columns[0], NANO)
            return applied

        return self._step("applied", (value, applies), compute)

    def _emission(self, bound: BoundType, quality: Slot, level: Slot | None) -> Slot | None:
        if bound.emission is None or bound.base_weight is None:
            return None
        base = self._constant(bound.base_weight)
        published = {name: self._constant(NANO) for name in bound.absent}
        published |= {factor.name: self._factor(factor, bound, base) for factor in bound.factors}
        published |= {"base_weight": base, _QUALITY: quality}
        compiled = bound.emission.compiled
        product = product_of(compiled.proved.columns)
        tiers = bound.tiers if level is not None else None
        if product is None:
            if level is not None and tiers is not None:
                published[_MULTIPLIER] = self._multiplier(level, tiers.multipliers)
            return self._value(compiled, bound, published)
        shared, own = list[Slot](), list[Slot]()
        for place, unit in zip(product.inputs, product.units, strict=True):
            name = str(compiled.sources[place])
            if name == _MULTIPLIER and level is not None and tiers is not None:
                # the table is divided, not the column
                whole = tuple(m // unit for m in tiers.multipliers)
                own.append(self._whole_multiplier(level, whole))
            else:
                (own if name == _QUALITY else shared).append(self._over(published[name], unit))
        return self._product(product, tuple(shared), tuple(own))

    def _over(self, slot: Slot, unit: int) -> Slot:
        """A published value as a whole number of its unit."""
        if unit == 1:
            return slot
        return self._step(("over", unit), (slot,), lambda columns, _: columns[0] // unit)

    def _product(self, product: Product, shared: tuple[Slot, ...], own: tuple[Slot, ...]) -> Slot:
        start = self._step(
            ("partial", product.coefficient, product.divisor),
            shared,
            lambda columns, _: partial(product, columns),
        )
        key = ("product", product.divisor)
        return self._step(
            key,
            (start, *own),
            lambda columns, rows: finished(product, columns[0], columns[1:], rows),
        )


@attrs.frozen
class _Geometric:
    """Computes a geometric mean of axes, whose logarithms come first."""

    weights: Weights

    def __call__(self, columns: list[Any], _: int) -> Column:
        return geometric_means(columns[1:], columns[0], self.weights)


def _small(count: int) -> type[np.int8 | np.int16]:
    """What holds numbers up to so many."""
    return np.int8 if count <= np.iinfo(np.int8).max else np.int16


def cuts_of(tiers: Tiers, thresholds: Thresholds) -> tuple[int, ...]:
    """From where on each level but the lowest is the highest that is reached, ascending."""
    cuts = [thresholds[name] for name in tiers.cuts]
    return tuple(min(cuts[place:]) for place in range(len(cuts)))
