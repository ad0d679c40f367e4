"""What a change of rules can do to the scores of a skill type, by bounds.

Each interval holds how far the new value of a record is from the old one, for every record that
both rule sets score. It comes from proofs, not from records: no difference lies outside, but a
difference at its ends need not exist.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from tallystick.scoring.bound import BoundType
from tallystick.scoring.value import Value
from tallystick_governance.diff.interval import Interval
from tallystick_governance.diff.move import Move, ThresholdPair, moves, range_of


@attrs.frozen
class Effect:
    """What a change can do to the records of one skill type.

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

    @property
    def pays(self) -> bool:
        """Whether there is an emission before and after."""
        return self.old_emission is not None and self.new_emission is not None

    @property
    def compares_quality(self) -> bool:
        """Whether there is a quality before and after."""
        return self.had_quality and self.has_quality

    @property
    def is_none(self) -> bool:
        """Whether no score of the type can change, and none comes or goes."""
        moved = [*self.axes.values(), *self.measures.values()]
        moved += [self.quality] if self.compares_quality else []
        moved += [self.emission] if self.pays else []
        alike = self.pays or (self.old_emission is None and self.new_emission is None)
        alike = alike and self.had_quality == self.has_quality
        return alike and all(each is not None and each.is_zero for each in moved)


def effect(old: BoundType, new: BoundType, thresholds: ThresholdPair | None = None) -> Effect:
    """Return what it does to a skill type that it is bound anew.

    Args:
        old: the type before.
        new: the type after.
        thresholds: those of a state before and after; without them any can hold.
    """
    found = moves(old, new, thresholds)
    emission = found.get("emission", Move(None))
    return Effect(
        skill_type=old.name,
        axes={axis.name: found[axis.name].difference for axis in new.axes if axis.name in found},
        quality=found["quality"].difference,
        emission=emission.difference,
        emission_ratio=emission.ratio,
        old_emission=_range(old.emission),
        new_emission=_range(new.emission),
        measures={m.name: found[m.name].difference for m in new.measures if m.name in found},
        had_quality=old.has_quality,
        has_quality=new.has_quality,
        any_tier=_is_any_tier(found.get("tier"), old, new),
    )


def _is_any_tier(move: Move | None, old: BoundType, new: BoundType) -> bool:
    """Whether nothing keeps a record of one level from every other."""
    if move is None or old.tiers is None or new.tiers is None:
        return False
    levels = len(old.tiers.levels), len(new.tiers.levels)
    return max(levels) > 1 and len(move.pairs) == levels[0] * levels[1]


def _range(value: Value | None) -> Interval | None:
    return None if value is None else range_of(value)
