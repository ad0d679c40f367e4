"""The emission and its factors."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    cases,
    choice,
    emission,
    factor,
    given,
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


@factor("blend/role@1", within=UNIT, primary=UNIT, auditor=UNIT)
def role(p: Parameters) -> Node:
    """What the role in the group is paid."""
    is_primary = choice("role", "primary", "auditor") == "primary"
    return cases((is_primary, p.primary), otherwise=p.auditor)


@factor(
    "blend/consensus@1",
    within=UNIT,
    applies=given("consensus"),
    sums_to_one=_COMPONENTS,
    **dict.fromkeys(_COMPONENTS, UNIT),
)
def consensus(p: Parameters) -> Node:
    """The score of the group as given, or the weighted mean of its components."""
    components = {name: number(f"consensus.{name}", missing=0) for name in _COMPONENTS}
    weighted = summed(getattr(p, name) * value for name, value in components.items())
    return cases(
        (itemised("consensus"), label("weighted components", weighted)),
        otherwise=number("consensus", missing=1),
    )


@emission("blend/emission@1", within=(0, 1_000_000))
def pay(_p: Parameters) -> Node:
    """The product of the quality, the weight, the tier and the factors."""
    return (
        published("quality")
        * published("base_weight")
        * published("tier_multiplier")
        * published("role_multiplier")
        * published("consensus")
    )
