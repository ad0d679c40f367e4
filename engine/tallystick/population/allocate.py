"""An allocation, run: from a population to weights."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from tallystick.population.column import Values
from tallystick.population.population import Population
from tallystick.population.step import BoundAllocation


@attrs.frozen
class Allocation:
    """What an allocation comes to.

    Attributes:
        columns: what each step gave, by name.
        weights: in nano, by hotkey; who has none is left out, who has 0 is not.
        carry: by the step that carries it and by hotkey, what is kept for the next round, in nano.
        without: by hotkey of who has no weight above 0, why.
        stopped: the step that ended the allocation with zeros; None where none did.
    """

    columns: Mapping[str, Values]
    weights: Mapping[str, int]
    carry: Mapping[str, Mapping[str, int]]
    without: Mapping[str, str]
    stopped: str | None = None


def allocate(
    bound: BoundAllocation, population: Population, given: Mapping[str, Values] | None = None
) -> Allocation:
    """The weights of a population.

    Args:
        bound: the steps.
        population: the miners, and what is known of them.
        given: columns that take the place of what steps of their names would give.

    Raises:
        AllocationError: a step refuses what it is given; there are no weights then.
    """
    raise NotImplementedError
