"""Replay: the entries of a log applied again, to import a state or to verify a stored one.

An entry says what its transition needs and what it gives; so applying a log from its first entry
proves everything that is stored beside it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, groupby, takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import msgspec

from tallystick.errors import DamagedError, OtherSnapshotError, StateError, TrustError
from tallystick.io.paths import PathLike, path_text
from tallystick.records.messages import shown
from tallystick_state.authority import authority_of
from tallystick_state.chain import GENESIS_HASH, Entry, check
from tallystick_state.claims import Rank
from tallystick_state.entries import Genesis, begin, body_of
from tallystick_state.event import StateEvent
from tallystick_state.event_log import RANKS, EventLog
from tallystick_state.ingest import refusal
from tallystick_state.pruned import PrunedPoint
from tallystick_state.pruned_base import base_rows, lay
from tallystick_state.rules import GENESIS, StateRules
from tallystick_state.store.store import PLACE, Store
from tallystick_state.store.tables import (
    CLAIM_COUNTS,
    CLAIMS,
    HEAD,
    LEAVES,
    LOG,
    SNAPSHOTS,
    StoreTable,
)
from tallystick_state.store.transaction import CARRIED, LogHead
from tallystick_state.stored_state import StoredState
from tallystick_state.trust.keys import PublicKey

if TYPE_CHECKING:
    from tallystick.plugins.registry import Plugins, Registry
    from tallystick_state.store.transaction import Transaction
    from tallystick_state.trust.checkpoint import Checkpoint

FOLLOWING = (SNAPSHOTS, HEAD, CLAIM_COUNTS, CLAIMS)
"""Tables that follow from the log, the shortest to read first."""
TABLES = (*FOLLOWING, LOG)
"""Tables that a replay writes and does not begin with."""
FLAGS = "flag"
"""Kind of the entries of the engine's flags, which follow from those before."""
EVENTS_AT_ONCE = 10_000
"""Maximum number of state events in a row that are applied at a time."""


@attrs.frozen
class Verified:
    """The result of a replay that found no difference.

    Attributes:
        entries: so many entries of the log are chained and lead to what is stored.
        snapshots: so many snapshots are what the log leads to.
        epochs: so many closed epochs are what a checkpoint says; None without a checkpoint.
        signers: the keys that signed it.
        data_checksums: whether PostgreSQL has checksums of its pages; None of SQLite.
        pruned: the point before which nothing could be replayed; None of a whole log.
    """

    entries: int
    snapshots: int
    epochs: int | None = None
    signers: frozenset[PublicKey] = frozenset()
    data_checksums: bool | None = None
    pruned: PrunedPoint | None = None


def replay(
    entries: Iterable[Entry], transaction: Transaction, where: str, plugins: Plugins | None
) -> EventLog:
    """Apply entries, in their order, to a store into which their base was laid; return its log.

    Args:
        entries: those of another log, from its first one, or from the one behind the base.
        transaction: on the store, which has what was signed for them.
        where: the other log, for errors.
        plugins: what the rule sets are loaded with; None for the installed ones.

    Raises:
        DamagedError: the chain is broken, an entry says what its state does not allow, or leads to
            something else than it says; `OtherSnapshotError` where that is the snapshot of an
            epoch.
        StoreError: the state is of another format, or a rule set does not load.
        TrustError: an entry must be signed, and is not as it must.
    """
    head, genesis = transaction.head(), transaction.first_entry()
    after = (0, GENESIS_HASH) if head is None else (head.entries, head.hash)
    checked = check(entries, after=after)
    if genesis is None:
        genesis = next(checked, None)
        checked = chain(() if genesis is None else (genesis,), checked)
    log = EventLog(transaction, Genesis.read(genesis, where).in_force(transaction, where, plugins))
    for _, group in groupby(checked, key=_run):
        chunk = list(group)
        message = f"entries {chunk[0].seq} to {chunk[-1].seq} of the log cannot be applied"
        try:
            _apply(log, chunk)
        except TrustError as error:
            raise TrustError(f"{message}: {error}", code=error.code) from error
        except (StateError, DamagedError, msgspec.MsgspecError) as error:
            raise DamagedError(f"{message}: {error}") from error
        if log.hash != chunk[-1].hash:
            raise _unlike(log, chunk[-1])
    return log


