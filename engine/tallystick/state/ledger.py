"""The ledger: the state of a subnet in a store, and everything that changes it.

Every method is one transaction: it happens whole or not at all, and another process sees it before
or after, never between. What is refused changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Self

import attrs

from tallystick.errors import StateError
from tallystick.plugins.registry import Registry
from tallystick.scoring.scorer import Scorer, load
from tallystick.state.event_log import EventLog
from tallystick.state.genesis import scorer_of
from tallystick.state.groups import Group
from tallystick.state.miners import miner_of
from tallystick.state.model import Miner, Snapshot
from tallystick.state.queries import StateQueries
from tallystick.state.recording import Recorded, Rounds, record
from tallystick.state.rules import StateRules, state_rules_of
from tallystick.state.snapshots import StoredSnapshots
from tallystick.state.store.store import Store
from tallystick.state.timestamps import timestamp_text


@attrs.frozen
class ClosedRound:
    """The scores of a round.

    Attributes:
        round: its number.
        epoch: the epoch that it is pinned to.
        scores: by hotkey, in nano, of all that is recorded of the round so far.
    """

    round: int
    epoch: int
    scores: dict[str, int]


@attrs.frozen
class ClosedEpoch:
    """What closing an epoch came to.

    Attributes:
        epoch: the epoch that is closed.
        already: whether it was closed before.
        snapshot: the snapshot of the next epoch.
    """

    epoch: int
    already: bool
    snapshot: Snapshot


class Ledger:
    """A store and the law that its state follows."""

    def __init__(self, store: Store, scorer: Scorer) -> None:
        """Use `open` or `create`."""
        self.store, self.scorer = store, scorer
        self.law: StateRules = state_rules_of(scorer)

    @classmethod
    def create(cls, where: str, reference: str, *, registry: Registry | None = None) -> Self:
        """Begin a state under a rule set.

        Args:
            where: a path, for SQLite, or a URL.
            reference: the rule set.
            registry: the plugins; by default the installed ones.

        Raises:
            RuleSetError: the rule set does not load.
            StoreError: there is something at that place already, or it cannot be written.
        """
        scorer = load(reference, registry=registry)
        with Store.create(where) as (store, transaction):
            journal = EventLog(transaction, state_rules_of(scorer))
            journal.begin(scorer.loaded.text)
            journal.finish()
        return cls(store, scorer)

    @classmethod
    def open(cls, where: str, *, registry: Registry | None = None) -> Self:
        """Open a state.

        Raises:
            StoreError: there is no store of ours, or it cannot be used.
        """
        with ExitStack() as stack:
            store = stack.enter_context(Store.open(where))
            with store.reading() as transaction:
                genesis = next(transaction.entries(), None)
            scorer = scorer_of(genesis, store.shown, registry)
            stack.pop_all()
        return cls(store, scorer)

    def close(self) -> None:
        """Give the store back."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def register(self, hotkey: str, uid: int, types: Iterable[str]) -> Miner:
        """Register a miner in a slot; see `miners.register`.

        Raises:
            StateError: the hotkey, the slot or a type is not possible.
        """
        with self._journal() as journal:
            journal.register(hotkey, uid, types)
        return journal.state.miners[hotkey]

    def clear(self, hotkey: str, at: datetime | None = None) -> int:
        """Clear the collusion flags of a miner; gives how many it had.

        Raises:
            StateError: there is no such miner.
        """
        with self._journal() as journal:
            flags = miner_of(journal.state, hotkey).flags
            journal.clear(hotkey, timestamp_text(at))
        return flags

    def import_events(self, source: Path) -> Recorded:
        """Record the records and late events of a file, whichever round they are of.

        Raises:
            InputError: the file cannot be read.
            RefusedError: a line is bad; nothing is recorded.
        """
        with self._journal() as journal:
            return self._record(journal, source)

    def close_round(
        self, source: Path, number: int | None = None, at: datetime | None = None
    ) -> tuple[tuple[ClosedRound, ...], Recorded]:
        """Record the records of a file and give the scores of their rounds.

        Args:
            source: the records.
            number: the round that they all are of; by default each closes its own.
            at: when, with an offset.

        Raises:
            InputError: the file cannot be read.
            RefusedError: a line is bad, or of another round; nothing is recorded.
        """
        pinned = Rounds(number)
        with self._journal() as journal:
            recorded = self._record(journal, source, pinned)
            for closed in sorted(pinned.epochs):
                journal.close_round(closed, timestamp_text(at))
            queries = StateQueries(journal.transaction, self.law)
            rounds = tuple(
                ClosedRound(each, epoch, queries.round_scores(each))
                for each, epoch in sorted(pinned.epochs.items())
            )
        return rounds, recorded

    def close_epoch(self, epoch: int | None = None, at: datetime | None = None) -> ClosedEpoch:
        """Close an epoch; one that is closed already stays as it is.

        Args:
            epoch: which; by default the one that is open as the call begins.
            at: when, with an offset.

        Raises:
            StateError: the epoch has not begun.
        """
        wanted = self.open_epoch() if epoch is None else epoch
        with self._journal() as journal:
            already = wanted < journal.state.epoch
            if not 0 <= wanted <= journal.state.epoch:
                raise StateError(
                    f"found the epoch {wanted}, expected 0 to {journal.state.epoch}, the open "
                    "one: close the epochs before it first"
                )
            snapshot = (
                journal.snapshot(wanted + 1) if already else journal.close_epoch(timestamp_text(at))
            )
        return ClosedEpoch(wanted, already, snapshot)

    def select_group(
        self, skill_type: str, number: int, seed: str, epoch: int | None = None
    ) -> Group:
        """Select the group of a dispatch and note it in the log.

        Args:
            skill_type: of the task.
            number: the round.
            seed: what makes the draw of auditors unforeseeable; any text.
            epoch: whose snapshot the round is pinned to; by default the open one.

        Raises:
            StateError: the type or the epoch is unknown, or the rule set has no groups.
        """
        with self._journal() as journal:
            pinned = journal.state.epoch if epoch is None else epoch
            return journal.select_group(skill_type, number, seed, pinned)

    def open_epoch(self) -> int:
        """The number of the open epoch."""
        with self.queries() as queries:
            return queries.state.epoch

    @contextmanager
    def queries(self) -> Iterator[StateQueries]:
        """Questions about one and the same moment."""
        with self.store.reading() as transaction:
            yield StateQueries(transaction, self.law)

    @contextmanager
    def scoring(self, scorer: Scorer) -> Iterator[Scorer]:
        """A scorer that scores each record by the snapshot that it is pinned to.

        Raises:
            StateError: the scorer has another rule set than the state.
        """
        if scorer.digest != self.law.digest:
            raise StateError(
                f"found the rule set {scorer.rule_set.reference} {scorer.digest}, expected that of "
                f"the state, {self.law.rule_set.reference} {self.law.digest}"
            )
        with self.store.reading() as transaction:
            yield scorer.with_snapshots(StoredSnapshots(transaction))

    @contextmanager
    def _journal(self) -> Iterator[EventLog]:
        with self.store.writing() as transaction:
            journal = EventLog(transaction, self.law)
            yield journal
            journal.finish()

    def _record(self, journal: EventLog, source: Path, rounds: Rounds | None = None) -> Recorded:
        return record(
            journal,
            source,
            self.scorer.with_snapshots(StoredSnapshots(journal.transaction)),
            rounds,
        )
