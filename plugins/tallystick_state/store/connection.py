"""Places of stores, a file of SQLite or a database of PostgreSQL, and connections to them.

SQLite keeps a store in one file, in WAL mode, so that readers and the one writer do not wait for
each other; while it is written, ``-wal`` and ``-shm`` files stand beside it. A new store is its
owner's alone (0600), and so are those two. What a database says when it fails becomes a
`StoreError` that names the store and says what to do.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

import attrs

from tallystick.errors import DamagedError, NoStoreError, StoreError
from tallystick.extras import missing
from tallystick.io.text import masked
from tallystick_state.store.tables import PREFIX

TIMEOUT = 30.0
"""Seconds for which a locked store is waited for."""
SYNCHRONOUS = "FULL"
"""Mode in which SQLite commits: a commit survives a power cut."""
_Value = TypeVar("_Value")
Access = Literal["read", "write"]
"""Purpose of a transaction."""
Connect = Callable[[Access], Any]
"""Makes a connection of the driver."""
EXPECTED = "a path, sqlite:///PATH, or postgresql://USER@HOST/DATABASE"
MAX_VALUES = 900
"""Maximum number of values of one statement, below that of every version of SQLite."""
# one number for all processes that lock a store: the letters of "tallysti"
_LOCK = int.from_bytes(b"tallysti", "big")
# bytes of the smallest page of SQLite, the first of which every database has
_LEAST = 512
# what SQLite says where it cannot make the files beside a store
_NO_WRITING = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR_SHM")
# kB of pages in memory, so that the index of a large store is not read anew for each batch
_CACHE = 64 * 1024

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

_BUSY = (
    "found the store locked by another process, expected it to be free within {timeout:g} s: wait "
    "until that process is done, then try again"
)
_READ_ONLY = (
    "found a store that can only be read, expected one that can be written: allow writing to it "
    "and to its folder, or use a copy"
)
_FULL = (
    "found no room to write, expected some on the disk and within the limit of file sizes: make "
    "room, then try again"
)
_BROKEN = "found a disk that fails ({reason}), expected one that works: check the disk"
_CANNOT_OPEN = "found a file that cannot be opened, expected a store: check its permissions"
_NOT_OURS = "found a file that is not a database, expected the store of a state: check the path"
TAKE_BACK = "take back an export with tallystick state import"
"""Remedy of a store that is gone."""
WAY_BACK = (
    "stop what writes to it, and run tallystick state rebuild; where its log is damaged, move it "
    f"away, and {TAKE_BACK}"
)
"""Remedy of a damaged store."""
_DAMAGED = f"found a damaged store, expected a sound one: {WAY_BACK}"
_GONE = f"found no such file any more, expected the store that was there: {TAKE_BACK}"
_UNREAD_WAL = (
    "found a store in a folder that cannot be written, whose last changes stand in {wal}, expected "
    "one that was closed, or a folder that can be written: copy both files into one of yours, or "
    "let the process that wrote them open and close the store once more"
)
_WRITTEN = (
    "found that the store was written while it was read, which cannot be locked for want of the "
    "right to write in its folder: try again, or read a copy"
)
_NO_RIGHT = (
    "found no right to do this in the database, expected the right to create, read and write "
    "tables: grant it, or connect as another user"
)
_LOST = (
    "found no connection to the database ({reason}), expected one: check the URL and that the "
    "server runs, then try again"
)
_OTHER = "found that the database refuses ({reason}), expected it to agree: nothing has changed"

# what Python's sqlite3 says of text that is none
_NO_TEXT = "Could not decode to UTF-8"

# by the beginning of the name of SQLite's extended error code, or of PostgreSQL's five letters (its
# manual, appendix A)
_MESSAGES = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    # what a write, or a file beside the store, gives that the limit of file sizes or a quota stops
    "SQLITE_IOERR_WRITE": _FULL,
    "SQLITE_IOERR_SHM": _FULL,
    "SQLITE_IOERR": _BROKEN,
    "SQLITE_CANTOPEN": _CANNOT_OPEN,
    "SQLITE_AUTH": _CANNOT_OPEN,
    "SQLITE_NOTADB": _NOT_OURS,
    "SQLITE_CORRUPT": _DAMAGED,
    "55P03": _BUSY,
    "40P01": _BUSY,
    "25006": _READ_ONLY,
    "53100": _FULL,
    "42501": _NO_RIGHT,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "08": _LOST,
    "28": _LOST,
    "3D": _LOST,
    "53": _LOST,
    "57P": _LOST,
}

_SIZE_OF_POSTGRESQL = (
    "SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0)::bigint FROM pg_catalog.pg_class "
    "WHERE relkind = 'r' AND left(relname, 11) = 'tallystick_' "
    "AND relnamespace = current_schema()::regnamespace"
)


@attrs.frozen
class Connection:
    """A connection that is in a transaction.

    Statements are text, with a ``?`` in place of each value; both databases take them as they are.

    What the database raises becomes a `StoreError` that names its store where it is raised, as a
    block that reads two stores cannot tell whose it is.

    Attributes:
        driver: the connection of ``sqlite3`` or of ``psycopg``.
        mark: what the driver takes in place of a value.
        shown: the store, as it may be shown.
    """

    driver: Any
    mark: Literal["?", "%s"]
    shown: str = "the store"

    @property
    def is_sqlite(self) -> bool:
        """True for a connection to SQLite."""
        return self.mark == "?"

    def damaged(self, message: str) -> DamagedError:
        """Return the error of damage that was found in the store, with the way back."""
        error = DamagedError(message)
        # a block that reads two stores cannot tell whose it is
        error.name(self.shown, WAY_BACK)
        return error

    def check_pages(self) -> None:
        """Refuse a file of SQLite with damaged pages or indexes; a server looks after its own.

        An index whose keys were damaged answers with other rows, which `quick_check` does not see.

        Raises:
            DamagedError: there are some.
        """
        problems = self.rows("PRAGMA integrity_check(1)") if self.is_sqlite else [("ok",)]
        if problems != [("ok",)]:
            first = str(problems[0][0]).replace("\n", " ") if problems else "nothing"
            raise self.damaged(
                f"found pages that are damaged ({first:.200}), expected sound ones: the file was "
                "damaged or changed"
            )

    def size(self) -> int:
        """Return how many bytes the store has, with its indexes."""
        if self.is_sqlite:
            ((pages,),) = self.rows("PRAGMA page_count")
            ((bytes_each,),) = self.rows("PRAGMA page_size")
            return int(pages * bytes_each)
        ((total,),) = self.rows(_SIZE_OF_POSTGRESQL)
        return int(total)

    def data_checksums(self) -> bool | None:
        """Return whether PostgreSQL has checksums of its pages; None of SQLite, which has none."""
        if self.is_sqlite:
            return None
        ((setting,),) = self.rows("SHOW data_checksums")
        return bool(setting == "on")

    def explained(self) -> AbstractContextManager[None]:
        """Return a block in which what the driver raises becomes an error that names the store."""
        return explained_for(self.shown)

    def rows(self, statement: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.explained():
            rows: list[tuple[Any, ...]] = self._run(statement, values).fetchall()
        return rows

    def execute(self, statement: str, values: Iterable[Any] = ()) -> None:
        """Run a statement that gives nothing."""
        with self.explained():
            self._run(statement, values)

    def execute_many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement once for each row of values."""
        with self.explained():
            self.driver.cursor().executemany(statement.replace("?", self.mark), rows)

    def begin(self, access: Access) -> None:
        """Begin a transaction: writing locks the store, reading sees it as it is now.

        Raises:
            StoreError: the store is locked for too long, or the database has no Unicode.
        """
        is_read = access == "read"
        if self.is_sqlite:
            if is_read:
                self.execute("PRAGMA query_only=ON")
            self.execute("BEGIN" if is_read else "BEGIN IMMEDIATE")
            return
        if is_read:
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        else:
            # read committed, whatever the server's default: what the writer before left must be
            # seen
            self.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            self.execute(f"SET LOCAL lock_timeout = {max(1, round(TIMEOUT * 1000))}")
            self.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        ((encoding,),) = self.rows("SHOW server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"found a database in {encoding}, expected UTF8: create one with ENCODING 'UTF8'"
            )

    def commit(self) -> None:
        """End the transaction, whose changes others see from now on.

        Raises:
            StoreError: a file that was read without locks was written meanwhile.
        """
        with self.explained():
            self.driver.commit()
        if isinstance(self.driver, _Immutable) and self.driver.is_written():
            raise StoreError(f"{self.shown}: {_WRITTEN}")

    def alone(self) -> None:
        """Let each statement on a server be a transaction of its own."""
        with self.explained():
            self.driver.autocommit = True

    def try_lock(self) -> bool:
        """Return whether the lock of a store on a server is this connection's from now on."""
        # a transaction that stays open would keep the server from cleaning up
        self.alone()
        # a database may have a store in each of its schemas
        lock = f"hashtext('{_LOCK}'), hashtext(current_schema())"
        ((is_ours,),) = self.rows(f"SELECT pg_try_advisory_lock({lock})")
        return bool(is_ours)

    def _run(self, statement: str, values: Iterable[Any]) -> Any:  # noqa: ANN401  # of the driver
        return self.driver.execute(statement.replace("?", self.mark), tuple(values))