def verify(
    ledger: StoredState, checkpoint: Checkpoint | None = None, keys: Collection[PublicKey] = ()
) -> Verified:
    """Replay the log of a state into an empty store and compare the two.

    Args:
        ledger: the state.
        checkpoint: what its log of epochs was; a history that was rewritten whole, or cut back,
            follows from its own log, and is found by this alone.
        keys: one of which must have signed the checkpoint; without any no signature is checked.

    Raises:
        DamagedError: the chain is broken, or something that is stored does not follow from it.
        TrustError: something that must be signed is not as it must, nobody of ``keys`` signed the
            checkpoint, or the log is not what it says.
    """
    signers = frozenset[PublicKey]()
    if checkpoint is not None and keys:
        signers = checkpoint.check_signed(keys)
    with ledger.store.reading() as stored, replaying(ledger, stored) as log:
        point = stored.pruned()
        rows = {table: _same_rows(table, stored, log.transaction) for table in TABLES}
        # what a replay reads no page of: indexes, leaves
        stored.check()
        data_checksums = stored.connection.data_checksums()

    _check_epochs(ledger, checkpoint)
    epochs = None if checkpoint is None else checkpoint.size
    return Verified(log.entries, rows[SNAPSHOTS], epochs, signers, data_checksums, point)


@contextmanager
def replaying(
    ledger: StoredState, stored: Transaction, last: int | None = None
) -> Iterator[EventLog]:
    """Replay the log of a state into a store that is removed afterwards; give what it came to.

    The log of a pruned state is replayed from its point on.

    Args:
        ledger: the state.
        stored: a transaction on its store.
        last: the number of the last entry; by default that of the log.

    Raises:
        DamagedError: the chain is broken, or an entry does not follow from those before it.
        TrustError: something that must be signed is not as it must.
    """
    where = ledger.store.shown
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(
            str(Path(folder) / "replayed"), shown=f"the replay of {where} in {folder}"
        ) as (_, transaction),
    ):
        lay(base_rows(stored), transaction)
        point = stored.pruned()
        entries = stored.entries(1 if point is None else point.seq + 1)
        if last is not None:
            entries = takewhile(lambda entry: entry.seq <= last, entries)
        log = replay(entries, transaction, where, ledger.plugins)
        log.finish()
        yield log


def rebuild(
    where: PathLike,
    *,
    registry: Registry | None = None,
    accept: Callable[[StateRules], None] = lambda _: None,
) -> LogHead:
    """Make everything that follows from the log of a store anew; return the end of the log.

    Leaves of epochs are computed when they are next asked for.

    Args:
        where: the store, as `Ledger.open` takes it.
        registry: the plugins; by default the installed ones.
        accept: is asked of the rules of each line in the open epoch, before anything is kept, and
            raises what it refuses.

    Raises:
        DamagedError: the log itself is damaged; nothing has changed.
        StoreError: the store cannot be read or written.
        TrustError: something that must be signed is not as it must.
    """
    store = Store.open(path_text(where, PLACE))
    with store.writing(pages=False) as stored:
        ledger, head = StoredState.read(store, stored, registry), None
        with suppress(DamagedError):
            head = stored.head()
        with replaying(ledger, stored) as log:
            for rules in log.rules.lines:
                accept(rules)
            rebuilt = log.head
            if head is not None and (head.entries, head.hash) != (log.entries, log.hash):
                raise stored.connection.damaged(
                    f"found {log.entries} entries of the log, expected {head.entries} that end in "
                    f"{head.hash}: entries are lost"
                )
            point = stored.pruned()
            kept = [row for row in stored.rows(LEAVES) if point and row[0] < point.epoch]
            stored.rebuild(LEAVES, kept)
            for table in FOLLOWING:
                stored.rebuild(table, log.transaction.rows(table))
        stored.check()
    return rebuilt


