"""Comparison of rows: the one that a chain has of a validator, and the one that a state says."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import InputError
from tallystick.io.text import visible
from tallystick.numbers.nano import NANO, round_half_even, to_decimal
from tallystick_chain.sync import finalized_block
from tallystick_chain.weight_rows import RowError, WeightsToSet

if TYPE_CHECKING:
    from tallystick_chain.chain import Chain
    from tallystick_chain.network import Network


@attrs.frozen
class ComparedEntry:
    """One slot of two rows.

    Attributes:
        uid: the slot.
        hotkey: who holds it; empty: nobody.
        chain_uint16: its weight in the chain's row, 0 to 65535.
        state_uint16: its weight in the state's row, 0 to 65535.
        chain: its share of the chain's row.
        state: its share of the state's row.
    """

    uid: int
    hotkey: str
    chain_uint16: int
    state_uint16: int
    chain: Decimal
    state: Decimal


@attrs.frozen
class RowComparison:
    """The row that a chain has of a validator, beside the one that a state says.

    Attributes:
        block: of the chain.
        last_update: the block of the validator's last row or commit, or of its registration.
        pending: the number of its rows that are committed and not revealed.
        epoch: of the state's row.
        reason: why the state has no row; empty where it has one.
        difference: the part of all that one row gives to others than the other does, 0 to 1; a half
            where one of them has no weight.
        entries: the slots with a weight in one of them, by uid.
    """

    block: int
    last_update: int
    pending: int
    epoch: int
    reason: str
    difference: Decimal
    entries: tuple[ComparedEntry, ...]

    @classmethod
    def of(
        cls,
        chain: Chain,
        network: Network,
        hotkey: str,
        weights: WeightsToSet,
        block: int | None = None,
    ) -> RowComparison:
        """Compare the rows at a finalized block.

        Args:
            chain: which is read.
            network: whose subnet and mechanism it is.
            hotkey: of the validator.
            weights: of the state.
            block: by default the newest finalized one.

        Raises:
            ChainError: the chain gives no answer.
            InputError: the hotkey has no uid at the block.
        """
        block = finalized_block(chain, block)
        netuid, mechanism = network.netuid, network.mechanism
        neurons = chain.neurons(netuid, block)
        holders = {neuron.uid: neuron.hotkey for neuron in neurons}
        own = next((uid for uid, holder in holders.items() if holder == hotkey), None)
        if own is None:
            raise InputError(
                f"found no uid of {visible(hotkey)} in subnet {netuid} at block {block}, expected "
                "one: name the hotkey of a validator"
            )
        reason, pairs = "", dict[int, int]()
        try:
            owner = chain.subnet(netuid, mechanism, block).owner
            pairs = dict(weights.row(neurons, owner).pairs)
        except RowError as error:
            reason = str(error)
        row = dict(chain.row(netuid, mechanism, own, block))
        of_chain, of_state, uids = _shares(row), _shares(pairs), sorted({*row, *pairs})
        apart = sum(abs(of_state.get(uid, 0) - of_chain.get(uid, 0)) for uid in uids)
        return cls(
            block=block,
            last_update=chain.last_update(netuid, mechanism, own, block),
            pending=len(chain.pending(netuid, mechanism, hotkey, block)),
            epoch=weights.epoch,
            reason=reason,
            difference=to_decimal(apart // 2),
            entries=tuple(
                ComparedEntry(
                    uid,
                    holders.get(uid, ""),
                    row.get(uid, 0),
                    pairs.get(uid, 0),
                    to_decimal(of_chain.get(uid, 0)),
                    to_decimal(of_state.get(uid, 0)),
                )
                for uid in uids
            ),
        )


def _shares(row: Mapping[int, int]) -> Mapping[int, int]:
    """Return the share of each slot, in nano."""
    total = sum(row.values())
    return {uid: round_half_even(weight * NANO, total) for uid, weight in row.items()}
