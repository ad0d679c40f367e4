"""The consensus of a group, from its seven components or as given."""

from collections.abc import Mapping
from fractions import Fraction

from oracle.decimals import fact, published

#: Hundredths. Terms that live on other pages, "consensus weights".
WEIGHTS = {
    "findings_recall": 30,
    "findings_precision": 15,
    "verdict_agreement": 15,
    "capabilities_agreement": 15,
    "risk_agreement": 10,
    "dependencies_agreement": 10,
    "policy_agreement": 5,
}


def combine(consensus: float | Mapping[str, float]) -> Fraction:
    """The published consensus of a record that has one."""
    if not isinstance(consensus, Mapping):
        return fact(consensus)
    weighed = (fact(consensus[name]) * weight for name, weight in WEIGHTS.items())
    return published(sum(weighed, Fraction(0)) / 100)


def band(consensus: Fraction | str) -> str:
    """Pass, weak or fail: reputation.txt, "Update Rules"."""
    score = Fraction(consensus)
    if score >= Fraction("0.7"):
        return "pass"
    return "weak" if score >= Fraction("0.4") else "fail"
