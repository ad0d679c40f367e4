"""The section ``[consensus]``: what the submissions of a group say of each of its members.

Shares are of voters: the valid members of a group, or for each of them the others. What an item of
a set is, who agrees on it, and what follows from a disagreement are words and numbers here; the
components are formulas over the facts of a member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal

import attrs

from tallystick.rules.formula_references import FormulaReference
from tallystick.rules.keys import OTHER_KEYS
from tallystick.rules.model import SectionKind
from tallystick_consensus.member_facts import SETS

COMPONENTS = (
    "findings_recall",
    "findings_precision",
    "verdict_agreement",
    "capabilities_agreement",
    "risk_agreement",
    "dependencies_agreement",
    "policy_agreement",
)
"""The components of a consensus, as a record has them."""
MOST_MEMBERS = 16
"""The largest group."""

CapabilityKind = Literal[
    "net_domain",
    "net_ip",
    "net_port",
    "fs_read",
    "fs_write",
    "proc",
    "secret",
    "tool",
    "child",
    "shell",
]
RoundingWord = Literal["up", "down"]


def set_of(component: str) -> str | None:
    """Return the set that a component is about, by its name; None for the verdict and the risk."""
    return next((name for name in SETS if component.startswith(f"{name}_")), None)


@attrs.frozen
class Quorum:
    """The share of voters that agrees on an item, as a whole number of at least 1."""

    share: Decimal
    round: RoundingWord


@attrs.frozen
class FindingLines:
    """The rule by which two findings of one category and file are the same.

    ``bucket``: their lines divided by ``size`` have one whole part; ``within``: they lie at most
    ``lines`` apart.

    Attributes:
        mode: either.
        missing: a finding without a line is at line 0, or a value of its own.
        size: of a bucket.
        lines: the distance.
    """

    mode: Literal["bucket", "within"]
    missing: Literal["zero", "own_value"]
    size: int | None = None
    lines: int | None = None


@attrs.frozen
class PolicySignatures:
    """The signatures that rules of a policy become, which are compared with capabilities.

    Attributes:
        denials: a denial counts like a permission, or takes the permission of its pattern away.
        kinds: the capabilities of others count of all kinds, or only of kinds that a rule can say.
    """

    denials: Literal["permit", "remove"]
    kinds: Literal["all", "expressible"]


@attrs.frozen
class Component:
    """The formula of a component and the values of its parameters."""

    formula: str
    parameters: Mapping[str, Decimal] = attrs.field(factory=dict, metadata=OTHER_KEYS)


@attrs.frozen
class Diverging:
    """A member diverges when its published agreement or recall is below either bound."""

    verdict_below: Decimal
    recall_below: Decimal


@attrs.frozen
class Breakdown:
    """A group breaks down when this share of its valid members diverges, at least ``minimum``."""

    share: Decimal
    round: RoundingWord
    minimum: int


@attrs.frozen
class Signals:
    """The limits of diverging members and of breakdowns.

    Attributes:
        diverging: which members diverge.
        breakdown: when a group has no consensus to speak of.
        rerun: whose submission is run again: the diverging primaries; else in a breakdown all
            valid primaries; else the primary with the lowest ticket.
    """

    diverging: Diverging
    breakdown: Breakdown
    rerun: Literal["diverging_primaries_else_one"]


@attrs.frozen
class Alignment:
    """The likeness of two submissions: shares that sum to 1, and the value of a missing side.

    Attributes:
        findings: the share of the findings.
        capabilities: the share of the capabilities.
        verdict: the share of the verdict.
        missing_side: without another primary, or auditor, the alignment is 1, or there is no row.
    """

    findings: Decimal
    capabilities: Decimal
    verdict: Decimal
    missing_side: Literal["one", "no_row"]


@attrs.frozen
class Consensus:
    """The values of the section ``[consensus]``.

    Attributes:
        minimum_valid: with fewer valid members there is none.
        voters: whose submissions count for a member: the whole group's, or the others'.
        quorum: how many voters agree on something.
        finding_lines: when two findings are the same.
        verdict_tie: the verdict among the most frequent ones: of the first member; or the own if
            it is one of them, else the strictest.
        risk_median: the risk that a member's is compared with: the mean of the middle two, or
            what of the interval between them is nearest.
        outliers_below: what is not agreed, and what less than this share of the others has, is an
            outlier; 0 is none.
        capability_kinds: the kinds that count.
        policy: how a policy becomes signatures.
        permits: the kind of a permission by ``resource/action``.
        denies: the kind of a denial by ``resource/action``.
        components: by name, the seven of a record.
        signals: what follows.
        alignment: how alike two submissions are.
    """

    minimum_valid: int
    voters: Literal["group", "others"]
    quorum: Quorum
    finding_lines: FindingLines
    verdict_tie: Literal["first_member", "own_then_strictest"]
    risk_median: Literal["mean_of_middle", "nearest_of_middle"]
    outliers_below: Decimal
    capability_kinds: tuple[CapabilityKind, ...]
    policy: PolicySignatures
    permits: Mapping[str, CapabilityKind]
    denies: Mapping[str, CapabilityKind]
    components: Mapping[str, Component]
    signals: Signals
    alignment: Alignment


CONSENSUS = SectionKind("consensus", Consensus)
"""The section that says how the consensus of a group is computed."""


def references(rules: Consensus) -> Iterator[FormulaReference]:
    """Yield the formula of each component."""
    for name, component in rules.components.items():
        path = (CONSENSUS.name, "components", name)
        yield FormulaReference(
            path, (*path, "formula"), component.formula, "axis", component.parameters
        )
