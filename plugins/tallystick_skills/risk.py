"""μ, χ: how close the risk score is to a reference (docs/sources.md, Type Specific Axes)."""

from tallystick.plugins.author import Node, Parameters, absolute, axis, maximum, number
from tallystick_skills.record import risk


def _agreement(reference: Node) -> Node:
    return maximum(0, 1 - absolute(risk - reference))


@axis("skills/ml-agreement@1", symbol="μ")
def ml_agreement(_p: Parameters) -> Node:
    """1 less the distance from the reference classifier's score, at least 0."""
    return _agreement(number("task.reference_risk_score"))


@axis("skills/transitive-risk@1", symbol="χ")
def transitive_risk(_p: Parameters) -> Node:
    """1 less the distance from the expected aggregate risk, at least 0."""
    return _agreement(number("task.expected_aggregate_risk"))
