"""The intake: records of this validator, durable before they are answered.

`Intake` is a SQLite file of its own in the folder of the daemon, with one writer thread. Lines come
from any thread by `Intake.take`; many are written in one transaction and answered when it is
durable. Invariants:

- a line that was answered ``recorded`` is in the file, whatever is killed afterwards;
- a record is kept once, by the digest that the state knows it by; the same again is ``duplicate``,
  also where it leaves out its round and comes in a later one;
- a record is in at most one batch that is not settled, and a batch is filled once for ever;
- a record is let go once the state has it, or has refused it: what the state holds decides;
- what waits is bounded: beyond the limit lines are refused with ``intake-full``, and nothing that
  was answered is lost.

A record waits, is in the batch of an epoch, and is closed with it or waits for the next batch. Of
closed ones the digest alone is kept, for some epochs; whoever sends an older one again finds that
the state knows it.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import attrs

from tallystick.errors import InputError, StoreError
from tallystick.io.text import json_text
from tallystick.records.rejects import Reject
from tallystick_validator.admission import CONFLICT, FULL, Admission, Admitted

MAX_WAITING_BYTES = 1 << 30
"""Maximum size of all records that are not closed, in bytes, by default."""
MAX_BATCH_BYTES, MAX_BATCH_LINES = 32 << 20, 100_000
"""Maximum size of a batch, in bytes with the ends of lines, and in lines; the rest waits for the
next one."""
KEPT_EPOCHS = 64
"""Epochs for which the digests of closed records are kept."""

Status = Literal["recorded", "duplicate", "rejected"]

_APPLICATION_ID = 0x7A11_1A7E
_VERSION = 2
_NETWORK_FILE = "network file"
_NOTE = "note "
_MOST_LINES = 4096
"""Maximum number of lines of one transaction, so that the first does not wait long."""
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_Result = TypeVar("_Result")
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE record (
    seq INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    identity BLOB NOT NULL UNIQUE,
    sent BLOB UNIQUE,
    epoch INTEGER NOT NULL,
    size INTEGER NOT NULL,
    line BLOB,
    hash BLOB NOT NULL,
    batch INTEGER,
    closed INTEGER
);
CREATE INDEX record_batch ON record (batch, closed);
CREATE INDEX record_closed ON record (closed);
CREATE TABLE batch (
    epoch INTEGER PRIMARY KEY,
    settled INTEGER NOT NULL DEFAULT 0
);
"""


@attrs.frozen
class Answer:
    """The answer to one line, once it is durable.

    Attributes:
        line: its number in what was sent, from 1.
        status: ``recorded``; ``duplicate`` of one that was recorded before; or ``rejected``.
        code: why it is rejected: a code of the engine, or of `admission.CODES`.
        path: the field that is wrong; empty for the record as a whole.
        value: what was found there.
        expected: what was expected.
    """

    line: int
    status: Status
    code: str = ""
    path: str = ""
    value: str = ""
    expected: str = ""

    @classmethod
    def of(cls, reject: Reject) -> Answer:
        """Return the answer to a line that is rejected."""
        why = reject.code, reject.path, reject.value, reject.expected
        return cls(reject.line, "rejected", *why)

    def to_json(self) -> bytes:
        """Return the line of JSON, with its end."""
        value: dict[str, Any] = {"line": self.line, "status": self.status}
        if self.status == "rejected":
            value |= {"code": self.code, "path": self.path, "value": self.value}
            value["expected"] = self.expected
        return json_text(value).encode() + b"\n"


@attrs.frozen
class IntakeCounts:
    """The contents of an intake.

    Attributes:
        waiting: the number of records in no batch.
        batched: the number of records in batches that are not settled.
        bytes: the size of both.
        oldest_epoch: the oldest epoch that a waiting record names; None without one.
    """

    waiting: int
    batched: int
    bytes: int
    oldest_epoch: int | None


@attrs.frozen
class _Lines:
    """Lines to be taken, and where their answers go."""

    lines: Sequence[bytes]
    first: int
    answers: Future[list[Answer]]


@attrs.frozen
class _Call:
    """Another piece of work of the writer."""

    work: Callable[[], Any]
    outcome: Future[Any]


