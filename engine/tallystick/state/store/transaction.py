"""One transaction on a store: what it reads, and what it writes.

Long results come page after page: no cursor stays open behind a reader who stops early. Values are
read as they were written; nothing is checked against the chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import attrs
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    delete,
    func,
    insert,
    select,
    update,
)

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.errors import DamagedError, NumberError
from tallystick.rules.sections import Role
from tallystick.state.chain import Entry
from tallystick.state.event import StateEvent
from tallystick.state.model import Snapshot, State, structure, unstructure
from tallystick.state.store.tables import EVENTS, HEAD, LOG, ROUNDS, SNAPSHOTS

# rows of a page that is read, of the first one for who wants the first entry alone, and of one that
# is written
_READ, _FIRST_READ, _WRITTEN = 2_000, 100, 10_000
_ROUNDS = 32
# below the number of parameters that every version of SQLite takes
_IDENTITIES = _NUMBERS = 900
_T = TypeVar("_T")

_BODIES = select(EVENTS.c.seq, LOG.c.body).join(LOG, LOG.c.seq == EVENTS.c.seq)


@attrs.frozen
class LogHead:
    """Where the log has led.

    Attributes:
        epoch: the open epoch.
        entries: how many entries the log has.
        hash: of the last entry.
        state: the live state.
    """

    epoch: int
    entries: int
    hash: str
    state: State


@attrs.frozen
class Transaction:
    """Reads and writes of one transaction.

    All reads see the store at one instant. What is written is seen by the reads after it, and by
    others once the transaction is committed. In a transaction for reading every write raises
    `StoreError`.
    """

    connection: Connection

    def head(self) -> LogHead | None:
        """Where the log has led; None before the first head is put."""
        rows = self.connection.execute(select(HEAD)).all()
        if not rows:
            return None
        row = rows[0]
        state = _structured(row.state, State, "a state")
        return LogHead(row.epoch, row.entries, row.hash, state)

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """The entries of the log in their order, from the one with the number ``first``."""
        query = select(LOG.c.seq, LOG.c.kind, LOG.c.body, LOG.c.hash).order_by(LOG.c.seq)
        after, size = first - 1, _FIRST_READ
        while rows := self.connection.execute(query.where(LOG.c.seq > after).limit(size)).all():
            yield from (Entry(row[0], row[1], row[2], row[3]) for row in rows)
            after, size = rows[-1][0], _READ

    def events(self, counted_in: int) -> Iterator[StateEvent]:
        """The events that were recorded while an epoch was open, in the order of the log."""
        return map(StateEvent.from_line, self.event_lines(counted_in))

    def event_lines(self, counted_in: int) -> Iterator[str]:
        """The canonical lines of `events`."""
        return self._bodies(EVENTS.c.counted_in == counted_in)

    def events_of_round(self, number: int) -> Iterator[StateEvent]:
        """The events of a round, events too, in the order of the log."""
        return map(StateEvent.from_line, self._bodies(EVENTS.c.round == number))

    def known(self, events: Sequence[StateEvent]) -> dict[bytes, StateEvent]:
        """Those events of the store, by identity, that have the identity of one of these."""
        identities = [event.identity for event in events]
        found: dict[bytes, StateEvent] = {}
        query = select(EVENTS.c.identity, LOG.c.body).join(LOG, LOG.c.seq == EVENTS.c.seq)
        for start in range(0, len(identities), _IDENTITIES):
            page = EVENTS.c.identity.in_(identities[start : start + _IDENTITIES])
            for identity, body in self.connection.execute(query.where(page)):
                found[bytes(identity)] = StateEvent.from_line(body)
        return found

    def rows(self, table: Table) -> Iterator[tuple[Any, ...]]:
        """Every row of a table as the database has it, in the order of its key."""
        names = table.columns.keys()
        # names of our own; plain SQL, so that no value is made to look as it should
        query, after = f"SELECT {', '.join(names)} FROM {table.name} ", ""  # noqa: S608
        order = f"ORDER BY {names[0]} LIMIT {_READ}"
        while page := self.connection.exec_driver_sql(query + after + order).all():
            yield from map(_plain, page)
            after = f"WHERE {names[0]} > {int(page[-1][0])} "

    def roles(
        self, skill_type: str, hotkey: str, before_round: int, limit_rounds: int
    ) -> list[tuple[int, Role]]:
        """Which roles a miner had in the newest rounds of a type that it took part in.

        Args:
            skill_type: the type.
            hotkey: the miner.
            before_round: this round and later ones do not count.
            limit_rounds: of how many rounds at most.

        Returns:
            Rounds and roles, newest first; a round with two roles comes twice.
        """
        mine = (EVENTS.c.skill_type == skill_type, EVENTS.c.hotkey == hotkey)
        column, role = EVENTS.c.round, EVENTS.c.role
        query = select(column).where(*mine, column < before_round, role.is_not(None)).distinct()
        newest = query.order_by(column.desc()).limit(limit_rounds).subquery()
        oldest = select(func.min(newest.c.round)).scalar_subquery()
        found = select(column, role).where(*mine, column < before_round, role.is_not(None))
        rows = self.connection.execute(found.where(column >= oldest).distinct())
        return sorted(((row[0], row[1]) for row in rows), reverse=True)

    def dispatched(self, hotkey: str) -> set[int]:
        """The rounds with a record of a miner."""
        mine = (EVENTS.c.hotkey == hotkey, EVENTS.c.is_record.is_(True))
        rows = self.connection.execute(select(EVENTS.c.round).where(*mine).distinct())
        return set(rows.scalars())

    def scored(self, hotkey: str) -> Iterator[StateEvent]:
        """The records of a miner, newest first: by round, task, skill type, and validator.

        The order is that of numbers and of code points, whatever the order of arrival.
        """
        mine = _BODIES.where(EVENTS.c.hotkey == hotkey, EVENTS.c.is_record.is_(True))
        for newest, oldest in self._spans(hotkey):
            page = mine.where(EVENTS.c.round <= newest, EVENTS.c.round >= oldest)
            found = [StateEvent.from_line(row[1]) for row in self.connection.execute(page)]
            yield from sorted(found, key=_age, reverse=True)

    def snapshot(self, epoch: int) -> Snapshot | None:
        """The snapshot of an epoch; None when there is none."""
        query = select(SNAPSHOTS.c.body).where(SNAPSHOTS.c.epoch == epoch)
        body = self.connection.execute(query).scalar_one_or_none()
        if body is None:
            return None
        return _structured(body, Snapshot, "a snapshot")

    def snapshots(self) -> Iterator[tuple[int, str, str]]:
        """Epoch, digest and canonical JSON of every snapshot, in the order of epochs."""
        epochs = self.connection.execute(select(SNAPSHOTS.c.epoch)).scalars().all()
        query = select(SNAPSHOTS.c.epoch, SNAPSHOTS.c.digest, SNAPSHOTS.c.body)
        for epoch in sorted(epochs):
            found = self.connection.execute(query.where(SNAPSHOTS.c.epoch == epoch)).one()
            yield found[0], found[1], found[2]

    def rounds(self) -> dict[int, str | None]:
        """The time of every round, None where it is not known, in the order of rounds."""
        query = select(ROUNDS.c.round, ROUNDS.c.at).order_by(ROUNDS.c.round)
        return {row[0]: row[1] for row in self.connection.execute(query)}

    def put_head(self, head: LogHead) -> None:
        """Say where the log has led, in place of what was said before."""
        state = canonical_bytes(unstructure(head.state)).decode()
        row = {"id": 1, "epoch": head.epoch, "entries": head.entries, "hash": head.hash}
        self.connection.execute(delete(HEAD))
        self.connection.execute(insert(HEAD), row | {"state": state})

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries to the log; their chain is the caller's to make."""
        self._insert(LOG, ((each.seq, each.kind, each.body, each.hash) for each in entries))

    def put_events(self, events: Iterable[tuple[int, StateEvent, int]]) -> None:
        """Index events.

        Args:
            events: for each, the number of its entry in the log, the event, and the epoch that
                was open when it was recorded.
        """
        self._insert(EVENTS, (_indexed(*each) for each in events))

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot for ever.

        Raises:
            StoreError: its epoch has one, once the transaction ends.
        """
        body = canonical_bytes(unstructure(snapshot))
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

    def _bodies(self, *mine: ColumnElement[bool]) -> Iterator[str]:
        """The lines of some events, in the order of the log.

        Their numbers are read first, then the log by its key: so a page costs what it holds, and
        not what the pages before it held.
        """
        query = select(EVENTS.c.seq).where(*mine).order_by(EVENTS.c.seq)
        numbers = self.connection.execute(query).scalars().all()
        for start in range(0, len(numbers), _NUMBERS):
            page = numbers[start : start + _NUMBERS]
            dense = page[-1] - page[0] + 1 == len(page)
            among = LOG.c.seq.between(page[0], page[-1]) if dense else LOG.c.seq.in_(page)
            bodies = select(LOG.c.body).where(among).order_by(LOG.c.seq)
            yield from self.connection.execute(bodies).scalars().all()

    def _spans(self, hotkey: str) -> Iterator[tuple[int, int]]:
        """The rounds of a miner's records, newest first: spans that hold so many of them."""
        column = EVENTS.c.round
        query = select(column).where(EVENTS.c.hotkey == hotkey, EVENTS.c.is_record.is_(True))
        query = query.distinct().order_by(column.desc()).limit(_ROUNDS)
        page = self.connection.execute(query).scalars().all()
        while page:
            yield page[0], page[-1]
            page = self.connection.execute(query.where(column < page[-1])).scalars().all()

    def _insert(self, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows with a value for each column, in the order of the columns."""
        # as plain text, since what Core does for each row takes longer than the database
        mark = "?" if self.connection.dialect.paramstyle == "qmark" else "%s"
        names = ", ".join(table.columns.keys())
        marks = ", ".join([mark] * len(table.columns))
        text = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608  # our names
        remaining = iter(rows)
        while page := list(islice(remaining, _WRITTEN)):
            self.connection.exec_driver_sql(text, page)


def _plain(row: Row[*tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(bytes(each) if isinstance(each, bytes | memoryview) else each for each in row)


def _age(event: StateEvent) -> tuple[int, str, str, str]:
    return event.round, event.task_id, event.skill_type, event.validator


def _indexed(seq: int, event: StateEvent, counted_in: int) -> tuple[Any, ...]:
    miner = event.hotkey, event.skill_type, event.role, event.is_record
    return seq, event.identity, counted_in, event.round, *miner


def _structured(text: str, cls: type[_T], what: str) -> _T:
    """The value that a stored text is the canonical form of; ``what`` names it in errors.

    Raises:
        DamagedError: it is none.
    """
    try:
        return structure(json.loads(text), cls)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, NumberError) as error:
        raise DamagedError(
            f"found {what} in the store that cannot be read ({error}), expected what tallystick "
            "wrote: the store is damaged, so take it back from a copy"
        ) from error
