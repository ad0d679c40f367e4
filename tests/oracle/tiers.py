"""Tier thresholds without a state, and the tier of a composite: scoring.txt, "Tier Assignment"."""

from fractions import Fraction

from oracle.composites import is_corrected
from oracle.decimals import published

#: Terms that live on other pages, "seed baselines".
BASELINES = {
    "rag_knowledge": Fraction("0.35"),
    "declarative": Fraction("0.40"),
    "executable_python": Fraction("0.50"),
    "executable_script": Fraction("0.48"),
    "mcp_server": Fraction("0.45"),
    "agent_composition": Fraction("0.40"),
}
MULTIPLIERS = {
    "below_reference": Fraction("0.5"),
    "tier_1_reference": Fraction("1.0"),
    "tier_2_optimised": Fraction("1.4"),
    "tier_3_novel": Fraction("2.0"),
}


def thresholds(skill_type: str, rule_set: str) -> tuple[Fraction, Fraction, Fraction]:
    """Baseline, optimised and novel, published; the corrected line keeps them below 1 (E20)."""
    baseline = BASELINES[skill_type]
    optimised, novel = Fraction("1.15") * baseline, Fraction("1.5") * baseline
    if is_corrected(rule_set):
        optimised = min(optimised, baseline + Fraction("0.15") * (1 - baseline))
        novel = min(novel, baseline + (1 - baseline) / 2)
    return baseline, published(optimised), published(novel)


def tier(
    q: Fraction | str,
    baseline: Fraction | str,
    optimised: Fraction | str,
    novel: Fraction | str,
) -> str:
    """The name of the tier; each threshold belongs to the tier above it."""
    quality = Fraction(q)
    if quality < Fraction(baseline):
        return "below_reference"
    if quality < Fraction(optimised):
        return "tier_1_reference"
    if quality < Fraction(novel):
        return "tier_2_optimised"
    return "tier_3_novel"
