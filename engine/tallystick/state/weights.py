"""Weights: the share of each miner, capped, as nano and as what Bittensor takes.

The cap is spread by water-filling: whoever is above it gets the cap, the excess goes to the others
in proportion to their weights, and so on until nobody is above (workflow.txt, "Score Aggregation";
E51 of docs/errata.md). The cap is the share of the rule set, or 1/n for n miners when that is more;
n counts the miners that have a weight. A miner without one is given none: so the excess always
finds its takers, and who earned nothing does not change what others get.

Weights are exact fractions that sum to 1 until they are published, rounded half-even once.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tallystick.errors import StateError
from tallystick.numbers.nano import publish, round_half_even
from tallystick.rules.sections import Cap
from tallystick.state.rules import StateRules

U16_MAX = (1 << 16) - 1
"""The largest weight of Bittensor."""


def weights_of(scores: Mapping[str, int], rules: StateRules) -> dict[str, int]:
    """The published weights, in nano, by hotkey; empty when nobody has a score above 0.

    Args:
        scores: of one unit, such as nano; none negative.
        rules: without a cap the scores are only scaled to the sum 1.

    Raises:
        StateError: a score is negative.
    """
    aggregation = rules.rule_set.aggregation
    cap = aggregation.cap if aggregation is not None else None
    return published(normalised(scores) if cap is None else capped(scores, cap))


def normalised(shares: Mapping[str, int | Fraction]) -> dict[str, Fraction]:
    """The shares scaled to the sum 1; empty when nobody has one above 0.

    Raises:
        StateError: a share is negative.
    """
    for name, share in shares.items():
        if share < 0:
            raise StateError(f"found the share {share} of {name}, expected at least 0")
    total = Fraction(sum(shares.values()))
    return {name: share / total for name, share in shares.items()} if total else {}


def capped(shares: Mapping[str, int | Fraction], cap: Cap) -> dict[str, Fraction]:
    """The shares scaled to the sum 1, with none above the cap; as `normalised` otherwise.

    Raises:
        StateError: a share is negative.
    """
    weights = normalised(shares)
    limit = cap_of(sum(weight > 0 for weight in weights.values()), cap)
    scale = _scale(sorted(weights.values(), reverse=True), limit)
    return {name: min(weight * scale, limit) for name, weight in weights.items()}


def cap_of(miners: int, cap: Cap) -> Fraction:
    """The largest weight among so many miners with a weight: the share, or 1/n if that is more."""
    return max(Fraction(cap.share), Fraction(1, max(miners, 1)))


def published(weights: Mapping[str, Fraction]) -> dict[str, int]:
    """The weights in nano, each rounded; so their sum may miss 1 by half a nano for each."""
    return {name: publish(weight) for name, weight in weights.items()}


def to_uint16(weights: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Uids, ascending, and their weights as Bittensor takes them, both empty without any.

    The largest weight becomes 65535 and the others keep their proportion to it, rounded half-even;
    what becomes 0 is left out.

    Args:
        weights: by uid, of one unit such as nano; none negative.
    """
    largest = max(weights.values(), default=0)
    if not largest:
        return [], []
    values = {uid: round_half_even(weights[uid] * U16_MAX, largest) for uid in sorted(weights)}
    kept = {uid: value for uid, value in values.items() if value}
    return list(kept), list(kept.values())


def _scale(descending: list[Fraction], limit: Fraction) -> Fraction:
    """What the weights below the cap are multiplied by once the excess is spread.

    Taking the largest first is the same as capping all at once and repeating: the factor only grows
    while others are capped, so who is above stays above.
    """
    remaining = total = Fraction(1)
    for weight in descending:
        if weight * remaining <= limit * total:
            break
        remaining, total = remaining - limit, total - weight
    return remaining / total
