"""Moments: when something happened, as it is recorded."""

from __future__ import annotations

from datetime import UTC, datetime

from tallystick.errors import StateError


def timestamp_text(at: datetime | None) -> str | None:
    """A time as recorded: UTC with microseconds, so that earlier times are lesser text.

    Raises:
        StateError: the time has no offset.
    """
    if at is None:
        return None
    if at.tzinfo is None:
        raise StateError(f"found the time {at.isoformat()} without an offset, expected one")
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
