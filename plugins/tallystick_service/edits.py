"""Edits: other values of a rule set, as ``PATH=VALUE``, as ``rules set`` takes them."""

from __future__ import annotations

from collections.abc import Iterable

from tallystick.errors import InputError
from tallystick.rules.edit import Value, edited_text, edits, read_value
from tallystick.rules.toml import parse

MOST = 64
"""Maximum number of edits of one rule set."""


def lines_of(text: str) -> tuple[str, ...]:
    """Return the edits in a text: one a line, or separated by semicolons; blanks are left out."""
    parts = (part.strip() for line in text.splitlines() for part in line.split(";"))
    return tuple(part for part in parts if part)


def with_edits(text: str, changes: Iterable[str]) -> str:
    """Return the text of a rule set with other values.

    Raises:
        InputError: an edit has no path and value, or there are too many.
        TallystickError: a path leads nowhere, or a value is of another kind.
    """
    data, values = parse(text, "the rule set").data, list[tuple[str, Value]]()
    for change in changes:
        path, sign, value = change.partition("=")
        if not sign or len(values) >= MOST:
            raise InputError(
                f"found the edit {change[:80]!r}, expected PATH=VALUE, at most {MOST} of them"
            )
        values.append((path.strip(), read_value(data, path.strip(), value.strip())))
    return edited_text(text, edits(data, values))
