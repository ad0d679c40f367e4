"""Who and what a bad record is of, as far as that can be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from tallystick.io.documents import read_json
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.rejects import UNKNOWN, Identity
from tallystick.records.strict_json import uncollected
from tallystick.resources import schema_path


def identity_of(item: object) -> Identity:
    """Who a record is of that is no good one; what no record could have counts as unreadable.

    Args:
        item: a line, or the value of one.
    """
    record = object_of(item)
    if record is None:
        return UNKNOWN
    miner = record.get("miner")
    if not isinstance(miner, dict):
        miner = {}
    known = _definitions()
    slots, hotkey = known["miner"]["properties"]["uid"], known["hotkey"]
    uid = miner.get("uid")
    is_slot = type(uid) is int and slots["minimum"] <= uid <= slots["maximum"]
    return Identity(
        task_id=_text(record.get("task_id"), known["id"]),
        miner_uid=uid if is_slot else None,
        miner_hotkey=_text(miner.get("hotkey"), hotkey),
        validator=_text(record.get("validator"), hotkey),
    )


def whose(item: object) -> Identity:
    """As ``identity_of`` of a record on which the engine fails: nobody's if this fails as well."""
    with suppress(Exception):
        return identity_of(item)
    return UNKNOWN


def object_of(item: object) -> dict[str, Any] | None:
    """Return the object that an item is; None for what is none, or cannot be read.

    Args:
        item: a line, or the value of one.
    """
    record = _parsed(item) if isinstance(item, bytes) else item
    return record if isinstance(record, dict) else None


@cache
def _definitions() -> Mapping[str, Any]:
    """What every schema of records says of an identifier, a hotkey and a miner."""
    found: Mapping[str, Any] = read_json(schema_path("record-1"))["$defs"]
    return found


def _parsed(line: bytes) -> Any:  # noqa: ANN401  # any JSON value
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        with uncollected(len(line)):
            return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text(value: object, schema: Mapping[str, Any]) -> str | None:
    """A text as long as a schema says, which UTF-8 can spell."""
    if not isinstance(value, str) or not schema["minLength"] <= len(value) <= schema["maxLength"]:
        return None
    return value if value.encode("utf-8", "replace").decode() == value else None
