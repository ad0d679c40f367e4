"""A kind of value as a contributor may write it: the composite, and a number at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tallystick.numbers.nano import NANO
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Planner, Range, Slot, Value


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

    def plan(self, planner: Planner) -> Slot:
        """Refuse columns, which the tests do not ask for."""
        raise NotImplementedError

    def range_of(self, ranges: Mapping[Value, Range]) -> Range:
        """Return the range of the value, with the number as its highest."""
        low, high = ranges[self.inputs[0]]
        return min(low, self.most), min(high, self.most)


def with_minimum(scorer: Scorer, skill_type: str, most: int) -> Scorer:
    """Return a scorer in which the gates of a type read the minimum of the composite."""
    bound = scorer.types[skill_type]
    composite, quality = bound.quality.ungated, bound.quality
    minimum = MinimumValue("ceiling", "composite", (composite,), composite.domain, most)
    replaced = {quality: attrs.evolve(quality, inputs=(minimum, *quality.inputs[1:]))}
    values = list[Value]()
    for value in bound.values:
        if value is quality:
            values.append(minimum)
        elif any(read in replaced for read in value.inputs):
            inputs = tuple(replaced.get(read, read) for read in value.inputs)
            replaced[value] = attrs.evolve(value, inputs=inputs)
        values.append(replaced.get(value, value))
    changed = attrs.evolve(bound, values=tuple(values))
    return attrs.evolve(scorer, types={**scorer.types, skill_type: changed})
