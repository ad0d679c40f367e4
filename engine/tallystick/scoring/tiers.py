"""Tiers: the thresholds of a skill type, the level that a quality reaches, and its multiplier."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction

import attrs

from tallystick.errors import NumberError
from tallystick.formula.tree import Node, cases, const, published
from tallystick.numbers.nano import NANO
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.value import Value


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
                result[name] = value.compiled.nano({}, result)
        return result

    def level(self, quality: int, thresholds: Thresholds) -> int:
        """The position of the highest level whose threshold a quality reaches: Q ≥ threshold."""
        return bisect_right(self.starts(thresholds), quality)

    def starts(self, thresholds: Thresholds) -> tuple[int, ...]:
        """Return the least quality that reaches each level but the lowest, ascending."""
        cuts = [thresholds[name] for name in self.cuts]
        return tuple(min(cuts[position:]) for position in range(len(cuts)))


def start_name(threshold: str) -> str:
    """Return the name under which a tier reads a threshold; no value of a type has it."""
    return f"thresholds.{threshold}"


def level(quality: str, cuts: Sequence[str]) -> Node:
    """Return the position of the highest level that a published quality reaches, times 1e-9.

    Args:
        quality: the name of the quality.
        cuts: the threshold from which each level but the lowest is reached.
    """
    places = reversed(list(enumerate(cuts, 1)))
    arms = [
        (published(start_name(name)) <= published(quality), Fraction(place, NANO))
        for place, name in places
    ]
    return cases(*arms, otherwise=0)


def multiplier(tier: str, multipliers: Sequence[int]) -> Node:
    """Return the multiplier, each in nano, of the level that a published tier is."""
    *arms, last = [
        (published(tier) == Fraction(place, NANO), Fraction(number, NANO))
        for place, number in enumerate(multipliers)
    ]
    return cases(*arms, otherwise=last[1]) if arms else const(last[1])
