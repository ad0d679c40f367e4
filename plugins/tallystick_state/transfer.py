"""Transfer: a whole state as one file, from store to store, byte for byte.

The file is JSON lines: a header with the number of entries and the hash of the last one, then the
entries of the log. Before the first entry that names a signed statement stands its envelope.
Everything else follows from them and is made again by the import, so that a file that was changed
or cut cannot come in.

The file of a state whose records were pruned begins with the rows of its base; see `pruned_base`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs
import msgspec

from tallystick.errors import DamagedError, InputError, OutputError, StoreError, TrustError
from tallystick.io.atomic import atomic_files, output_path
from tallystick.io.documents import parse_json
from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.paths import PathLike, path_of, path_text
from tallystick.plugins.registry import Registry
from tallystick_state.authority import (
    ROTATION,
    read_root,
    stored_envelope,
    stored_envelopes,
)
from tallystick_state.chain import GENESIS_HASH, Entry, check
from tallystick_state.entries import Genesis
from tallystick_state.event_log import EventLog
from tallystick_state.pruned_base import TABLES as BASE_TABLES
from tallystick_state.pruned_base import BaseRow, base_rows, lay, row_line
from tallystick_state.replay import replay
from tallystick_state.rules import GENESIS, StateRules
from tallystick_state.store.store import PLACE, Store
from tallystick_state.store.transaction import STATING, Transaction
from tallystick_state.stored_state import StoredState

if TYPE_CHECKING:
    from tallystick_state.trust.envelope import Envelope
    from tallystick_state.trust.policy import TrustRoot

FORMAT = 7
"""Version of the file; earlier ones are of unreleased engines."""
LONGEST_ENTRY = 1 << 26
"""Maximum length of a line, in bytes: 65 536 miners of a thousand bytes each."""
_START = b'{"entries":'


@attrs.frozen
class Exported:
    """The entries and hash of an exported file.

    Attributes:
        entries: how many entries.
        hash: of the last one.
    """

    entries: int
    hash: str

    def to_line(self) -> bytes:
        """Return the header of the file."""
        header = {"entries": self.entries, "hash": self.hash, "tallystick_state": FORMAT}
        return json.dumps(header, separators=(",", ":")).encode() + b"\n"


def export_state(
    ledger: StoredState | Store, path: PathLike, *, follow_links: bool = False
) -> Exported:
    """Write the log of a state to a file; ``follow_links`` allows a name that is a link.

    Raises:
        DamagedError: the log is damaged; what stood at the path stays.
        OutputError: the file cannot be written, or is of the store itself.
        StoreError: the store cannot be read.
    """
    path = path_of(path, "a file for the state")
    store = ledger if isinstance(ledger, Store) else ledger.store
    if store.holds(path):
        raise OutputError(f"{path}: found a file of the store itself, expected another one")
    target = output_path(path, follow_links=follow_links)
    with store.reading() as transaction, atomic_files(target) as (file,):
        head = transaction.head()
        if head is None:
            raise StoreError("found a store without a state, expected one: restore a copy")
        point = transaction.pruned()
        exported = Exported(head.entries, head.hash)
        file.write(exported.to_line())
        for table, row in base_rows(transaction):
            file.write(row_line(table, row))
        before = set[str]()
        after = (0, GENESIS_HASH) if point is None else (point.seq, point.hash)
        entries = transaction.entries(after[0] + 1)
        # a damaged store gives no export, and leaves an earlier one its name
        for entry in check(entries, after=after, count=head.entries, last=head.hash):
            statement = _statement_of(entry)
            if statement is not None and statement not in before:
                before.add(statement)
                file.write(_envelope_line(statement, transaction.envelope(statement)))
            file.write(line_of(entry))
    return exported


class _Stated(msgspec.Struct):
    """An entry, of which the signed statement is read alone."""

    statement: str | None = None


_STATED = msgspec.json.Decoder(_Stated)


def _statement_of(entry: Entry) -> str | None:
    """Return the signed statement that an entry names, if it does.

    Raises:
        DamagedError: the entry cannot be read.
    """
    if entry.kind != GENESIS and entry.kind not in STATING:
        return None
    try:
        return _STATED.decode(entry.body).statement
    except msgspec.MsgspecError as error:
        raise DamagedError(
            f"the log, entry {entry.seq}: found what cannot be read ({error}), expected what "
            "tallystick wrote: the log is damaged, so take it back from a copy"
        ) from error


def _envelope_line(statement: str, text: str | None) -> bytes:
    """Return the line of an envelope in the file."""
    if text is None:
        raise DamagedError(
            f"found no envelope of {statement}, expected the one that the log names: restore a copy"
        )
    return f'{{"envelope":{text},"statement":"{statement}"}}\n'.encode()


def line_of(entry: Entry) -> bytes:
    """Return the line of an entry in the file."""
    head = f'{{"hash":"{entry.hash}","seq":{entry.seq},"kind":"{entry.kind}","body":'
    return head.encode() + entry.body.encode() + b"}\n"


def import_state(
    path: PathLike,
    where: PathLike,
    *,
    trust: PathLike | None = None,
    registry: Registry | None = None,
    accept: Callable[[StateRules], None] = lambda _: None,
) -> Exported:
    """Begin a store with the state of a file.

    Args:
        path: what `export_state` wrote.
        where: the new store.
        trust: the first trust file that the state must have; by default whichever it has.
        registry: the plugins; by default the installed ones.
        accept: is asked of the rules of each line in the open epoch, before anything is kept, and
            raises what it refuses.

    Returns:
        What the new store holds.

    Raises:
        InputError: the file cannot be read, is no whole state, was changed, or is of an older
            format.
        StoreError: there is something at that place already.
        TrustError: something that must be signed is not as it must, or the state has another first
            trust file.
    """
    path, target = path_of(path, "a file with a state"), path_text(where, PLACE)
    pinned = None if trust is None else read_root(trust)

    def check_whole(log: EventLog) -> None:
        for rules in log.in_force.at(log.state.epoch).lines:
            accept(rules)
        if pinned is not None:
            _check_first(path, log, pinned)

    try:
        return _imported(path, target, registry, check_whole)
    except DamagedError as error:
        raise InputError(f"{path}: {error}") from error


def _imported(
    path: Path,
    where: str,
    registry: Registry | None,
    check_whole: Callable[[EventLog], None],
) -> Exported:
    with opened(path) as file, Store.create(where) as (_, transaction):
        header = _header(path, file.readline(MAX_LINE_BYTES))
        lines = _Lines(path, file, transaction)
        lay(lines.rows(), transaction)
        base = transaction.head()
        after = (0, GENESIS_HASH) if base is None else (base.entries, base.hash)
        entries = check(lines.entries(), after=after)
        genesis = next(entries if base is None else transaction.entries(), None)
        if genesis is None:
            raise _cut(path, 0, header)
        if base is None:
            entries = chain([genesis], entries)
        begun, later = Genesis.read(genesis, str(path)), transaction.rules_entries()
        rules = begun.in_force(str(path), registry, lines.envelope, later)
        log = EventLog(transaction, rules, begun.allowed)
        try:
            replay(log, entries, lines.take_envelope)
        except TrustError as error:
            raise TrustError(f"{path}: {error}", code=error.code) from error
        if (log.entries, log.hash) != (header.entries, header.hash):
            raise _cut(path, log.entries, header)
        check_whole(log)
        log.finish()
        if base is not None:
            # rows are no entries, and no replay reads all of them
            transaction.check()
    return header


def is_export(path: Path) -> bool:
    """Return whether a file begins as `export_state` begins one; False where there is no file.

    Raises:
        InputError: it cannot be read.
    """
    if not path.is_file():
        return False
    with opened(path) as file:
        return file.read(len(_START)) == _START


def _check_first(path: Path, log: EventLog, pinned: TrustRoot) -> None:
    """Refuse a state whose first trust file is another one."""
    first = log.in_force.trust.first
    if first is None:
        rotations = map(json.loads, log.transaction.bodies_of_kind(ROTATION))
        first_digest = next((body["digest"] for body in rotations), "none")
    else:
        first_digest = first.digest
    if first_digest != pinned.digest:
        message = f"{path}: found {first_digest} as the first trust file, expected {pinned.digest}"
        raise TrustError(message, code="other-root")


def _header(path: Path, line: bytes) -> Exported:
    try:
        header = parse_json(line)
        version = header["tallystick_state"]
        exported = Exported(header["entries"], header["hash"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _bad_header(path) from None
    if version != FORMAT:
        raise InputError(
            f"{path}: found the format {version}, expected {FORMAT}: export the state with this "
            "tallystick, or begin anew with tallystick state init and record its rounds again"
        )
    return exported


def _bad_header(path: Path) -> InputError:
    return InputError(
        f"{path}: found no header of a state, expected a file of tallystick state export"
    )


class _Lines:
    """The lines of a file behind its header."""

    def __init__(self, path: Path, file: BinaryIO, transaction: Transaction) -> None:
        self._path, self._file = path, file
        self._stored = stored_envelopes(transaction.envelope, str(path))
        self._kept: dict[str, Envelope] = {}
        self._number = 1
        self._next: tuple[int, bytes] | None = None

    def rows(self) -> Iterator[BaseRow]:
        """Yield the rows of a pruned state, with which the file begins."""
        for number, line in self._numbered():
            if not line.startswith(_ROW):
                # the first line behind them
                self._next = number, line
                return
            yield _row(self._path, number, line)

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are left, with their numbers."""
        if self._next is not None:
            (number, line), self._next = self._next, None
            self._number = number
            yield number, line
        for line in iter(lambda: self._file.readline(LONGEST_ENTRY), b""):
            self._number += 1
            yield self._number, line

    def entries(self) -> Iterator[Entry]:
        """Yield the entries, one after the other; the envelope before one is kept for it."""
        before: str | None = None
        for number, line in self._numbered():
            if line.startswith(_ENVELOPE):
                if before is not None:
                    raise _bad_line(self._path, number, line)
                before, envelope = _envelope(self._path, number, line)
                self._kept[before] = envelope
                continue
            entry = _entry(self._path, number, line)
            if before is not None and _statement_of(entry) != before:
                raise _bad_line(self._path, number, line)
            before = None
            yield entry

    def envelope(self, statement: str) -> Envelope | None:
        """Return an envelope: of those that were read and not yet taken, or of the store."""
        return self._kept.get(statement) or self._stored(statement)

    def take_envelope(self, statement: str) -> Envelope | None:
        """Return the same, which the store has from then on."""
        return self._kept.pop(statement, None) or self._stored(statement)


