"""Kinds of value that the engine does not have, in the list of a shipped skill type.

`MinOf` is made of the primitives that every tool knows. `Opaque` computes the same by columns of
its own, so tools that analyse cannot know what it does and have to say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import attrs
import numpy as np

import tallystick
from tallystick.formula.tree import minimum, published
from tallystick.scoring.compiled import compile_tree
from tallystick.scoring.composite import GatedValue
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Planner, S, Value


@attrs.frozen(eq=False, slots=False)
class MinOf(Value):
    """The least of its inputs."""

    @property
    def operation(self) -> list[Any]:
        return ["min_of"]

    def plan(self, planner: Planner[S]) -> S:
        tree = reduce(minimum, (published(value.name) for value in self.inputs))
        domains = {value.name: value.domain for value in self.inputs}
        return planner.formula(compile_tree(tree, {}, domains), self.inputs)


@attrs.frozen(eq=False, slots=False)
class Opaque(Value):
    """The least of its inputs, by a computation that no tool looks into."""

    @property
    def operation(self) -> list[Any]:
        return ["acme/opaque_min"]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        del facts, thresholds
        return min(values[value] or 0 for value in self.inputs)

    def plan(self, planner: Planner[S]) -> S:
        slots = tuple(planner.slot(value) for value in self.inputs)
        return planner.step("acme/opaque_min", slots, lambda columns, _: np.minimum.reduce(columns))


def before_the_gates(
    scorer: tallystick.Scorer, skill_type: str, kind: type[Value], axis: str
) -> tallystick.Scorer:
    """The rule set with a further value between the composite of a type and its gates.

    Args:
        scorer: the rule set.
        skill_type: the type.
        kind: the kind of the value; it reads the composite and an axis.
        axis: the name of that axis.
    """
    bound = scorer.types[skill_type]
    gated = bound.gated
    axes = {value.name: value for value in bound.axes}
    further = kind("floor", "composite", (gated.ungated, axes[axis]), gated.ungated.domain)
    later: dict[Value, Value] = {gated: attrs.evolve(gated, inputs=(further, *gated.inputs[1:]))}
    values: list[Value] = []
    for value in bound.values:
        if isinstance(value, GatedValue):
            values += [further, later[gated]]
            continue
        inputs = tuple(later.get(read, read) for read in value.inputs)
        if inputs != value.inputs:
            later[value] = attrs.evolve(value, inputs=inputs)
        values.append(later.get(value, value))
    changed = attrs.evolve(bound, values=tuple(values))
    return attrs.evolve(scorer, types={**scorer.types, skill_type: changed})
