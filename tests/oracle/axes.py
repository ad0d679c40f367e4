"""The axes of the six skill types, each from a whole record to an exact fraction.

scoring.txt, "The Four Base Axes" and "Type Specific Axes". Where the corrected line differs, the
function ends in `_corrected`.
"""

from fractions import Fraction
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from oracle.decimals import fact
from oracle.timing import position

Record = dict[str, Any]

_STRICTNESS = {"ALLOW": 0, "REVIEW": 1, "BLOCK": 2}
_EVIDENCE_POINTS = {
    "probe_verified": Fraction(3, 10),
    "trace_hashes_consistent": Fraction(3, 10),
    "sandbox_digest_correct": Fraction(2, 10),
    "findings_cited": Fraction(2, 10),
}
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def detection(record: Record) -> Fraction:
    """α as printed; a truth of REVIEW that is missed gives 0.5 (E5)."""
    verdict, truth = record["submission"]["verdict"], record["task"]["ground_truth"]
    risk = fact(record["submission"]["risk_score"])
    if verdict == truth:
        return Fraction(1)
    if verdict == "REVIEW" or truth == "REVIEW":
        return Fraction(1, 2)
    if verdict == "BLOCK":
        return 1 - Fraction(4, 10) * risk
    return max(Fraction(0), 1 - Fraction(25, 10) * (1 - risk))


def detection_corrected(record: Record) -> Fraction:
    """α by risk distance for a match (E1) and by rank distance otherwise (E2, E3, E5, E6)."""
    verdict, truth = record["submission"]["verdict"], record["task"]["ground_truth"]
    distance = _STRICTNESS[verdict] - _STRICTNESS[truth]
    if distance == 0:
        return _risk_agreement(record)
    if distance > 0:
        return 1 - Fraction(4, 10) * distance / 2
    return 1 - Fraction(-distance, 2)


def _risk_agreement(record: Record) -> Fraction:
    if "expected_risk" not in record["task"]:
        return Fraction(1)
    gap = abs(fact(record["submission"]["risk_score"]) - fact(record["task"]["expected_risk"]))
    return 1 - Fraction(1, 10) * gap


def evidence(record: Record) -> Fraction:
    """ε as printed: the points of the checks that hold; a missing check earns nothing (E9)."""
    return sum((_EVIDENCE_POINTS[check] for check in _earned(record)), Fraction(0))


def evidence_corrected(record: Record) -> Fraction:
    """ε as earned points over the points of the checks that the record has (E9)."""
    applicable = sum(
        (
            points
            for check, points in _EVIDENCE_POINTS.items()
            if record["checks"].get(check) is not None
        ),
        Fraction(0),
    )
    return evidence(record) / applicable if applicable else Fraction(0)


def _earned(record: Record) -> list[str]:
    """The checks that are present and hold; without findings the validator records true (E10)."""
    checks = record["checks"]
    return [check for check in _EVIDENCE_POINTS if checks.get(check)]


def policy(record: Record) -> Fraction:
    """π, F-β with β = 0.5 over distinct rules; both empty 1, one empty or disjoint 0 (E11)."""
    miner = _rules(record["submission"].get("recommended_policy", []))
    expected = _rules(record["task"].get("expected_policy", []))
    if not miner and not expected:
        return Fraction(1)
    shared = len(miner & expected)
    if not shared:
        return Fraction(0)
    precision, recall = Fraction(shared, len(miner)), Fraction(shared, len(expected))
    beta_squared = Fraction(1, 4)
    return (1 + beta_squared) * precision * recall / (beta_squared * precision + recall)


