"""The emission and its factors (docs/sources.md, Overview; docs/errata.md, Terms)."""

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
    number,
    published,
    summed,
)

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
