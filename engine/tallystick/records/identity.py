"""Identity: the task, miner and validator of a bad record, as far as they can be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tallystick.io.documents import read_json
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.rejects import UNKNOWN, Identity
from tallystick.records.strict_json import uncollected
from tallystick.resources import schema_path


def identity_of(item: object) -> Identity:
    """Return the identity of a bad record; a field that no record could have is unreadable.

    It never fails, so that a record on which the engine itself fails has its reject.

    Args:
        item: a line, or the value of one.
    """
    try:
        record = object_of(item)
        return UNKNOWN if record is None else _identity(record)
    except Exception:  # noqa: BLE001  # whatever a value of a program raises
        return UNKNOWN


def _identity(record: Mapping[str, Any]) -> Identity:
    miner = record.get("miner")
    if not isinstance(miner, dict):
        miner = {}
    definitions = _definitions()
    slots, hotkey = definitions["miner"]["properties"]["uid"], definitions["hotkey"]
    uid = miner.get("uid")
    is_slot = type(uid) is int and slots["minimum"] <= uid <= slots["maximum"]
    return Identity(
        task_id=_text(record.get("task_id"), definitions["id"]),
        miner_uid=uid if is_slot else None,
        miner_hotkey=_text(miner.get("hotkey"), hotkey),
        validator=_text(record.get("validator"), hotkey),
    )


def object_of(item: object) -> dict[str, Any] | None:
    """Return the object that an item is; None for what is none, or cannot be read.

    Args:
        item: a line, or the value of one.
    """
    record = _parsed(item) if isinstance(item, bytes) else item
    return record if isinstance(record, dict) else None


@cache
def _definitions() -> Mapping[str, Any]:
    """Return the definitions of an identifier, a hotkey and a miner in every schema of records."""
    definitions: Mapping[str, Any] = read_json(schema_path("record-1"))["$defs"]
    return definitions


def _parsed(line: bytes) -> Any:  # noqa: ANN401  # any JSON value
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        with uncollected(len(line)):
            return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text(value: object, schema: Mapping[str, Any]) -> str | None:
    """Return a text as long as a schema says, which UTF-8 can spell."""
    if not isinstance(value, str) or not schema["minLength"] <= len(value) <= schema["maxLength"]:
        return None
    return value if value.encode("utf-8", "replace").decode() == value else None
