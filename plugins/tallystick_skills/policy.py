"""π Policy: how close the recommended policy is to the expected one (docs/sources.md, π Policy)."""

from tallystick.plugins.author import Node, Parameters, axis, cases, distinct, label, overlap

_MINE, _EXPECTED = "submission.recommended_policy", "task.expected_policy"


@axis("skills/policy@1", symbol="π", beta=(0, 10))
def policy(p: Parameters) -> Node:
    """F-β over the sets of (resource, action, pattern).

    Both empty 1; one empty, or nothing shared, 0 (E11).
    """
    mine, expected, shared = distinct(_MINE), distinct(_EXPECTED), overlap(_MINE, _EXPECTED)
    precision = label("precision", shared / mine)
    recall = label("recall", shared / expected)
    return cases(
        ((mine == 0) & (expected == 0), 1),
        (shared == 0, 0),
        otherwise=(1 + p.beta**2) * precision * recall / (p.beta**2 * precision + recall),
    )
