"""A simulated chain that the processes of a machine share by one SQLite file.

The file holds the text that the chain began with, the inputs since (calls, registrations and what
else is done in a subnet) with the block that was built at each, and the newest block. The chain is
a function of these: each process folds them into a `SimulatedChain` of its own. Every look is a
transaction, and so is every input; one that does not end has not happened.

Blocks follow the clock as long as somebody looks: a chain that nobody asked for a while goes on
where it was, a few blocks later. Where the block time is 0, `SharedChain.advance` makes them alone.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tallystick.errors import InputError
from tallystick.io.text import visible
from tallystick_chain.chain import ChainError, Refusal
from tallystick_chain.simulated.document import SimulationFile
from tallystick_chain.simulated.model import Block, LogEntry
from tallystick_chain.simulated.simulation import HotkeyView, SimulatedChain
from tallystick_state.trust.keys import Signer

SUFFIX = ".db"
"""End of the name of the SQLite file, behind the name of the file that the chain begins with."""
BLOCKS_AT_ONCE = 50
"""Maximum number of blocks that the clock makes at one look."""
WAIT_SECONDS = 10.0
"""Longest wait for another process's transaction, in seconds."""
_APPLICATION = 0x74616C31
"""Application id of the SQLite files of this format: ``tal1``."""
_ANEW = "move the SQLite file away, and the chain begins anew"
_FORK = "fork"
"""Name of the input that is no rule of a subnet."""
_SCHEMA = (
    f"PRAGMA application_id = {_APPLICATION}",
    "CREATE TABLE chain (document TEXT, began_ns INTEGER, newest INTEGER, made_ns INTEGER)",
    "CREATE TABLE input (number INTEGER PRIMARY KEY, block INTEGER, name TEXT, arguments BLOB)",
)


