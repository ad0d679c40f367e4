"""One transaction on a store: its reads and writes.

Long results come page after page: no cursor stays open behind a reader who stops early. Rows that
are read whole are checked by their checksums; nothing is checked against the chain.
"""

# ruff: noqa: S608  # names of our own tables alone; values go by marks

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.canonical import canonical_bytes, digest_of_bytes
from tallystick.errors import DamagedError, NumberError
from tallystick_state.chain import Entry
from tallystick_state.claims import UNKNOWN, Claim, Counts, Rank
from tallystick_state.event import AGE, COUNTED_IN, NUMBER_LIMIT, SampledEvent, StateEvent
from tallystick_state.miners import FLAG
from tallystick_state.model import Snapshot, State, structure, unstructure
from tallystick_state.pruned import (
    PrunedClaim,
    PrunedPoint,
    bucket_of,
    by_bucket,
    packed,
    unpacked,
)
from tallystick_state.store.checksums import checked_rows, delete, insert, rows_of
from tallystick_state.store.connection import MAX_VALUES, WAY_BACK, Connection, marks
from tallystick_state.store.tables import (
    CLAIM_COUNTS,
    ENVELOPES,
    EVENTS,
    HEAD,
    LEAVES,
    LOG,
    PRUNED,
    PRUNED_CLAIMS,
    QUARANTINE,
    RARE,
    ROUNDS,
    SNAPSHOTS,
    StoreTable,
)

if TYPE_CHECKING:
    from tallystick_state.roles import Role


# rows of a page that is read, and of the first one for who wants the first entry alone
_READ, _FIRST_READ = 2_000, 100
_ROUNDS = 32
_T = TypeVar("_T")
MOST_REMEMBERED = 1 << 17
"""Maximum number of events that a transaction keeps in memory."""
STATING = ("batch", "pools", "rules", "trust", "withdraw")
"""Kinds of the entries that may state a block and name a signed statement."""

# the statements; the tables and their indexes are in `tables`
_ENTRIES = f"FROM {LOG} WHERE seq > ? ORDER BY seq LIMIT ?"
_SNAPSHOT = f"FROM {SNAPSHOTS} WHERE epoch = ?"
_RULES = f"FROM {LOG} WHERE kind IN ('pools', 'rules', 'trust', 'withdraw') AND {RARE}"
_BODY_OF = f"FROM {EVENTS} JOIN {LOG} USING (seq) WHERE"
# a canonical line begins with the first of its keys
_ALIGNED = '{"alignment":'
_ROUNDS_OF_RECORDS = f"SELECT DISTINCT round FROM {EVENTS} WHERE hotkey = ? AND is_record = ?"
_ROUNDS_WITH_ROLE = (
    f"FROM {EVENTS} WHERE skill_type = ? AND hotkey = ? AND round < ? AND role IS NOT NULL"
)


