"""Composite Q of a skill type and composite S of a workflow."""

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from flint import fmpz

from oracle.decimals import NANO, count, published

#: Hundredths. scoring.txt, "Per Type Composite Q"; workflow.txt, "Composite Score".
WEIGHTS = {
    "rag_knowledge": {
        "detection": 30,
        "evidence": 30,
        "policy": 15,
        "efficiency": 10,
        "injection_recall": 15,
    },
    "declarative": {
        "detection": 40,
        "evidence": 20,
        "policy": 20,
        "efficiency": 10,
        "ml_agreement": 10,
    },
    "executable_python": {"detection": 35, "evidence": 30, "policy": 20, "efficiency": 15},
    "executable_script": {
        "detection": 30,
        "evidence": 30,
        "policy": 15,
        "efficiency": 10,
        "shell_coverage": 15,
    },
    "mcp_server": {
        "detection": 25,
        "evidence": 25,
        "policy": 15,
        "efficiency": 10,
        "manifest_integrity": 10,
        "tool_poison_recall": 15,
    },
    "agent_composition": {
        "detection": 30,
        "evidence": 25,
        "policy": 15,
        "efficiency": 10,
        "transitive_risk": 20,
    },
    "workflow": {"success": 50, "cost": 25, "latency": 15, "reliability": 10},
}
_EVIDENCE_GATE = Fraction(1, 10)
_VERSIONS = ("1.0.0", "1.1.0", "1.2.0")


def is_corrected(rule_set: str) -> bool:
    """Whether the rule set is of the corrected line, which 1.2.0 goes on with."""
    return not rule_set.endswith("@1.0.0")


def require_shipped(skill_type: str, rule_set: str) -> None:
    """Raise ValueError unless the rule set is shipped and has the skill type."""
    owner = "workflow" if skill_type == "workflow" else "skills"
    if rule_set not in {f"{owner}@{version}" for version in _VERSIONS}:
        raise ValueError(f"rule set {rule_set} has no skill type {skill_type}")


def composite(skill_type: str, axes: Mapping[str, Fraction | str], rule_set: str) -> Fraction:
    """The published composite of published axes, the same in every version of a rule set.

    Args:
        skill_type: one of the six skill types, or "workflow".
        axes: axis name to fraction, or to decimal text such as "0.95".
        rule_set: name and version.

    Raises:
        ValueError: the rule set lacks the skill type, or an axis has more than nine places.
    """
    require_shipped(skill_type, rule_set)
    weights = WEIGHTS[skill_type]
    exact = {name: Fraction(axes[name]) for name in weights}
    if skill_type == "workflow":
        return published(sum((exact[name] * weights[name] for name in weights), Fraction(0)) / 100)
    if exact["evidence"] < _EVIDENCE_GATE:
        return Fraction(0)
    terms = [(count(exact[name]), weights[name]) for name in weights]
    return Fraction(_geometric(terms), NANO)


def _geometric(terms: list[tuple[int, int]]) -> int:
    """The rounded weighted geometric mean of counts of 1e-9, with weights in hundredths.

    The floor of twice the mean is a whole root. The mean is never a half: its hundredth power is
    whole, so it is itself whole or irrational.
    """
    power = prod(axis**weight for axis, weight in terms)
    doubled = int(fmpz(power << 100).root(100))
    return (doubled + 1) // 2
