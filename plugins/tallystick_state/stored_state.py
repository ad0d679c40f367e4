"""A stored state for reading: its store, its rules in force, its allowed validators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from tallystick.errors import StateError
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot
from tallystick_state.claims import AllowedValidators
from tallystick_state.entries import Genesis
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.store.store import Store
from tallystick_state.store.transaction import Transaction

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugins
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.epoch_log import EpochLog
    from tallystick_state.queries import StateQueries
    from tallystick_state.store.transaction import Transaction


class StoredState:
    """A store and the rules that its state follows."""

    def __init__(self, store: Store, in_force: RulesInForce) -> None:
        """Take what was read of the store: its rules so far."""
        self.store, self._known = store, in_force

    @classmethod
    def read(cls, store: Store, transaction: Transaction, plugins: Plugins | None = None) -> Self:
        """Return the state of a store, as its first entry and those that change the rules say.

        Args:
            store: the store.
            transaction: on it.
            plugins: what rule sets are loaded with; by default the installed ones.

        Raises:
            DamagedError: the log does not begin with a rule set, or the plugins are others.
            StoreError: the state is of another format, or a rule set does not load.
        """
        begun = Genesis.of_log(transaction, store.shown)
        return cls(store, begun.in_force(transaction, store.shown, plugins))

    def __repr__(self) -> str:
        name, lines = type(self).__name__, " and ".join(self._known.lines)
        return f"<{name} {self.store.shown!r} of {lines}>"

    @property
    def plugins(self) -> Plugins:
        """The plugins that rule sets of the log are loaded with."""
        return self._known.plugins

    @property
    def allowed(self) -> AllowedValidators:
        """The allowed validators, as the log had them when it was last read."""
        return self._known.allowed

    @property
    def in_force(self) -> RulesInForce:
        """The rules of the state in each epoch, as its log has them now."""
        with self.store.reading() as transaction:
            return self.in_force_of(transaction)

    @property
    def rules(self) -> StateRules:
        """The rules of the open epoch of a state of one line.

        Raises:
            StateError: the state has several lines.
        """
        with self.queries() as queries:
            return queries.rules.only()

    def open_epoch(self) -> int:
        """Return the number of the open epoch."""
        with self.queries() as queries:
            return queries.state.epoch

    @contextmanager
    def queries(self) -> Iterator[StateQueries]:
        """Give queries that all see the state at one instant."""
        from tallystick_state.queries import StateQueries  # a change needs none

        with self.store.reading() as transaction:
            yield StateQueries(transaction, self.in_force_of(transaction))

    @contextmanager
    def epoch_log(self, *, keep: bool = False, trust: bool = True) -> Iterator[EpochLog]:
        """Yield the closed epochs, with their leaves and rows.

        Args:
            keep: whether leaves that are computed are kept in the store.
            trust: whether leaves that were kept are taken as they are.
        """
        from tallystick_state.epoch_log import EpochLog

        with self.store.writing() if keep else self.store.reading() as transaction:
            yield EpochLog(transaction, self.in_force_of(transaction), keep, trust)

    @contextmanager
    def scoring(self, scorer: Scorer | None = None) -> Iterator[Scorer]:
        """Give a scorer that scores each record by its pinned rules and snapshot.

        Args:
            scorer: of a rule set that the state must follow, in whatever epoch; by default it may
                follow any.

        Raises:
            RuleSetError: rules of the state do not bind.
            StateError: the scorer has a rule set that the state never follows.
        """
        with self.store.reading() as transaction:
            in_force = self.in_force_of(transaction)
            rule_sets = in_force.rule_sets()
            if scorer is not None and scorer.digest not in rule_sets:
                names = " or ".join(f"{r.rule_set.reference} {d}" for d, r in rule_sets.items())
                raise StateError(
                    f"found the rule set {scorer.rule_set.reference} {scorer.digest}, expected "
                    f"that of the state, {names}"
                )
            yield in_force.scorer.with_snapshots(StoredSnapshots(transaction))

    @property
    def scorer(self) -> Scorer:
        """The scorer of the state, which scores each record by the rules of its epoch.

        Raises:
            RuleSetError: formulas, types and schemas do not fit.
        """
        return self.in_force.scorer

    def in_force_of(self, transaction: Transaction) -> RulesInForce:
        """Return the rules as a transaction on the store sees them.

        Another process may have adopted some.
        """
        # a local, as another thread may be in a transaction that sees another log
        in_force = self._known
        if transaction.last_rules_seq() != in_force.seq:
            where = self.store.shown
            begun = Genesis.of_log(transaction, where)
            self._known = in_force = begun.in_force(transaction, where, self.plugins)
        return in_force


class StoredSnapshots(Mapping[int, ThresholdSnapshot]):
    """The snapshots of a store by epoch, each read when a record first names its epoch."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        snapshot = self._transaction.snapshot(epoch)
        if snapshot is None:
            raise KeyError(epoch)
        return ThresholdSnapshot(snapshot.state.thresholds, snapshot.digest)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        head = self._transaction.head()
        return head.epoch + 1 if head is not None else 0
