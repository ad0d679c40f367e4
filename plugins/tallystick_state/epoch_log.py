"""The log of epochs of a state: a leaf for each that is closed, and their tree.

Everything here is a function of the log of entries. Leaves are computed when they are first asked
for; where the transaction may write, they are kept beside the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import attrs

from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick_allocation.rules import round_score
from tallystick_state.chain import Entry
from tallystick_state.model import State
from tallystick_state.pruned import PrunedPoint
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.step_roots import (
    ANEW,
    EpochLeaf,
    LeafRow,
    RootedStep,
    StepRoot,
    decimal_text,
    step_rows,
    step_tree,
)
from tallystick_state.store.transaction import Transaction
from tallystick_state.trust.merkle import Tree, leaf_hash
from tallystick_state.weights import LineRecords, LineWeights, is_of_round


@attrs.frozen(eq=False, slots=False)
class EpochLog:
    """The closed epochs of a state, as one transaction sees them.

    Attributes:
        transaction: what it reads.
        in_force: the rules of each epoch.
        keeps: whether leaves are kept that are computed here, for which the transaction must write.
        trusts: whether leaves that are kept are taken as they are.
        known: leaves that were read or computed before, by epoch and the hash of the entry that
            closed it; a closed epoch stays as it is.
    """

    transaction: Transaction
    in_force: RulesInForce
    keeps: bool = False
    trusts: bool = True
    known: dict[tuple[int, str], EpochLeaf] = attrs.field(factory=dict)

    @cached_property
    def closed(self) -> tuple[Entry, ...]:
        """The entry with which each epoch was closed, in order."""
        return tuple(self.transaction.of_kind("epoch"))

    @cached_property
    def pruned(self) -> PrunedPoint | None:
        """The point up to which records were pruned; None where none were."""
        return self.transaction.pruned()

    @cached_property
    def leaves(self) -> tuple[EpochLeaf, ...]:
        """The leaf of each closed epoch."""
        stored = self.transaction.epoch_leaves()
        if not self.trusts:
            # what was pruned cannot be computed again
            pruned = 0 if self.pruned is None else self.pruned.epoch
            stored = {epoch: leaf for epoch, leaf in stored.items() if epoch < pruned}
        for epoch, closing in enumerate(self.closed):
            if (epoch, closing.hash) not in self.known:
                self.known[epoch, closing.hash] = self._leaf(epoch, stored.get(epoch))
        return tuple(self.known[epoch, each.hash] for epoch, each in enumerate(self.closed))

    @cached_property
    def tree(self) -> Tree:
        """The tree of the leaves."""
        return Tree(leaf_hash(leaf.to_bytes()) for leaf in self.leaves)

    def rows(self, epoch: int) -> Mapping[RootedStep, list[bytes] | None]:
        """Return the rows of each step of a closed epoch.

        Raises:
            StateError: the epoch is not closed.
        """
        if not 0 <= epoch < len(self.closed):
            raise StateError(
                f"found the epoch {epoch}, expected one of the {len(self.closed)} that are closed"
            )
        if self.pruned is not None:
            self.pruned.check_epoch(epoch)
        events, weights = [*self.transaction.events(epoch)], self._weight_rows(epoch)
        return step_rows(epoch, self.in_force, events, self.state, weights)

    def _leaf(self, epoch: int, stored: str | None) -> EpochLeaf:
        if stored is not None:
            return self._read_leaf(epoch, stored)
        rules, closing = self.in_force.at(epoch), json.loads(self.closed[epoch].body)
        leaf = EpochLeaf(
            epoch=epoch,
            genesis=self.in_force.genesis,
            rules={line_rules.line: line_rules.digest for line_rules in rules.lines},
            adopted={
                line: begun.digest for line, begun in self.in_force.beginning(epoch + 1).items()
            },
            steps={step: _root(rows) for step, rows in self.rows(epoch).items()},
            snapshot=closing["snapshot"],
            salt=closing.get("salt"),
            carry=self.in_force.begun_beside.get("carry"),
        )
        if self.keeps:
            self.transaction.put_epoch_leaf(epoch, leaf.to_bytes().decode())
        return leaf

    def _read_leaf(self, epoch: int, text: str) -> EpochLeaf:
        try:
            leaf = EpochLeaf.of_value(json.loads(text))
        except ValueError:
            leaf = None
        if leaf is None or leaf.epoch != epoch or leaf.to_bytes() != text.encode():
            raise self.transaction.connection.damaged(
                f"found a leaf of the epoch {epoch} in the store that cannot be read, expected "
                "what tallystick wrote: the store was changed"
            )
        return leaf

    def state(self, epoch: int) -> State:
        """Return the state as an epoch begins.

        Raises:
            DamagedError: there is no snapshot of it.
        """
        state = self.transaction.state(epoch)
        if state is None:
            raise self.transaction.connection.damaged(
                f"found no snapshot of the epoch {epoch}, expected one"
            )
        return state

    def slots(self, epoch: int) -> Mapping[str, int]:
        """Return by hotkey the slots of the miners that have one once an epoch is closed."""
        return self.state(epoch + 1).slots

    def weighed(self, epoch: int) -> Iterator[LineWeights]:
        """Yield the weights of each line that weighs, as an epoch closes.

        Rounds count that were closed before its entry, with the events that were counted by then.
        """
        return (records.weighed() for records in self._records(epoch))

    def _records(self, epoch: int) -> Iterator[LineRecords]:
        """Yield the records of each line that weighs, as an epoch closes."""
        if self.pruned is not None:
            self.pruned.check_epoch(epoch)
        transaction, after, seq = self.transaction, self.state(epoch + 1), self.closed[epoch].seq
        state = cache(transaction.state)
        for line in self.in_force.lines:
            records = LineRecords(transaction, self.in_force, line, state, epoch, after, before=seq)
            if records.rules.allocation is not None:
                yield records

    def _weight_rows(self, epoch: int) -> Iterator[LeafRow]:
        """Yield the row of the weight of each miner in each line, as an epoch closes."""
        for records in self._records(epoch):
            after, weighed = records.after, records.weighed()
            rule_set, slots = weighed.rules.rule_set, after.slots
            number = None if round_score(rule_set) is None else weighed.round
            columns = after.carry.get(records.line, {})
            for hotkey in weighed.scores if is_of_round(rule_set) else slots:
                value: dict[str, Any] = {
                    "epoch": records.rules_epoch,
                    "round": number,
                    "score": decimal_text(weighed.scores.get(hotkey)),
                    "uid": slots[hotkey],
                    "weight": decimal_text(weighed.weights.get(hotkey)),
                }
                carried = {name: to_text(c[hotkey]) for name, c in columns.items() if hotkey in c}
                if carried:
                    value["carry"] = carried
                if after.miners[hotkey].anew is not None:
                    value[ANEW] = after.miners[hotkey].anew
                yield hotkey, records.line, value


def _root(rows: list[bytes] | None) -> StepRoot | None:
    return None if rows is None else StepRoot(step_tree(rows).root().hex(), len(rows))
