"""The axes of the six types (docs/sources.md).

α detection, η efficiency, ε evidence and π policy belong to every type. ρ, τ and σ count what was
found, μ and χ compare the risk score with a reference, ψ compares manifests.
"""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    absolute,
    axis,
    cases,
    clip,
    count,
    distinct,
    equal,
    flag,
    given,
    label,
    matches,
    maximum,
    number,
    overlap,
    rank,
    summed,
)
from tallystick_skills.record import (
    deadline,
    earliest,
    ground_truth,
    latency,
    position,
    risk,
    verdict,
)


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


@axis("skills/efficiency@1", symbol="η")
def efficiency(_p: Parameters) -> Node:
    """1 at the start of the window, 0 at the deadline and outside the window."""
    return cases((latency < earliest, 0), (latency > deadline, 0), otherwise=1 - position)


_CHECKS = {
    "probe": "checks.probe_verified",
    "traces": "checks.trace_hashes_consistent",
    "digest": "checks.sandbox_digest_correct",
    "citations": "checks.findings_cited",
}


def _points(p: Parameters, *, verified: bool) -> Node:
    """Return the points of the checks that were verified, or of those that apply."""
    read = flag if verified else given
    return summed(getattr(p, name) * read(path) for name, path in _CHECKS.items())


@axis("skills/evidence@1", symbol="ε", probe=UNIT, traces=UNIT, digest=UNIT, citations=UNIT)
def evidence(p: Parameters) -> Node:
    """Points for each check that was verified; missing evidence earns nothing (E9)."""
    return _points(p, verified=True)


@axis("skills/evidence@2", symbol="ε", probe=UNIT, traces=UNIT, digest=UNIT, citations=UNIT)
def evidence_of_applicable(p: Parameters) -> Node:
    """Earned points over the points of the checks that the record has; none → 0 (E9)."""
    earned = label("earned", _points(p, verified=True))
    applicable = label("applicable", _points(p, verified=False))
    return cases((applicable == 0, 0), otherwise=earned / applicable)


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


_CANARIES = "task.injected_canaries"
_MATCHES = "submission.findings[category=canary_match]"
_POISONINGS = "submission.findings[category=tool_poisoning]"
_FLAGGED = f"{_POISONINGS}.tool"
_POISONED = "task.expected_poisoned_tools"
_EXECUTED, _PREDICTED = "checks.executed_commands", "task.predicted_taint_commands"


def _share_found(found: str, wanted: str) -> Node:
    """Return the share of the wanted things that were found; 1 where nothing was wanted."""
    return cases((distinct(wanted) == 0, 1), otherwise=overlap(found, wanted) / distinct(wanted))


@axis("skills/injection-recall@1", symbol="ρ")
def injection_recall(_p: Parameters) -> Node:
    """Canary findings over injected canaries, at most 1 (E14); no canary → 1."""
    injected = distinct(_CANARIES)
    return cases((injected == 0, 1), otherwise=clip(count(_MATCHES) / injected))


@axis("skills/injection-recall@2", symbol="ρ")
def injection_recall_by_id(_p: Parameters) -> Node:
    """Injected canaries that a finding names, over all of them; no canary → 1 (E14)."""
    return _share_found(f"{_MATCHES}.canary_id", _CANARIES)


@axis("skills/shell-coverage@1", symbol="σ")
def shell_coverage(_p: Parameters) -> Node:
    """Predicted tainted commands that ran, over all of them; none predicted → 1 (E16)."""
    return _share_found(_EXECUTED, _PREDICTED)


@axis("skills/tool-poison-recall@1", symbol="τ")
def tool_poison_recall(_p: Parameters) -> Node:
    """Poisoned tools that were flagged, over all of them; nothing expected → 1 (E12)."""
    return _share_found(_FLAGGED, _POISONED)


@axis("skills/tool-poison-recall@2", symbol="τ")
def tool_poison_f_score(_p: Parameters) -> Node:
    """F-score (β = 1) of flagged and poisoned tools; both empty → 1 (E12)."""
    either = distinct(_FLAGGED) + distinct(_POISONED)
    return cases((either == 0, 1), otherwise=2 * overlap(_FLAGGED, _POISONED) / either)


@axis("skills/tool-poison-recall@3", symbol="τ")
def tool_poison_f_score_of_findings(_p: Parameters) -> Node:
    """The F-score; a finding without a tool is a flagged tool that nobody expected (E12)."""
    unnamed = label("unnamed", count(_POISONINGS) - count(_FLAGGED))
    either = distinct(_FLAGGED) + unnamed + distinct(_POISONED)
    return cases((either == 0, 1), otherwise=2 * overlap(_FLAGGED, _POISONED) / either)


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


_FOUND, _TRUE = "submission.mcp_manifest_hash", "task.expected_manifest_hash"


@axis("skills/manifest-integrity@1", symbol="ψ")
def manifest_integrity(_p: Parameters) -> Node:
    """1 for the same text, 0 otherwise and when either hash is missing (E15)."""
    return 1 * equal(_FOUND, _TRUE)


@axis("skills/manifest-integrity@2", symbol="ψ")
def manifest_integrity_prefixed(_p: Parameters) -> Node:
    """1 for the same text without regard to ASCII case, if it names its algorithm (E15)."""
    named = matches(_TRUE, r"[^:]+:(?s:.*)")
    return 1 * (equal(_FOUND, _TRUE, ignore_case=True) & named)