@attrs.frozen
class ClaimRows:
    """Reads and writes of claims."""

    connection: Connection

    def of(self, identities: Sequence[bytes], *, waiting: bool = True) -> list[Claim]:
        """Return the claims of some identities, without those in quarantine if asked for."""
        recorded = self._among(EVENTS, "identity", identities)
        return [*recorded, *(self._among(QUARANTINE, "identity", identities) if waiting else ())]

    def known(self, identities: Collection[bytes]) -> frozenset[bytes]:
        """Return those of some identities that have a claim, recorded or in quarantine."""
        several, known = [*identities], set[bytes]()
        for table in (EVENTS, QUARANTINE):
            for start in range(0, len(several), MAX_VALUES):
                page = several[start : start + MAX_VALUES]
                query = f"SELECT identity FROM {table} WHERE identity IN ({marks(page)})"
                known.update(bytes(identity) for (identity,) in self.connection.rows(query, page))
        return frozenset(known)

    def has_waiting(self) -> bool:
        """Return whether there is any claim in quarantine."""
        return bool(self.connection.rows(f"SELECT seq FROM {QUARANTINE} LIMIT 1"))

    def numbered(self, numbers: Sequence[int]) -> list[Claim]:
        """Return the claims in quarantine with some numbers."""
        return list(self._among(QUARANTINE, "seq", numbers))

    def waiting(self) -> Iterator[Claim]:
        """Yield every claim in quarantine, in the order in which they came."""
        condition = f"seq > ? ORDER BY {LOG}.seq LIMIT {_READ}"
        page = self._claims(QUARANTINE, condition, (0,))
        while page:
            yield from page
            page = self._claims(QUARANTINE, condition, (page[-1].seq,))

    def reasons(self) -> dict[str, int]:
        """Return the number of claims in quarantine, by reason."""
        query = f"SELECT reason, COUNT(*) FROM {QUARANTINE} GROUP BY reason ORDER BY reason"
        return dict(self.connection.rows(query))

    def waiting_for(self, tasks: Sequence[bytes]) -> Iterator[Claim]:
        """Return the claims that wait for one of some tasks."""
        return (e for e in self._among(QUARANTINE, "task", tasks) if e.reason == UNKNOWN)

    def about(self, record: StateEvent) -> Iterator[Claim]:
        """Return the recorded events that came alone about the task of a record."""
        condition = "hotkey = ? AND is_record = ? AND round = ?"
        claims = self._claims(EVENTS, condition, (record.hotkey, False, record.round))
        return (claim for claim in claims if claim.event.task == record.task)

    def in_scope(self, scope: bytes) -> Iterator[Claim]:
        """Yield every claim of a validator that is pinned to an epoch, by its counts."""
        yield from self._claims(QUARANTINE, "scope = ?", (scope,))
        rounds = sorted({number for number, _ in self.counts(scope)})
        recorded = self._among(EVENTS, "round", rounds)
        yield from (claim for claim in recorded if claim.event.scope == scope)

    def counts(self, scope: bytes) -> Counts:
        """Return the numbers of claims of a validator and pinned epoch, by round and rank."""
        rows = checked_rows(
            self.connection, [CLAIM_COUNTS], f"FROM {CLAIM_COUNTS} WHERE scope = ?", (scope,)
        )
        return {(number, rank): claims for _, number, rank, claims in rows}

    def put_counts(self, scope: bytes, counts: Counts) -> None:
        """Keep the counts of a scope in place of those of before."""
        delete(self.connection, CLAIM_COUNTS, "scope", scope)
        rows = [(scope, *key, claims) for key, claims in counts.items() if claims]
        insert(self.connection, CLAIM_COUNTS, rows)

    def cleared(self) -> Mapping[str, int]:
        """Return by hotkey the number of the entry that last cleared its flags."""
        rows = checked_rows(self.connection, [LOG], f"FROM {LOG} WHERE kind = 'clear' ORDER BY seq")
        return {json.loads(body)["hotkey"]: seq for seq, _, body, _ in rows}

    def flags_by(self) -> Mapping[str, Mapping[str, int]]:
        """Return by hotkey the number of flags by validator since they were last cleared."""
        cleared, flags = self.cleared(), dict[str, Counter[str]]()
        condition = f"body LIKE ? AND seq > ? ORDER BY {LOG}.seq LIMIT {_READ}"
        values = f'%"{FLAG}"%'
        page = self._claims(EVENTS, condition, (values, 0))
        while page:
            for claim in page:
                event = claim.event
                if claim.seq > cleared.get(event.hotkey, 0) and FLAG in event.events:
                    by = flags.setdefault(event.hotkey, Counter())
                    by[event.validator] += event.events.count(FLAG)
            page = self._claims(EVENTS, condition, (values, page[-1].seq))
        return flags

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

    def _among(self, table: StoreTable, column: str, values: Sequence[object]) -> Iterator[Claim]:
        for start in range(0, len(values), MAX_VALUES):
            page = values[start : start + MAX_VALUES]
            yield from self._claims(table, f"{column} IN ({marks(page)})", page)

    def _claims(self, table: StoreTable, condition: str, values: Iterable[Any]) -> list[Claim]:
        """Return the claims of a table, recorded or in quarantine, that a condition holds for."""
        source = f"FROM {table} JOIN {LOG} USING (seq) WHERE {condition}"
        names = (*table.names, *LOG.names)
        rows = checked_rows(self.connection, [table, LOG], source, values)
        named_rows = (dict(zip(names, row, strict=True)) for row in rows)
        return [
            Claim(
                fields["seq"],
                StateEvent.from_line(fields["body"]),
                Rank(fields["rank"]),
                fields.get("reason"),
                fields.get("counted_in"),
            )
            for fields in named_rows
        ]


