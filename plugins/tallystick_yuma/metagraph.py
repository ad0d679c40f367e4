"""Validators of a subnet and their stake: from a file, never from a network.

A file is CSV with a header that has ``hotkey`` and ``stake``, or a JSON object with the lists
``hotkeys`` and ``stake``, as a metagraph has them. A column or a list ``validator_permit`` says
who of them validates; without it, all that have stake do. What else a file has is not read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError, NumberError, RecordError
from tallystick.io.csv_table import CsvTable
from tallystick.io.inputs import whole
from tallystick.numbers.nano import NANO, from_decimal, from_double
from tallystick.records.messages import shown
from tallystick.records.strict_json import parse
from tallystick_yuma.documents import MOST_STAKE

LARGEST = 1 << 24
"""The most bytes of a file: each of 65 536 uids has 256."""

_EXPECTED = "the columns hotkey and stake, or a JSON object with the lists hotkeys and stake"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PERMITS = {"true": True, "false": False, "1": True, "0": False}


@attrs.frozen
class Validator:
    """A validator.

    Attributes:
        hotkey: who it is.
        stake: above 0, in a unit that all of a file have.
    """

    hotkey: str
    stake: int


@attrs.frozen
class _Entry:
    """A line of a file, or an entry of its lists: as it is written."""

    where: str
    hotkey: object
    stake: Any
    permit: object


def validators_of(path: Path) -> tuple[Validator, ...]:
    """Return the validators of a file, the largest stake first; by hotkey among equals.

    Stakes are whole numbers of any unit. Where one of them has decimals, of nine places at most,
    all count in billionths.

    Raises:
        InputError: the file cannot be read, or does not say who validates.
    """
    data = whole(path, LARGEST, "a list of validators")
    is_json = data.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{")
    stakes, seen = dict[str, int](), dict[str, str]()
    for entry in _of_json(path, data) if is_json else _of_csv(path, data):
        hotkey, stake = _hotkey(entry), _stake(entry)
        before = seen.setdefault(hotkey, entry.where)
        if before != entry.where:
            raise InputError(f"{entry.where}: found {shown(hotkey)} again, expected it once")
        if stake and _is_permitted(entry):
            stakes[hotkey] = stake
    if not stakes:
        raise InputError(f"{path}: found nobody with stake, expected a validator at least")
    unit = 1 if any(stake % NANO for stake in stakes.values()) else NANO
    validators = [Validator(hotkey, stake // unit) for hotkey, stake in stakes.items()]
    total = sum(validator.stake for validator in validators)
    if total > MOST_STAKE:
        raise InputError(f"{path}: found a stake of {total} in all, expected at most {MOST_STAKE}")
    return tuple(sorted(validators, key=lambda validator: (-validator.stake, validator.hotkey)))


def _hotkey(entry: _Entry) -> str:
    if not isinstance(entry.hotkey, str) or not entry.hotkey:
        raise InputError(f"{entry.where}: found the hotkey {shown(entry.hotkey)}, expected text")
    return entry.hotkey


def _stake(entry: _Entry) -> int:
    """Return the stake in billionths."""
    stake = entry.stake
    try:
        if isinstance(stake, str):
            # Decimal reads underscores and the digits of other scripts, too
            stake = Decimal(stake.strip() if stake.isascii() and "_" not in stake else "")
        nano = from_double(stake) if isinstance(stake, float) else from_decimal(stake)
    except (NumberError, InvalidOperation):
        nano = -1
    if nano < 0:
        raise InputError(
            f"{entry.where}: found the stake {shown(entry.stake)}, expected a number from 0 on, of "
            "nine places at most"
        )
    return nano


def _is_permitted(entry: _Entry) -> bool:
    permit = entry.permit
    if isinstance(permit, str):
        permit = _PERMITS.get(permit.strip().lower())
    if not isinstance(permit, bool):
        raise InputError(
            f"{entry.where}: found the validator_permit {shown(entry.permit)}, expected true or "
            "false"
        )
    return permit


def _of_json(path: Path, data: bytes) -> Iterator[_Entry]:
    try:
        document = parse(data.removeprefix(_BYTE_ORDER_MARK))
    except RecordError as error:
        raise InputError(f"{path}: found {error.value}, expected {error.expected}") from error
    lists = {name: _list(path, document, name) for name in ("hotkeys", "stake")}
    many = len(lists["hotkeys"])
    permits = [True] * many
    if isinstance(document, Mapping) and "validator_permit" in document:
        permits = _list(path, document, "validator_permit")
    for name, values in (("stake", lists["stake"]), ("validator_permit", permits)):
        if len(values) != many:
            raise InputError(
                f"{path}: {name}: found {len(values)} entries, expected {many}, one for each hotkey"
            )
    pairs = zip(lists["hotkeys"], lists["stake"], permits, strict=True)
    for index, (hotkey, stake, permit) in enumerate(pairs):
        yield _Entry(f"{path}: entry {index}", hotkey, stake, permit)


def _list(path: Path, document: Any, name: str) -> list[Any]:  # noqa: ANN401  # any JSON value
    items = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(items, list):
        raise InputError(f"{path}: {name}: found {shown(items)}, expected a list")
    return items


def _of_csv(path: Path, data: bytes) -> Iterator[_Entry]:
    table = CsvTable(io.BytesIO(data), path, is_spaced=True)
    if not {"hotkey", "stake"} <= {*table.header}:
        header = ",".join(table.header)[:80]
        raise InputError(f"{path}: found the header {header!r}, expected {_EXPECTED}")
    for line, row in table:
        permit = row.get("validator_permit", "true")
        yield _Entry(f"{path}:{line}", row["hotkey"], row["stake"], permit)
