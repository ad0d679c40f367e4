"""Tiers: the thresholds of a skill type, and the level that a quality reaches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import NumberError
from tallystick.scoring.value import Value

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
        tracked: the thresholds without a formula, which a state tracks.
        formulas: the others, in an order in which each reads only earlier ones.
    """

    levels: tuple[str, ...]
    multipliers: tuple[int, ...]
    cuts: tuple[str, ...]
    tracked: tuple[str, ...]
    formulas: Mapping[str, Value]

    def thresholds(self, given: Thresholds) -> Thresholds:
        """Every threshold from those that are given; a given one replaces its formula.

        Raises:
            NumberError: a threshold is unknown, or a tracked one is not given.
        """
        known = (*self.tracked, *self.formulas)
        if set(given) - set(known) or set(self.tracked) - set(given):
            raise NumberError(
                f"found the thresholds {', '.join(given) or 'none'}, expected "
                f"{', '.join(self.tracked)} and perhaps {', '.join(self.formulas)}"
            )
        found = dict(given)
        for name, value in self.formulas.items():
            if name not in found:
                found[name] = value.compiled.nano((), found)
        return found

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