def _check_epochs(ledger: StoredState, checkpoint: Checkpoint | None) -> None:
    """Compare the leaves that are kept, and those of a checkpoint, with what is computed anew."""
    with ledger.epoch_log(trust=False) as log:
        for epoch, leaf in log.transaction.epoch_leaves().items():
            if epoch >= len(log.closed) or log.leaves[epoch].to_bytes() != leaf.encode():
                raise DamagedError(
                    f"the leaf of the epoch {epoch}: found {leaf:.200}, expected what the log "
                    "leads to: the store was changed, restore a copy"
                )
        if checkpoint is not None:
            checkpoint.check_log(log.tree)


def _unlike(log: EventLog, entry: Entry) -> DamagedError:
    """Return the error of an entry that does not follow from those before it."""
    if entry.kind == "epoch":
        stated = str(msgspec.json.decode(entry.body).get("snapshot"))[:80]
        derived = log.snapshot(log.state.epoch).digest
        if stated != derived:
            return OtherSnapshotError(entry.seq, log.state.epoch - 1, stated, derived)
    return DamagedError(
        f"entry {entry.seq} of the log ({entry.kind}): found {entry.body:.200}, expected what the "
        "entries before it lead to: the log was changed"
    )


def _run(entry: Entry) -> tuple[str, int]:
    """Return the key of entries that are applied together: those of one run share one.

    Runs are events in a row, and the first entry with the carried records after it.
    """
    if entry.kind == FLAGS:
        return FLAGS, 0
    if entry.kind in {GENESIS, CARRIED}:
        return GENESIS, 0
    return entry.kind, entry.seq // EVENTS_AT_ONCE if entry.kind in RANKS else entry.seq


def _apply(log: EventLog, chunk: list[Entry]) -> None:
    kind = chunk[0].kind
    if kind == GENESIS:
        genesis = Genesis.read(chunk[0], "the log")
        records = [StateEvent.from_line(entry.body) for entry in chunk[1:]]
        begin(log, records, authority_of(msgspec.to_builtins(genesis), log.transaction))
        return
    if kind == FLAGS:
        log.flag_colluders()
        return
    if kind not in RANKS:
        body = body_of(chunk[0])
        log.write(body, authority_of(msgspec.to_builtins(body), log.transaction))
        return
    events, allowed = [StateEvent.from_line(entry.body) for entry in chunk], log.allowed
    for entry, event in zip(chunk, events, strict=True):
        if event.round < 0:
            raise StateError(f"found the round {event.round}, expected a whole number from 0")
        refused = refusal(log.state, log.in_force, entry.seq, event)
        if refused is not None:
            raise StateError(f"{refused.code}: found {refused.value}, expected {refused.expected}")
        if not allowed.accepts(event.validator):
            raise StateError(
                f"found a claim of {shown(event.validator)}, whom the state does not hear"
            )
    rank = RANKS[kind]
    if rank is Rank.OWN and not all(map(allowed.is_own, events)):
        raise StateError("found an own claim of another validator than the state's own")
    log.record(events, rank)


def _same_rows(table: StoreTable, stored: Transaction, replayed: Transaction) -> int:
    """Return the number of rows of a table, once each is found to follow from the log."""
    number = 0
    for number, (row, wanted) in enumerate(
        zip_longest(stored.rows(table), replayed.rows(table)), 1
    ):
        if row != wanted:
            raise DamagedError(
                f"row {number} of {table.name}: found {row!s:.200}, expected {wanted!s:.200}, to "
                "which the log leads: the store was changed, restore a copy"
            )
    return number
