"""Tiers: the thresholds of a skill type, and the level that a quality reaches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.exact import evaluate
from tallystick.formula.tree import Node, names
from tallystick.numbers.nano import publish

if TYPE_CHECKING:
    from tallystick.formula.columns import Column

Thresholds = Mapping[str, int]
"""The published thresholds of one skill type, in nano, by name."""


@attrs.frozen(eq=False)
class Tiers:
    """The levels of a rule set.

    Attributes:
        levels: the names, from the lowest to the highest.
        multipliers: the emission multiplier of each level, in nano.
        cuts: the threshold from which each level but the lowest is reached.
        formulas: the bound tree of each threshold that has one; the others are tracked.
    """

    levels: tuple[str, ...]
    multipliers: tuple[int, ...]
    cuts: tuple[str, ...]
    formulas: Mapping[str, Node]

    def thresholds(self, tracked: Thresholds) -> Thresholds:
        """Every threshold from those that are tracked; a tracked one replaces its formula.

        Raises:
            FormulaError: the thresholds read each other in a circle.
        """
        known = dict(tracked)
        waiting = {name: tree for name, tree in self.formulas.items() if name not in known}
        while waiting:
            ready = {n for n, t in waiting.items() if set(names(t, "published")) <= known.keys()}
            if not ready:
                raise FormulaError(f"found thresholds that wait for each other: {sorted(waiting)}")
            known |= {n: publish(self._value(waiting.pop(n), known)) for n in ready}
        return known

    def level(self, quality: int, thresholds: Thresholds) -> int:
        """The position of the highest level whose threshold a quality reaches: Q ≥ threshold."""
        return bisect_right(self._cuts(thresholds), quality)

    def level_columns(self, quality: Column, thresholds: Thresholds) -> Column:
        """The position of the level of each row."""
        import numpy as np  # noqa: PLC0415  # loaded when columns are scored

        return np.searchsorted(np.array(self._cuts(thresholds), np.int64), quality, side="right")

    def _cuts(self, thresholds: Thresholds) -> list[int]:
        """From where on each level is the highest that is reached, ascending."""
        cuts = [thresholds[name] for name in self.cuts]
        return [min(cuts[position:]) for position in range(len(cuts))]

    @staticmethod
    def _value(tree: Node, known: Thresholds) -> Fraction:
        return evaluate(tree, {}, known)
