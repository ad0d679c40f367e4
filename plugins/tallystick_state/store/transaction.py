"""One transaction on a store: its reads and writes.

Long results come page after page: no cursor stays open behind a reader who stops early.

What is read is checked: an entry of the log has the hash that follows from it and from the hash
before, which stands in its row; a document has its digest; a claim stands in its index with the
columns that its entry leads to. That an entry follows the one before is checked for those since the
last closing as an epoch is closed, and for all by `check`. What is counted and searched for answers
from the indexes alone, and is proved by a replay.
"""

# ruff: noqa: S608  # names of our own tables alone; values go by marks

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.errors import DamagedError, NumberError, TrustError
from tallystick.json_values import json_value
from tallystick_state.chain import GENESIS_HASH, Entry, check
from tallystick_state.claims import REASONS, UNKNOWN, Claim, Counts, Rank
from tallystick_state.event import AGE, COUNTED_IN, NUMBER_LIMIT, StateEvent
from tallystick_state.miners import FLAG
from tallystick_state.model import Snapshot, State, structure, unstructure
from tallystick_state.pruned import PrunedClaim, PrunedPoint
from tallystick_state.rules import GENESIS
from tallystick_state.store.connection import Connection, marks, pages
from tallystick_state.store.tables import (
    CLAIM_COUNTS,
    CLAIMED,
    CLAIMS,
    DOCUMENTS,
    ENVELOPES,
    HEAD,
    LEAVES,
    LOG,
    PRUNED,
    PRUNED_CLAIMS,
    RARE,
    SNAPSHOTS,
    StoreTable,
)

if TYPE_CHECKING:
    from tallystick_state.roles import Role
    from tallystick_state.trust.envelope import Envelope


# rows of a page that is read, and of one that is written
_READ, _WRITTEN = 2_000, 10_000
_ROUNDS = 32
_T = TypeVar("_T")
_Numbered = TypeVar("_Numbered", Entry, Claim)
MOST_REMEMBERED = 1 << 17
"""Maximum number of events that a transaction keeps in memory."""
_OF_RULES = ("pools", "rules", "trust", "withdraw")
STATING = ("batch", *_OF_RULES)
"""Kinds of the entries that may state a block and name a signed statement."""

CARRIED = "carried"
"""Kind of the entries of carried records, and the validator that they name."""
EVENT_KINDS = frozenset((*CLAIMED, "flag", CARRIED))
"""Kinds of the entries that are events."""
_RANKS = frozenset(Rank)
_COLUMNS, _WIDTH = ", ".join(LOG.names), len(LOG.names)
# the statements; the tables and their indexes are in `tables`
_ENTRIES = f"FROM {LOG} WHERE seq > ? ORDER BY seq LIMIT ?"
_RULES = f"FROM {LOG} WHERE kind IN {_OF_RULES} AND {RARE}"
_WAITING = f"{CLAIMS} WHERE reason IS NOT NULL"
_BODY_OF = f"FROM {CLAIMS} JOIN {LOG} USING (seq) WHERE"
# a canonical line begins with the first of its keys
_ALIGNED = '{"alignment":'
_ROUNDS_OF_RECORDS = f"SELECT DISTINCT round FROM {CLAIMS} WHERE hotkey = ? AND is_record = 1"
_ROUNDS_WITH_ROLE = (
    f"FROM {CLAIMS} WHERE skill_type = ? AND hotkey = ? AND round < ? AND role IS NOT NULL"
)


