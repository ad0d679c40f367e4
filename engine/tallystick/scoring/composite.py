"""The composite of a skill type: its axes brought together, then its gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import NumberError
from tallystick.numbers.means import (
    arithmetic_mean,
    arithmetic_mean_columns,
    geometric_mean,
    geometric_mean_columns,
)
from tallystick.numbers.weights import Weights
from tallystick.scoring.compiled import Compiled

if TYPE_CHECKING:
    from tallystick.formula.columns import Column

_MEANS = {"geometric": geometric_mean, "arithmetic": arithmetic_mean}
_COLUMNS = {"geometric": geometric_mean_columns, "arithmetic": arithmetic_mean_columns}


@attrs.frozen
class Gate:
    """The composite becomes ``composite`` when the published axis is below ``below``; nano."""

    axis: str
    below: int
    composite: int


@attrs.frozen(eq=False)
class Composite:
    """How axes become the quality.

    Attributes:
        kind: ``geometric``, ``arithmetic``, or the name of a formula.
        axes: the names of the weighed axes.
        weights: their weights; None for a formula.
        formula: the compiled formula; None for a weighted mean.
        gates: applied in this order.
    """

    kind: str
    axes: tuple[str, ...]
    weights: Weights | None
    formula: Compiled | None
    gates: tuple[Gate, ...]

    def ungated(self, published: Mapping[str, int]) -> int:
        """The composite of one record before its gates, in nano."""
        if self.formula is not None:
            return self.formula.nano((), published)
        return _MEANS[self.kind]([published[axis] for axis in self.axes], self._weights())

    def quality(self, published: Mapping[str, int]) -> int:
        """The composite of one record, in nano."""
        return self.gated(self.ungated(published), published)

    def gated(self, quality: int, published: Mapping[str, int]) -> int:
        """The composite after its gates."""
        for gate in self.gates:
            if published[gate.axis] < gate.below:
                quality = gate.composite
        return quality

    def quality_columns(self, published: Mapping[str, Column], rows: int) -> Column:
        """The composite of each row, in nano."""
        quality = self._ungated_columns(published, rows)
        for gate in self.gates:
            quality[published[gate.axis] < gate.below] = gate.composite
        return quality

    def _ungated_columns(self, published: Mapping[str, Column], rows: int) -> Column:
        if self.formula is not None:
            return self.formula.nano_columns((), published, rows)
        columns: Sequence[Column] = [published[axis] for axis in self.axes]
        return _COLUMNS[self.kind](columns, self._weights())

    def _weights(self) -> Weights:
        if self.weights is None:
            raise NumberError(f"found no weights for the composite {self.kind}, expected some")
        return self.weights
