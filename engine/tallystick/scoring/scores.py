"""Scoring: the facts of records through axes, composite, tier and emission.

``score_facts`` takes one record and ``score_columns`` many; both follow the same steps, in the
order of the documents, and give the same integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import NANO
from tallystick.scoring.bound import BoundType
from tallystick.scoring.tiers import Thresholds

if TYPE_CHECKING:
    from tallystick.formula.columns import Column, Truths


@attrs.frozen
class Scores:
    """What one record scores; every value in nano, None where it does not apply.

    Attributes:
        axes: the published axes, by name.
        quality: the composite after its gates.
        level: the position of the tier, from 0 for the lowest.
        tier_multiplier: the multiplier of that tier.
        factors: the emission factors, by name; None where a factor does not apply.
        emission: the emission.
    """

    axes: Mapping[str, int]
    quality: int
    level: int | None
    tier_multiplier: int | None
    factors: Mapping[str, int | None]
    emission: int | None


def score_facts(bound: BoundType, facts: Sequence[int], thresholds: Thresholds) -> Scores:
    """The scores of one valid record from its facts."""
    axes: dict[str, int] = {}
    for axis in bound.axes:
        axes[axis.name] = axis.compiled.nano(facts, axes)
    quality = bound.composite.quality(axes)
    level, multiplier = None, None
    if bound.tiers is not None:
        level = bound.tiers.level(quality, thresholds)
        multiplier = bound.tiers.multipliers[level]
    if bound.emission is None or bound.base_weight is None:
        return Scores(axes, quality, level, multiplier, {}, None)
    factors = _factors(bound, facts, bound.base_weight)
    emission = emission_of(bound, quality, multiplier, factors)
    return Scores(axes, quality, level, multiplier, factors, emission)


def emission_of(
    bound: BoundType, quality: int, multiplier: int | None, factors: Mapping[str, int | None]
) -> int | None:
    """The emission from published values; a factor of None counts as 1."""
    if bound.emission is None:
        return None
    return bound.emission.compiled.nano((), emission_inputs(bound, quality, multiplier, factors))


def emission_inputs(
    bound: BoundType, quality: int, multiplier: int | None, factors: Mapping[str, int | None]
) -> dict[str, int]:
    """What an emission reads, by name; a factor of None is 1."""
    inputs = {name: NANO if value is None else value for name, value in factors.items()}
    given = {
        "quality": quality,
        "base_weight": bound.base_weight,
        "tier_multiplier": multiplier,
    }
    return inputs | {name: value for name, value in given.items() if value is not None}


def _factors(bound: BoundType, facts: Sequence[int], base_weight: int) -> dict[str, int | None]:
    base = {"base_weight": base_weight}
    found: dict[str, int | None] = dict.fromkeys(bound.absent, NANO)
    for factor in bound.factors:
        applies = factor.applies is None or factor.applies.holds(facts)
        found[factor.name] = factor.compiled.nano(facts, base) if applies else None
    return found


@attrs.frozen
class FactorColumn:
    """A factor for each row; where ``given`` is false it does not apply and holds 1."""

    values: Column
    given: Truths | None


@attrs.frozen
class ScoreColumns:
    """What many records of one type score: as ``Scores``, a column for each value."""

    axes: Mapping[str, Column]
    quality: Column
    level: Column | None
    tier_multiplier: Column | None
    factors: Mapping[str, FactorColumn]
    emission: Column | None


def score_columns(
    bound: BoundType, facts: Sequence[Column], thresholds: Thresholds, rows: int
) -> ScoreColumns:
    """The scores of many valid records of one type.

    Args:
        bound: the skill type.
        facts: an int64 column for each of ``bound.facts``.
        thresholds: the tier thresholds.
        rows: how many records there are.
    """
    import numpy as np  # noqa: PLC0415  # loaded when columns are scored

    axes: dict[str, Column] = {}
    for axis in bound.axes:
        axes[axis.name] = axis.compiled.nano_columns(facts, axes, rows)
    quality = bound.composite.quality_columns(axes, rows)
    level, multiplier = None, None
    if bound.tiers is not None:
        level = bound.tiers.level_columns(quality, thresholds)
        multiplier = np.array(bound.tiers.multipliers, np.int64)[level]
    if bound.emission is None or bound.base_weight is None:
        return ScoreColumns(axes, quality, level, multiplier, {}, None)
    factors = _factor_columns(bound, facts, bound.base_weight, rows)
    published = {name: factor.values for name, factor in factors.items()} | {"quality": quality}
    if multiplier is not None:
        published["tier_multiplier"] = multiplier
    emission = bound.emission.compiled.nano_columns((), published, rows)
    return ScoreColumns(axes, quality, level, multiplier, factors, emission)


def _factor_columns(
    bound: BoundType, facts: Sequence[Column], base_weight: int, rows: int
) -> dict[str, FactorColumn]:
    import numpy as np  # noqa: PLC0415  # loaded when columns are scored

    base = {"base_weight": np.broadcast_to(np.int64(base_weight), (rows,))}
    found = {
        name: FactorColumn(np.broadcast_to(np.int64(NANO), (rows,)), None) for name in bound.absent
    }
    for factor in bound.factors:
        values = factor.compiled.nano_columns(facts, base, rows)
        given = None
        if factor.applies is not None:
            given = factor.applies.nano_columns(facts, {}, rows) == NANO
            values = np.where(given, values, NANO)
        found[factor.name] = FactorColumn(values, given)
    return found