_ENVELOPE = b'{"envelope":'
_ROW = b'{"row":'


def _row(path: Path, number: int, line: bytes) -> BaseRow:
    try:
        value = json.loads(line)
        table = BASE_TABLES[value["table"]]
        row = tuple(
            bytes.fromhex(item["hex"]) if isinstance(item, dict) else item for item in value["row"]
        )
        is_whole = len(row) == len(table.names) and row_line(table, row) == line
    except (ValueError, KeyError, TypeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise _bad_line(path, number, line)
    return table, row


def _envelope(path: Path, number: int, line: bytes) -> tuple[str, Envelope]:
    """Return the envelope of a line, behind the digest of its statement."""
    text, _, statement = line.removeprefix(_ENVELOPE).rpartition(b',"statement":"')
    envelope = stored_envelope(text.decode("utf-8", "replace"), f"{path}:{number}")
    digest = envelope.statement_digest
    if statement != f'{digest}"}}\n'.encode():
        raise _bad_line(path, number, line)
    return digest, envelope


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        parsed = json.loads(line)
        body = line.partition(b',"body":')[2].removesuffix(b"}\n").decode()
        entry = Entry(parsed["seq"], parsed["kind"], body, parsed["hash"])
    except (ValueError, KeyError, TypeError, RecursionError):
        entry = None
    if entry is None or line_of(entry) != line:
        raise _bad_line(path, number, line)
    return entry


def _bad_line(path: Path, number: int, line: bytes) -> InputError:
    return InputError(
        f"{path}:{number}: found {line[:60]!r}, expected an entry of a log: "
        "the file was cut or changed, export it again"
    )


def _cut(path: Path, entries: int, header: Exported) -> InputError:
    return InputError(
        f"{path}: found {entries} entries, expected {header.entries} that end in {header.hash}: "
        "the file was cut, export it again"
    )
