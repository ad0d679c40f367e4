"""What one transaction can read of a store.

Long results come page after page: no cursor stays open behind a reader who stops early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from sqlalchemy import ColumnElement, Connection, Row, Table, func, select

from tallystick.rules.sections import Role
from tallystick.state.chain import Entry
from tallystick.state.event import StateEvent
from tallystick.state.model import Snapshot, State
from tallystick.state.store.decoding import event_of, object_of, sound
from tallystick.state.store.log_head import Head
from tallystick.state.store.tables import HEAD, LOG, ROUNDS, SIGNALS, SNAPSHOTS

_ROWS = 2_000
# of a first page, for who wants the first entry alone
_FIRST_ROWS = 100
_ROUNDS = 32
# below the number of parameters that every version of SQLite takes
_IDENTITIES = _NUMBERS = 900
_BODIES = select(SIGNALS.c.seq, LOG.c.body).join(LOG, LOG.c.seq == SIGNALS.c.seq)


@attrs.frozen
class Reads:
    """Reads of one transaction; all of them see the store at one instant.

    Values are read as they were written. Nothing is checked against the chain.
    """

    connection: Connection

    def head(self) -> Head | None:
        """Where the log has led; None before the first head is put."""
        rows = self.connection.execute(select(HEAD)).all()
        if not rows:
            return None
        row = rows[0]
        with sound("a state"):
            state = State.from_dict(object_of(row.state, "a state"))
        return Head(row.epoch, row.entries, row.hash, state)

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """The entries of the log in their order, from the one with the number ``first``."""
        query = select(LOG.c.seq, LOG.c.kind, LOG.c.body, LOG.c.hash).order_by(LOG.c.seq)
        after, size = first - 1, _FIRST_ROWS
        while rows := self.connection.execute(query.where(LOG.c.seq > after).limit(size)).all():
            yield from (Entry(row[0], row[1], row[2], row[3]) for row in rows)
            after, size = rows[-1][0], _ROWS

    def signals(self, counted_in: int) -> Iterator[StateEvent]:
        """The signals that were recorded while an epoch was open, in the order of the log."""
        return map(event_of, self.evidence(counted_in))

    def evidence(self, counted_in: int) -> Iterator[str]:
        """The lines of `signals`."""
        return self._bodies(SIGNALS.c.counted_in == counted_in)

    def signals_of_round(self, number: int) -> Iterator[StateEvent]:
        """The signals of a round, events too, in the order of the log."""
        return map(event_of, self._bodies(SIGNALS.c.round == number))

    def known(self, signals: Sequence[StateEvent]) -> dict[bytes, StateEvent]:
        """Those signals of the store, by identity, that have the identity of one of these."""
        identities = [signal.identity for signal in signals]
        found: dict[bytes, StateEvent] = {}
        query = select(SIGNALS.c.identity, LOG.c.body).join(LOG, LOG.c.seq == SIGNALS.c.seq)
        for start in range(0, len(identities), _IDENTITIES):
            page = SIGNALS.c.identity.in_(identities[start : start + _IDENTITIES])
            for identity, body in self.connection.execute(query.where(page)):
                found[bytes(identity)] = event_of(body)
        return found

    def rows(self, table: Table) -> Iterator[tuple[Any, ...]]:
        """Every row of a table as the database has it, in the order of its key."""
        names = table.columns.keys()
        # names of our own; plain SQL, so that no value is made to look as it should
        query, after = f"SELECT {', '.join(names)} FROM {table.name} ", ""  # noqa: S608
        order = f"ORDER BY {names[0]} LIMIT {_ROWS}"
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
        mine = (SIGNALS.c.skill_type == skill_type, SIGNALS.c.hotkey == hotkey)
        column, role = SIGNALS.c.round, SIGNALS.c.role
        query = select(column).where(*mine, column < before_round, role.is_not(None)).distinct()
        newest = query.order_by(column.desc()).limit(limit_rounds).subquery()
        oldest = select(func.min(newest.c.round)).scalar_subquery()
        found = select(column, role).where(*mine, column < before_round, role.is_not(None))
        rows = self.connection.execute(found.where(column >= oldest).distinct())
        return sorted(((row[0], row[1]) for row in rows), reverse=True)

    def dispatched(self, hotkey: str) -> set[int]:
        """The rounds with a record of a miner."""
        mine = (SIGNALS.c.hotkey == hotkey, SIGNALS.c.is_record.is_(True))
        rows = self.connection.execute(select(SIGNALS.c.round).where(*mine).distinct())
        return set(rows.scalars())

    def scored(self, hotkey: str) -> Iterator[StateEvent]:
        """The records of a miner, newest first: by round, task, skill type, and validator.

        The order is that of numbers and of code points, whatever the order of arrival.
        """
        mine = _BODIES.where(SIGNALS.c.hotkey == hotkey, SIGNALS.c.is_record.is_(True))
        for newest, oldest in self._spans(hotkey):
            page = mine.where(SIGNALS.c.round <= newest, SIGNALS.c.round >= oldest)
            found = [event_of(row[1]) for row in self.connection.execute(page)]
            yield from sorted(found, key=_age, reverse=True)

    def snapshot(self, epoch: int) -> Snapshot | None:
        """The snapshot of an epoch; None when there is none."""
        query = select(SNAPSHOTS.c.body).where(SNAPSHOTS.c.epoch == epoch)
        body = self.connection.execute(query).scalar_one_or_none()
        if body is None:
            return None
        with sound("a snapshot"):
            return Snapshot.from_dict(object_of(body, "a snapshot"))

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

    def _bodies(self, *mine: ColumnElement[bool]) -> Iterator[str]:
        """The lines of some signals, in the order of the log.

        Their numbers are read first, then the log by its key: so a page costs what it holds, and
        not what the pages before it held.
        """
        query = select(SIGNALS.c.seq).where(*mine).order_by(SIGNALS.c.seq)
        numbers = self.connection.execute(query).scalars().all()
        for start in range(0, len(numbers), _NUMBERS):
            page = numbers[start : start + _NUMBERS]
            dense = page[-1] - page[0] + 1 == len(page)
            among = LOG.c.seq.between(page[0], page[-1]) if dense else LOG.c.seq.in_(page)
            bodies = select(LOG.c.body).where(among).order_by(LOG.c.seq)
            yield from self.connection.execute(bodies).scalars().all()

    def _spans(self, hotkey: str) -> Iterator[tuple[int, int]]:
        """The rounds of a miner's records, newest first: spans that hold so many of them."""
        column = SIGNALS.c.round
        query = select(column).where(SIGNALS.c.hotkey == hotkey, SIGNALS.c.is_record.is_(True))
        query = query.distinct().order_by(column.desc()).limit(_ROUNDS)
        page = self.connection.execute(query).scalars().all()
        while page:
            yield page[0], page[-1]
            page = self.connection.execute(query.where(column < page[-1])).scalars().all()


def _plain(row: Row[*tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(bytes(each) if isinstance(each, bytes | memoryview) else each for each in row)


def _age(signal: StateEvent) -> tuple[int, str, str, str]:
    return signal.round, signal.task_id, signal.skill_type, signal.validator
