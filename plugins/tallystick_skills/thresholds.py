"""Tier thresholds over the baseline of a skill type (docs/sources.md, Tier Assignment)."""

from tallystick.plugins.author import UNIT, Node, Parameters, minimum, published, threshold


@threshold("skills/scaled-baseline@1", within=(0, 10), factor=(1, 10))
def scaled_baseline(p: Parameters) -> Node:
    """A multiple of the baseline; above 1 it cannot be reached (E20)."""
    return p.factor * published("baseline")


@threshold("skills/scaled-baseline@2", within=UNIT, factor=(1, 10), headroom=UNIT)
def scaled_baseline_with_headroom(p: Parameters) -> Node:
    """A multiple of the baseline, but at most a part of the way from it to 1 (E20)."""
    baseline = published("baseline")
    return minimum(p.factor * baseline, baseline + p.headroom * (1 - baseline))
