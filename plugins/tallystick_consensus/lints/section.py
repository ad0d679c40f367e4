"""Lints of a consensus: what it pays for that nobody may have meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tallystick.formula.facts.fact import name_of, path_of
from tallystick.numbers.nano import NANO, to_text
from tallystick.numbers.text import numbered
from tallystick.rules.findings import Finding, one_of
from tallystick.scoring.lint import check, finding, less, more
from tallystick_consensus.binding import BoundConsensus
from tallystick_consensus.member_facts import FACTS
from tallystick_consensus.run import bound_consensus
from tallystick_consensus.signals import breakdown_at

if TYPE_CHECKING:
    from tallystick.rules.toml import KeyPath

_SECTION = "consensus"
_FLAGGED = 1000
"""Number of findings of somebody who flags everything."""
_STEPS = 200
_CLIFF = NANO // 10
"""Minimum height of a fall over one half-nano of risk that is reported."""


def _path(*keys: str) -> KeyPath:
    return (_SECTION, *keys)


@check("consensus-order", "warning", of=bound_consensus)
def _order(bound: BoundConsensus) -> Iterator[Finding]:
    """The order of the members decides a tie.

    Of verdicts that are equally frequent the one of the first member counts. So whoever orders the
    members decides what the others earn.

    Remedy: write verdict_tie = "own_then_strictest".
    """
    if bound.rules.verdict_tie == "first_member":
        tie = bound.rules.verdict_tie
        yield finding(_path("verdict_tie"), "the first member decides a tie", tie=tie)


@check("consensus-self-vote", "warning", less("others"), of=bound_consensus)
def _self_vote(bound: BoundConsensus) -> Iterator[Finding]:
    """A member votes for itself.

    The own submission counts among those that it is compared with, so fewer others than a quorum
    make what a member says agreed.

    Remedy: write voters = "others".
    """
    members = bound.rules.minimum_valid
    voting = bound.voting(members)
    if voting.own_vote:
        others = voting.quorum - 1
        agreed = numbered(others, "other")
        message = f"in a group of {{members}} what one says is agreed with {agreed}"
        yield finding(_path("voters"), message, members=members, others=others)


@check("consensus-buckets", "warning", more("size"), of=bound_consensus)
def _buckets(bound: BoundConsensus) -> Iterator[Finding]:
    """Neighbouring lines can differ, and distant ones can be the same.

    Lines are divided by the size of a bucket. Two findings in lines that follow each other are
    different where a bucket ends between them.

    Remedy: write finding_lines = { mode = "within", … }.
    """
    size = bound.rules.finding_lines.size
    if size is not None and size > 1:
        message = f"lines {size - 1} and {{size}} differ, and 0 and {size - 1} are the same"
        yield finding(_path("finding_lines", "mode"), message, size=size)


@check("consensus-recall-unbound", "warning", more("recall"), less("precision"), of=bound_consensus)
def _recall_unbound(bound: BoundConsensus) -> Iterator[Finding]:
    """Flagging everything keeps the whole recall.

    Where the recall does not follow the precision, who submits as many findings as a list may have
    loses the precision alone. Computed for one finding that is agreed among 1000.

    Remedy: take a formula whose recall is bounded by the precision, such as consensus/recall@2.
    """
    outlying = _FLAGGED - 1 if bound.rules.outliers_below else 0
    result = _computed(bound, mine=_FLAGGED, agreed=1, shared=1, outliers=outlying)
    recall, precision = result["findings_recall"], result["findings_precision"]
    if recall > 2 * precision:
        yield finding(
            _path("components", "findings_recall"),
            f"one agreed finding among {_FLAGGED} has a recall of {{recall}}, and a precision of "
            "{precision}",
            recall=to_text(recall),
            precision=to_text(precision),
        )


@check("consensus-nothing-agreed", "warning", less("value"), of=bound_consensus)
def _nothing_agreed(bound: BoundConsensus) -> Iterator[Finding]:
    """Members who agree that there is nothing lack a part.

    Members who find nothing, and recommend nothing, are of one mind. A component that is below 1
    then costs all of them a part, whatever they do.

    Remedy: take a formula that is 1 where nobody has anything, such as consensus/policy-f@1.
    """
    for name, value in _computed(bound).items():
        if value < NANO:
            message = "{component} is {value} where nobody has anything"
            path = _path("components", name)
            yield finding(path, message, component=name, value=to_text(value))


@check("consensus-inexpressible", "warning", of=bound_consensus)
def _inexpressible(bound: BoundConsensus) -> Iterator[Finding]:
    """A policy is compared with what no policy can say.

    Capabilities of kinds that no permission names are agreed all the same, so a policy that says
    everything that it can does not reach 1.

    Remedy: write policy.kinds = "expressible".
    """
    permitted = set(bound.rules.permits.values())
    silent = [kind for kind in bound.rules.capability_kinds if kind not in permitted]
    if bound.compared_kinds is None and silent:
        message = "no permission can say {kinds}"
        yield finding(_path("policy", "kinds"), message, kinds=one_of(silent))


@check("consensus-denial-permits", "warning", of=bound_consensus)
def _denial_permits(bound: BoundConsensus) -> Iterator[Finding]:
    """A denial counts as a permission.

    What a policy denies is compared with capabilities as what it permits is: who forbids what
    others found earns what who allows it earns.

    Remedy: write policy.denials = "remove".
    """
    if bound.denials_permit and bound.rules.denies:
        message = "{denials} counts as a permission"
        yield finding(_path("policy", "denials"), message, denials=one_of(bound.rules.denies))


@check("consensus-breakdown-of-one", "warning", more("members"), of=bound_consensus)
def _breakdown_of_one(bound: BoundConsensus) -> Iterator[Finding]:
    """One diverging member is a breakdown of its group.

    A breakdown asks to run every submission again. In the smallest group one member alone brings it
    about.

    Remedy: write signals.breakdown.round = "up", or raise its minimum.
    """
    members = bound.rules.minimum_valid
    if breakdown_at(members, bound.rules.signals.breakdown) == 1:
        message = "one of {members} members that diverges is a breakdown"
        yield finding(_path("signals", "breakdown"), message, members=members)


@check("consensus-missing-side", "warning", of=bound_consensus)
def _missing_side(bound: BoundConsensus) -> Iterator[Finding]:
    """A member without auditors counts as wholly aligned with them.

    Collusion is much agreement with primaries and little with auditors. Where a missing side counts
    as full agreement, groups without auditors hide who colludes.

    Remedy: write alignment.missing_side = "no_row".
    """
    if bound.rules.alignment.missing_side == "one":
        message = "without auditors the alignment with them is {alignment}"
        yield finding(_path("alignment", "missing_side"), message, alignment=to_text(NANO))


@check("consensus-cliff", "note", more("height"), of=bound_consensus)
def _cliff(bound: BoundConsensus) -> Iterator[Finding]:
    """Half a nano of risk decides much.

    The agreement on the risk falls in steps. Who is just beyond one loses as much as who is far
    from it. Searched over all distances from the median.

    Remedy: take a formula that falls evenly, or accept it with a reason.
    """
    for position, before, after in _cliffs(bound):
        height = abs(before - after)
        yield finding(
            _path("components", "risk_agreement"),
            "beyond a distance of {position} the agreement falls by {height}",
            position=to_text(position),
            height=to_text(height),
        )


def _computed(bound: BoundConsensus, **facts: int) -> dict[str, int]:
    """Return the components of a member with some facts of its findings, and of its risk."""
    values = [
        facts.get(name_of(fact), 0) if path_of(fact) in {"findings", "risk_score"} else 0
        for fact in FACTS
    ]
    return bound.computed(values)


def _cliffs(bound: BoundConsensus) -> Iterator[tuple[int, int, int]]:
    """Yield steep falls of the agreement on the risk: the distance in nano, and both values."""

    def agreement(gap: int) -> int:
        return _computed(bound, risk_gap=gap)["risk_agreement"]

    points = [2 * NANO * step // _STEPS for step in range(_STEPS + 1)]
    for low, high in pairwise(points):
        if abs(agreement(low) - agreement(high)) >= _CLIFF:
            edge = _edge(agreement, low, high)
            yield edge // 2, agreement(edge), agreement(edge + 1)


def _edge(agreement: Callable[[int], int], low: int, high: int) -> int:
    """Return the last distance in half-nano before a fall."""
    before = agreement(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if agreement(middle) == before else (low, middle)
    return low
