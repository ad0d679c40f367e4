"""Weights as the chain is given them: by slot, of one line or of all by their pools."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import attrs

from tallystick.numbers.nano import NANO, to_decimal
from tallystick.numbers.text import repr_as
from tallystick_allocation.column import RationalColumn, nano, published
from tallystick_allocation.population import Miner, Population
from tallystick_allocation.rules import Pools as PoolsRules
from tallystick_allocation.share import PoolsStep, slot_of
from tallystick_allocation.step import Given
from tallystick_allocation.uint16 import dropped, to_uint16
from tallystick_state.pools import Pools


@attrs.frozen
class Weights:
    """The weights of the slots that have one, ascending.

    Attributes:
        uids: the slots, of those that uint16 drops none.
        weights: their shares.
        uint16: by slot, the shares as Bittensor takes them: what is given to ``set_weights``.
        reason: why nobody has one; empty when somebody has.
        without: by hotkey, why a miner with a slot has none.
        miners: how many miners hold a slot.
        dropped: by slot, why a weight above 0 is 0 as Bittensor takes it; its share is not among
            ``weights``.
    """

    uids: tuple[int, ...] = attrs.field(repr=repr_as("slot"))
    weights: tuple[Decimal, ...] = attrs.field(repr=repr_as("share"))
    uint16: Mapping[int, int] = attrs.field(repr=repr_as("slot"))
    reason: str = ""
    without: Mapping[str, str] = attrs.field(factory=dict, repr=repr_as("miner"))
    miners: int = 0
    dropped: Mapping[int, str] = attrs.field(factory=dict, repr=repr_as("slot"))


def by_slot(weights: Mapping[str, int], slots: Mapping[str, int]) -> dict[int, int]:
    """The weights above 0 by slot.

    Args:
        weights: in nano, by hotkey, or ``uid:N`` of a slot that burns; a hotkey without a slot,
            such as one for which a share is reserved, is left out.
        slots: of the miners, by hotkey.
    """
    found: dict[int, int] = {}
    for key, weight in weights.items():
        slot = slots.get(key)
        slot = slot_of(key) if slot is None else slot
        if slot is None:  # the chain has nobody of that name to pay
            continue
        found[slot] = found.get(slot, 0) + weight
    return found


def chain_weights(
    weights: Mapping[int, int], without: Mapping[str, str], miners: int, reason: str
) -> Weights:
    """Weights by slot as the chain is given them.

    Args:
        weights: in nano, by slot.
        without: by hotkey, why a miner with a slot has none.
        miners: how many miners hold a slot.
        reason: why nobody has one, if nobody has.
    """
    uids, values = to_uint16(weights)
    return Weights(
        tuple(uids),
        tuple(to_decimal(weights[uid]) for uid in uids),
        dict(zip(uids, values, strict=True)),
        "" if uids else reason,
        without,
        miners,
        dropped(weights),
    )


def pooled(
    pools: Pools, lines: Mapping[str, Mapping[str, int]], slots: Mapping[str, int]
) -> Mapping[str, int]:
    """The weights that lines come to by their pools, in nano, rounded once.

    Args:
        pools: the shares of the lines, and what becomes of that of an idle one.
        lines: by line, the weights that it publishes; none of a line in which nobody has one.
        slots: of the miners, by hotkey.
    """
    population = Population(tuple(Miner(hotkey, uid) for hotkey, uid in slots.items()))
    rules = PoolsRules(name="weight", do="pools", of="line", idle=pools.idle, burn=pools.burn)
    shares = {line: Fraction(pools.shares[line]) for line in lines}
    step = PoolsStep(rules=rules, inputs=(), shape="flat", origin=(), groups=shares)
    burning = {key for weights in lines.values() for key in weights if key not in slots}
    keys = (*population.places, *sorted(burning.union(step.others(population))))
    columns = {
        line: RationalColumn(tuple(map(weights.get, keys)), NANO) for line, weights in lines.items()
    }
    found = step.apply(Given(population, keys, {"line": columns}))
    assert isinstance(found, RationalColumn)  # noqa: S101  # shares of whole numbers
    held = zip(keys, nano(published(found)), strict=True)
    return {key: weight for key, weight in held if weight}
