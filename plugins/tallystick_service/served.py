"""Served state: a stored state that is only read, with the leaves of its epochs kept in memory.

A store keeps leaves where somebody who may write has asked for a checkpoint. Where nobody has, each
is computed here once: a closed epoch stays as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TypeAlias

import attrs

from tallystick_state.epoch_log import EpochLog
from tallystick_state.queries import StateQueries
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.step_roots import EpochLeaf
from tallystick_state.stored_state import StoredState

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


class SeenState(StoredState):
    """A stored state at the one instant that queries see."""

    def __init__(self, state: StoredState, queries: StateQueries, memory: Memory) -> None:
        """Read by the transaction of some queries."""
        super().__init__(state.store, queries.in_force)
        self._queries, self._leaves = queries, memory

    @property
    def in_force(self) -> RulesInForce:
        """The rules of the state in each epoch."""
        return self._queries.in_force

    @contextmanager
    def queries(self) -> Iterator[StateQueries]:
        """Give the queries."""
        yield self._queries

    @contextmanager
    def epoch_log(self, *, keep: bool = False, trust: bool = True) -> Iterator[EpochLog]:
        """Yield the closed epochs; nothing is ever kept in the store.

        Args:
            keep: of no effect.
            trust: of no effect: leaves that the store keeps are taken as they are.
        """
        del keep, trust
        yield ServedLog(self._queries.transaction, self._queries.in_force, memory=self._leaves)