@attrs.frozen
class ClaimRows:
    """Reads and writes of claims."""

    connection: Connection

    def of(self, identities: Sequence[bytes], *, waiting: bool = True) -> list[Claim]:
        """Return the claims of some identities, without those in quarantine if asked for."""
        return [*self._among("identity", identities, "" if waiting else "AND reason IS NULL")]

    def known(self, identities: Collection[bytes]) -> frozenset[bytes]:
        """Return those of some identities that have a claim, recorded or in quarantine."""
        known = set[bytes]()
        for page in pages(identities):
            query = f"SELECT identity FROM {CLAIMS} WHERE identity IN ({marks(page)})"
            known.update(bytes(identity) for (identity,) in self.connection.rows(query, page))
        return frozenset(known)

    def has_waiting(self) -> bool:
        """Return whether there is any claim in quarantine."""
        return bool(self.connection.rows(f"SELECT seq FROM {_WAITING} LIMIT 1"))

    def numbered(self, numbers: Sequence[int]) -> list[Claim]:
        """Return the claims in quarantine with some numbers."""
        return [*self._among("seq", numbers, "AND reason IS NOT NULL")]

    def waiting(self) -> Iterator[Claim]:
        """Return every claim in quarantine, in the order in which they came."""
        condition = f"reason IS NOT NULL AND seq > ? ORDER BY seq LIMIT {_READ}"
        return _pages(lambda after: self.where(condition, (after,)))

    def reasons(self) -> dict[str, int]:
        """Return the number of claims in quarantine, by reason."""
        query = f"SELECT reason, COUNT(*) FROM {_WAITING} GROUP BY reason ORDER BY reason"
        return dict(self.connection.rows(query))

    def waiting_for(self, tasks: Sequence[bytes]) -> Iterator[Claim]:
        """Return the claims that wait for one of some tasks."""
        return (claim for claim in self._among("task", tasks) if claim.reason == UNKNOWN)

    def about(self, record: StateEvent) -> Iterator[Claim]:
        """Return the recorded events that came alone about the task of a record."""
        condition = "hotkey = ? AND is_record = 0 AND round = ?"
        claims = self.where(condition, (record.hotkey, record.round))
        return (claim for claim in claims if claim.event.task == record.task)

    def in_scope(self, scope: bytes) -> Iterator[Claim]:
        """Yield every claim of a validator that is pinned to an epoch, by its counts."""
        yield from self.where("scope = ?", (scope,))
        rounds = sorted({number for number, _ in self.counts(scope)})
        recorded = self._among("round", rounds)
        yield from (claim for claim in recorded if claim.event.scope == scope)

    def counts(self, scope: bytes) -> Counts:
        """Return the numbers of claims of a validator and pinned epoch, by round and rank."""
        body = document(self.connection, CLAIM_COUNTS, scope)
        rows = [] if body is None else json.loads(body)
        return {(number, rank): claims for number, rank, claims in rows}

    def put_counts(self, scope: bytes, counts: Counts) -> None:
        """Keep the counts of a scope in place of those of before."""
        rows = sorted((*key, claims) for key, claims in counts.items() if claims)
        body = canonical_bytes(rows).decode() if rows else None
        put_document(self.connection, CLAIM_COUNTS, scope, body)

    def cleared(self) -> Mapping[str, int]:
        """Return by hotkey the number of the entry that last cleared its flags."""
        cleared = read_log(self.connection, f"FROM {LOG} WHERE kind = 'clear' ORDER BY seq")
        return {json.loads(entry.body)["hotkey"]: entry.seq for entry in cleared}

    def flags_by(self) -> Mapping[str, Mapping[str, int]]:
        """Return by hotkey the number of flags by validator since they were last cleared."""
        cleared, flags = self.cleared(), dict[str, Counter[str]]()
        condition = f"reason IS NULL AND body LIKE ? AND seq > ? ORDER BY seq LIMIT {_READ}"
        for claim in _pages(lambda after: self.where(condition, (f'%"{FLAG}"%', after))):
            event = claim.event
            if claim.seq > cleared.get(event.hotkey, 0) and FLAG in event.events:
                by = flags.setdefault(event.hotkey, Counter())
                by[event.validator] += event.events.count(FLAG)
        return flags

    def forget(self, claims: Iterable[Claim]) -> None:
        """Leave claims out of the index."""
        delete(self.connection, CLAIMS, [claim.seq for claim in claims])

    def put(self, claims: Iterable[Claim]) -> None:
        """Index claims, recorded or in quarantine."""
        insert(self.connection, CLAIMS, map(_claim_row, claims))

    def where(self, condition: str, values: Iterable[Any]) -> list[Claim]:
        """Return the claims that a condition on the columns of `CLAIMS` holds for."""
        columns = ", ".join(f"{CLAIMS}.{name}" for name in CLAIMS.names)
        source = f"FROM {CLAIMS} LEFT JOIN {LOG} USING (seq) WHERE {condition}"
        rows = self.connection.rows(f"SELECT {_COLUMNS}, {columns} {source}", values)
        return [
            _claim(self.connection, _entry(self.connection, row[:_WIDTH]), row[_WIDTH:])
            for row in rows
        ]

    def _among(self, column: str, values: Sequence[object], more: str = "") -> Iterator[Claim]:
        for page in pages(values):
            yield from self.where(f"{column} IN ({marks(page)}) {more}", page)