def connecting(where: str, *, create: bool) -> tuple[str, Path | None, Connect]:
    """Return what connects to the place that a ``--state`` value names: a path or a URL.

    Args:
        where: a path, ``sqlite:///PATH``, or ``postgresql://…``.
        create: whether a file that is missing may be made.

    Returns:
        The place as it may be shown, without a password; the file, None for a server; and what
        makes a connection of the driver, one for each transaction.

    Raises:
        StoreError: it names no place, or the file is missing, a folder, or in no folder.
    """
    if "://" in where:
        url = _url(where)
        if url.scheme.startswith("postgresql"):
            return masked(url.geturl()), None, _to_server(url)
        path = where.removeprefix("sqlite:///")
        if path in {where, "", ":memory:"} or url.query:
            raise StoreError(f"{masked(where)}: found no place for a store, expected {EXPECTED}")
        where = path
    file = Path(where)
    return str(file), file, _to_file(file, create)


def _url(where: str) -> SplitResult:
    before_query = where.partition("?")[0]
    if not where.startswith("sqlite") and "@" in before_query.partition("@")[2]:
        # not shown, since what stands between them may be of a password
        raise StoreError(
            "found a URL with several @, expected one: write one in a name or a password as %40"
        )
    with suppress(ValueError):
        url = urlsplit(where)
        # what is no number raises
        if url.port is None or url.port:
            return url
    # not shown, since it may hold a password
    raise StoreError(f"found a URL that cannot be read, expected {EXPECTED}")


