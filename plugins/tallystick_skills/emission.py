"""The emission, its factors, and the thresholds of its tiers (docs/sources.md; docs/errata.md)."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    cases,
    choice,
    emission,
    factor,
    given,
    integer,
    itemised,
    label,
    minimum,
    number,
    published,
    summed,
    threshold,
)
from tallystick_skills.record import earliest, latency, position

_COMPONENTS = (
    "findings_recall",
    "findings_precision",
    "verdict_agreement",
    "capabilities_agreement",
    "risk_agreement",
    "dependencies_agreement",
    "policy_agreement",
)


@factor("skills/role-multiplier@1", within=UNIT, primary=UNIT, auditor=UNIT)
def role_multiplier(p: Parameters) -> Node:
    """The multiplier of a role in the group."""
    return cases(
        (choice("role", "primary", "auditor") == "primary", p.primary), otherwise=p.auditor
    )


@factor(
    "skills/consensus@1",
    within=UNIT,
    applies=given("consensus"),
    sums_to_one=_COMPONENTS,
    **dict.fromkeys(_COMPONENTS, UNIT),
)
def consensus(p: Parameters) -> Node:
    """The group's score as given, or the weighted mean of its seven components."""
    components = {name: number(f"consensus.{name}", missing=0) for name in _COMPONENTS}
    weighted = summed(getattr(p, name) * value for name, value in components.items())
    return cases(
        (itemised("consensus"), label("weighted components", weighted)),
        otherwise=number("consensus", missing=1),
    )


@factor("skills/bootstrap-bonus@1", within=(1, 100), epochs=(0, 1_000_000), added_weight=(0, 10))
def bootstrap_bonus(p: Parameters) -> Node:
    """The factor that raises the base weight by ``added_weight`` in the first epochs (E18)."""
    base_weight = published("base_weight")
    raised = (base_weight + p.added_weight) / base_weight
    return cases((integer("epoch") < p.epochs, raised), otherwise=1)


@emission("skills/emission@1", within=(0, 1_000_000))
def product(_p: Parameters) -> Node:
    """The product of the seven terms."""
    return (
        published("quality")
        * published("base_weight")
        * published("tier_multiplier")
        * published("early_bonus")
        * published("role_multiplier")
        * published("consensus")
        * published("bootstrap_bonus")
    )


@factor(
    "skills/early-bonus@1",
    within=(1, 2),
    early_until=UNIT,
    early_bonus=(1, 2),
    middle_until=UNIT,
    middle_bonus=(1, 2),
)
def early_bonus(p: Parameters) -> Node:
    """The bonus of two bands of the window, which close on the right; before t_min there is none.

    docs/errata.md, Terms that live on other pages.
    """
    return cases(
        (latency < earliest, 1),
        (position <= p.early_until, p.early_bonus),
        (position <= p.middle_until, p.middle_bonus),
        otherwise=1,
    )


@threshold("skills/scaled-baseline@1", within=(0, 10), factor=(1, 10))
def scaled_baseline(p: Parameters) -> Node:
    """A multiple of the baseline; above 1 it cannot be reached (E20)."""
    return p.factor * published("baseline")


@threshold("skills/scaled-baseline@2", within=UNIT, factor=(1, 10), headroom=UNIT)
def scaled_baseline_with_headroom(p: Parameters) -> Node:
    """A multiple of the baseline, but at most a part of the way from it to 1 (E20)."""
    baseline = published("baseline")
    return minimum(p.factor * baseline, baseline + p.headroom * (1 - baseline))
