"""The seven components of a consensus, in every version (docs/sources.md, Full SSSA Consensus).

A formula that names no set is of the set of the component that it computes.
"""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    axis,
    cases,
    label,
    maximum,
    minimum,
    unrounded,
)
from tallystick_consensus.member_facts import (
    agreed,
    mine,
    outliers,
    risk_gap,
    shared,
    verdict_distance,
)

_RECALL = label("recall", shared() / agreed())


@axis("consensus/recall@1")
def recall(p: Parameters) -> Node:
    """The share of what is agreed that the member has."""
    del p
    return cases((agreed() == 0, 1), otherwise=_RECALL)


@axis("consensus/recall@2", precision_factor=(1, 100))
def recall_bound(p: Parameters) -> Node:
    """The share of what is agreed that the member has, but at most a multiple of the precision."""
    bound = p.precision_factor * unrounded("findings_precision")
    recalled = cases((agreed() == 0, 1), otherwise=_RECALL)
    return minimum(1, minimum(recalled, bound))  # as in consensus/set-mean@1


@axis("consensus/precision@1", unconfirmed=UNIT)
def precision(p: Parameters) -> Node:
    """The share of the member's own that is agreed."""
    return cases(
        ((agreed() == 0) & (mine() == 0), 1),
        (agreed() == 0, p.unconfirmed),
        (mine() == 0, 0),
        otherwise=shared() / mine(),
    )


@axis("consensus/precision@2", unconfirmed=UNIT, outlier=UNIT)
def precision_of_outliers(p: Parameters) -> Node:
    """The share of the agreed among the agreed and the outliers; open ones count neither way."""
    return cases(
        ((agreed() == 0) & (outliers() == 0), 1),
        (agreed() == 0, maximum(0, p.unconfirmed - p.outlier * outliers())),
        (shared() == 0, 0),
        otherwise=shared() / (shared() + outliers()),
    )


@axis("consensus/verdict@1", one_step=UNIT, two_steps=UNIT)
def verdict(p: Parameters) -> Node:
    """By the steps to the verdict of the voters."""
    return cases(
        (verdict_distance() == 0, 1),
        (verdict_distance() == 1, p.one_step),
        otherwise=p.two_steps,
    )


@axis("consensus/set-mean@1")
def set_mean(p: Parameters) -> Node:
    """The mean of recall and precision."""
    del p
    mean = (_RECALL + label("precision", shared() / mine())) / 2
    # neither is above 1; the proof of ranges does not multiply what it knows of facts
    return cases((agreed() == 0, 1), (mine() == 0, 0), otherwise=minimum(1, mean))


@axis("consensus/set-f@1", outlier=UNIT)
def set_f(p: Parameters) -> Node:
    """The F-score of recall and of precision among the agreed and the outliers."""
    return cases(
        (agreed() == 0, maximum(0, 1 - p.outlier * outliers())),
        otherwise=2 * shared() / (shared() + outliers() + agreed()),
    )


@axis("consensus/risk@1", near=UNIT, far=UNIT, middle=UNIT)
def risk(p: Parameters) -> Node:
    """By how far the risk is from the median."""
    return cases((risk_gap() <= p.near, 1), (risk_gap() <= p.far, p.middle), otherwise=0)


@axis("consensus/policy-recall@1", nothing_agreed=UNIT)
def policy_recall(p: Parameters) -> Node:
    """The share of what is agreed that the policy has."""
    return cases((agreed() == 0, p.nothing_agreed), otherwise=_RECALL)


@axis("consensus/policy-f@1", beta=(0, 10))
def policy_f(p: Parameters) -> Node:
    """The F-score with β of recall and of precision among the agreed and the outliers."""
    square = p.beta**2
    return cases(
        ((agreed() == 0) & (outliers() == 0), 1),
        ((agreed() == 0) | (shared() == 0), 0),
        otherwise=(1 + square) * shared() / (shared() + square * agreed() + outliers()),
    )
