"""An index of published rows by names, on the disk, however many they are."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Iterator, Sequence

from tallystick_state.audit.published import PublishedRow


class RowIndex:
    """Rows by a key of several texts; each is taken once."""

    def __init__(self) -> None:
        """Make it in a temporary file, which goes with the connection."""
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute(
            "CREATE TABLE rows (key TEXT PRIMARY KEY, line INTEGER, row BLOB, record INTEGER)"
        )
        self._connection.execute("BEGIN")

    def add(self, key: Sequence[str], row: PublishedRow) -> bool:
        """Keep a row; False where another has its key."""
        values = (json.dumps(key), row.line, pickle.dumps(row))
        done = self._connection.execute(
            "INSERT OR IGNORE INTO rows (key, line, row) VALUES (?, ?, ?)", values
        )
        return done.rowcount == 1

    def take(self, key: Sequence[str], record: int) -> tuple[PublishedRow | None, int]:
        """The row of a key, and the first record that asked for it; None where there is none."""
        name = json.dumps(key)
        found = self._connection.execute("SELECT row, record FROM rows WHERE key = ?", (name,))
        row, first = found.fetchone() or (None, record)
        if row is None:
            return None, record
        if first is None:
            self._connection.execute("UPDATE rows SET record = ? WHERE key = ?", (record, name))
        return _row(row), record if first is None else first

    def left(self) -> Iterator[PublishedRow]:
        """The rows that nobody took, in the order of the file."""
        found = self._connection.execute("SELECT row FROM rows WHERE record IS NULL ORDER BY line")
        return (_row(row) for (row,) in found)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def _row(data: bytes) -> PublishedRow:
    found: PublishedRow = pickle.loads(data)  # noqa: S301  # of the run's own making
    return found
