"""Served log: the closed epochs of a state that is only read, with their leaves kept in memory.

A store keeps leaves where somebody who may write has asked for a checkpoint. Where nobody has, each
is computed here once: a closed epoch stays as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TypeAlias

import attrs

from tallystick_state.epoch_log import EpochLog
from tallystick_state.step_roots import EpochLeaf

Memory: TypeAlias = OrderedDict[tuple[int, str], EpochLeaf]
"""Leaves by the number of their epoch and the hash of the entry that closed it."""
_MOST_LEAVES = 4096


@attrs.frozen(eq=False, slots=False)
class ServedLog(EpochLog):
    """The closed epochs of a state, with leaves that are remembered between transactions.

    Attributes:
        memory: the leaves that were read or computed before.
    """

    memory: Memory = attrs.field(factory=OrderedDict)

    @cached_property
    def leaves(self) -> tuple[EpochLeaf, ...]:
        """The leaf of each closed epoch."""
        stored = self.transaction.epoch_leaves()
        return tuple(
            self._remembered(epoch, stored.get(epoch)) for epoch in range(len(self.closed))
        )

    def _remembered(self, epoch: int, stored: str | None) -> EpochLeaf:
        key = epoch, self.closed[epoch].hash
        leaf = self.memory.get(key)
        if leaf is None:
            leaf = self.memory[key] = self._leaf(epoch, stored)
            while len(self.memory) > _MOST_LEAVES:
                self.memory.popitem(last=False)
        return leaf