def _claim(connection: Connection, entry: Entry, row: tuple[Any, ...]) -> Claim:
    """Return the claim of an entry, whose row is found to be what follows from it."""
    _, _, rank, counted_in, *_, reason = row
    if rank in _RANKS and (counted_in is not None if reason is None else reason in REASONS):
        event = StateEvent.from_line(entry.body)
        claim = Claim(entry.seq, event, Rank(rank), reason, counted_in)
        if row == _claim_row(claim):
            return claim
    raise connection.damaged(
        f"row {entry.seq} of {CLAIMS}: found {row!s:.120}, expected what the entry {entry.seq} of "
        "the log leads to: the file was damaged or changed"
    )


def _claim_row(claim: Claim) -> tuple[Any, ...]:
    event, waits = claim.event, claim.reason is not None
    searched = event.round, event.hotkey, event.skill_type, event.role, int(event.is_record)
    return (
        *(claim.seq, claim.identity, int(claim.rank), claim.counted_in),
        *((None,) * 6 if waits else (*searched, event.epoch)),
        *((event.task, event.scope, claim.reason) if waits else (None,) * 3),
    )


@attrs.frozen
class LogHead:
    """The end of the log, with the live state.

    Attributes:
        entries: how many entries the log has.
        hash: of the last entry.
        state: the live state.
        block: the greatest block that an entry states, as blocks never go back; None without any.
    """

    entries: int
    hash: str
    state: State
    block: int | None = None

    @property
    def epoch(self) -> int:
        """The open epoch."""
        return self.state.epoch


