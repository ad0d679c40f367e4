"""α Detection: whether the verdict matches the ground truth (docs/sources.md, α Detection)."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    absolute,
    axis,
    cases,
    clip,
    given,
    label,
    number,
    rank,
)
from tallystick_skills.record import ground_truth, risk, verdict


@axis(
    "skills/detection@1",
    symbol="α",
    review=UNIT,
    unlisted=UNIT,
    false_positive_slope=UNIT,
    false_negative_slope=(0, 100),
)
def detection(p: Parameters) -> Node:
    """A match earns 1, REVIEW a constant, a wrong verdict less the surer it was.

    ``unlisted`` is what the print leaves out: ALLOW or BLOCK where the truth is REVIEW (E5).
    """
    return cases(
        (verdict == ground_truth, 1),
        (verdict == "REVIEW", p.review),
        (
            (verdict == "BLOCK") & (ground_truth == "ALLOW"),
            1 - p.false_positive_slope * risk,
        ),
        (
            (verdict == "ALLOW") & (ground_truth == "BLOCK"),
            clip(1 - p.false_negative_slope * (1 - risk)),
        ),
        otherwise=p.unlisted,
    )


@axis("skills/detection@2", symbol="α", too_strict=UNIT, too_lax=UNIT, risk_slope=UNIT)
def detection_by_distance(p: Parameters) -> Node:
    """A wrong verdict loses by its distance from the truth, too lax more than too strict.

    The distance is over ALLOW 0, REVIEW 1, BLOCK 2 (E2, E3, E5, E6); a match loses by how far the
    risk score is from the expected one, if the task has one (E1).
    """
    expected_risk = number("task.expected_risk", missing=0)
    distance = label("distance", rank(verdict) - rank(ground_truth))
    closeness = cases(
        (given("task.expected_risk"), 1 - p.risk_slope * absolute(risk - expected_risk)),
        otherwise=1,
    )
    return cases(
        (distance == 0, closeness),
        (distance > 0, 1 - p.too_strict * distance / 2),
        otherwise=1 + p.too_lax * distance / 2,
    )
