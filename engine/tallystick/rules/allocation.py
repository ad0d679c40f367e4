"""The section ``[allocation]``: how the scores of a population become weights, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import attrs

StepValue = str | bool | int | Decimal | tuple["StepValue", ...] | Mapping[str, "StepValue"]
"""What a key of a step may hold; a list is a tuple, a number with a fraction a decimal."""


@attrs.frozen
class AllocationStep:
    """One step, which makes a column of its name.

    Attributes:
        name: the name under which later steps read the column.
        do: which kind of step it is, such as ``share``.
        keys: the other keys of its table, as the kind of step takes them.
    """

    name: str
    do: str
    keys: Mapping[str, StepValue] = attrs.field(factory=dict)


@attrs.frozen
class Allocation:
    """The steps from scores to weights; the column of the last is the weight.

    Attributes:
        steps: in order; each reads columns of earlier ones.
        group: the field of a record by which its miner stands in a group.
        groups: the share of each group, which sum to exactly 1; empty without groups.
    """

    steps: tuple[AllocationStep, ...]
    group: str = "skill_type"
    groups: Mapping[str, Decimal] = attrs.field(factory=dict)
