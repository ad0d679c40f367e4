"""α Detection: how far the verdict is from the truth, and what the truth is worth."""

from decimal import Decimal

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    absolute,
    axis,
    cases,
    label,
    maximum,
    rank,
)
from tallystick_blend.record import expected_risk, ground_truth, risk, source, verdict


@axis(
    "blend/detection@1",
    symbol="α",
    too_strict=UNIT,
    too_lax=UNIT,
    farthest=(2, 100),
    risk_floor=UNIT,
    risk_slope=UNIT,
    risk_scale=(Decimal("0.001"), 1000),
    human=UNIT,
    canary=UNIT,
    consensus=UNIT,
    consensus_expired=UNIT,
)
def detection(p: Parameters) -> Node:
    """A wrong verdict loses by its distance, a right one by its risk; times the provenance."""
    distance = label("distance", rank(verdict) - rank(ground_truth))
    risk_distance = absolute(risk - expected_risk) / p.risk_scale
    base = cases(
        (distance == 0, maximum(p.risk_floor, 1 - p.risk_slope * risk_distance)),
        (distance > 0, 1 - p.too_strict * distance / p.farthest),
        otherwise=1 + p.too_lax * distance / p.farthest,
    )
    worth = cases(
        (source == "human", p.human),
        (source == "canary", p.canary),
        (source == "consensus", p.consensus),
        otherwise=p.consensus_expired,
    )
    return label("base", base) * label("worth of the truth", worth)
