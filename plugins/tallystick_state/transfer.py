"""Transfer: a whole state as one file, from store to store, byte for byte.

The file is JSON lines: a header with the number of entries and the hash of the last one, then the
entries of the log. The envelopes of what was signed stand before them, as rows of their table.
Everything else follows from them and is made again by the import, so that a file that was changed
or cut cannot come in.

In the file of a state whose records were pruned the rows of its base come first; see `pruned_base`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from tallystick.errors import DamagedError, InputError, OutputError, StoreError, TrustError
from tallystick.io.atomic import atomic_files, output_path
from tallystick.io.documents import parse_json
from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.paths import PathLike, path_of, path_text
from tallystick.plugins.registry import Registry
from tallystick_state.authority import read_root
from tallystick_state.chain import GENESIS_HASH, Entry, check
from tallystick_state.event_log import EventLog
from tallystick_state.pruned_base import TABLES as BASE_TABLES
from tallystick_state.pruned_base import BaseRow, base_rows, lay, row_line
from tallystick_state.replay import replay
from tallystick_state.rules import StateRules
from tallystick_state.store.store import PLACE, Store
from tallystick_state.stored_state import StoredState

if TYPE_CHECKING:
    from tallystick_state.store.transaction import Transaction
    from tallystick_state.trust.policy import TrustRoot

FORMAT = 9
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
        # a damaged store gives no export, and leaves an earlier one its name
        transaction.check_envelopes()
        head = transaction.head()
        if head is None:
            raise StoreError("found a store without a state, expected one: restore a copy")
        point = transaction.pruned()
        exported = Exported(head.entries, head.hash)
        file.write(exported.to_line())
        for table, row in base_rows(transaction):
            file.write(row_line(table, row))
        after = (0, GENESIS_HASH) if point is None else (point.seq, point.hash)
        entries = transaction.entries(after[0] + 1)
        for entry in check(entries, after=after, count=head.entries, last=head.hash):
            file.write(line_of(entry))
    return exported


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
    try:
        with opened(path) as file, Store.create(target) as (_, transaction):
            header = _header(path, file.readline(MAX_LINE_BYTES))
            log = _imported(path, file, transaction, registry)
            if (log.entries, log.hash) != (header.entries, header.hash):
                raise InputError(
                    f"{path}: found {log.entries} entries, expected {header.entries} that end in "
                    f"{header.hash}: the file was cut, export it again"
                )
            for rules in log.rules.lines:
                accept(rules)
            if pinned is not None:
                _check_first(path, log, pinned)
            log.finish()
            transaction.check_envelopes()
            if transaction.pruned() is not None:
                # rows are no entries, and no replay reads all of them
                transaction.check()
    except DamagedError as error:
        raise InputError(f"{path}: {error}") from error
    return header


def _imported(
    path: Path, file: BinaryIO, transaction: Transaction, registry: Registry | None
) -> EventLog:
    """Return the log of a file behind its header, once it is replayed into an empty store."""
    groups = groupby(enumerate(iter(lambda: file.readline(LONGEST_ENTRY), b""), 2), key=_is_row)
    has_rows, group = next(groups, (False, iter(())))
    lines = chain(() if has_rows else group, chain.from_iterable(more for _, more in groups))
    try:
        lay((_row(path, *line) for line in (group if has_rows else ())), transaction)
    except StoreError as error:
        # such as a row that comes twice
        raise InputError(f"{path}: {error}") from error
    entries = (_entry(path, *line) for line in lines)
    try:
        return replay(entries, transaction, str(path), registry)
    except TrustError as error:
        raise TrustError(f"{path}: {error}", code=error.code) from error


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
    first_digest = next((root.digest for root in log.in_force.roots), "none")
    if first_digest != pinned.digest:
        message = f"{path}: found {first_digest} as the first trust file, expected {pinned.digest}"
        raise TrustError(message, code="other-root")


def _header(path: Path, line: bytes) -> Exported:
    try:
        header = parse_json(line)
        version = header["tallystick_state"]
        exported = Exported(header["entries"], header["hash"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path}: found no header of a state, expected a file of tallystick state export"
        ) from None
    if version != FORMAT:
        raise InputError(
            f"{path}: found the format {version}, expected {FORMAT}: export the state with this "
            "tallystick, or begin anew with tallystick state init and record its rounds again"
        )
    return exported


def _is_row(numbered: tuple[int, bytes]) -> bool:
    return numbered[1].startswith(b'{"row":')


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
