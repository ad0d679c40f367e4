"""Who and what a bad record is of, as far as that can be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.records.rejects import UNKNOWN, Identity

_LONGEST_ID, _LONGEST_HOTKEY = 4096, 64
_SLOTS = 1 << 16


def identity_of(item: bytes | Mapping[str, Any]) -> Identity:
    """Who a record is of that is no good one; what no record could have counts as unreadable.

    Args:
        item: a line, or a mapping.
    """
    record = _parsed(item) if isinstance(item, bytes) else item
    if not isinstance(record, dict):
        return UNKNOWN
    miner = record.get("miner")
    if not isinstance(miner, dict):
        miner = {}
    uid = miner.get("uid")
    return Identity(
        task_id=_text(record.get("task_id"), _LONGEST_ID),
        miner_uid=uid if type(uid) is int and 0 <= uid < _SLOTS else None,
        miner_hotkey=_text(miner.get("hotkey"), _LONGEST_HOTKEY),
        validator=_text(record.get("validator"), _LONGEST_HOTKEY),
    )


def _parsed(line: bytes) -> Any:  # noqa: ANN401  # any JSON value
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text(value: object, longest: int) -> str | None:
    """A text of 1 to so many characters that UTF-8 can spell."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        return None
    return value if value.encode("utf-8", "replace").decode() == value else None
