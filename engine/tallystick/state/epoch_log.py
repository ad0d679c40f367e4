"""The log of epochs of a state: a leaf for each that is closed, and their tree.

Everything here is a function of the log of entries. Leaves are computed when they are first asked
for; where the transaction may write, they are kept beside the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, StateError
from tallystick.state.event import StateEvent
from tallystick.state.miners import pinned_reputation
from tallystick.state.model import State
from tallystick.state.round_scores import round_epoch, round_scores
from tallystick.state.rules import StateRules
from tallystick.state.rules_in_force import RulesInForce
from tallystick.state.step_roots import (
    Counted,
    EpochLeaf,
    Share,
    Step,
    StepRoot,
    step_rows,
    step_tree,
)
from tallystick.state.store.transaction import Transaction
from tallystick.state.weights import weights_of
from tallystick.state.windows import longest_window, newest_tasks, window_score
from tallystick.trust.merkle import TileTree, leaf_hash


@attrs.frozen
class Closed:
    """What the entry says with which an epoch was closed.

    Attributes:
        seq: its number.
        snapshot: the digest of the snapshot of the next epoch.
        salt: of its leaf; None without.
    """

    seq: int
    snapshot: str
    salt: str | None


@attrs.frozen(eq=False, slots=False)
class EpochLog:
    """The closed epochs of a state, as one transaction sees them.

    Attributes:
        transaction: what it reads.
        in_force: the rules of each epoch.
        keeps: whether leaves are kept that are computed here, for which the transaction must write.
        trusts: whether leaves that are kept are taken as they are.
    """

    transaction: Transaction
    in_force: RulesInForce
    keeps: bool = False
    trusts: bool = True

    @cached_property
    def closed(self) -> tuple[Closed, ...]:
        """By epoch, how it was closed."""
        found = []
        for seq, body in self.transaction.numbered_bodies_of_kind("epoch"):
            said = json.loads(body)
            found.append(Closed(seq, said["snapshot"], said.get("salt")))
        return tuple(found)

    @cached_property
    def leaves(self) -> tuple[EpochLeaf, ...]:
        """The leaf of each closed epoch."""
        kept = self.transaction.epoch_leaves() if self.trusts else {}
        return tuple(self._leaf(epoch, kept.get(epoch)) for epoch in range(len(self.closed)))

    @cached_property
    def tree(self) -> TileTree:
        """The tree of the leaves."""
        return TileTree(leaf_hash(each.to_bytes()) for each in self.leaves)

    def tree_at(self, size: int) -> TileTree:
        """The tree of the first leaves."""
        return TileTree(leaf_hash(each.to_bytes()) for each in self.leaves[:size])

    def rows(self, epoch: int) -> Mapping[Step, list[bytes] | None]:
        """The rows of each step of a closed epoch.

        Raises:
            StateError: the epoch is not closed.
        """
        return step_rows(self._counted(epoch))

    def _leaf(self, epoch: int, kept: str | None) -> EpochLeaf:
        if kept is not None:
            return _read_leaf(epoch, kept)
        rules, closed = self.in_force.at(epoch), self.closed[epoch]
        found = EpochLeaf(
            epoch=epoch,
            genesis=self.in_force.genesis,
            rules={each.line: each.digest for each in rules.lines},
            adopted={line: each.digest for line, each in self._adopted(epoch).items()},
            steps={step: _root(rows) for step, rows in self.rows(epoch).items()},
            snapshot=closed.snapshot,
            salt=closed.salt,
        )
        if self.keeps:
            self.transaction.put_epoch_leaf(epoch, found.to_bytes().decode())
        return found

    def _adopted(self, epoch: int) -> dict[str, StateRules]:
        """By line, the rules that begin with the epoch after this."""
        begun = ((line, each.begins(epoch + 1)) for line, each in self.in_force.lines.items())
        return {line: rules for line, rules in begun if rules is not None}

    def _counted(self, epoch: int) -> Counted:
        if not 0 <= epoch < len(self.closed):
            raise StateError(
                f"found the epoch {epoch}, expected one of the {len(self.closed)} that are closed"
            )
        events = [*self.transaction.events(epoch)]
        pins = sorted({each.epoch for each in events if each.epoch <= epoch})
        return Counted(
            epoch=epoch,
            rules={each.line: each for each in self.in_force.at(epoch).lines},
            line_of=self.in_force.line_of,
            adopted=self._adopted(epoch),
            rules_at={line: each.at for line, each in self.in_force.lines.items()},
            events=events,
            before=self._state(epoch),
            after=self._state(epoch + 1),
            pinned={pin: self._state(pin) for pin in pins},
            scores=dict(self._scores(epoch)),
        )

    def _state(self, epoch: int) -> State:
        found = self.transaction.snapshot(epoch)
        if found is None:
            raise DamagedError(
                f"found no snapshot of the epoch {epoch}, expected one: restore a copy"
            )
        return found.state

    def _scores(self, epoch: int) -> Iterator[tuple[tuple[str, str], Share]]:
        """What the weights are as an epoch closes, without immunity, by hotkey and line.

        Rounds count that were closed before its entry, with the events that were counted by then.
        """
        slots = {
            miner.hotkey: miner.uid
            for miner in self._state(epoch + 1).miners.values()
            if miner.uid is not None
        }
        for line, timeline in self.in_force.lines.items():
            last = self.transaction.last_closed_round(
                self.closed[epoch].seq, types=self.in_force.types_apart(line), counted_by=epoch
            )
            found = () if last is None else self.transaction.events_of_round(last, epoch)
            events = self._own(line, found)
            pinned = round_epoch(events)
            of_rules = epoch if pinned is None else pinned
            rules = timeline.at(of_rules)
            aggregation = rules.rule_set.aggregation
            if aggregation is not None and aggregation.window is not None:
                number, scores = None, {each: self._window(each, rules, epoch) for each in slots}
            else:
                number, scores = last, self._round_scores(events, rules)
            present = {hotkey: score for hotkey, score in scores.items() if hotkey in slots}
            weights = weights_of(present, rules)
            for hotkey, score in present.items():
                share = Share(slots[hotkey], of_rules, number, score, weights.get(hotkey))
                yield (hotkey, rules.line), share

    def _round_scores(self, events: Sequence[StateEvent], rules: StateRules) -> dict[str, int]:
        timeline = self.in_force.lines[rules.line]
        states = {epoch: self._state(epoch) for epoch in {each.epoch for each in events}}

        def reputation_of(event: StateEvent) -> int:
            rules = timeline.at(event.epoch)
            return pinned_reputation(states[event.epoch], rules, event.hotkey, event.skill_type)

        return round_scores(events, rules, reputation_of, own_rules=lambda e: timeline.at(e.epoch))

    def _own(self, line: str, events: Iterable[StateEvent]) -> list[StateEvent]:
        """The events of the skill types of a line."""
        return [each for each in events if self.in_force.line_of(each.skill_type) == line]

    def _window(self, hotkey: str, rules: StateRules, epoch: int) -> int:
        events = self.transaction.scored(hotkey, counted_by=epoch)
        # lazily: the window ends long before the events do
        own = (each for each in events if self.in_force.line_of(each.skill_type) == rules.line)
        return window_score(newest_tasks(own, longest_window(rules)), rules)


def _root(rows: list[bytes] | None) -> StepRoot | None:
    return None if rows is None else StepRoot(step_tree(rows).root(), len(rows))


def _read_leaf(epoch: int, text: str) -> EpochLeaf:
    try:
        found = EpochLeaf.of_value(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        found = None
    if found is None or found.epoch != epoch or canonical_bytes(found.to_value()) != text.encode():
        raise DamagedError(
            f"found a leaf of the epoch {epoch} in the store that cannot be read, expected what "
            "tallystick wrote: the store is damaged, so take it back from a copy"
        )
    return found
