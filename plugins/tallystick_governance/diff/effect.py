"""The effect of a change of rules on the scores of a skill type, by bounds.

Each interval holds how far the new value of a record is from the old one, for every record that
both rule sets score. It comes from bounds of the formulas, not from records: no difference lies
outside, but a difference at its ends need not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from tallystick.scoring.bound import BoundType
from tallystick.scoring.computation import needed
from tallystick.scoring.value import Value
from tallystick_governance.diff.move import (
    UNKNOWN,
    Move,
    ThresholdPair,
    has_same_thresholds,
    moves,
    range_of,
)
from tallystick_governance.ranges import Interval


@attrs.frozen
class Effect:
    """The effect of a change on the records of one skill type.

    Attributes:
        skill_type: the type.
        axes: by axis of both, how far it can move; None where no bound is known.
        quality: how far the composite can move, after its gates; likewise. It says nothing unless
            there is one before and after.
        emission: how far the emission can move; None also without one in both.
        emission_ratio: the new emission over the old one, before either is rounded; where the old
            one is 0, so is the new one. None where no bound is known, or without one in both.
        old_emission: the range of the old emission.
        new_emission: the range of the new emission.
        measures: by measure of both, how far it can move; None where no bound is known.
        had_quality: whether there was a quality before.
        has_quality: whether there is one after.
        any_tier: whether a record of any tier may be in any other, so that the bounds of its
            emission are those of every pair of tiers.
        others: by name, how far a value can move that no value above reads; None where no bound is
            known.
        recomputed: the names of the values that either type computes in another way, or alone.
    """

    skill_type: str
    axes: Mapping[str, Interval | None]
    quality: Interval | None
    emission: Interval | None = None
    emission_ratio: Interval | None = None
    old_emission: Interval | None = None
    new_emission: Interval | None = None
    measures: Mapping[str, Interval | None] = attrs.field(factory=dict)
    had_quality: bool = True
    has_quality: bool = True
    any_tier: bool = False
    others: Mapping[str, Interval | None] = attrs.field(factory=dict)
    recomputed: tuple[str, ...] = ()

    @property
    def pays(self) -> bool:
        """True if there is an emission before and after."""
        return self.old_emission is not None and self.new_emission is not None

    @property
    def compares_quality(self) -> bool:
        """True if there is a quality before and after."""
        return self.had_quality and self.has_quality

    @property
    def pays_alike(self) -> bool:
        """True if there is an emission before and after, or neither."""
        return (self.old_emission is None) == (self.new_emission is None)

    @property
    def moves(self) -> Mapping[str, Interval | None]:
        """How far each value can move that is compared; None where no bound is known."""
        return {
            **self.axes,
            **self.measures,
            **({"quality": self.quality} if self.compares_quality else {}),
            **({"emission": self.emission} if self.pays else {}),
            **self.others,
        }

    @property
    def is_none(self) -> bool:
        """True if no score of the type can change, and none comes or goes."""
        alike = self.pays_alike and self.had_quality == self.has_quality
        return alike and all(move is not None and move.is_zero for move in self.moves.values())


def effect(
    old: BoundType,
    new: BoundType,
    thresholds: ThresholdPair | None = None,
) -> Effect:
    """Return what it does to a skill type that it is bound anew.

    Args:
        old: the type before.
        new: the type after.
        thresholds: those of a state before and after; without them any can hold.
    """
    bounds = moves(old, new, thresholds)
    emission = bounds.get("emission", Move(None))
    names = recomputed(old, new)
    return Effect(
        skill_type=old.name,
        axes={axis.name: bounds[axis.name].difference for axis in new.axes if axis.name in bounds},
        quality=_quality(old, new, bounds),
        emission=emission.difference,
        emission_ratio=emission.ratio,
        old_emission=_range(old.emission),
        new_emission=_range(new.emission),
        measures={m.name: bounds[m.name].difference for m in new.measures if m.name in bounds},
        had_quality=old.has_quality,
        has_quality=new.has_quality,
        any_tier=_is_any_tier(bounds.get("tier"), old, new),
        others=_others(old, new, names, bounds),
        recomputed=names,
    )


def _quality(old: BoundType, new: BoundType, found: Mapping[str, Move]) -> Interval | None:
    """Return how far the quality moves; None where other values are the qualities."""
    before, after = old.quality.name, new.quality.name
    return found[after].difference if before == after else None


def recomputed(old: BoundType, new: BoundType) -> tuple[str, ...]:
    """Return the names of the values that either type computes in another way, or alone."""
    before, after = ({v.name: v.digest for v in bound.values} for bound in (old, new))
    names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
    # the digest of a tier has the formulas of thresholds, not the seeds that they begin with
    if new.tier is not None and new.tier.name not in names and not has_same_thresholds(old, new):
        names.append(new.tier.name)
    return tuple(names)


def _others(
    old: BoundType, new: BoundType, names: Collection[str], found: Mapping[str, Move]
) -> dict[str, Interval | None]:
    """Return how far values move that are not shown and that no shown value reads."""
    hidden = set(names)
    for bound in (old, new):
        visible: set[Value] = {*bound.axes, *bound.measures}
        visible |= {bound.quality} if bound.has_quality else set()
        visible |= {bound.emission} if bound.emission is not None else set()
        hidden -= {value.name for value in needed(bound.values, visible)}
    if not (old.has_quality or new.has_quality):
        # the constants that stand for a quality where there is none
        hidden -= {old.quality.name, old.composite.name, new.quality.name, new.composite.name}
    moved = {name: found.get(name, UNKNOWN).difference for name in names if name in hidden}
    return {name: move for name, move in moved.items() if move is None or not move.is_zero}


def _is_any_tier(move: Move | None, old: BoundType, new: BoundType) -> bool:
    """Return whether nothing keeps a record of one level from every other."""
    if move is None or old.tiers is None or new.tiers is None:
        return False
    levels = len(old.tiers.levels), len(new.tiers.levels)
    return max(levels) > 1 and len(move.pairs) == levels[0] * levels[1]


def _range(value: Value | None) -> Interval | None:
    return None if value is None else range_of(value)
