"""Transfer: a whole state as one file, from store to store, byte for byte.

The file is JSON lines: a header with the number of entries and the hash of the last one, then the
entries of the log. Everything else follows from them and is made again by the import, so that a
file that was changed or cut cannot come in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import attrs

from tallystick.errors import DamagedError, InputError, OutputError, StoreError
from tallystick.io.atomic import atomic_files, output_path
from tallystick.io.inputs import opened, start_of
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.paths import PathLike, path_of, path_text
from tallystick.plugins.registry import Registry
from tallystick.state.chain import Entry, check
from tallystick.state.event_log import EventLog
from tallystick.state.ledger import PLACE, Ledger
from tallystick.state.replay import replay
from tallystick.state.rules import StateRules
from tallystick.state.rules_in_force import genesis_hearing, read
from tallystick.state.store.store import Store

FORMAT = 1
"""The version of the file."""
LONGEST_ENTRY = 1 << 26
"""The most bytes of a line: the longest entry is of 65 536 miners, a thousand bytes of each."""
_START = b'{"entries":'


@attrs.frozen
class Exported:
    """What a file holds.

    Attributes:
        entries: how many entries.
        hash: of the last one.
    """

    entries: int
    hash: str

    def to_line(self) -> bytes:
        """The header of the file."""
        header = {"entries": self.entries, "hash": self.hash, "tallystick_state": FORMAT}
        return json.dumps(header, separators=(",", ":")).encode() + b"\n"


def export_state(ledger: Ledger, path: PathLike, *, follow_links: bool = False) -> Exported:
    """Write the log of a state to a file; ``follow_links`` allows a name that is a link.

    Raises:
        OutputError: the file cannot be written, or is of the store itself.
        StoreError: the store cannot be read.
    """
    path = path_of(path, "a file for the state")
    if ledger.store.holds(path):
        raise OutputError(f"{path}: found a file of the store itself, expected another one")
    place = output_path(path, follow_links=follow_links)
    with ledger.store.reading() as transaction, atomic_files(place) as (file,):
        head = transaction.head()
        if head is None:
            raise StoreError("found a store without a state, expected one: restore a copy")
        exported = Exported(head.entries, head.hash)
        file.write(exported.to_line())
        for entry in transaction.entries():
            file.write(line_of(entry))
    return exported


def line_of(entry: Entry) -> bytes:
    """The line of an entry in the file."""
    head = f'{{"hash":"{entry.hash}","seq":{entry.seq},"kind":"{entry.kind}","body":'
    return head.encode() + entry.body.encode() + b"}\n"


def import_state(
    path: PathLike,
    where: PathLike,
    *,
    registry: Registry | None = None,
    accept: Callable[[StateRules], None] = lambda _: None,
) -> Exported:
    """Begin a store with the state of a file.

    Args:
        path: what `export_state` wrote.
        where: the new store.
        registry: the plugins; by default the installed ones.
        accept: is asked of the rules of each line in the open epoch, before anything is kept, and
            raises what it refuses.

    Raises:
        InputError: the file cannot be read, is no whole state, or was changed.
        StoreError: there is something at that place already.
    """
    path, place = path_of(path, "a file with a state"), path_text(where, PLACE)
    try:
        return _imported(path, place, registry, accept)
    except DamagedError as error:
        raise InputError(f"{path}: {error}") from error


def _imported(
    path: Path, where: str, registry: Registry | None, accept: Callable[[StateRules], None]
) -> Exported:
    with opened(path) as file:
        header = _header(path, file.readline(MAX_LINE_BYTES))
        entries = check(_entries(path, file))
        genesis = next(entries, None)
        if genesis is None:
            raise _cut(path, 0, header)
        rules = read(genesis, (), str(path), registry)
        with Store.create(where) as (_, transaction):
            log = EventLog(transaction, rules, genesis_hearing(genesis, str(path)))
            replay(log, [genesis])
            replay(log, entries)
            if (log.entries, log.hash) != (header.entries, header.hash):
                raise _cut(path, log.entries, header)
            for each in log.in_force.at(log.state.epoch).lines:
                accept(each)
            log.finish()

    return header


def is_export(path: Path) -> bool:
    """Whether a file begins as `export_state` begins one; not of what is no file."""
    return path.is_file() and start_of(path, len(_START)) == _START


def _header(path: Path, line: bytes) -> Exported:
    try:
        found = json.loads(line)
        version = found["tallystick_state"]
        exported = Exported(found["entries"], found["hash"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path}: found no header of a state, expected a file of tallystick state export"
        ) from None
    if version != FORMAT:
        raise InputError(
            f"{path}: found the format {version}, expected {FORMAT}: update tallystick"
        )
    return exported


def _entries(path: Path, file: BinaryIO) -> Iterator[Entry]:
    lines = iter(lambda: file.readline(LONGEST_ENTRY), b"")
    for number, line in enumerate(lines, 2):
        yield _entry(path, number, line)


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        found = json.loads(line)
        body = line.partition(b',"body":')[2].removesuffix(b"}\n").decode()
        entry = Entry(found["seq"], found["kind"], body, found["hash"])
    except (ValueError, KeyError, TypeError, RecursionError):
        entry = None
    if entry is None or line_of(entry) != line:
        raise InputError(
            f"{path}:{number}: found {line[:60]!r}, expected an entry of a log: "
            "the file was cut or changed, export it again"
        )
    return entry


def _cut(path: Path, entries: int, header: Exported) -> InputError:
    return InputError(
        f"{path}: found {entries} entries, expected {header.entries} that end in {header.hash}: "
        "the file was cut, export it again"
    )