class SharedChain:
    """The chain of a file; it begins where nobody has begun it yet.

    Args:
        path: the file that it begins with; the SQLite file stands beside it, by the name with
            `SUFFIX`. Links are followed, so that all come to the same one.

    Attributes:
        path: the file that it begins with.
        file: the SQLite file.

    Raises:
        InputError: a file cannot be read, or is none of its kind.
        ChainError: another process does not end its transaction.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.file = self.path.with_name(f"{self.path.name}{SUFFIX}")
        self._content = SimulationFile.load(self.path)
        self._document = json.dumps(self._content.source.data, default=str, sort_keys=True)
        self._lock = threading.RLock()
        # before there is a file: it may be no chain
        begun = self._content.begin()
        self._chain: SimulatedChain | None = begun
        self._began_ns: int | None = None
        self._folded = 0
        with self._transaction("rwc") as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if not application and not tables:
                now_ns = time.time_ns()
                for statement in _SCHEMA:
                    database.execute(statement)
                row = self._document, now_ns, begun.best, now_ns
                database.execute("INSERT INTO chain VALUES (?, ?, ?, ?)", row)
            elif application != _APPLICATION:
                raise InputError(
                    f"{self.file}: found a database of another kind, expected a simulated chain of "
                    f"this version: {_ANEW}"
                )

    def now(self) -> SimulatedChain:
        """Return the chain at this moment, to be read; blocks that are due are made.

        Raises:
            ChainError: the file is gone, or another process does not end its transaction.
            InputError: the file is damaged.
        """
        with self._current() as (_, chain):
            return chain

    def do(self, name: str, netuid: int, **arguments: Any) -> Block:  # noqa: ANN401  # of any rule
        """Apply a rule as `SimulatedChain.do`, and return the block with it.

        Raises:
            ChainError: there is no such rule or subnet, the rule refuses, or as `now`; nothing has
                happened then.
            InputError: the file is damaged.
        """
        block: Block = self._put(name, {"netuid": netuid, **arguments})
        return block

    def fork(self, depth: int) -> tuple[LogEntry, ...]:
        """Take the newest blocks back, as `SimulatedChain.fork`, and return what was in them.

        Raises:
            ChainError: one of them is finalized, or as `now`; nothing has happened then.
            InputError: the file is damaged.
        """
        lost: tuple[LogEntry, ...] = self._put(_FORK, {"depth": depth})
        return lost

    def _put(self, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # of the input
        """Let an input happen, and keep it; give what comes of it."""
        with self._current() as (database, chain):
            block = chain.building
            value = _happen(chain, name, arguments)
            row = block, name, msgspec.msgpack.encode(arguments)
            insert = "INSERT INTO input (block, name, arguments) VALUES (?, ?, ?)"
            self._folded = database.execute(insert, row).lastrowid or 0
            return value

    def advance(self, blocks: int = 1) -> int:
        """Make blocks, and return the newest.

        Raises:
            ChainError: as `now`.
            InputError: the file is damaged.
        """
        with self._current() as (_, chain):
            return chain.advance(blocks)

    def as_hotkey(self, key: str | Signer) -> HotkeyView:
        """Return the chain as the validator of a hotkey sees it.

        Args:
            key: its hotkey, or its key of sr25519.
        """
        return HotkeyView(self, key)

    @contextmanager
    def _current(self) -> Iterator[tuple[sqlite3.Connection, SimulatedChain]]:
        """Give the chain as the file has it, in a transaction that keeps its newest block."""
        with self._lock:
            try:
                with self._transaction("rw") as database:
                    chain, kept = self._caught_up(database)
                    yield database, chain
                    if chain.best != kept:
                        database.execute("UPDATE chain SET newest = ?", (chain.best,))
            except BaseException:
                # it may be ahead of the file: the next look folds the file anew
                self._chain = None
                raise

    def _caught_up(self, database: sqlite3.Connection) -> tuple[SimulatedChain, int]:
        """Return the chain at this moment, and the newest block that the file has."""
        select = "SELECT document, began_ns, newest, made_ns FROM chain"
        document, began_ns, newest, made_ns = database.execute(select).fetchone()
        if document != self._document:
            raise InputError(
                f"{self.path}: found other values than the chain began with in "
                f"{self.file.name}: put them back, or {_ANEW}"
            )
        if self._chain is None or self._began_ns not in {None, began_ns}:
            self._chain, self._folded = self._content.begin(), 0
        self._began_ns = began_ns
        chain, inputs = self._chain, "SELECT * FROM input WHERE number > ? ORDER BY number"
        for number, block, name, arguments in database.execute(inputs, (self._folded,)):
            try:
                chain.advance(block - chain.building)
                _happen(chain, name, msgspec.msgpack.decode(arguments))
            except (msgspec.MsgspecError, ChainError, TypeError, ValueError) as error:
                raise InputError(
                    f"{self.file}: found an input {number} that is none ({visible(str(error))}): "
                    f"{_ANEW}"
                ) from error
            self._folded = number
        chain.advance(newest - chain.best)
        block_ns = round(self._content.block_time * 1_000_000_000)
        if block_ns:
            now_ns = time.time_ns()
            due = (now_ns - made_ns) // block_ns
            chain.advance(min(due, BLOCKS_AT_ONCE))
            if due:
                # where the clock went back, or nobody looked for long, it begins from here
                is_followed = 0 < due <= BLOCKS_AT_ONCE
                made_ns = made_ns + due * block_ns if is_followed else now_ns
                database.execute("UPDATE chain SET made_ns = ?", (made_ns,))
        return chain, newest

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[sqlite3.Connection]:
        uri = f"file:{quote(bytes(self.file))}?mode={mode}"
        try:
            with closing(
                sqlite3.connect(uri, WAIT_SECONDS, isolation_level=None, uri=True)
            ) as database:
                # a kill loses nothing; what a power cut may cost is a chain that is none
                database.execute("PRAGMA synchronous = OFF")
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise ChainError(f"{self.file}: {error}", Refusal.UNREACHABLE) from error
        except sqlite3.Error as error:
            message = f"{self.file}: found no simulated chain ({error}): {_ANEW}"
            raise InputError(message) from error


def _happen(chain: SimulatedChain, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # of the input
    return chain.fork(**arguments) if name == _FORK else chain.do(name, **arguments)
