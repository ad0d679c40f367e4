"""Backups: a whole store as one file of SQLite, taken while others write, and taken back.

A SQLite store is copied by SQLite's own backup, page for page; one of PostgreSQL row for row, out
of one transaction. So a backup needs no program beside this one, is a store itself, which
`state verify` reads, and can be taken back into either database. It is read again from its first to
its last byte before it gets its name: see `Store.check`.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tallystick.errors import InputError, OutputError, StoreError
from tallystick.io.atomic import AtomicFile, atomic_files, output_path
from tallystick.io.paths import PathLike, path_of, path_text
from tallystick.plugins.registry import Registry
from tallystick_state.authority import stored_envelopes
from tallystick_state.entries import read
from tallystick_state.pruned_base import with_truth
from tallystick_state.rules import StateRules
from tallystick_state.store.connection import TIMEOUT, place_of
from tallystick_state.store.store import PLACE, Store
from tallystick_state.store.tables import EVENTS, TABLES
from tallystick_state.store.transaction import Transaction, insert
from tallystick_state.transfer import Exported


def back_up(store: Store, path: PathLike, *, follow_links: bool = False) -> Exported:
    """Write a store to a file, which is checked before it takes its name.

    Args:
        store: which others may write meanwhile; the file has what it held as the copy began.
        path: the file, in place of an earlier backup; its owner alone may read one that is new.
        follow_links: whether the name may be a link.

    Raises:
        DamagedError: the store is damaged; what stood at the path stays.
        OutputError: the file cannot be written, or is of the store itself.
        StoreError: the store cannot be read.
    """
    path = path_of(path, "a file for the backup")
    if store.holds(path):
        raise OutputError(f"{path}: found a file of the store itself, expected another one")
    is_new = not path.exists()
    with _staged(output_path(path, follow_links=follow_links)) as copy:
        if is_new:
            copy.chmod(0o600)
        _copy(store, copy, str(path))
        try:
            return _checked(Store.open(str(copy), shown=str(path)))
        except StoreError:
            # the copy has what the store has: it is the store that is damaged
            store.check()
            raise


def restore(
    path: PathLike,
    where: PathLike,
    *,
    registry: Registry | None = None,
    accept: Callable[[StateRules], None] = lambda _: None,
) -> Exported:
    """Make a store of a backup, which is checked before and after.

    Args:
        path: what `back_up` wrote, of this version or of an older one.
        where: the new store.
        registry: the plugins; by default the installed ones.
        accept: is asked of the rules of each line in the open epoch, before anything is kept, and
            raises what it refuses.

    Raises:
        DamagedError: the backup is damaged, or its plugins are others.
        InputError: the backup cannot be read.
        StoreError: there is something at that place already, or it cannot be written.
    """
    path, target = path_of(path, "a backup"), path_text(where, PLACE)
    if not path.is_file():
        raise InputError(f"{path}: found no file, expected a backup of tallystick state backup")
    target_place = place_of(target, TIMEOUT, create=True)
    if target_place.path is not None:
        return _restored_file(path, target_place.path, registry, accept)
    with tempfile.TemporaryDirectory() as folder:
        copy = _copied(path, Path(folder) / "backup", registry, accept)
        _checked(copy)
        with Store.create(target) as (store, transaction), copy.reading() as source:
            _copy_rows(source, transaction)
    return _checked(store)


def _restored_file(
    path: Path, target: Path, registry: Registry | None, accept: Callable[[StateRules], None]
) -> Exported:
    _refuse_what_is_there(target)
    with _staged(output_path(target, follow_links=False)) as staged:
        staged.chmod(0o600)
        restored = _checked(_copied(path, staged, registry, accept))
        # another process may have been faster
        _refuse_what_is_there(target)
        return restored


def _refuse_what_is_there(target: Path) -> None:
    # a WAL of another store would be played into this one
    for end in ("", "-wal", "-shm"):
        other = target.with_name(f"{target.name}{end}")
        if other.exists():
            raise StoreError(
                f"{other}: found a file, expected none: stop what uses the store, move the file "
                "away and those beside it that end in -wal and -shm, or name another place"
            )


def _copied(
    path: Path, copy: Path, registry: Registry | None, accept: Callable[[StateRules], None]
) -> Store:
    """Copy a backup and bring the copy to this version; gives it, once its rules are accepted."""
    _copy_pages(path, copy, str(path), "the new store")
    store = Store.open(str(copy), shown=str(path))
    with store.reading() as transaction:
        head, genesis = transaction.head(), next(transaction.entries(), None)
        envelopes = stored_envelopes(transaction.envelope, store.shown)
        later = transaction.rules_entries()
        in_force = read(genesis, later, store.shown, registry, envelopes)
    for rules in in_force.at(0 if head is None else head.epoch).lines:
        accept(rules)
    return store


@contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Yield a file to fill, which takes the name when the block ends without an error."""
    with atomic_files(path) as (file,):
        if not isinstance(file, AtomicFile):
            raise OutputError(f"{path}: found a stream, expected the name of a file to write")
        yield path.parent / file.hidden


def _copy(store: Store, copy: Path, shown: str) -> None:
    if store.path is not None:
        _copy_pages(store.path, copy, store.shown, shown)
        return
    with store.reading() as source, Store.create(str(copy), shown=shown) as (_, transaction):
        _copy_rows(source, transaction)


def _copy_pages(path: Path, copy: Path, shown: str, written: str) -> None:
    """Copy a file of SQLite as one transaction sees it; errors name both as is asked for."""
    with (
        place_of(str(path), TIMEOUT, create=False, shown=shown).transaction("read") as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        try:
            source.driver.backup(target)
        except sqlite3.OperationalError as error:
            raise OutputError(
                f"{written}: found that it cannot be written ({error}), expected room for a "
                f"copy of {shown}"
            ) from error


def _copy_rows(source: Transaction, target: Transaction) -> None:
    for table in TABLES:
        rows = source.rows(table)
        insert(target.connection, table, map(with_truth, rows) if table is EVENTS else rows)


def _checked(store: Store) -> Exported:
    """Check a store; return the size and hash of its log."""
    store.check()
    with store.reading() as transaction:
        head = transaction.head()
        if head is None:
            raise StoreError(f"{store.shown}: found a store without a state, expected one")
        return Exported(head.entries, head.hash)
