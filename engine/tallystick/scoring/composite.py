"""The composite of a skill type: its axes brought together, then its gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import attrs

from tallystick.formula.text import decimal_text
from tallystick.numbers.means import arithmetic_mean, geometric_mean
from tallystick.numbers.nano import NANO
from tallystick.numbers.weights import Weights
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Planner, S, Value, nano_text

Mean = Literal["geometric", "arithmetic"]
MEANS: Mapping[str, Mean] = {"geometric": "geometric", "arithmetic": "arithmetic"}
"""The kinds of weighted means, by what a rule set calls them."""
_EXACT = {"geometric": geometric_mean, "arithmetic": arithmetic_mean}


@attrs.frozen(eq=False, slots=False)
class MeanValue(Value):
    """A weighted mean of its inputs, in the order of the weights.

    Attributes:
        mean: its kind.
        weights: one for each input.
    """

    mean: Mean
    weights: Weights

    @property
    def weighed(self) -> Mapping[Value, int]:
        """The inputs whose weight is not 0, with its numerator over the common denominator."""
        axes = [self.inputs[index] for index in self.weights.kept]
        return dict(zip(axes, self.weights.numerators, strict=True))

    @property
    def operation(self) -> list[Any]:
        """The weights that are not 0."""
        weights = [[value.name, numerator] for value, numerator in self.weighed.items()]
        return ["mean", self.mean, sorted(weights), self.weights.denominator]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the mean by whole numbers."""
        del facts, thresholds
        axes = [NANO if (n := values[axis]) is None else n for axis in self.inputs]
        return _EXACT[self.mean](axes, self.weights)

    def plan(self, planner: Planner[S]) -> S:
        """Return the mean of the inputs whose weight is not 0."""
        axes = tuple(planner.slot(axis) for axis in self.weighed)
        if self.mean == "geometric":
            return planner.geometric_mean(axes, self.weights)
        return planner.arithmetic_mean(axes, self.weights)

    def lines(self) -> list[str]:
        """Return the kind of the mean, and the weight of each axis."""
        denominator = self.weights.denominator
        weights = (f"{axis.name} {share}/{denominator}" for axis, share in self.weighed.items())
        return [f"{self.name}: {self.mean}", f"weights: {', '.join(weights)}"]

    def substituted(self, facts: Sequence[int], values: Mapping[Value, int | None]) -> str:
        """Return the axes of one record with their weights."""
        del facts
        sign, join = ("^", " · ") if self.mean == "geometric" else (" · ", " + ")
        return join.join(
            f"{nano_text(values[axis] or 0)}{sign}"
            f"{decimal_text(Fraction(share, self.weights.denominator))}"
            for axis, share in self.weighed.items()
        )


@attrs.frozen
class Gate:
    """The composite becomes ``composite`` when the published axis is below ``below``; nano."""

    axis: str
    below: int
    composite: int


@attrs.frozen(eq=False, slots=False)
class GatedValue(Value):
    """The composite after its gates. It reads the composite, then the axis of each gate.

    Attributes:
        gates: applied in this order.
    """

    gates: tuple[Gate, ...]

    @property
    def ungated(self) -> Value:
        """The composite before the gates."""
        return self.inputs[0]

    @property
    def deciding(self) -> tuple[tuple[Gate, Value], ...]:
        """Each gate with its axis."""
        axes = {axis.name: axis for axis in self.inputs[1:]}
        return tuple((gate, axes[gate.axis]) for gate in self.gates)

    @property
    def operation(self) -> list[Any]:
        """The gates in their order."""
        return ["gates", [[gate.axis, gate.below, gate.composite] for gate in self.gates]]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the composite of the last gate that closes, else the ungated one."""
        del facts, thresholds
        quality = values[self.inputs[0]]
        for gate, axis in self.deciding:
            if (values[axis] or 0) < gate.below:
                quality = gate.composite
        return quality

    def plan(self, planner: Planner[S]) -> S:
        """Return the composite, written over where a gate decides."""
        ungated, number = planner.slot(self.ungated), self.plan_gate(planner)
        if number is None:
            return ungated
        return planner.gated(ungated, number, tuple(gate.composite for gate in self.gates))

    def plan_gate(self, planner: Planner[S]) -> S | None:
        """Return the number, from 1, of the gate that decides, 0 for none; None without gates."""
        if not self.gates:
            return None
        axes = tuple(planner.slot(axis) for _, axis in self.deciding)
        return planner.gate_number(axes, tuple(gate.below for gate in self.gates))

    def lines(self) -> list[str]:
        """Return a line for each gate."""
        return [
            f"gate: {gate.axis} < {nano_text(gate.below)}: composite {nano_text(gate.composite)}"
            for gate in self.gates
        ]
