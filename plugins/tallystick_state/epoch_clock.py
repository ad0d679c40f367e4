"""The epoch clock: which block an epoch begins with, though rules change how long epochs are.

Blocks and epochs count from 0 (E30 of docs/errata.md). Where the block 0 of a subnet lies on its
chain is the subnet's to know.
"""

from __future__ import annotations

from tallystick.errors import StateError
from tallystick.rules.timeline import Timeline
from tallystick_state.rules import StateRules
from tallystick_state.sections.epochs import EPOCHS


def first_block(epoch: int, timeline: Timeline[StateRules]) -> int | None:
    """The first block of an epoch; None where rules without epochs hold before it.

    Args:
        epoch: from 0.
        timeline: the rules of a line.
    """
    blocks = 0
    for start, end, rules in timeline.spans():
        if epoch <= start:
            break
        epochs = rules.rule_set.section(EPOCHS)
        if epochs is None:
            return None
        last = epoch if end is None else min(epoch, end)
        blocks += (last - start) * epochs.blocks
    return blocks


def epoch_of(block: int, timeline: Timeline[StateRules]) -> int:
    """The epoch that a block belongs to.

    Args:
        block: from 0.
        timeline: the rules of a line.

    Raises:
        StateError: the block is negative, or rules without epochs hold by then.
    """
    if block < 0:
        raise StateError(f"found the block {block}, expected at least 0")
    before = 0
    for start, end, rules in timeline.spans():
        epoch = start + (block - before) // rules.epochs.blocks
        if end is None or epoch < end:
            return epoch
        before += (end - start) * rules.epochs.blocks
    raise AssertionError  # the last span has no end