def _rules(rules: list[dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(rule["resource"], rule["action"], rule["pattern"]) for rule in rules}


def efficiency(record: Record) -> Fraction:
    """η: 1 at t_min, 0 at the deadline, 0 outside the window."""
    where = position(record)
    return 1 - where if 0 <= where <= 1 else Fraction(0)


def injection_recall(record: Record) -> Fraction:
    """ρ as printed: findings of canaries over distinct canaries, at most 1 (E14)."""
    injected = _injected(record)
    if not injected:
        return Fraction(1)
    return min(Fraction(1), Fraction(len(_findings(record, "canary_match")), len(injected)))


def injection_recall_corrected(record: Record) -> Fraction:
    """ρ over distinct canary ids that were injected and found (E14)."""
    injected = _injected(record)
    if not injected:
        return Fraction(1)
    found = {finding.get("canary_id") for finding in _findings(record, "canary_match")}
    return Fraction(len(found & injected), len(injected))


def _injected(record: Record) -> set[str]:
    return set(record["task"].get("injected_canaries", []))


def _findings(record: Record, category: str) -> list[dict[str, Any]]:
    findings = record["submission"].get("findings", [])
    return [finding for finding in findings if finding["category"] == category]


def ml_agreement(record: Record) -> Fraction:
    """μ: 1 less the distance of the two risk scores."""
    return _closeness(record["submission"]["risk_score"], record["task"]["reference_risk_score"])


def transitive_risk(record: Record) -> Fraction:
    """χ: 1 less the distance of the risk score and the expected aggregate risk."""
    return _closeness(record["submission"]["risk_score"], record["task"]["expected_aggregate_risk"])


def _closeness(one: float, other: float) -> Fraction:
    return max(Fraction(0), 1 - abs(fact(one) - fact(other)))


def shell_coverage(record: Record) -> Fraction:
    """σ over distinct commands, matched exactly (E16); nothing predicted gives 1."""
    predicted = set(record["task"].get("predicted_taint_commands", []))
    executed = set(record["checks"].get("executed_commands", []))
    return Fraction(len(predicted & executed), len(predicted)) if predicted else Fraction(1)


def manifest_integrity(record: Record) -> Fraction:
    """ψ as printed: the same text; a missing hash gives 0 (E15)."""
    recovered, truth = _hashes(record)
    return Fraction(recovered is not None and recovered == truth)


def manifest_integrity_corrected(record: Record) -> Fraction:
    """ψ with ASCII case ignored; a hash without an algorithm prefix gives 0 (E15)."""
    recovered, truth = _hashes(record)
    if recovered is None or truth is None:
        return Fraction(0)
    recovered, truth = recovered.translate(_ASCII_LOWER), truth.translate(_ASCII_LOWER)
    return Fraction(recovered == truth and truth.find(":") > 0)


def _hashes(record: Record) -> tuple[str | None, str | None]:
    recovered: str | None = record["submission"].get("mcp_manifest_hash")
    truth: str | None = record["task"].get("expected_manifest_hash")
    return recovered, truth


def tool_poison_recall(record: Record) -> Fraction:
    """τ as printed: recall over distinct tools; nothing expected gives 1 (E12)."""
    detected, expected = _tools(record)
    return Fraction(len(detected & expected), len(expected)) if expected else Fraction(1)


def tool_poison_recall_corrected(record: Record) -> Fraction:
    """τ as F-score with β = 1; nothing expected gives 1 if nothing is flagged, else 0 (E12)."""
    detected, expected = _tools(record)
    if not detected and not expected:
        return Fraction(1)
    return Fraction(2 * len(detected & expected), len(detected) + len(expected))


def tool_poison_recall_decided(record: Record) -> Fraction:
    """τ as before, where each finding without a tool is one more that nobody expected (E12)."""
    detected, expected = _tools(record)
    unnamed = [each for each in _findings(record, "tool_poisoning") if each.get("tool") is None]
    flagged = len(detected) + len(unnamed)
    if not flagged and not expected:
        return Fraction(1)
    return Fraction(2 * len(detected & expected), flagged + len(expected))


def _tools(record: Record) -> tuple[set[str], set[str]]:
    named = [finding.get("tool") for finding in _findings(record, "tool_poisoning")]
    detected = {tool for tool in named if tool is not None}
    return detected, set(record["task"].get("expected_poisoned_tools", []))


PRINTED = {
    "detection": detection,
    "evidence": evidence,
    "policy": policy,
    "efficiency": efficiency,
    "injection_recall": injection_recall,
    "ml_agreement": ml_agreement,
    "shell_coverage": shell_coverage,
    "manifest_integrity": manifest_integrity,
    "tool_poison_recall": tool_poison_recall,
    "transitive_risk": transitive_risk,
}
CORRECTED = PRINTED | {
    "detection": detection_corrected,
    "evidence": evidence_corrected,
    "injection_recall": injection_recall_corrected,
    "manifest_integrity": manifest_integrity_corrected,
    "tool_poison_recall": tool_poison_recall_corrected,
}
DECIDED = CORRECTED | {"tool_poison_recall": tool_poison_recall_decided}
