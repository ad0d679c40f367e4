"""Kinds of values as a contributor may write them: no more, and no less than a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Planner, S, Value


@attrs.frozen(eq=False, slots=False)
class MinimumValue(Value):
    """The smaller of a value and a number, in nano."""

    most: int

    @property
    def operation(self) -> list[Any]:
        """The number."""
        return ["min_of", self.most]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the smaller one."""
        del facts, thresholds
        value = values[self.inputs[0]]
        return min(NANO if value is None else value, self.most)

    def plan(self, planner: Planner[S]) -> S:
        """Return a computation over columns, which no other tool understands."""

        def compute(columns: list[Any], _: int) -> object:
            return np.minimum(columns[0], self.most)

        return planner.step(("min_of", self.most), (planner.slot(self.inputs[0]),), compute)


@attrs.frozen(eq=False, slots=False)
class FloorValue(Value):
    """A value that is no less than a number, in the primitives of every tool."""

    least: int

    @property
    def operation(self) -> list[Any]:
        """The number."""
        return ["at_least", self.least]

    def plan(self, planner: Planner[S]) -> S:
        """Return the value, written over where it is below the number."""
        value = planner.slot(self.inputs[0])
        return planner.gated(value, planner.gate_number((value,), (self.least,)), (self.least,))


def with_minimum(scorer: Scorer, skill_type: str, most: int) -> Scorer:
    """Return a scorer in which the gates of a type read the minimum of the composite."""
    composite = scorer.types[skill_type].composite
    minimum = MinimumValue("ceiling", "composite", (composite,), composite.domain, most)
    return _before_gates(scorer, skill_type, minimum)


def with_floor(scorer: Scorer, skill_type: str, least: int) -> Scorer:
    """Return a scorer in which the gates of a type read no less than a number."""
    composite = scorer.types[skill_type].composite
    floor = FloorValue("floor", "composite", (composite,), composite.domain, least)
    return _before_gates(scorer, skill_type, floor)


def _before_gates(scorer: Scorer, skill_type: str, further: Value) -> Scorer:
    bound = scorer.types[skill_type]
    gated = bound.gated
    replaced: dict[Any, Value] = {
        gated: attrs.evolve(gated, inputs=(further, *gated.inputs[1:])),
    }
    values = list[Value]()
    for value in bound.values:
        if value is gated:
            values.append(further)
        elif any(read in replaced for read in value.inputs):
            inputs = tuple(replaced.get(read, read) for read in value.inputs)
            replaced[value] = attrs.evolve(value, inputs=inputs)
        values.append(replaced.get(value, value))
    changed = attrs.evolve(bound, values=tuple(values))
    return attrs.evolve(scorer, types={**scorer.types, skill_type: changed})