@attrs.frozen
class LogHead:
    """The end of the log, with the live state.

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
    _remembered: dict[int, StateEvent] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    def head(self) -> LogHead | None:
        """Return the end of the log; None before the first head is put."""
        rows = checked_rows(self.connection, [HEAD], f"FROM {HEAD}")
        if not rows:
            return None
        if len(rows) > 1:
            raise DamagedError(f"found {len(rows)} heads of the log, expected one: {WAY_BACK}")
        _, epoch, entries, digest, state = rows[0]
        return LogHead(epoch, entries, digest, _structured(state, State, "a state"))

    def log_hash(self) -> str | None:
        """Return the hash of the last entry of the log, as the head has it; None without a head."""
        rows = self.connection.rows(f"SELECT hash FROM {HEAD}")
        return rows[0][0] if rows else None

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """Yield the entries of the log in their order, from the one with the number ``first``."""
        after, size = first - 1, _FIRST_READ
        while rows := self._log(_ENTRIES, (after, size)):
            yield from (Entry(*row) for row in rows)
            after, size = rows[-1][0], _READ

    def events(self, counted_in: int) -> Iterator[StateEvent]:
        """Return the events that were recorded while an epoch was open, in the order of the log."""
        return map(StateEvent.from_line, self.event_lines(counted_in))

    def sampled_events(self, counted_in: int) -> Iterator[SampledEvent]:
        """Return what an allocation reads of the same events."""
        return map(SampledEvent.from_line, self.event_lines(counted_in))

    def aligned_events(self, counted_in: int) -> Iterator[StateEvent]:
        """Return the state events of an epoch that have an alignment."""
        lines = self.event_lines(counted_in)
        return map(StateEvent.from_line, (line for line in lines if line.startswith(_ALIGNED)))

    def flagged_rounds(self, hotkey: str, skill_type: str) -> list[int]:
        """Return the rounds for which the engine has flagged a miner in a skill type, ascending."""
        query = (
            f"SELECT seq, {EVENTS}.round {_BODY_OF} hotkey = ? AND is_record = ? "
            f"AND skill_type = ? AND kind = 'flag' ORDER BY {EVENTS}.round"
        )
        return [row[1] for row in self.connection.rows(query, (hotkey, False, skill_type))]

    def event_lines(self, counted_in: int) -> Iterator[str]:
        """Return the canonical lines of `events`."""
        return self._bodies("counted_in", counted_in)

    def events_of_round(self, number: int, counted_by: int | None = None) -> Iterator[StateEvent]:
        """Yield the events of a round, those that came alone too, in the order of the log.

        Args:
            number: the round.
            counted_by: only those that were recorded by the end of this epoch; by default all.
        """
        numbers, known = self._numbers("round", number, counted_by), self._remembered
        lines = self._bodies_of([seq for seq in numbers if seq not in known])
        for seq in numbers:
            yield known[seq] if seq in known else StateEvent.from_line(next(lines))

    def claimed(self) -> Iterator[StateEvent]:
        """Yield the event of every claim, recorded or not, in the order of the log."""
        source = f"FROM {LOG} WHERE seq > ? AND NOT ({RARE}) ORDER BY seq LIMIT ?"
        after = 0
        while rows := self._log(source, (after, _READ)):
            yield from (StateEvent.from_line(body) for _, _, body, _ in rows)
            after = rows[-1][0]

    @property
    def claims(self) -> ClaimRows:
        """The claims, those in quarantine too."""
        return ClaimRows(self.connection)

    def rows(self, table: StoreTable) -> Iterator[tuple[Any, ...]]:
        """Return every row of a table as the database has it, in the order of its key."""
        return map(_plain, rows_of(self.connection, table))

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
        return {row[0] for row in self.connection.rows(_ROUNDS_OF_RECORDS, (hotkey, True))}

    def counted(self, hotkey: str, epoch: int) -> list[StateEvent]:
        """Return the records and events of a miner that were recorded in an epoch."""
        rows = self._log(f"{_BODY_OF} hotkey = ? AND counted_in = ?", (hotkey, epoch))
        return [StateEvent.from_line(body) for _, _, body, _ in rows]

    def recorded_types(self, hotkey: str, skill_types: Iterable[str]) -> tuple[str, ...]:
        """Return those of some skill types in which a miner has a record, in their order."""
        # an index finds one record of each, so that none but these is read
        source = f"{EVENTS} WHERE skill_type = ? AND hotkey = ? AND role IS NOT NULL"
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
        source = (
            f"{_BODY_OF} hotkey = ? AND is_record = ? AND round BETWEEN ? AND ? "
            "AND counted_in BETWEEN ? AND ?"
        )
        last = NUMBER_LIMIT if counted_by is None else counted_by
        for newest, oldest in self._spans(hotkey):
            rows = self._log(source, (hotkey, True, oldest, newest, counted_from, last))
            events = [StateEvent.from_line(body) for _, _, body, _ in rows]
            yield from sorted(events, key=AGE, reverse=True)

    def snapshot(self, epoch: int) -> Snapshot | None:
        """Return the snapshot of an epoch; None when there is none."""
        rows = checked_rows(self.connection, [SNAPSHOTS], _SNAPSHOT, (epoch,))
        return _structured(rows[0][2], Snapshot, "a snapshot") if rows else None

    def snapshots(self) -> Iterator[tuple[int, str, str]]:
        """Yield epoch, digest and canonical JSON of every snapshot, in the order of epochs."""
        epochs = self.connection.rows(f"SELECT epoch FROM {SNAPSHOTS} ORDER BY epoch")
        for epoch in epochs:
            ((number, digest, body),) = checked_rows(self.connection, [SNAPSHOTS], _SNAPSHOT, epoch)
            yield number, digest, body

    def rounds(self) -> dict[int, str | None]:
        """Return the time of every round, None where it is not known, in the order of rounds."""
        return dict(checked_rows(self.connection, [ROUNDS], f"FROM {ROUNDS} ORDER BY round"))

    def last_closed_round(
        self,
        before: int | None = None,
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
        closed = sorted(self._closed_before(before) if before is not None else self.rounds())
        of_types = (
            number
            for number in reversed(closed)
            if types is None or self._has_records(number, types, counted_by)
        )
        return next(of_types, None)

    def _closed_before(self, seq: int) -> set[int]:
        source = f"FROM {LOG} WHERE kind = 'round' AND {RARE} AND seq < ?"
        rows = self._log(source, (seq,))
        return {json.loads(body)["round"] for _, _, body, _ in rows}

    def _has_records(self, number: int, types: Sequence[str], counted_by: int) -> bool:
        query = (
            f"SELECT 1 FROM {EVENTS} WHERE round = ? AND is_record = ? "
            f"AND counted_in <= ? AND skill_type IN ({marks(types)}) LIMIT 1"
        )
        return bool(self.connection.rows(query, (number, True, counted_by, *types)))

    def newest_rounds(self, limit: int) -> list[int]:
        """Return the highest rounds with records, so many at most, the last first."""
        query = (
            f"SELECT DISTINCT round FROM {EVENTS} WHERE is_record = ? AND round >= 0 "
            "ORDER BY round DESC LIMIT ?"
        )
        return [number for (number,) in self.connection.rows(query, (True, limit))]

    def recorded_rounds(
        self, first: int = 0, last: int = NUMBER_LIMIT
    ) -> list[tuple[int, int, int, int]]:
        """Return the rounds with records, in their order, from one number to another.

        Returns:
            Of each its number, how many records it has, of how many miners, and the first epoch
            that they name.
        """
        query = (
            f"SELECT round, COUNT(*), COUNT(DISTINCT hotkey), MIN(epoch) FROM {EVENTS} "
            "WHERE is_record = ? AND round BETWEEN ? AND ? GROUP BY round ORDER BY round"
        )
        rows = self.connection.rows(query, (True, first, last))
        return [(number, records, miners, epoch) for number, records, miners, epoch in rows]

    def counted_events(self) -> dict[int, int]:
        """Return by epoch the number of events recorded while it was open, if any."""
        query = f"SELECT counted_in, COUNT(*) FROM {EVENTS} GROUP BY counted_in"
        counts = Counter(dict(self.connection.rows(query)))
        point = self.pruned()
        counts.update({} if point is None else point.removed)
        return dict(counts)

    def bodies_of_kind(self, kind: str) -> Iterator[str]:
        """Return the bodies of the entries of a kind that is no claim, in the order of the log."""
        return (body for _, body in self.numbered_bodies_of_kind(kind))

    def numbered_bodies_of_kind(self, kind: str) -> list[tuple[int, str]]:
        """Return the same bodies, each with the number of its entry."""
        rows = self._log(f"FROM {LOG} WHERE kind = ? AND {RARE} ORDER BY seq", (kind,))
        return [(seq, body) for seq, _, body, _ in rows]

    def closing(self, epoch: int) -> str | None:
        """Return the body of the entry with which an epoch was closed; None of one that is not."""
        # they are closed one after the other, from the first
        source = f"FROM {LOG} WHERE kind = 'epoch' AND {RARE} ORDER BY seq LIMIT 1 OFFSET ?"
        rows = [] if epoch < 0 else self._log(source, (epoch,))
        return rows[0][2] if rows else None

    def pruned(self) -> PrunedPoint | None:
        """Return the point up to which records were pruned; None where none were."""
        rows = checked_rows(self.connection, [PRUNED], f"FROM {PRUNED}")
        return PrunedPoint.of_text(rows[0][1]) if rows else None

    def put_pruned(self, point: PrunedPoint) -> None:
        """Put the point in place of the one before."""
        delete(self.connection, PRUNED, "id", 1)
        insert(self.connection, PRUNED, [(1, point.to_text())])

    def pruned_claims(self, identities: Collection[bytes]) -> dict[bytes, PrunedClaim]:
        """Return those of some identities that were pruned."""
        buckets = sorted({bucket_of(identity) for identity in identities})
        claims = self._bucketed(buckets)
        return {claim.identity: claim for claim in claims if claim.identity in identities}

    def put_pruned_claims(self, claims: Iterable[PrunedClaim]) -> None:
        """Keep what stays of claims that are pruned, beside those of before."""
        added = by_bucket(claims)
        known = by_bucket(self._bucketed([*added]))
        rows = []
        for bucket, new in sorted(added.items()):
            delete(self.connection, PRUNED_CLAIMS, "bucket", bucket)
            rows.append((bucket, packed([*known.get(bucket, ()), *new])))
        insert(self.connection, PRUNED_CLAIMS, rows)

    def _bucketed(self, buckets: Sequence[int]) -> Iterator[PrunedClaim]:
        for start in range(0, len(buckets), MAX_VALUES):
            page = buckets[start : start + MAX_VALUES]
            source = f"FROM {PRUNED_CLAIMS} WHERE bucket IN ({marks(page)})"
            for _, data in checked_rows(self.connection, [PRUNED_CLAIMS], source, page):
                yield from unpacked(bytes(data))

    def epoch_leaves(self) -> dict[int, str]:
        """Return the stored leaves by epoch."""
        return dict(checked_rows(self.connection, [LEAVES], f"FROM {LEAVES} ORDER BY epoch"))

    def put_epoch_leaf(self, epoch: int, leaf: str) -> None:
        """Keep the leaf of a closed epoch, which has none so far."""
        insert(self.connection, LEAVES, [(epoch, leaf)])

    def stated_block(self) -> int | None:
        """Return the greatest block that an entry states; None where none does.

        Stated blocks never go back, so it is the newest one of a kind of entries.
        """
        newest = (self._newest_block(kind) for kind in STATING)
        return max((block for block in newest if block is not None), default=None)

    def _newest_block(self, kind: str) -> int | None:
        source = f"FROM {LOG} WHERE kind = ? AND {RARE} AND seq < ? ORDER BY seq DESC LIMIT ?"
        rows = self._log(source, (kind, NUMBER_LIMIT, _FIRST_READ))
        while rows:
            for _, _, body, _ in rows:
                block = json.loads(body).get("block")
                if block is not None:
                    return int(block)
            rows = self._log(source, (kind, rows[-1][0], _FIRST_READ))
        return None

    def envelope(self, statement: str) -> str | None:
        """Return the envelope of the statement with a digest; None when there is none."""
        source = f"FROM {ENVELOPES} WHERE statement = ?"
        rows = checked_rows(self.connection, [ENVELOPES], source, (statement,))
        return rows[0][1] if rows else None

    def has_envelopes(self) -> bool:
        """Return whether there is any envelope."""
        return bool(self.connection.rows(f"SELECT 1 FROM {ENVELOPES} LIMIT 1"))

    def put_envelope(self, statement: str, envelope: str) -> None:
        """Keep an envelope, in place of one of the same statement."""
        delete(self.connection, ENVELOPES, "statement", statement)
        insert(self.connection, ENVELOPES, [(statement, envelope)])

    def rules_entries(self, first: int = 1) -> list[Entry]:
        """Return the entries that say which rules, trust file and pools are in force.

        Args:
            first: from the one with this number on.
        """
        rows = self._log(f"{_RULES} AND seq >= ? ORDER BY seq", (first,))
        return [Entry(*row) for row in rows]

    def last_rules_seq(self) -> int:
        """Return the number of the last entry of `rules_entries`; 0 without any."""
        ((last,),) = self.connection.rows(f"SELECT MAX(seq) {_RULES}")
        return last or 0

    def put_head(self, head: LogHead) -> None:
        """Write the end of the log in place of the one before."""
        state = canonical_bytes(unstructure(head.state)).decode()
        row = 1, head.epoch, head.entries, head.hash, state
        delete(self.connection, HEAD, "id", 1)
        insert(self.connection, HEAD, [row])

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries to the log; their chain is the caller's to make."""
        rows = ((entry.seq, entry.kind, entry.body, entry.hash) for entry in entries)
        insert(self.connection, LOG, rows)

    def remember(self, events: Sequence[tuple[int, StateEvent]]) -> None:
        """Remember events of entries that were appended, up to a limit: they are not read again."""
        self._remembered.update(events[: max(0, MOST_REMEMBERED - len(self._remembered))])

    def put_events(
        self, events: Iterable[tuple[int, StateEvent, int]], rank: Rank = Rank.IMPORTED
    ) -> None:
        """Index events that are recorded.

        Args:
            events: for each, the number of its entry in the log, the event, and the epoch that
                was open when it was recorded.
            rank: of all of them.
        """
        insert(self.connection, EVENTS, (_indexed(*event, int(rank)) for event in events))

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot for ever.

        Raises:
            StoreError: its epoch has one, once the transaction ends.
        """
        body = canonical_bytes(unstructure(snapshot))
        row = snapshot.state.epoch, digest_of_bytes(body), body.decode()
        insert(self.connection, SNAPSHOTS, [row])

    def put_round(self, number: int, at: str | None) -> None:
        """Keep a round and its time; of several times the earliest stays.

        Args:
            number: of the round.
            at: ISO text, all of one form, so that earlier times are lesser text; None when it is
                not known.
        """
        rows = checked_rows(self.connection, [ROUNDS], f"FROM {ROUNDS} WHERE round = ?", (number,))
        earlier = rows[0][1] if rows else None
        if not rows or (at is not None and (earlier is None or at < earlier)):
            delete(self.connection, ROUNDS, "round", number)
            insert(self.connection, ROUNDS, [(number, at)])

    def _bodies(self, column: str, value: int, counted_by: int | None = None) -> Iterator[str]:
        """Yield the lines of the events with a value in a column, in the log's order.

        Those that were recorded after the epoch ``counted_by`` are left out.

        Their numbers are read first, then the log by its key: so a page costs what it holds, and
        not what the pages before it held.
        """
        return self._bodies_of(self._numbers(column, value, counted_by))

    def _numbers(self, column: str, value: int, counted_by: int | None) -> list[int]:
        """Return the entries of the events that `_bodies` yields."""
        chosen = f"{column} = ?" if counted_by is None else f"{column} = ? AND counted_in <= ?"
        values = (value,) if counted_by is None else (value, counted_by)
        query = f"SELECT seq FROM {EVENTS} WHERE {chosen} ORDER BY seq"
        return [row[0] for row in self.connection.rows(query, values)]

    def _bodies_of(self, numbers: Sequence[int]) -> Iterator[str]:
        """Yield the lines of some entries, which are events, in the order of their numbers."""
        for start in range(0, len(numbers), MAX_VALUES):
            page = numbers[start : start + MAX_VALUES]
            dense = page[-1] - page[0] + 1 == len(page)
            among = "BETWEEN ? AND ?" if dense else f"IN ({marks(page)})"
            rows = self._log(
                f"FROM {LOG} WHERE seq {among} ORDER BY seq",
                (page[0], page[-1]) if dense else page,
            )
            if len(rows) < len(page):
                raise DamagedError(
                    f"found {len(rows)} of {len(page)} entries of the log from {page[0]} to "
                    f"{page[-1]}, expected all of them: the file was damaged or changed"
                )
            yield from (body for _, _, body, _ in rows)

    def _spans(self, hotkey: str) -> Iterator[tuple[int, int]]:
        """Yield the rounds of a miner's records, newest first: spans that hold so many of them."""
        newest_first = f"ORDER BY round DESC LIMIT {_ROUNDS}"
        page = self.connection.rows(f"{_ROUNDS_OF_RECORDS} {newest_first}", (hotkey, True))
        while page:
            oldest = page[-1][0]
            yield page[0][0], oldest
            page = self.connection.rows(
                f"{_ROUNDS_OF_RECORDS} AND round < ? {newest_first}", (hotkey, True, oldest)
            )

    def _log(self, source: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        """Read entries of the log by a query from ``FROM`` on."""
        return checked_rows(self.connection, [LOG], source, values)


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(bytes(value) if isinstance(value, bytes | memoryview) else value for value in row)


def _indexed(seq: int, event: StateEvent, counted_in: int, rank: int) -> tuple[Any, ...]:
    miner = event.hotkey, event.skill_type, event.role, event.is_record
    return seq, event.identity, counted_in, event.round, *miner, rank, event.epoch


def _structured(text: str, cls: type[_T], what: str) -> _T:
    """Return the value that a stored text is the canonical form of; ``what`` names it in errors.

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
