"""Lists of miners and their slots, as a subnet has them: read whole, or refused line by line.

A list is CSV with the header ``uid,hotkey,types``, the types separated by spaces; or JSONL with the
same keys (``schemas/miner-1.schema.json``).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from tallystick.errors import InputError, RecordError, RefusedError
from tallystick.io.inputs import whole
from tallystick.records.messages import shown
from tallystick.records.rejects import Reject
from tallystick.records.strict_json import parse, plain
from tallystick.records.validator import RecordValidator
from tallystick.resources import schema_path
from tallystick_allocation.uint16 import LAST_UID
from tallystick_state.rules import TypeRules

COLUMNS = ("uid", "hotkey", "types")
"""The columns of CSV, in any order."""
LARGEST = 1 << 24
"""The most bytes of a list: each of all slots has 256."""
_DUPLICATE = "duplicate-miner"
CODES: Mapping[str, str] = MappingProxyType(
    {_DUPLICATE: "another line of the list has the same hotkey or the same uid"}
)
"""What is wrong with a line of a list besides the codes of records."""

_BYTE_ORDER_MARK = "\ufeff"
_MOST_DIGITS = 9


@attrs.frozen
class Slot:
    """A miner in its slot.

    Attributes:
        uid: the slot.
        hotkey: who holds it.
        types: the skill types that it declares.
    """

    uid: int
    hotkey: str
    types: tuple[str, ...]


Row = tuple[int, Any]
"""The number of a line, and its value; an error in place of one that has none."""


def slots_of(
    source: Path | Iterable[Mapping[str, Any]], rules: TypeRules, name: str
) -> tuple[Slot, ...]:
    """The slots of a list, by uid.

    Args:
        source: a file, or the lines as mappings.
        rules: what the declared types must be of.
        name: the source in errors.

    Raises:
        InputError: the file cannot be read, or has no miners.
        RefusedError: lines are bad; all of them are told.
    """
    rows = _rows(source) if isinstance(source, Path) else enumerate(source, 1)
    found, refused = dict[int, Slot](), list[Reject]()
    hotkeys, uids = dict[str, int](), dict[int, int]()
    for line, row in rows:
        if len(found) + len(refused) > LAST_UID:
            raise InputError(f"{name}: found more than {LAST_UID + 1} miners, expected one a slot")
        try:
            slot = _slot(row, rules)
            _check_apart(slot, line, hotkeys, uids)
        except RecordError as error:
            refused.append(Reject.of(error, line))
        else:
            found[line] = slot
    if refused:
        raise RefusedError(name, refused)
    if not found:
        raise InputError(f"{name}: found no miners, expected one a line")
    return tuple(sorted(found.values(), key=lambda slot: slot.uid))


def _slot(row: Any, rules: TypeRules) -> Slot:  # noqa: ANN401  # any JSON value
    if isinstance(row, RecordError):
        raise row
    row = plain(row)
    if not isinstance(row, dict):
        raise RecordError("not-an-object", "", shown(row), "a JSON object")
    _validator().validate(row)
    known = rules.type_rules
    for place, each in enumerate(row["types"]):
        if each not in known:
            expected = f"one of {', '.join(sorted(known))}"
            raise RecordError("unknown-skill-type", f"types[{place}]", shown(each), expected)
    return Slot(int(row["uid"]), row["hotkey"], tuple(sorted(set(row["types"]))))


def _check_apart(slot: Slot, line: int, hotkeys: dict[str, int], uids: dict[int, int]) -> None:
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
    return RecordValidator(json.loads(schema_path("miner-1").read_bytes()))


def _rows(path: Path) -> Iterator[Row]:
    data = whole(path, LARGEST, f"a list of at most {LAST_UID + 1} miners")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: found byte {error.start + 1}, which is not UTF-8, expected text in UTF-8"
        ) from error
    text = text.removeprefix(_BYTE_ORDER_MARK)
    return _json_lines(text) if text.lstrip().startswith("{") else _csv(path, text)


def _json_lines(text: str) -> Iterator[Row]:
    # a text can have other line ends than this one in it, which JSON allows
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        try:
            yield number, parse(line.encode())
        except RecordError as error:
            yield number, error


def _csv(path: Path, text: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    header = [name.strip() for name in next(reader, [])]
    if sorted(header) != sorted(COLUMNS):
        raise InputError(
            f"{path}: found the header {','.join(header)[:80]!r}, expected {','.join(COLUMNS)}, or "
            "one JSON object a line"
        )
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, _cells(header, cells)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: found no CSV ({error})") from error


def _cells(header: list[str], cells: list[str]) -> dict[str, Any] | RecordError:
    """A row of CSV as the object that it stands for."""
    if len(cells) != len(header):
        expected = f"{len(header)} cells: {','.join(header)}"
        return RecordError("missing-field", "", f"{len(cells)} cells", expected)
    row: dict[str, Any] = dict(zip(header, map(str.strip, cells), strict=True))
    digits = row["uid"]
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    row["uid"] = int(digits) if is_number else digits
    row["types"] = row["types"].split()
    return row
