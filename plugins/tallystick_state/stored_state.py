"""A stored state as it is read: its store, its rules in force, and whose records it accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tallystick.scoring.threshold_snapshots import ThresholdSnapshot
from tallystick_state.authority import stored_envelopes
from tallystick_state.claims import EVERYONE, Hearing
from tallystick_state.queries import StateQueries
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce, continued
from tallystick_state.store.store import Store
from tallystick_state.store.transaction import Transaction

if TYPE_CHECKING:
    from tallystick_state.epoch_log import EpochLog
    from tallystick_state.store.transaction import Transaction


class StoredState:
    """A store and the rules that its state follows."""

    def __init__(
        self, store: Store, rules: StateRules | RulesInForce, hearing: Hearing = EVERYONE
    ) -> None:
        """Take what was read of the store: its rules so far, and its allowed validators."""
        self.store, self.hearing = store, hearing
        self._known = RulesInForce.of(rules)

    def __repr__(self) -> str:
        name, lines = type(self).__name__, " and ".join(self._known.lines)
        return f"<{name} {self.store.shown!r} of {lines}>"

    @property
    def in_force(self) -> RulesInForce:
        """Which rules the state has in each epoch, as its log says now."""
        with self.store.reading() as transaction:
            return self._in_force(transaction)

    @property
    def rules(self) -> StateRules:
        """The rules of the open epoch of a state of one line.

        Raises:
            StateError: the state has several lines.
        """
        with self.queries() as queries:
            return queries.rules.only()

    def open_epoch(self) -> int:
        """The number of the open epoch."""
        with self.queries() as queries:
            return queries.state.epoch

    @contextmanager
    def queries(self) -> Iterator[StateQueries]:
        """Queries that all see the state at one instant."""
        with self.store.reading() as transaction:
            yield StateQueries(transaction, self._in_force(transaction))

    @contextmanager
    def epoch_log(self, *, keep: bool = False, trust: bool = True) -> Iterator[EpochLog]:
        """The closed epochs, with their leaves and rows.

        Args:
            keep: whether leaves that are computed are kept in the store.
            trust: whether leaves that were kept are taken as they are.
        """
        from tallystick_state.epoch_log import EpochLog

        with self.store.writing() if keep else self.store.reading() as transaction:
            yield EpochLog(transaction, self._in_force(transaction), keep, trust)

    def _in_force(self, transaction: Transaction) -> RulesInForce:
        """The rules as a transaction sees them: another process may have adopted some."""
        # a local, as another thread may be in a transaction that sees another log
        last, known = transaction.last_rules_seq(), self._known
        if last < known.seq:
            # an older copy is in its place now
            known = known.at_genesis()
        if last > known.seq:
            later, where = transaction.rules_entries(known.seq + 1), self.store.shown
            envelopes = stored_envelopes(transaction.envelope, where)
            known = continued(known, later, where, envelopes)
        self._known = known
        return known


class StoredSnapshots(Mapping[int, ThresholdSnapshot]):
    """The snapshots of a store by epoch, each read when a record first names its epoch."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        found = self._transaction.snapshot(epoch)
        if found is None:
            raise KeyError(epoch)
        return ThresholdSnapshot(found.state.thresholds, found.digest)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        head = self._transaction.head()
        return head.epoch + 1 if head is not None else 0