def _to_file(path: Path, create: bool) -> Connect:
    _check_file(path, create)
    uri = path.absolute().as_uri()

    def connect(access: Access) -> sqlite3.Connection:
        if create:
            _make_private(path)
            return _opened(f"{uri}?mode=rwc", access)
        try:
            # who only reads leaves a WAL to the next writer, who sees by it that one was killed
            is_read_only = access == "read" and has_wal(path)
            return _opened(f"{uri}?mode={'ro' if is_read_only else 'rw'}", access)
        except sqlite3.OperationalError as error:
            if not path.exists():
                raise StoreError(f"{path}: {_GONE}") from error
            if not error.sqlite_errorname.startswith(_NO_WRITING) or _is_writable(path):
                raise
            if access == "write":
                raise StoreError(f"{path}: {_READ_ONLY}") from error
            if has_wal(path):
                raise StoreError(f"{path}: {_UNREAD_WAL.format(wal=wal_of(path))}") from error
        # SQLite cannot make its files beside the store, and needs none where nobody writes
        return _Immutable(path, f"{uri}?mode=ro&immutable=1")

    return connect


class _Immutable(sqlite3.Connection):
    """A connection to a file in a folder that cannot be written; it takes no locks.

    So nothing keeps a writer from the file meanwhile.
    """

    def __init__(self, path: Path, uri: str) -> None:
        """Open a file, whose address as a URI says that it does not change."""
        self._path, self._before = path, _stamp(path)
        super().__init__(uri, isolation_level=None, uri=True)

    def is_written(self) -> bool:
        """Return whether somebody has written to the file since it was opened."""
        return _stamp(self._path) != self._before


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when somebody writes to the files of a store."""
    stamp = list[int]()
    for file in (path, wal_of(path)):
        with suppress(OSError):
            status = file.stat()
            # a file that is empty comes and goes with connections
            if status.st_size:
                stamp += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(stamp)


def _opened(uri: str, access: Access) -> sqlite3.Connection:
    """Connect to a file of SQLite."""
    connection = sqlite3.connect(uri, TIMEOUT, isolation_level=None, uri=True)
    try:
        connection.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
        connection.execute(f"PRAGMA cache_size=-{_CACHE}")
        if access == "write":
            # a file stays in this mode; SQLite waits for no lock of it, so that the next writer
            # tries again
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode=WAL")
    except BaseException:
        connection.close()
        raise
    return connection


def wal_of(path: Path) -> Path:
    """Return the file beside a SQLite store that has what was written last."""
    return path.with_name(f"{path.name}-wal")


def has_wal(path: Path) -> bool:
    """Return whether the WAL of a SQLite store holds anything."""
    with suppress(OSError):
        return wal_of(path).stat().st_size > 0
    return False


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def _make_private(path: Path) -> None:
    """Make the file of a store, which its owner alone may read; SQLite makes those beside it alike.

    One that is empty is taken for one that was left behind. Another keeps its permissions, and none
    that is there is opened: to close it would give up all locks that other threads of the process
    have of it.
    """
    if path.is_symlink():
        raise StoreError(
            f"{path}: found a link, expected the name of a new file: name what it leads to"
        )
    # SQLite says what else is wrong
    with suppress(OSError):
        if path.exists() and not path.stat().st_size:
            path.chmod(0o600)
        os.close(os.open(path, _NEW_FILE, 0o600))


def _check_file(path: Path, create: bool) -> None:
    hidden = masked(str(path))
    if hidden != str(path) and not path.exists():
        # a URL that lacks something, or settings of a connection; a file may have such a name
        raise StoreError(f"{hidden}: found a password in a path, expected {EXPECTED}")
    if path.is_dir():
        raise StoreError(f"{path}: found a folder, expected the file of a store: name a file in it")
    if create and not path.absolute().parent.is_dir():
        raise StoreError(f"{path}: found no folder {path.parent}, expected one: make it first")
    if not create and not path.exists():
        raise NoStoreError(f"{path}: found no such file")
    # A pipe would be waited for, and a few bytes are an empty store to SQLite, which writes over
    # it. What else is no database SQLite finds itself. It is not read here: whoever closes a file
    # gives up all locks that other threads of the process have of it.
    with suppress(OSError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or 0 < status.st_size < _LEAST:
            raise StoreError(f"{path}: {_NOT_OURS}")


def _to_server(url: SplitResult) -> Connect:
    shown = masked(url.geturl())
    if url.scheme not in {"postgresql", "postgresql+psycopg"}:
        raise StoreError(f"{shown}: found {url.scheme}, expected {EXPECTED}")
    if find_spec("psycopg") is None:
        raise StoreError(f"{shown}: {missing('psycopg')}")
    import psycopg  # an extra

    address = f"postgresql{url.geturl().removeprefix(url.scheme)}"

    def connect(_: Access) -> Any:  # noqa: ANN401  # psycopg is an extra
        # whatever the environment says: hotkeys are Unicode
        return psycopg.connect(address, client_encoding="utf8")

    return connect


@contextmanager
def explained_for(where: str) -> Iterator[None]:
    """Raise a `StoreError` that names the store for each error of the database inside.

    Args:
        where: the store, as it may be shown.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        # what SQLite says of a schema that is damaged quotes it
        raise DamagedError(f"{where}: {_DAMAGED}") from error
    except Exception as error:
        psycopg = sys.modules.get("psycopg")
        of_psycopg = psycopg is not None and isinstance(error, psycopg.Error)
        if not of_psycopg and not isinstance(error, sqlite3.Error):
            raise
        message = _template(error).format(timeout=TIMEOUT, reason=masked(_first_line(str(error))))
        # a traceback would show what the driver says
        cause = error if masked(str(error)) == str(error) else None
        kind = DamagedError if message.startswith(_DAMAGED) else StoreError
        raise kind(f"{where}: {message}") from cause


def _template(error: BaseException) -> str:
    # a store has each of its tables, unless its file was emptied under whoever has it open
    if str(error).startswith((_NO_TEXT, f"no such table: {PREFIX}")):
        return _DAMAGED
    is_sqlite = isinstance(error, sqlite3.Error)
    name = getattr(error, "sqlite_errorname" if is_sqlite else "sqlstate", None)
    if name is None:
        # psycopg leaves it out when it never reached a server, or lost it
        return _OTHER if is_sqlite else _LOST
    return next((text for code, text in _MESSAGES.items() if name.startswith(code)), _OTHER)


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else "no reason given"


def marks(values: Sequence[object]) -> str:
    """Return a mark in a statement for each value that it is given."""
    return ", ".join("?" * len(values))


def pages(values: Iterable[_Value]) -> Iterator[tuple[_Value, ...]]:
    """Yield values in their order, so many at a time as one statement takes."""
    remaining = iter(values)
    return iter(lambda: tuple(islice(remaining, MAX_VALUES)), ())
