"""What a record of the linear blend scores, in fractions, straight from its formulas.

It shares no code with the engine or the plugin. A record is JSON with decimals as `Decimal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs
from oracle.consensus import WEIGHTS as COMPONENTS
from oracle.decimals import published
from oracle.emissions import BASE_WEIGHTS, ROLE_MULTIPLIERS

F = Fraction
RANKS = {"ALLOW": 0, "WARN": 1, "BLOCK": 2}
PROVENANCE = {
    "human": F(1),
    "canary": F(1),
    "consensus": F(7, 10),
    "consensus_expired": F(4, 10),
}
WEIGHTS = {
    "rag_knowledge": ({"α": 45, "π": 20, "η": 5, "ρ": 15}, 85),
    "declarative": ({"α": 45, "π": 20, "η": 5, "μ": 10}, 80),
    "executable_python": ({"α": 45, "π": 20, "η": 5}, 70),
    "executable_script": ({"α": 40, "π": 20, "η": 5, "σ": 10}, 75),
    "mcp_server": ({"α": 35, "π": 15, "η": 5, "ψ": 10, "τ": 10}, 75),
    "agent_composition": ({"α": 35, "π": 15, "η": 5, "χ": 10}, 65),
}
"""By type the weight of each axis, and the divisor, in hundredths."""
NAMES = {
    "α": "detection",
    "ε": "evidence",
    "π": "policy",
    "η": "efficiency",
    "ρ": "injection_recall",
    "μ": "ml_agreement",
    "σ": "shell_coverage",
    "ψ": "manifest_integrity",
    "τ": "tool_poison_recall",
    "χ": "transitive_risk",
}
LEVELS = (
    ("below_baseline", F(1, 2)),
    ("baseline", F(1)),
    ("optimised", F(14, 10)),
    ("novel", F(2)),
)


@attrs.frozen
class Scored:
    """What a record scores, published: multiples of a nano."""

    axes: Mapping[str, Fraction]
    quality: Fraction
    tier: str
    emission: Fraction


def score(record: Mapping[str, Any], baseline: Fraction, novel: Fraction) -> Scored:
    """What a record scores at some thresholds."""
    kind = record["skill_type"].removeprefix("blend/")
    task, submission, checks = record["task"], record["submission"], record["checks"]
    weights, divisor = WEIGHTS[kind]
    found = {"α": alpha(task, submission), "η": eta(task, submission)}
    for symbol in ("ε", *weights):
        if symbol not in found:
            found[symbol] = given(symbol, checks)
    axes = {symbol: published(value) for symbol, value in found.items()}
    total = sum(F(weight, 100) * axes[symbol] for symbol, weight in weights.items())
    quality = published(total / F(divisor, 100) * axes["ε"])
    if axes["ε"] < F(10, 100):
        quality = F(0)
    tier, multiplier = level(quality, baseline, novel)
    emission = quality * BASE_WEIGHTS[kind] * multiplier
    emission *= ROLE_MULTIPLIERS[record["role"]] * consensus(record.get("consensus"))
    return Scored({NAMES[s]: v for s, v in axes.items()}, quality, tier, published(emission))


def alpha(task: Mapping[str, Any], submission: Mapping[str, Any]) -> Fraction:
    """By rank distance, and on a match by the distance of the risks, times the provenance."""
    rank, truth = RANKS[submission["verdict"]], RANKS[task["ground_truth"]]
    apart = F(abs(rank - truth), 2)
    if rank > truth:
        base = 1 - F(4, 10) * apart
    elif rank < truth:
        base = 1 - apart
    else:
        risks = abs(F(submission["risk_score"]) - F(task["expected_risk"]))
        base = max(F(9, 10), 1 - F(1, 10) * risks / 100)
    return base * PROVENANCE[task["provenance"]]


def eta(task: Mapping[str, Any], submission: Mapping[str, Any]) -> Fraction:
    """0 outside of the window; a rise over its first quarter, a slow fall over the rest."""
    seconds = F(submission["latency_ms"], 1000)
    start, end = F(task["t_min_s"]), F(task["deadline_s"])
    if not start <= seconds <= end:
        return F(0)
    x = (seconds - start) / (end - start)
    if x <= F(25, 100):
        return x / F(25, 100)
    return 1 - F(4, 10) * (x - F(25, 100)) / F(75, 100)


def given(symbol: str, checks: Mapping[str, Any]) -> Fraction:
    """An axis that is given, or of which the error is."""
    if symbol == "ρ":
        return max(F(0), 1 - 3 * F(checks["recall_error"]))
    if symbol == "χ":
        return max(F(0), 1 - 2 * F(checks["aggregate_error"]))
    return F(checks[NAMES[symbol]])


def level(quality: Fraction, baseline: Fraction, novel: Fraction) -> tuple[str, Fraction]:
    """The tier of a quality, with its multiplier."""
    edges = (baseline, published(F(75, 100) * novel), novel)
    return LEVELS[sum(quality >= edge for edge in edges)]


def consensus(value: Any) -> Fraction:  # noqa: ANN401  # a JSON value
    """The factor: as given, or the published mean of the components; 1 where there is none."""
    if value is None:
        return F(1)
    if isinstance(value, Mapping):
        return published(sum((F(w, 100) * F(value[n]) for n, w in COMPONENTS.items()), F(0)))
    return F(value)
