"""Tiers: the thresholds of a skill type, the level that a quality reaches, and its multiplier."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tallystick.errors import NumberError
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import FormulaValue, Planner, S, Value


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
    formulas: Mapping[str, FormulaValue]

    def thresholds(self, given: Thresholds) -> Thresholds:
        """Return every threshold from those that are given; a given one replaces its formula.

        Raises:
            NumberError: a threshold is unknown, or a tracked one is not given.
        """
        names = (*self.tracked, *self.formulas)
        if set(given) - set(names) or set(self.tracked) - set(given):
            raise NumberError(
                f"found the thresholds {', '.join(given) or 'none'}, expected "
                f"{', '.join(self.tracked)} and perhaps {', '.join(self.formulas)}"
            )
        result = dict(given)
        for name, value in self.formulas.items():
            if name not in result:
                result[name] = value.compiled.nano((), result)
        return result

    def level(self, quality: int, thresholds: Thresholds) -> int:
        """The position of the highest level whose threshold a quality reaches: Q ≥ threshold."""
        return bisect_right(self.starts(thresholds), quality)

    def starts(self, thresholds: Thresholds) -> tuple[int, ...]:
        """Return the least quality that reaches each level but the lowest, ascending."""
        cuts = [thresholds[name] for name in self.cuts]
        return tuple(min(cuts[position:]) for position in range(len(cuts)))


@attrs.frozen(eq=False, slots=False)
class TierValue(Value):
    """The position of the tier that the quality reaches; which thresholds hold is said by epoch.

    Attributes:
        tiers: the levels.
    """

    tiers: Tiers

    @property
    def operation(self) -> list[Any]:
        """The names of levels and thresholds, and how thresholds follow from tracked ones."""
        tiers = self.tiers
        formulas = {name: value.digest for name, value in tiers.formulas.items()}
        return ["tier", list(tiers.levels), list(tiers.cuts), list(tiers.tracked), formulas]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the position of the highest level that is reached."""
        del facts
        return self.tiers.level(values[self.inputs[0]] or 0, thresholds)

    def plan(self, planner: Planner[S]) -> S:
        """Return the level of the quality."""
        quality, tiers = planner.slot(self.inputs[0]), self.tiers
        return planner.level(quality, len(tiers.levels), tiers.starts)


@attrs.frozen(eq=False, slots=False)
class MultiplierValue(Value):
    """The multiplier of the tier that is reached.

    Attributes:
        multipliers: of each level, in nano.
    """

    multipliers: tuple[int, ...]

    @property
    def operation(self) -> list[Any]:
        """The numbers."""
        return ["look-up", [str(multiplier) for multiplier in self.multipliers]]

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        """Return the multiplier of the level."""
        del facts, thresholds
        return self.multipliers[values[self.inputs[0]] or 0]

    def plan(self, planner: Planner[S]) -> S:
        """Return the number of the level."""
        return planner.looked_up(planner.slot(self.inputs[0]), self.multipliers)

    def plan_factor(self, planner: Planner[S]) -> S:
        """Return it in doubles, which multiply fastest."""
        level = planner.slot(self.inputs[0])
        return planner.looked_up(level, self.multipliers, in_doubles=True)
