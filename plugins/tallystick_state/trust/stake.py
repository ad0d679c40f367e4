"""Stake snapshots: how much stake stood behind each hotkey at one block, by name and digest.

A trust file counts shares of such a file and never of live stake, or two validators would count
differently.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from tallystick.canonical import digest
from tallystick_state.trust.encoding import check_size, json_value
from tallystick_state.trust.schema import check

MOST_BYTES = 16 * 1024 * 1024
"""The largest snapshot, in bytes."""


@attrs.frozen
class StakeSnapshot:
    """The stake of every hotkey at a block.

    Attributes:
        block: the block.
        stake: by hotkey, in the smallest unit of the chain.
        digest: of what the file says.
        text: the file.
    """

    block: int
    stake: Mapping[str, int]
    digest: str
    text: str = attrs.field(repr=False)

    @property
    def total(self) -> int:
        """The stake of all hotkeys."""
        return sum(self.stake.values())


def parse(text: str, where: str) -> StakeSnapshot:
    """The snapshot in the text of a file.

    Args:
        text: JSON; a number above 2**53 - 1 is written as text.
        where: its name, for errors.

    Raises:
        TrustError: it is no snapshot.
    """
    data = text.encode("utf-8", "surrogatepass")
    check_size(data, MOST_BYTES, where, "a stake snapshot")
    value = json_value(data, where, "bad-trust-file", exact=True)
    check("stake-1", value, where, "bad-trust-file")
    stake = {hotkey: int(amount) for hotkey, amount in value["stake"].items()}
    return StakeSnapshot(value["block"], stake, digest(value), text)