@attrs.frozen
class Transaction:
    """Reads and writes of one transaction.

    All reads see the store at one instant. What is written is seen by the reads after it, and by
    others once the transaction is committed. In a transaction for reading every write raises
    `StoreError`.
    """

    connection: Connection
    _remembered: dict[int, StateEvent] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    def head(self) -> LogHead | None:
        """Return the end of the log; None before the first head is put."""
        body = document(self.connection, HEAD, 1)
        return None if body is None else _structured(self.connection, body, _head, "a state")

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """Return the entries of the log in their order, from the one with the number ``first``."""
        return _pages(lambda after: self._log(_ENTRIES, (after, _READ)), first - 1)

    def first_entry(self) -> Entry | None:
        """Return the first entry of the log; None without any."""
        return next(iter(self._log(_ENTRIES, (0, 1))), None)

    def counting(self, epoch: int, entries: int, last: str) -> list[tuple[str, StateEvent]]:
        """Return the canonical lines of the events that the open epoch counts, with the events.

        The log since the last closing is found to be whole, and each of its events to be indexed as
        it says. So nothing that is damaged is closed over.

        Args:
            epoch: the open one.
            entries: how many entries the log has.
            last: the hash of the last one.

        Raises:
            DamagedError: an entry since the last closing is broken, or an event is indexed wrong.
        """
        closed = self._log(f"FROM {LOG} WHERE kind = 'epoch' AND {RARE} ORDER BY seq DESC LIMIT 1")
        after = (closed[0].seq, closed[0].hash) if closed else (0, GENESIS_HASH)
        since = check(self.entries(after[0] + 1), after=after, count=entries, last=last)
        claims = {entry.seq: entry for entry in since if entry.kind in EVENT_KINDS}
        earlier = "counted_in = ? AND seq <= ?"
        counted = [
            (claim.event.to_line(), claim.event)
            for claim in self.claims.where(earlier, (epoch, after[0]))
        ]
        # by the key, as an index may have lost some
        for row in self.rows(CLAIMS, after[0] + 1):
            entry = claims.get(row[0])
            if entry is None:
                raise self.connection.damaged(
                    f"row {row[0]} of {CLAIMS}: found a claim, expected none, as the log has none "
                    "of this number: the file was damaged or changed"
                )
            claim = _claim(self.connection, entry, row)
            if claim.reason is not None or entry.kind == CARRIED:
                continue
            if claim.counted_in != epoch:
                raise self.connection.damaged(
                    f"row {row[0]} of {CLAIMS}: found the epoch {claim.counted_in}, expected "
                    f"{epoch}, which is open: the file was damaged or changed"
                )
            counted.append((entry.body, claim.event))
        return counted

    def log_hash(self) -> str | None:
        """Return the hash of the last entry of the log; None without any."""
        rows = self.connection.rows(f"SELECT hash FROM {LOG} ORDER BY seq DESC LIMIT 1")
        return rows[0][0].hex() if rows else None

    def check_end(self, entries: int, last: str) -> None:
        """Refuse a log that does not end with an entry, of a number and a hash.

        Raises:
            DamagedError: it ends elsewhere.
        """
        found = self._log(f"FROM {LOG} ORDER BY seq DESC LIMIT 1")
        end = (found[0].seq, found[0].hash) if found else (0, GENESIS_HASH)
        if end != (entries, last):
            raise self.connection.damaged(
                f"found a log of {end[0]} entries that end in {end[1]}, expected {entries} that "
                f"end in {last}: the file was damaged or changed"
            )

    def events(self, counted_in: int) -> Iterator[StateEvent]:
        """Return the events that were recorded while an epoch was open, in the order of the log."""
        return map(StateEvent.from_line, self.event_lines(counted_in))

    def aligned_events(self, counted_in: int) -> Iterator[StateEvent]:
        """Return the state events of an epoch that have an alignment."""
        lines = self.event_lines(counted_in)
        return map(StateEvent.from_line, (line for line in lines if line.startswith(_ALIGNED)))

    def flagged_rounds(self, hotkey: str, skill_type: str) -> list[int]:
        """Return the rounds for which the engine has flagged a miner in a skill type, ascending."""
        query = (
            f"SELECT seq, {CLAIMS}.round {_BODY_OF} hotkey = ? AND is_record = 0 "
            f"AND skill_type = ? AND kind = 'flag' ORDER BY {CLAIMS}.round"
        )
        return [row[1] for row in self.connection.rows(query, (hotkey, skill_type))]

    def event_lines(self, counted_in: int) -> Iterator[str]:
        """Return the canonical lines of `events`."""
        return self._bodies("counted_in", counted_in)

    def events_of_round(self, number: int, counted_by: int | None = None) -> Iterator[StateEvent]:
        """Yield the events of a round, those that came alone too, in the order of the log.

        Args:
            number: the round.
            counted_by: only those that were recorded by the end of this epoch; by default all.
        """
        known, last = self._remembered, NUMBER_LIMIT if counted_by is None else counted_by
        query = f"SELECT seq FROM {CLAIMS} WHERE round = ? AND counted_in <= ? ORDER BY seq"
        numbers = [seq for (seq,) in self.connection.rows(query, (number, last))]
        if known.keys() >= {*numbers}:
            yield from (known[seq] for seq in numbers)
        else:
            yield from map(StateEvent.from_line, self._bodies("round", number, last))

    def claimed(self) -> Iterator[StateEvent]:
        """Return the event of every claim, recorded or not, in the order of the log."""
        source = f"FROM {LOG} WHERE seq > ? AND NOT ({RARE}) ORDER BY seq LIMIT ?"
        pages = _pages(lambda after: self._log(source, (after, _READ)))
        return (StateEvent.from_line(entry.body) for entry in pages)

    @property
    def claims(self) -> ClaimRows:
        """The claims, those in quarantine too."""
        return ClaimRows(self.connection)

    def rows(self, table: StoreTable, first: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table in the order of its key, unchecked.

        Args:
            table: whose.
            first: from the one with this key on; by default all.
        """
        keys = ", ".join(table.keys)
        query = f"SELECT {', '.join(table.names)} FROM {table}"
        order = f"ORDER BY {keys} LIMIT {_READ}"
        where, values = ("", ()) if first is None else (f"WHERE {keys} >= ?", (first,))
        while page := self.connection.rows(f"{query} {where} {order}", values):
            yield from page
            values = page[-1][: table.key]
            where = f"WHERE ({keys}) > ({marks(values)})"

    def roles(
        self, skill_type: str, hotkey: str, before_round: int, limit_rounds: int
    ) -> list[tuple[int, Role]]:
        """Return the roles of a miner in the newest rounds of a type that it took part in.

        Args:
            skill_type: the type.
            hotkey: the miner.
            before_round: this round and later ones do not count.
            limit_rounds: of how many rounds at most.

        Returns:
            Rounds and roles, newest first; a round with two roles comes twice.
        """
        of_miner = skill_type, hotkey, before_round
        newest = self.connection.rows(
            f"SELECT DISTINCT round {_ROUNDS_WITH_ROLE} ORDER BY round DESC LIMIT ?",
            (*of_miner, limit_rounds),
        )
        if not newest:
            return []
        query = f"SELECT DISTINCT round, role {_ROUNDS_WITH_ROLE} AND round >= ?"
        rows = self.connection.rows(query, (*of_miner, newest[-1][0]))
        return sorted(((row[0], row[1]) for row in rows), reverse=True)

    def dispatched(self, hotkey: str) -> set[int]:
        """Return the rounds with a record of a miner."""
        return {row[0] for row in self.connection.rows(_ROUNDS_OF_RECORDS, (hotkey,))}

    def counted(self, hotkey: str, epoch: int) -> list[StateEvent]:
        """Return the records and events of a miner that were recorded in an epoch."""
        claims = self.claims.where("hotkey = ? AND counted_in = ?", (hotkey, epoch))
        return [claim.event for claim in claims]

    def recorded_types(self, hotkey: str, skill_types: Iterable[str]) -> tuple[str, ...]:
        """Return those of some skill types in which a miner has a record, in their order."""
        # an index finds one record of each, so that none but these is read
        source = f"{CLAIMS} WHERE skill_type = ? AND hotkey = ? AND role IS NOT NULL"
        query = f"SELECT 1 FROM {source} LIMIT 1"
        return tuple(name for name in skill_types if self.connection.rows(query, (name, hotkey)))

    def scored(
        self, hotkey: str, counted_by: int | None = None, counted_from: int = COUNTED_IN
    ) -> Iterator[StateEvent]:
        """Yield the records of a miner, newest first: by round, task, skill type, and validator.

        The order is that of numbers and of code points, whatever the order of arrival.

        Args:
            hotkey: of the miner.
            counted_by: only those that were recorded by the end of this epoch; by default all.
            counted_from: only those that were recorded from this epoch on; by default all.
        """
        condition = (
            "hotkey = ? AND is_record = 1 AND round BETWEEN ? AND ? AND counted_in BETWEEN ? AND ?"
        )
        last = NUMBER_LIMIT if counted_by is None else counted_by
        for newest, oldest in self._spans(hotkey):
            span = hotkey, oldest, newest, counted_from, last
            events = [claim.event for claim in self.claims.where(condition, span)]
            yield from sorted(events, key=AGE, reverse=True)

    def snapshot(self, epoch: int) -> Snapshot | None:
        """Return the snapshot of an epoch; None when there is none."""
        body = document(self.connection, SNAPSHOTS, epoch)
        if body is None:
            return None
        snapshot: Snapshot = _structured(self.connection, body, _snapshot, "a snapshot")
        if snapshot.state.epoch != epoch:
            raise self.connection.damaged(
                f"found the snapshot of the epoch {snapshot.state.epoch} as that of {epoch}, "
                "expected its own: the file was damaged or changed"
            )
        return snapshot

    def state(self, epoch: int) -> State | None:
        """Return the state as an epoch began; None where it has no snapshot."""
        snapshot = self.snapshot(epoch)
        return None if snapshot is None else snapshot.state

    def rounds(self, before: int = NUMBER_LIMIT) -> dict[int, str | None]:
        """Return the earliest time of every closed round, None where it is not known, by number.

        Args:
            before: only those that an entry before the one with this number closed; by default all.
        """
        # once more is written at an earlier time alone
        bodies = (json.loads(entry.body) for entry in self.of_kind("round") if entry.seq < before)
        closed = ((body["round"], body["at"]) for body in bodies)
        return dict(sorted(dict(closed).items()))

    def last_closed_round(
        self,
        before: int = NUMBER_LIMIT,
        *,
        types: Sequence[str] | None = None,
        counted_by: int = NUMBER_LIMIT,
    ) -> int | None:
        """Return the highest round that is closed; None without any.

        Args:
            before: only those that an entry before the one with this number closed; by default all.
            types: only those with records of one of these skill types; by default all.
            counted_by: of the records, only those that were recorded by the end of this epoch.
        """
        of_types = (
            number
            for number in reversed(self.rounds(before))
            if types is None or self._has_records(number, types, counted_by)
        )
        return next(of_types, None)

    def _has_records(self, number: int, types: Sequence[str], counted_by: int) -> bool:
        query = (
            f"SELECT 1 FROM {CLAIMS} WHERE round = ? AND is_record = 1 "
            f"AND counted_in <= ? AND skill_type IN ({marks(types)}) LIMIT 1"
        )
        return bool(self.connection.rows(query, (number, counted_by, *types)))

    def newest_rounds(self, limit: int) -> list[int]:
        """Return the highest rounds with records, so many at most, the last first."""
        query = (
            f"SELECT DISTINCT round FROM {CLAIMS} WHERE is_record = 1 AND round >= 0 "
            "ORDER BY round DESC LIMIT ?"
        )
        return [number for (number,) in self.connection.rows(query, (limit,))]

    def recorded_rounds(
        self, first: int = 0, last: int = NUMBER_LIMIT
    ) -> list[tuple[int, int, int, int]]:
        """Return the rounds with records, in their order, from one number to another.

        Returns:
            Of each its number, how many records it has, of how many miners, and the first epoch
            that they name.
        """
        query = (
            f"SELECT round, COUNT(*), COUNT(DISTINCT hotkey), MIN(epoch) FROM {CLAIMS} "
            "WHERE is_record = 1 AND round BETWEEN ? AND ? GROUP BY round ORDER BY round"
        )
        rows = self.connection.rows(query, (first, last))
        return [(number, records, miners, epoch) for number, records, miners, epoch in rows]

    def counted_events(self) -> dict[int, int]:
        """Return by epoch the number of events recorded while it was open, if any."""
        recorded = f"{CLAIMS} WHERE counted_in IS NOT NULL"
        query = f"SELECT counted_in, COUNT(*) FROM {recorded} GROUP BY counted_in"
        counts = Counter(dict(self.connection.rows(query)))
        point = self.pruned()
        counts.update({} if point is None else point.removed)
        return dict(counts)

    def of_kind(self, kind: str) -> list[Entry]:
        """Return the entries of a kind that is no claim, in the order of the log."""
        return self._log(f"FROM {LOG} WHERE kind = ? AND {RARE} ORDER BY seq", (kind,))

    def closing(self, epoch: int) -> str | None:
        """Return the body of the entry with which an epoch was closed; None of one that is not."""
        # they are closed one after the other, from the first
        closings = self.of_kind("epoch")
        return closings[epoch].body if 0 <= epoch < len(closings) else None

    def pruned(self) -> PrunedPoint | None:
        """Return the point up to which records were pruned; None where none were."""
        body = document(self.connection, PRUNED, 1)
        return None if body is None else PrunedPoint.of_text(body)

    def put_pruned(self, point: PrunedPoint) -> None:
        """Put the point in place of the one before."""
        put_document(self.connection, PRUNED, 1, point.to_text())

    def pruned_claims(self, identities: Collection[bytes]) -> dict[bytes, PrunedClaim]:
        """Return the pruned claims of some identities, by identity."""
        pruned = dict[bytes, PrunedClaim]()
        names = ", ".join(PRUNED_CLAIMS.names)
        for page in pages(identities):
            query = f"SELECT {names} FROM {PRUNED_CLAIMS} WHERE identity IN ({marks(page)})"
            claims = starmap(PrunedClaim, self.connection.rows(query, page))
            pruned |= {claim.identity: claim for claim in claims}
        return pruned

    def put_pruned_claims(self, claims: Iterable[PrunedClaim]) -> None:
        """Keep what stays of claims that are pruned, beside those of before."""
        insert(self.connection, PRUNED_CLAIMS, claims)

    def epoch_leaves(self) -> dict[int, str]:
        """Return the stored leaves by epoch."""
        epochs = self.connection.rows(f"SELECT epoch FROM {LEAVES} ORDER BY epoch")
        leaves = ((epoch, document(self.connection, LEAVES, epoch)) for (epoch,) in epochs)
        return {epoch: leaf for epoch, leaf in leaves if leaf is not None}

    def put_epoch_leaf(self, epoch: int, leaf: str) -> None:
        """Keep the leaf of a closed epoch."""
        put_document(self.connection, LEAVES, epoch, leaf)

    def envelope(self, statement: str) -> Envelope | None:
        """Return the envelope of the statement with a digest; None when there is none.

        Raises:
            DamagedError: the store has something else in its place.
        """
        from tallystick_state.trust.envelope import Envelope  # where something is signed

        query = f"SELECT envelope FROM {ENVELOPES} WHERE statement = ?"
        for (text,) in self.connection.rows(query, (statement,)):
            where, found = f"{self.connection.shown}: {statement:.80}", "another spelling"
            try:
                envelope = Envelope.of_json(text.encode("utf-8", "surrogatepass"), where)
            except TrustError as error:
                raise DamagedError(f"{error}: the envelope was changed, restore a copy") from error
            if envelope.statement_digest != statement:
                found = f"that of {envelope.statement_digest}"
            elif _envelope_row(envelope) == (statement, text):
                return envelope
            raise DamagedError(
                f"{where}: found an envelope in {found}, expected its own in that of RFC 8785: it "
                "was changed, restore a copy"
            )
        return None

    def put_envelope(self, envelope: Envelope) -> None:
        """Keep an envelope, joined with one of the same statement."""
        stored = self.envelope(envelope.statement_digest)
        whole = envelope if stored is None else stored.joined(envelope)
        delete(self.connection, ENVELOPES, [envelope.statement_digest])
        insert(self.connection, ENVELOPES, [_envelope_row(whole)])

    def statements(self, kind: str) -> Iterator[tuple[int, str]]:
        """Yield the signed statements that entries of a kind name, each with its entry's number.

        Raises:
            DamagedError: an entry cannot be read.
        """
        for entry in self.of_kind(kind):
            try:
                statement = json.loads(entry.body).get("statement")
            except (ValueError, AttributeError, RecursionError) as error:
                raise self.connection.damaged(
                    f"the log, entry {entry.seq}: found what cannot be read ({error}), expected "
                    "what tallystick wrote"
                ) from error
            if statement is not None:
                yield entry.seq, statement

    def check_envelopes(self) -> None:
        """Refuse envelopes that no entry of the log names, and entries without theirs.

        Raises:
            DamagedError: there are some.
        """
        point, named, needed = self.pruned(), set[str](), set[str]()
        for kind in (GENESIS, *STATING):
            for seq, statement in self.statements(kind):
                named.add(statement)
                # those of batches go with their records
                if kind != "batch" or point is None or seq > point.seq:
                    needed.add(statement)
        stored = {name for (name,) in self.connection.rows(f"SELECT statement FROM {ENVELOPES}")}
        for statement in sorted((stored - named) | (needed - stored)):
            raise DamagedError(
                f"found {'an' if statement in stored else 'no'} envelope of {statement:.80}, "
                "expected those that entries of the log name, and no other: restore a copy"
            )

    def rules_entries(self) -> list[Entry]:
        """Return the entries that say which rules, trust file and pools are in force."""
        return self._log(f"{_RULES} ORDER BY seq")

    def last_rules_seq(self) -> int:
        """Return the number of the last entry of `rules_entries`; 0 without any."""
        ((last,),) = self.connection.rows(f"SELECT MAX(seq) {_RULES}")
        return last or 0

    def put_head(self, head: LogHead) -> None:
        """Write the end of the log in place of the one before."""
        value = attrs.asdict(head, recurse=False) | {"state": unstructure(head.state)}
        put_document(self.connection, HEAD, 1, canonical_bytes(value).decode())

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries to the log; their chain is the caller's to make."""
        insert(self.connection, LOG, map(_log_row, entries))

    def remember(self, events: Sequence[tuple[int, StateEvent]]) -> None:
        """Remember events of entries that were appended, up to a limit: they are not read again."""
        self._remembered.update(events[: max(0, MOST_REMEMBERED - len(self._remembered))])

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot for ever.

        Raises:
            StoreError: its epoch has one, once the transaction ends.
        """
        body = canonical_bytes(unstructure(snapshot)).decode()
        insert(self.connection, SNAPSHOTS, [document_row(snapshot.state.epoch, body)])

    def rebuild(self, table: StoreTable, rows: Iterable[tuple[Any, ...]]) -> None:
        """Make a table anew, with whole rows."""
        self.connection.execute(f"DROP TABLE IF EXISTS {table}")
        create(self.connection, table)
        insert(self.connection, table, rows)

    def check(self) -> None:
        """Refuse a store whose pages, log or documents are damaged; nothing is replayed.

        Raises:
            DamagedError: something is not what tallystick wrote.
        """
        self.connection.check_pages()
        head, point = self.head(), self.pruned()
        after = (0, GENESIS_HASH) if point is None else (point.seq, point.hash)
        if point is not None:
            # what is left of the log before the point
            for entry in self.entries():
                if entry.seq >= point.seq:
                    break
        count, last = (0, GENESIS_HASH) if head is None else (head.entries, head.hash)
        for _ in check(self.entries(after[0] + 1), after=after, count=count, last=last):
            pass
        for table in DOCUMENTS:
            for row in self.rows(table):
                _checked_document(self.connection, table, row)
        self.check_envelopes()

    def _bodies(self, column: str, value: int, counted_by: int = NUMBER_LIMIT) -> Iterator[str]:
        """Yield the lines of the events with a value in a column, in the log's order.

        Those that were recorded after the epoch ``counted_by`` are left out.
        """
        # from the left, so that an entry that was lost is found as a damaged one
        source = (
            f"FROM {CLAIMS} LEFT JOIN {LOG} USING (seq) WHERE {column} = ? AND counted_in <= ? "
            "AND seq > ? ORDER BY seq LIMIT ?"
        )
        pages = _pages(lambda after: self._log(source, (value, counted_by, after, _READ)))
        return (entry.body for entry in pages)

    def _spans(self, hotkey: str) -> Iterator[tuple[int, int]]:
        """Yield the rounds of a miner's records, newest first: spans that hold so many of them."""
        newest_first = f"ORDER BY round DESC LIMIT {_ROUNDS}"
        page = self.connection.rows(f"{_ROUNDS_OF_RECORDS} {newest_first}", (hotkey,))
        while page:
            oldest = page[-1][0]
            yield page[0][0], oldest
            page = self.connection.rows(
                f"{_ROUNDS_OF_RECORDS} AND round < ? {newest_first}", (hotkey, oldest)
            )

    def _log(self, source: str, values: Iterable[Any] = ()) -> list[Entry]:
        return read_log(self.connection, source, values)


def _pages(read: Callable[[int], Sequence[_Numbered]], after: int = 0) -> Iterator[_Numbered]:
    """Yield what pages have, each read behind the number of the last one of the page before."""
    while page := read(after):
        yield from page
        after = page[-1].seq


def read_log(connection: Connection, source: str, values: Iterable[Any] = ()) -> list[Entry]:
    """Return entries of the log, each found to have the hash that follows from it.

    Args:
        connection: to the store.
        source: a query from ``FROM`` on.
        values: in place of its marks.

    Raises:
        DamagedError: an entry has another hash.
    """
    rows = connection.rows(f"SELECT {_COLUMNS} {source}", values)
    return [_entry(connection, row) for row in rows]


def _entry(connection: Connection, row: tuple[Any, ...]) -> Entry:
    seq, kind, body, previous, own = row
    with suppress(AttributeError, TypeError, ValueError):
        entry = Entry(seq, kind, body, own.hex(), previous.hex())
        if entry.is_linked:
            return entry
    raise connection.damaged(
        f"the log, entry {seq}: found {body!s:.80} with another hash, expected what tallystick "
        "wrote: the file was damaged or changed"
    )


def _log_row(entry: Entry) -> tuple[Any, ...]:
    hashes = bytes.fromhex(entry.previous), bytes.fromhex(entry.hash)
    return entry.seq, entry.kind, entry.body, *hashes


def _envelope_row(envelope: Envelope) -> tuple[str, str]:
    return envelope.statement_digest, canonical_bytes(json_value(envelope)).decode()


def document(connection: Connection, table: StoreTable, key: object) -> str | None:
    """Return the body of a document, found to have its digest; None where there is none.

    Raises:
        DamagedError: it has another digest.
    """
    query = f"SELECT {', '.join(table.names)} FROM {table} WHERE {table.keys[0]} = ?"
    rows = connection.rows(query, (key,))
    return _checked_document(connection, table, rows[0]) if rows else None


def _checked_document(connection: Connection, table: StoreTable, row: tuple[Any, ...]) -> str:
    key, digest, body = row
    # text that somebody changed may be bytes
    if isinstance(body, str) and digest == digest_of_bytes(body.encode()):
        return body
    raise connection.damaged(
        f"row {key!s:.40} of {table}: found {body!s:.80} with another digest, expected what "
        "tallystick wrote: the file was damaged or changed"
    )


def put_document(connection: Connection, table: StoreTable, key: object, body: str | None) -> None:
    """Keep a document in place of the one with its key; None leaves none."""
    delete(connection, table, [key])
    if body is not None:
        insert(connection, table, [document_row(key, body)])


def document_row(key: object, body: str) -> tuple[object, str, str]:
    """Return the row of a document."""
    return key, digest_of_bytes(body.encode()), body


def create(connection: Connection, table: StoreTable) -> None:
    """Make a table with its indexes."""
    for statement in table.statements(is_sqlite=connection.is_sqlite):
        connection.execute(statement)


def insert(connection: Connection, table: StoreTable, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert whole rows."""
    statement = f"INSERT INTO {table} ({', '.join(table.names)}) VALUES ({marks(table.names)})"
    remaining = iter(rows)
    while page := list(islice(remaining, _WRITTEN)):
        connection.execute_many(statement, page)


def delete(connection: Connection, table: StoreTable, keys: Sequence[object]) -> None:
    """Delete the rows with some values of the first column, page by page."""
    for page in pages(keys):
        connection.execute(f"DELETE FROM {table} WHERE {table.keys[0]} IN ({marks(page)})", page)


def _head(value: Any) -> LogHead:  # noqa: ANN401  # parsed JSON
    state = structure(value["state"], State)
    return LogHead(value["entries"], value["hash"], state, value["block"])


def _snapshot(value: Any) -> Snapshot:  # noqa: ANN401  # parsed JSON
    return structure(value, Snapshot)


def _structured(connection: Connection, text: str, read: Callable[[Any], _T], what: str) -> _T:
    """Return the value that a stored text is the canonical form of; ``what`` names it in errors.

    Raises:
        DamagedError: it is none.
    """
    try:
        return read(json.loads(text))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, NumberError) as error:
        raise connection.damaged(
            f"found {what} in the store that cannot be read ({error}), expected what tallystick "
            "wrote: the store was changed"
        ) from error