class Intake:
    """The durable records of one validator, and their batches.

    Every method may be called from any thread; the work is done in one of its own.
    """

    def __init__(  # noqa: PLR0913  # limits, and whose file it is
        self,
        path: Path,
        admission: Admission,
        *,
        network: str = "",
        network_file: str = "",
        waiting_bytes: int = MAX_WAITING_BYTES,
        batch_bytes: int = MAX_BATCH_BYTES,
        rejected: Callable[[str], None] | None = None,
    ) -> None:
        """Open the file, or begin it.

        Args:
            path: the file.
            admission: the judge of lines; it may be replaced at any time.
            network: the name of the network, by which the file of another one is refused.
            network_file: the digest of the network file, by which another content is refused;
                empty: it is not compared.
            waiting_bytes: the most that may wait.
            batch_bytes: the most that a batch may have.
            rejected: told the code of each line that is rejected.

        Raises:
            InputError: the file is of another validator, network or network file.
            StoreError: it cannot be used, or is damaged.
        """
        self.path, self.admission = path, admission
        self._waiting_bytes, self._batch_bytes = waiting_bytes, batch_bytes
        self._rejected = rejected
        self._work: queue.SimpleQueue[_Lines | _Call | None] = queue.SimpleQueue()
        self._closed = False
        with self._errors():
            self._db = _opened(path)
        try:
            self._begin({"validator": admission.validator, "network": network})
            self._check_network_file(network_file)
        except BaseException:
            self._db.close()
            raise
        self._bytes = self._size()
        self._writer = threading.Thread(target=self._write_all, name="intake", daemon=True)
        self._writer.start()

    def take(self, lines: Sequence[bytes], first: int = 1) -> Future[list[Answer]]:
        """Take lines; the future has an answer to each, in order, once all of them are durable.

        Args:
            lines: records and late events, without their ends.
            first: the number of the first line.

        Raises:
            StoreError: by the future: the file cannot be written; or at once: it is closed.
        """
        item = _Lines(lines, first, Future())
        # who no longer waits for the answers cancels nothing: the lines are taken
        item.answers.set_running_or_notify_cancel()
        self._put(item)
        return item.answers

    def freeze(self, epoch: int) -> None:
        """Fill the batch of an epoch with what waits of it and of earlier ones, once for ever.

        Raises:
            StoreError: the file cannot be written.
        """
        self._call(lambda: self._freeze(epoch))

    def lines(self, epoch: int) -> tuple[bytes, ...]:
        """Return the lines of the batch of an epoch by their digests; none once it is settled.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._call(lambda: self._lines(epoch))

    def identities(self, epoch: int) -> tuple[bytes, ...]:
        """Return the identities of the records of the batch of an epoch; none once it is settled.

        Raises:
            StoreError: the file cannot be read.
        """
        select = "SELECT identity FROM record WHERE batch = ? AND closed IS NULL"
        rows = self._call(lambda: self._db.execute(select, (epoch,)).fetchall())
        return tuple(identity for (identity,) in rows)

    def settle(self, epoch: int, held: Collection[bytes], *, lets_go: bool = False) -> None:
        """End the batch of an epoch: its records are closed, or wait for the next batch.

        Once it is settled, the same again changes nothing.

        Args:
            epoch: of the batch.
            held: the identities of the records that the state has; these are closed.
            lets_go: whether the state has judged the others, so that they can be sent again; else
                they wait.

        Raises:
            StoreError: the file cannot be written.
        """
        self._call(lambda: self._settle(epoch, held, lets_go))

    def newest_settled(self) -> int | None:
        """Return the newest epoch whose batch is settled; None without one.

        Raises:
            StoreError: the file cannot be read.
        """
        select = "SELECT max(epoch) FROM batch WHERE settled"
        newest: int | None = self._call(lambda: self._db.execute(select).fetchone()[0])
        return newest

    def unsettled(self, before: int) -> tuple[int, ...]:
        """Return the epochs before another one whose batches are not settled, ascending.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._call(lambda: self._unsettled(before))

    def counts(self) -> IntakeCounts:
        """Return how much the intake has.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._call(self._counts)

    def note(self, name: str, value: str) -> None:
        """Keep a note, in place of an earlier one of the name.

        Raises:
            StoreError: the file cannot be written.
        """
        insert = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
        self._call(lambda: self._db.execute(insert, (_NOTE + name, value)))

    def noted(self, name: str) -> str | None:
        """Return the note of a name; None without one.

        Raises:
            StoreError: the file cannot be read.
        """
        select = "SELECT value FROM meta WHERE name = ?"
        row = self._call(lambda: self._db.execute(select, (_NOTE + name,)).fetchone())
        return None if row is None else str(row[0])

    def close(self) -> None:
        """Answer what was given, and close the file."""
        if not self._closed:
            self._closed = True
            self._work.put(None)
        self._writer.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, work: Callable[[], _Result]) -> _Result:
        item = _Call(work, Future())
        self._put(item)
        result: _Result = item.outcome.result()
        return result

    def _put(self, item: _Lines | _Call) -> None:
        if self._closed:
            raise StoreError(f"{self.path}: found an intake that is closed, expected an open one")
        self._work.put(item)

    def _write_all(self) -> None:
        """Do the work in the order in which it came, until the end of it."""
        item = self._work.get()
        while item is not None:
            if isinstance(item, _Call):
                self._do(item)
                item = self._work.get()
            else:
                item = self._take_many(item)
        self._db.close()

    def _do(self, call: _Call) -> None:
        try:
            with self._transaction():
                result = call.work()
        except BaseException as error:  # noqa: BLE001  # whoever called gets it
            self._bytes = self._size_or(self._bytes)
            call.outcome.set_exception(error)
        else:
            call.outcome.set_result(result)

    def _take_many(self, first: _Lines) -> _Lines | _Call | None:
        """Write lines of several senders in one transaction; give the work that comes after."""
        items, lines = [first], len(first.lines)
        # looked for only once these are written
        following: _Lines | _Call | None = _NOTHING
        while following is _NOTHING and lines < _MOST_LINES and not self._work.empty():
            following = self._work.get()
            if isinstance(following, _Lines):
                items.append(following)
                lines += len(following.lines)
                following = _NOTHING
        self._write(items)
        return self._work.get() if following is _NOTHING else following

    def _write(self, items: Sequence[_Lines]) -> None:
        try:
            with self._transaction():
                answers = [self._answers(item) for item in items]
        except BaseException as error:  # noqa: BLE001  # whoever sent them gets it
            self._bytes = self._size_or(self._bytes)
            for item in items:
                item.answers.set_exception(error)
            return
        for item, answer in zip(items, answers, strict=True):
            item.answers.set_result(answer)
            for each in answer:
                if each.code and self._rejected is not None:
                    self._rejected(each.code)

    def _answers(self, item: _Lines) -> list[Answer]:
        numbered = enumerate(item.lines, item.first)
        return [self._answer(line, number) for number, line in numbered]

    def _answer(self, line: bytes, number: int) -> Answer:
        admitted = self.admission.judge(line, number)
        if isinstance(admitted, Reject):
            return Answer.of(admitted)
        select = "SELECT digest, sent FROM record WHERE digest = ? OR identity = ? OR sent = ?"
        keys = admitted.digest, admitted.identity, admitted.sent
        rows = self._db.execute(select, keys).fetchall()
        is_sent = admitted.sent is not None and any(row[1] == admitted.sent for row in rows)
        if is_sent or any(row[0] == admitted.digest for row in rows):
            return Answer(number, "duplicate")
        if rows:
            value = f"sha256:{admitted.digest.hex()}"
            expected = f"sha256:{rows[0][0].hex()}, which was taken before, or a new task"
            return Answer(number, "rejected", CONFLICT, "", value, expected)
        size = len(admitted.line) + 1
        if self._bytes + size > self._waiting_bytes:
            expected = f"at most {self._waiting_bytes}: send it again once epochs are closed"
            return Answer(number, "rejected", FULL, "", f"{self._bytes + size} bytes", expected)
        self._insert(admitted, size)
        return Answer(number, "recorded")

    def _insert(self, record: Admitted, size: int) -> None:
        self._db.execute(
            "INSERT INTO record (digest, identity, sent, epoch, size, line, hash) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(record.digest, record.identity, record.sent),
                *(record.epoch, size, record.line, _hash(record.line)),
            ),
        )
        self._bytes += size

    def _freeze(self, epoch: int) -> None:
        cursor = self._db.execute("INSERT OR IGNORE INTO batch (epoch) VALUES (?)", (epoch,))
        if not cursor.rowcount:
            return
        # those that wait longest come first, where not all of them fit
        self._db.execute(
            "UPDATE record SET batch = ? WHERE seq IN (SELECT seq FROM ("
            "SELECT seq, sum(size) OVER (ORDER BY seq) AS total FROM record "
            "WHERE batch IS NULL AND closed IS NULL AND epoch <= ? ORDER BY seq LIMIT ?) "
            "WHERE total <= ?)",
            (epoch, epoch, MAX_BATCH_LINES, self._batch_bytes),
        )

    def _lines(self, epoch: int) -> tuple[bytes, ...]:
        select = (
            "SELECT digest, CAST(line AS BLOB), hash FROM record "
            "WHERE batch = ? AND closed IS NULL ORDER BY digest"
        )
        lines = list[bytes]()
        for digest, line, written in self._db.execute(select, (epoch,)):
            if _hash(line) != written:
                raise self._damaged(f"the record {digest.hex()} is not as it was written")
            lines.append(line)
        return tuple(lines)

    def _settle(self, epoch: int, held: Collection[bytes], lets_go: bool) -> None:
        select = "SELECT settled FROM batch WHERE epoch = ?"
        if self._db.execute(select, (epoch,)).fetchone() == (1,):
            return
        close = (
            "UPDATE record SET closed = batch, line = NULL "
            "WHERE identity = ? AND batch = ? AND closed IS NULL"
        )
        self._db.executemany(close, ((identity, epoch) for identity in held))
        others = "DELETE FROM record" if lets_go else "UPDATE record SET batch = NULL"
        self._db.execute(f"{others} WHERE batch = ? AND closed IS NULL", (epoch,))
        self._db.execute("INSERT OR REPLACE INTO batch (epoch, settled) VALUES (?, 1)", (epoch,))
        for table, column in (("record", "closed"), ("batch", "epoch")):
            old = f"DELETE FROM {table} WHERE {column} < ?"  # noqa: S608  # as above
            self._db.execute(old, (epoch - KEPT_EPOCHS,))
        self._bytes = self._size()

    def _unsettled(self, before: int) -> tuple[int, ...]:
        select = "SELECT epoch FROM batch WHERE NOT settled AND epoch < ? ORDER BY epoch"
        return tuple(epoch for (epoch,) in self._db.execute(select, (before,)))

    def _counts(self) -> IntakeCounts:
        waiting, batched, oldest = self._db.execute(
            "SELECT count(*) FILTER (WHERE batch IS NULL), count(batch), "
            "min(epoch) FILTER (WHERE batch IS NULL) FROM record WHERE closed IS NULL"
        ).fetchone()
        return IntakeCounts(waiting, batched, self._bytes, oldest)

    def _size(self) -> int:
        with self._errors():
            select = "SELECT coalesce(sum(size), 0) FROM record WHERE closed IS NULL"
            total: int = self._db.execute(select).fetchone()[0]
            return total

    def _size_or(self, before: int) -> int:
        """Return the size after a transaction was undone; as before where it cannot be read."""
        with suppress(StoreError):
            return self._size()
        return before

    def _begin(self, owner: Mapping[str, str]) -> None:
        """Make the tables of a new file; refuse one of somebody else.

        Raises:
            InputError: it is of another validator or network, or no intake.
            StoreError: it is damaged, or of a newer version.
        """
        with self._errors():
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            application = self._db.execute("PRAGMA application_id").fetchone()[0]
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and application != _APPLICATION_ID:
            raise InputError(f"{self.path}: found another database, expected an intake")
        with self._errors():
            # a transaction is on the disk once it is committed
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
        if not tables:
            with self._transaction():
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._db.execute(statement)
                self._db.executemany("INSERT INTO meta VALUES (?, ?)", owner.items())
                self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
            return
        if version != _VERSION:
            raise StoreError(
                f"{self.path}: found an intake of version {version}, expected {_VERSION}: use the "
                "tallystick that wrote it"
            )
        with self._errors():
            problem = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            known = dict(self._db.execute("SELECT name, value FROM meta"))
        if problem != "ok":
            raise self._damaged(problem)
        for name, value in owner.items():
            if known.get(name) != value:
                raise InputError(
                    f"{self.path}: found the intake of the {name} {json.dumps(known.get(name))}, "
                    f"expected that of {json.dumps(value)}: give each validator a folder of its own"
                )

    def _check_network_file(self, digest: str) -> None:
        """Keep the digest of the network file of the first start; refuse another one.

        Blocks and rounds of epochs are as the network file says: with another one, epochs would be
        closed at once that nobody else closes.

        Raises:
            InputError: it is another one.
            StoreError: the file cannot be used.
        """
        if not digest:
            return
        with self._transaction():
            insert = "INSERT OR IGNORE INTO meta VALUES (?, ?)"
            self._db.execute(insert, (_NETWORK_FILE, digest))
            select = "SELECT value FROM meta WHERE name = ?"
            (begun,) = self._db.execute(select, (_NETWORK_FILE,)).fetchone()
        if begun != digest:
            raise InputError(
                f"{self.path}: found a folder that was begun with the network file {begun}, "
                f"expected the file in use, {digest}: put back the network file, or begin with "
                "another folder"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith(_DAMAGE):
                raise self._damaged(str(error)) from error
            raise StoreError(
                f"{self.path}: the intake cannot be used ({error}): look at the disk and at the "
                "rights of the folder"
            ) from error

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(
            f"{self.path}: found an intake that is damaged ({reason}), expected what tallystick "
            "wrote: move it away, and send the records of the open epochs again"
        )


def _hash(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


_NOTHING = _Call(lambda: None, Future())
"""Mark of no work."""


def _opened(path: Path) -> sqlite3.Connection:
    """Return a connection to a file, which is made for its owner alone."""
    # nobody else reads what a validator has seen before it is published
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
