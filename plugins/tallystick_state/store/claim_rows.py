"""The claims of a store: which are recorded, which are in quarantine, and how many there are.

See `tallystick_state.claims`. What a claim says is in the log, by its number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from tallystick_state.claims import UNKNOWN, Claim, Counts, Rank
from tallystick_state.event import StateEvent
from tallystick_state.miners import FLAG
from tallystick_state.store.checksums import (
    COLUMNS,
    COUNTS,
    EVENTS,
    LOG,
    QUARANTINE,
    checked_rows,
    delete,
    insert,
)
from tallystick_state.store.connection import MOST_VALUES, Connection, marks

_READ = 2_000


@attrs.frozen
class ClaimRows:
    """Reads and writes of claims."""

    connection: Connection

    def of(self, identities: Sequence[bytes], *, waiting: bool = True) -> list[Claim]:
        """The claims of some identities, without those in quarantine if asked for."""
        found = self._among(EVENTS, "identity", identities)
        return [*found, *(self._among(QUARANTINE, "identity", identities) if waiting else ())]

    def has_waiting(self) -> bool:
        """Whether there is anything in quarantine."""
        return bool(self.connection.rows("SELECT seq FROM tallystick_quarantine LIMIT 1"))

    def numbered(self, numbers: Sequence[int]) -> list[Claim]:
        """The claims in quarantine with some numbers."""
        return list(self._among(QUARANTINE, "seq", numbers))

    def waiting(self) -> Iterator[Claim]:
        """Every claim in quarantine, in the order in which they came."""
        condition = f"seq > ? ORDER BY {LOG}.seq LIMIT {_READ}"
        page = self._claims(QUARANTINE, condition, (0,))
        while page:
            yield from page
            page = self._claims(QUARANTINE, condition, (page[-1].seq,))

    def reasons(self) -> dict[str, int]:
        """How many claims are in quarantine, by reason."""
        query = "SELECT reason, COUNT(*) FROM tallystick_quarantine GROUP BY reason ORDER BY reason"
        return dict(self.connection.rows(query))

    def waiting_for(self, tasks: Sequence[bytes]) -> Iterator[Claim]:
        """The claims that wait for one of some tasks."""
        return (e for e in self._among(QUARANTINE, "task", tasks) if e.reason == UNKNOWN)

    def about(self, record: StateEvent) -> Iterator[Claim]:
        """The recorded events that came alone about the task of a record."""
        condition = "hotkey = ? AND is_record = ? AND round = ?"
        found = self._claims(EVENTS, condition, (record.hotkey, False, record.round))
        return (each for each in found if each.event.task == record.task)

    def in_scope(self, scope: bytes) -> Iterator[Claim]:
        """Every claim of a validator that is pinned to an epoch, by what the counts say of it."""
        yield from self._claims(QUARANTINE, "scope = ?", (scope,))
        rounds = sorted({number for number, _ in self.counts(scope)})
        found = self._among(EVENTS, "round", rounds)
        yield from (each for each in found if each.event.scope == scope)

    def counts(self, scope: bytes) -> Counts:
        """How many claims a validator made that are pinned to an epoch, by round and rank."""
        rows = checked_rows(self.connection, [COUNTS], f"FROM {COUNTS} WHERE scope = ?", (scope,))
        return {(number, rank): claims for _, number, rank, claims in rows}

    def put_counts(self, scope: bytes, counts: Counts) -> None:
        """Keep the counts of a scope in place of those of before."""
        delete(self.connection, COUNTS, "scope", scope)
        rows = [(scope, *key, claims) for key, claims in counts.items() if claims]
        insert(self.connection, COUNTS, rows)

    def cleared(self) -> Mapping[str, int]:
        """By hotkey, the number of the entry that last cleared its flags."""
        rows = checked_rows(self.connection, [LOG], f"FROM {LOG} WHERE kind = 'clear' ORDER BY seq")
        return {json.loads(body)["hotkey"]: seq for seq, _, body, _ in rows}

    def flags_by(self) -> Mapping[str, Mapping[str, int]]:
        """By hotkey, how many flags each validator gave since they were last cleared."""
        cleared, found = self.cleared(), dict[str, Counter[str]]()
        condition = f"body LIKE ? AND seq > ? ORDER BY {LOG}.seq LIMIT {_READ}"
        values = f'%"{FLAG}"%'
        page = self._claims(EVENTS, condition, (values, 0))
        while page:
            for each in page:
                event = each.event
                if each.seq > cleared.get(event.hotkey, 0) and FLAG in event.events:
                    by = found.setdefault(event.hotkey, Counter())
                    by[event.validator] += event.events.count(FLAG)
            page = self._claims(EVENTS, condition, (values, page[-1].seq))
        return found

    def forget(self, claims: Iterable[Claim]) -> None:
        """Take claims out of where they are, recorded or in quarantine."""
        for claim in claims:
            table = EVENTS if claim.reason is None else QUARANTINE
            delete(self.connection, table, "seq", claim.seq)

    def quarantine(self, claims: Iterable[Claim]) -> None:
        """Put claims into quarantine."""
        rows = (
            (c.seq, c.event.identity, c.event.task, c.event.scope, int(c.rank), c.reason)
            for c in claims
        )
        insert(self.connection, QUARANTINE, rows)

    def _among(self, table: str, column: str, values: Sequence[object]) -> Iterator[Claim]:
        for start in range(0, len(values), MOST_VALUES):
            page = values[start : start + MOST_VALUES]
            yield from self._claims(table, f"{column} IN ({marks(page)})", page)

    def _claims(self, table: str, condition: str, values: Iterable[Any]) -> list[Claim]:
        """The claims of a table, recorded or in quarantine, that a condition holds for."""
        source = f"FROM {table} JOIN {LOG} USING (seq) WHERE {condition}"
        names = (*COLUMNS[table], *COLUMNS[LOG])
        rows = checked_rows(self.connection, [table, LOG], source, values)
        found = (dict(zip(names, row, strict=True)) for row in rows)
        return [
            Claim(
                each["seq"],
                StateEvent.from_line(each["body"]),
                Rank(each["rank"]),
                each.get("reason"),
                each.get("counted_in"),
            )
            for each in found
        ]
