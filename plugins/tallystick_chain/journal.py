"""The journal of submissions: an SQLite table with a row for each attempt.

Beside each attempt stands its SHA-256: SQLite sees damage of its pages, and not a digit that a disk
has changed. An attempt is on the disk when `Journal.write` returns.
"""

from __future__ import annotations

import hashlib
import sqlite3

import msgspec

from tallystick_chain.owned_file import OwnedFile
from tallystick_chain.submission import Attempt

_DECODER = msgspec.json.Decoder(Attempt)


class Journal(OwnedFile):
    """A journal that is open: an `OwnedFile` of attempts."""

    NAME, APPLICATION, VERSION = "journal", 0x7A11_1C0A, 4
    TABLES = (
        "CREATE TABLE attempt (epoch INT, number INT, data, sha256, PRIMARY KEY (epoch, number))",
    )
    LOST = (
        "restore a copy of the file; without one, wait until no call of it can land, and begin "
        "another"
    )

    _attempts: dict[tuple[int, int], Attempt]

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts, by epoch and number."""
        with self._transaction():
            return tuple(self._attempts.values())

    def write(self, attempt: Attempt) -> None:
        """Write an attempt, a new one or the newest of an epoch with what came of it.

        Raises:
            StoreError: it cannot be written, as on a full disk; try again later.
        """
        data = msgspec.json.encode(attempt)
        with self._transaction() as database:
            row = (attempt.epoch, attempt.number, data, hashlib.sha256(data).digest())
            database.execute("INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?)", row)
            self._attempts[attempt.epoch, attempt.number] = attempt

    def _load(self, database: sqlite3.Connection) -> None:
        self._attempts = {}
        rows = database.execute("SELECT * FROM attempt ORDER BY epoch, number")
        try:
            for epoch, number, data, sha256 in rows:
                attempt = _DECODER.decode(data)
                is_it = (attempt.epoch, attempt.number) == (epoch, number)
                if not is_it or hashlib.sha256(data).digest() != sha256:
                    raise self._damaged(f"the attempt {number} of epoch {epoch} is another one")
                if number > 1 and (epoch, number - 1) not in self._attempts:
                    raise self._damaged(f"it has no attempt {number - 1} of epoch {epoch}")
                self._attempts[epoch, number] = attempt
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise self._damaged(str(error)) from error
