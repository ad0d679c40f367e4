"""Lists of miners and their slots, as a subnet has them: read whole, or refused line by line.

A list is CSV with the header ``uid,hotkey,types``, the types separated by spaces; or JSONL with the
same keys (``schemas/miner-1.schema.json``). It may have ``registered_block`` beside them.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tallystick.errors import InputError, RecordError, RefusedError
from tallystick.io.csv_table import CsvTable
from tallystick.io.documents import read_json
from tallystick.io.inputs import whole
from tallystick.records.messages import shown
from tallystick.records.rejects import Reject
from tallystick.records.strict_json import parse, plain
from tallystick.records.validator import RecordValidator
from tallystick.resources import schema_path
from tallystick_allocation.uint16 import LAST_UID
from tallystick_state.answers import Synced
from tallystick_state.entries import Register, Retire
from tallystick_state.model import MinerEntry
from tallystick_state.rules import EpochRules

if TYPE_CHECKING:
    from tallystick_state.event_log import EventLog

COLUMNS = ("uid", "hotkey", "types")
"""The columns of CSV, in any order."""
REGISTERED = "registered_block"
"""The column, or key, that a list may have beside them."""
LARGEST = 1 << 24
"""Maximum size of a list, in bytes: 256 for each of all slots."""
_DUPLICATE = "duplicate-miner"
CODES: Mapping[str, str] = MappingProxyType(
    {_DUPLICATE: "another line of the list has the same hotkey or the same uid"}
)
"""Codes of a line of a list, besides those of records."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_DIGITS = {"uid": 9, REGISTERED: 16}


NumberedValue = tuple[int, Any]
"""The number of a line, and its value; an error in place of one that has none."""


def slots_of(
    source: Path | Iterable[Mapping[str, Any]], rules: EpochRules, name: str
) -> tuple[Register, ...]:
    """Return the registrations of a list, by uid.

    Args:
        source: a file, or the lines as mappings.
        rules: what the declared types must be of.
        name: the source in errors.

    Raises:
        InputError: the file cannot be read, or has no miners.
        RefusedError: lines are bad; all of them are told.
    """
    rows = _rows(source) if isinstance(source, Path) else enumerate(source, 1)
    listed, refused = dict[int, Register](), list[Reject]()
    hotkeys, uids = dict[str, int](), dict[int, int]()
    for line, row in rows:
        if len(listed) + len(refused) > LAST_UID:
            raise InputError(f"{name}: found more than {LAST_UID + 1} miners, expected one a slot")
        try:
            slot = _slot(row, rules)
            _check_apart(slot, line, hotkeys, uids)
        except RecordError as error:
            refused.append(Reject.of(error, line))
        else:
            listed[line] = slot
    if refused:
        raise RefusedError(name, refused)
    if not listed:
        raise InputError(f"{name}: found no miners, expected one a line")
    return tuple(sorted(listed.values(), key=lambda slot: slot.uid))


def sync(log: EventLog, slots: Collection[Register]) -> Synced:
    """Give every slot to its miner in a list: register, move and retire.

    Args:
        log: of the state.
        slots: the list, whole.
    """
    before = log.state.miners
    present = {slot.hotkey for slot in slots}
    retired = sorted(
        hotkey
        for hotkey, miner in before.items()
        if miner.uid is not None and hotkey not in present
    )
    for hotkey in retired:
        log.write(Retire(hotkey=hotkey))
    hotkeys_of: dict[str, list[str]] = {"registered": [], "moved": [], "changed": [], "": []}
    for slot in slots:
        log.write(slot)
        hotkeys_of[_change(before.get(slot.hotkey), slot)].append(slot.hotkey)
    unchanged = len(hotkeys_of.pop(""))
    names = {kind: tuple(hotkeys) for kind, hotkeys in hotkeys_of.items()}
    return Synced(**names, retired=tuple(retired), unchanged=unchanged)


def _change(old: MinerEntry | None, slot: Register) -> str:
    """Return the name of the change of a miner that a list makes; empty where it makes none."""
    if old is None or old.uid is None or _is_anew(old, slot):
        return "registered"
    if old.uid != slot.uid:
        return "moved"
    return "" if old.types == tuple(slot.types) else "changed"


def _is_anew(old: MinerEntry, slot: Register) -> bool:
    """Return whether a miner has registered again since its registration that is known."""
    known, block = old.registered_block, slot.block
    return known is not None and block is not None and block > known


def _slot(row: Any, rules: EpochRules) -> Register:  # noqa: ANN401  # any JSON value
    if isinstance(row, RecordError):
        raise row
    row = plain(row)
    if not isinstance(row, dict):
        raise RecordError("not-an-object", "", shown(row), "a JSON object")
    _validator().validate(row)
    types = rules.type_rules
    for index, skill_type in enumerate(row["types"]):
        if skill_type not in types:
            expected = f"one of {', '.join(sorted(types))}"
            raise RecordError("unknown-skill-type", f"types[{index}]", shown(skill_type), expected)
    block = row.get(REGISTERED)
    return Register(
        hotkey=row["hotkey"],
        uid=int(row["uid"]),
        types=sorted(set(row["types"])),
        block=None if block is None else int(block),
    )


def _check_apart(slot: Register, line: int, hotkeys: dict[str, int], uids: dict[int, int]) -> None:
    """Refuse who has two slots, and a slot of two."""
    before = hotkeys.setdefault(slot.hotkey, line)
    if before != line:
        expected = f"one slot for each hotkey: line {before} has it too"
        raise RecordError(_DUPLICATE, "hotkey", shown(slot.hotkey), expected)
    before = uids.setdefault(slot.uid, line)
    if before != line:
        expected = f"one hotkey for each slot: line {before} has it too"
        raise RecordError(_DUPLICATE, "uid", str(slot.uid), expected)


@cache
def _validator() -> RecordValidator:
    return RecordValidator(read_json(schema_path("miner-1")))


def _rows(path: Path) -> Iterator[NumberedValue]:
    data = whole(path, LARGEST, f"a list of at most {LAST_UID + 1} miners")
    if data.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return _json_lines(data.removeprefix(_BYTE_ORDER_MARK))
    return _csv(path, data)


def _json_lines(data: bytes) -> Iterator[NumberedValue]:
    # a text can have other line ends than this one in it, which JSON allows
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        try:
            yield number, parse(line)
        except RecordError as error:
            yield number, error


def _csv(path: Path, data: bytes) -> Iterator[NumberedValue]:
    table = CsvTable(io.BytesIO(data), path, is_spaced=True)
    if sorted(table.header) not in (sorted(COLUMNS), sorted((*COLUMNS, REGISTERED))):
        raise InputError(
            f"{path}: found the header {','.join(table.header)[:80]!r}, expected "
            f"{','.join(COLUMNS)}, or one JSON object a line"
        )
    # a row with other cells is refused with its line, beside the others
    for line, cells in table.rows():
        yield line, _cells(table.header, cells)


def _cells(header: Sequence[str], cells: list[str]) -> dict[str, Any] | RecordError:
    """Return a row of CSV as the object that it stands for."""
    if len(cells) != len(header):
        expected = f"{len(header)} cells: {','.join(header)}"
        return RecordError("missing-field", "", f"{len(cells)} cells", expected)
    row: dict[str, Any] = dict(zip(header, cells, strict=True))
    for name in ("uid", REGISTERED):
        digits = row.get(name, "")
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS[name]:
            row[name] = int(digits)
    row["types"] = row["types"].split()
    return row
