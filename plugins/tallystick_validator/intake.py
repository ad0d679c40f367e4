"""The intake: records of this validator, durable before they are answered.

`Intake` is a SQLite file of its own in the folder of the daemon. The lines that `Intake.take` gets
are written in transactions, and answered once these are durable. Invariants:

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
import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

import attrs

from tallystick.io.paths import PathLike
from tallystick.io.text import json_text
from tallystick.records.rejects import Reject
from tallystick_chain.owned_file import OwnedFile
from tallystick_validator.admission import CONFLICT, FULL, Admission, Admitted
from tallystick_validator.batches import MAX_LINES, MAX_LINES_BYTES

MAX_WAITING_BYTES = 1 << 30
"""Maximum size of all records that are not closed, in bytes, by default."""
KEPT_EPOCHS = 64
"""Epochs for which the digests of closed records are kept."""

Status = Literal["recorded", "duplicate", "rejected"]


@attrs.frozen
class Answer:
    """The answer to one line, once it is durable.

    Attributes:
        line: its number in what was sent, from 1.
        status: ``recorded``; ``duplicate`` of one that was recorded before; or ``rejected``.
        code: why it is rejected: a code of the engine, or of `tallystick_validator.admission`.
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
    """

    waiting: int
    batched: int
    bytes: int


class Intake(OwnedFile):
    """The durable records of one validator, and their batches: an `OwnedFile`.

    Every method may be called from any thread, one at a time, and waits for the disk.
    """

    NAME, APPLICATION, VERSION = "intake", 0x7A11_1A7E, 3
    TABLES = (
        """CREATE TABLE record (
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
)""",
        "CREATE INDEX record_batch ON record (batch, closed)",
        "CREATE INDEX record_closed ON record (closed)",
        "CREATE TABLE batch (epoch INTEGER PRIMARY KEY, settled INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    )
    LOST = "move it away, and send the records of the open epochs again"

    def __init__(
        self,
        path: PathLike,
        admission: Admission,
        *,
        waiting_bytes: int = MAX_WAITING_BYTES,
        batch_bytes: int = MAX_LINES_BYTES,
        rejected: Callable[[str], None] | None = None,
    ) -> None:
        """Open the file, or begin it; see `OwnedFile`.

        Args:
            path: the file.
            admission: the judge of lines; it may be replaced at any time.
            waiting_bytes: the most that may wait.
            batch_bytes: the most that a batch may have; the rest waits for the next one.
            rejected: told the code of each line that is rejected.
        """
        self.admission, self._rejected = admission, rejected
        self._waiting_bytes, self._batch_bytes = waiting_bytes, batch_bytes
        super().__init__(path, admission.network, admission.validator)

    def take(self, lines: Sequence[bytes], first: int = 1) -> list[Answer]:
        """Take lines in one transaction; return an answer to each, in order, once they are durable.

        Args:
            lines: records and late events, without their ends.
            first: the number of the first line.

        Raises:
            StoreError: the file is closed, or cannot be written; nothing is taken then.
        """
        with self._transaction():
            answers = [self._answer(line, number) for number, line in enumerate(lines, first)]
        for answer in answers:
            if answer.code and self._rejected is not None:
                self._rejected(answer.code)
        return answers

    def freeze(self, epoch: int) -> tuple[bytes, ...]:
        """Fill the batch of an epoch with what waits of it and of earlier ones, once for ever.

        Returns:
            Its lines, as `lines`.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._transaction():
            if self._changed("INSERT OR IGNORE INTO batch (epoch) VALUES (?)", epoch):
                # those that wait longest come first, where not all of them fit
                self._changed(
                    "UPDATE record SET batch = ? WHERE seq IN (SELECT seq FROM ("
                    "SELECT seq, sum(size) OVER (ORDER BY seq) AS total FROM record "
                    "WHERE batch IS NULL AND closed IS NULL AND epoch <= ? ORDER BY seq LIMIT ?) "
                    "WHERE total <= ?)",
                    *(epoch, epoch, MAX_LINES, self._batch_bytes),
                )
        return self.lines(epoch)

    def lines(self, epoch: int) -> tuple[bytes, ...]:
        """Return the lines of the batch of an epoch by their digests; none once it is settled.

        Raises:
            StoreError: the file cannot be read.
        """
        select = (
            "SELECT digest, CAST(line AS BLOB), hash FROM record "
            "WHERE batch = ? AND closed IS NULL ORDER BY digest"
        )
        lines = list[bytes]()
        with self._transaction():
            for digest, line, written in self._db.execute(select, (epoch,)):
                if _hash(line) != written:
                    raise self._damaged(f"the record {digest.hex()} is not as it was written")
                lines.append(line)
        return tuple(lines)

    def identities(self, epoch: int) -> tuple[bytes, ...]:
        """Return the identities of the records of the batch of an epoch; none once it is settled.

        Raises:
            StoreError: the file cannot be read.
        """
        select = "SELECT identity FROM record WHERE batch = ? AND closed IS NULL"
        return tuple(identity for (identity,) in self._rows(select, epoch))

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
        with self._transaction():
            select = "SELECT settled FROM batch WHERE epoch = ?"
            if self._db.execute(select, (epoch,)).fetchone() == (1,):
                return
            close = (
                "UPDATE record SET closed = batch, line = NULL "
                "WHERE identity = ? AND batch = ? AND closed IS NULL"
            )
            self._db.executemany(close, ((identity, epoch) for identity in held))
            others = "DELETE FROM record" if lets_go else "UPDATE record SET batch = NULL"
            self._changed(f"{others} WHERE batch = ? AND closed IS NULL", epoch)
            self._changed("INSERT OR REPLACE INTO batch (epoch, settled) VALUES (?, 1)", epoch)
            self._changed("DELETE FROM record WHERE closed < ?", epoch - KEPT_EPOCHS)
            self._changed("DELETE FROM batch WHERE epoch < ?", epoch - KEPT_EPOCHS)
            self._load(self._db)

    def newest_settled(self) -> int | None:
        """Return the newest epoch whose batch is settled; None without one.

        Raises:
            StoreError: the file cannot be read.
        """
        ((newest,),) = self._rows("SELECT max(epoch) FROM batch WHERE settled")
        return None if newest is None else int(newest)

    def unsettled(self, before: int) -> tuple[int, ...]:
        """Return the epochs before another one whose batches are not settled, ascending.

        Raises:
            StoreError: the file cannot be read.
        """
        select = "SELECT epoch FROM batch WHERE NOT settled AND epoch < ? ORDER BY epoch"
        return tuple(epoch for (epoch,) in self._rows(select, before))

    def counts(self) -> IntakeCounts:
        """Return how much the intake has.

        Raises:
            StoreError: the file cannot be read.
        """
        ((waiting, batched),) = self._rows(
            "SELECT count(*) FILTER (WHERE batch IS NULL), count(batch) FROM record "
            "WHERE closed IS NULL"
        )
        return IntakeCounts(waiting, batched, self._bytes)

    def note(self, name: str, value: str) -> None:
        """Keep a note, in place of an earlier one of the name.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._transaction():
            self._changed("INSERT OR REPLACE INTO note VALUES (?, ?)", name, value)

    def noted(self, name: str) -> str | None:
        """Return the note of a name; None without one.

        Raises:
            StoreError: the file cannot be read.
        """
        rows = self._rows("SELECT value FROM note WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def _rows(self, select: str, *values: object) -> list[tuple[Any, ...]]:
        with self._transaction():
            return self._db.execute(select, values).fetchall()

    def _changed(self, statement: str, *values: object) -> int:
        """Return how many rows a statement has changed, within a transaction."""
        return self._db.execute(statement, values).rowcount

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

    def _load(self, database: sqlite3.Connection) -> None:
        select = "SELECT coalesce(sum(size), 0) FROM record WHERE closed IS NULL"
        (self._bytes,) = database.execute(select).fetchone()


def _hash(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()
