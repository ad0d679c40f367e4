"""A bound step: a pure, exact function of earlier columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import attrs

from tallystick.canonical import digest
from tallystick.population.column import Values
from tallystick.population.population import Population
from tallystick.rules.allocation import StepRules
from tallystick.rules.toml import KeyPath

Shape = Literal["grouped", "flat", "number"]
"""What a step gives: a column for each group, one column, or a number."""


@attrs.frozen(eq=False, slots=False)
class Step(ABC):
    """A step of an allocation, bound.

    Attributes:
        name: by which later steps read it.
        inputs: the names of the earlier steps that it reads.
        shape: what it gives.
        origin: the keys of the rule set that say it.
        publish: whether its values are rounded.
    """

    rules: StepRules
    inputs: tuple[Step, ...]
    shape: Shape
    origin: KeyPath

    @property
    def name(self) -> str:
        """The name by which later steps read it."""
        return self.rules.name

    @cached_property
    def digest(self) -> str:
        """The identity of what is computed: of the operation and of all that it reads."""
        return digest([self.operation, {step.name: step.digest for step in self.inputs}])

    @property
    @abstractmethod
    def operation(self) -> list[Any]:
        """The operation without its inputs, as JSON values."""

    @abstractmethod
    def apply(self, given: Given) -> Values:
        """What the step gives.

        Raises:
            AllocationError: where the step refuses what it is given.
            UndecidedError: a comparison is not decided.
        """


@attrs.frozen
class Given:
    """What a step is given: the population, and the values of earlier steps by name."""

    population: Population
    values: Mapping[str, Values]


@attrs.frozen
class BoundAllocation:
    """An allocation, bound: its steps in order, the last of which is the weight.

    Attributes:
        steps: in order.
        groups: the share of each group, in name order; empty without groups.
    """

    steps: tuple[Step, ...]
    groups: Mapping[str, Any]

    @property
    def weight(self) -> Step:
        """The step that gives the weights."""
        return self.steps[-1]

    @property
    def digest(self) -> str:
        """The identity of the whole computation."""
        return self.weight.digest
