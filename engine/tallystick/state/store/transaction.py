"""One transaction on a store: what it can read, and what it can write."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import attrs
from sqlalchemy import Table, delete, insert, select, update

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.state.chain import Entry
from tallystick.state.event import StateEvent
from tallystick.state.model import Snapshot
from tallystick.state.store.log_head import Head
from tallystick.state.store.reads import Reads
from tallystick.state.store.tables import HEAD, LOG, ROUNDS, SIGNALS, SNAPSHOTS

__all__ = ["Head", "Transaction"]

_ROWS = 10_000


@attrs.frozen
class Transaction(Reads):
    """Reads and writes of one transaction.

    What is written is seen by the reads after it, and by others once the transaction is committed.
    In a transaction for reading every write raises `StoreError`.
    """

    def put_head(self, head: Head) -> None:
        """Say where the log has led, in place of what was said before."""
        state = canonical_bytes(head.state.to_dict()).decode()
        row = {"id": 1, "epoch": head.epoch, "entries": head.entries, "hash": head.hash}
        self.connection.execute(delete(HEAD))
        self.connection.execute(insert(HEAD), row | {"state": state})

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries to the log; their chain is the caller's to make."""
        self._insert(LOG, ((each.seq, each.kind, each.body, each.hash) for each in entries))

    def put_signals(self, signals: Iterable[tuple[int, StateEvent, int]]) -> None:
        """Index signals.

        Args:
            signals: for each, the number of its entry in the log, the signal, and the epoch that
                was open when it was recorded.
        """
        self._insert(SIGNALS, (_indexed(*each) for each in signals))

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot for ever.

        Raises:
            StoreError: its epoch has one, once the transaction ends.
        """
        body = canonical_bytes(snapshot.to_dict())
        row = {"epoch": snapshot.state.epoch, "digest": digest_of_bytes(body)}
        self.connection.execute(insert(SNAPSHOTS), row | {"body": body.decode()})

    def put_round(self, number: int, at: str | None) -> None:
        """Keep a round and its time; of several times the earliest stays.

        Args:
            number: of the round.
            at: ISO text, all of one form, so that earlier times are lesser text; None when it is
                not known.
        """
        mine = ROUNDS.c.round == number
        found = self.connection.execute(select(ROUNDS.c.at).where(mine)).one_or_none()
        if found is None:
            self.connection.execute(insert(ROUNDS), {"round": number, "at": at})
        elif at is not None and (found[0] is None or at < found[0]):
            self.connection.execute(update(ROUNDS).where(mine).values(at=at))

    def _insert(self, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows with a value for each column, in the order of the columns."""
        # as plain text, since what Core does for each row takes longer than the database
        mark = "?" if self.connection.dialect.paramstyle == "qmark" else "%s"
        names = ", ".join(table.columns.keys())
        marks = ", ".join([mark] * len(table.columns))
        text = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608  # our names
        remaining = iter(rows)
        while page := list(islice(remaining, _ROWS)):
            self.connection.exec_driver_sql(text, page)


def _indexed(seq: int, signal: StateEvent, counted_in: int) -> tuple[Any, ...]:
    miner = signal.hotkey, signal.skill_type, signal.role, signal.is_record
    return seq, signal.identity, counted_in, signal.round, *miner
