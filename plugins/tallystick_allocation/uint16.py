"""Weights as Bittensor takes them: whole numbers up to 65 535."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.numbers.nano import round_half_even, to_text

U16_MAX = (1 << 16) - 1
"""The largest weight of Bittensor."""
LAST_UID = (1 << 16) - 1
"""The last slot of a subnet."""


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
    positive = {uid: value for uid, value in values.items() if value}
    return list(positive), list(positive.values())


def dropped(weights: Mapping[int, int]) -> dict[int, str]:
    """Return the uids whose weight above 0 `to_uint16` leaves out, ascending, each with its reason.

    Args:
        weights: in nano, by uid.
    """
    largest = max(weights.values(), default=0)
    weighted = {*to_uint16(weights)[0]}
    return {
        uid: f"its share {to_text(weights[uid])} is at most half of 1/{U16_MAX} of the largest, "
        f"{to_text(largest)}: uint16 rounds it to 0"
        for uid in sorted(weights)
        if weights[uid] and uid not in weighted
    }
