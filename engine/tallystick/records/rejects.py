"""Rejects: what is said about a record that is not scored.

The codes are in docs/records.md.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import Problem, RecordError
from tallystick.io.text import json_text
from tallystick.json_values import json_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.json_values import JsonObject

CODES: Mapping[str, str] = MappingProxyType(
    {
        "byte-order-mark": "the line starts with a byte order mark",
        "empty-line": "the line holds nothing but white space",
        "fact-failed": "the function of an opaque fact failed, or gave no integer of its range",
        "internal-error": "the engine itself fails on the record, which is a defect",
        "invalid-json": "the line is not one JSON value",
        "invalid-record": "the record breaks another rule of its schema",
        "invalid-utf8": "the text is not UTF-8, or has a lone surrogate",
        "line-too-long": "the line has more bytes than a record may have",
        "missing-field": "a field that every such record has is not there",
        "not-allowed": "the value is not one of those that are listed",
        "not-an-object": "the line is JSON, but not an object",
        "not-finite": "the number is NaN, infinite, or too large for a double",
        "out-of-range": "the number is too small or too large",
        "too-deep": "lists and objects are nested too deeply",
        "too-long": "the text has too many characters",
        "too-many": "the list or the map has too many entries",
        "too-short": "the text has too few characters",
        "undecided": "a value compares two numbers that no precision can distinguish",
        "unknown-field": "the schema has no such field",
        "unknown-skill-type": "the rule set has no such skill type",
        "wrong-type": "the value has another JSON type than its field",
    }
)
"""Every code that the engine gives, and what it means; requirements of plugins add their own."""


MOST_PROBLEMS = 10
"""Maximum number of problems of one record that its reject has."""


@attrs.frozen
class Identity:
    """The task, miner and validator of a record, as far as they can be read."""

    task_id: str | None = None
    miner_uid: int | None = None
    miner_hotkey: str | None = None
    validator: str | None = None


UNKNOWN = Identity()
"""The identity of a record that cannot be read."""


@attrs.frozen
class Reject:
    """One record that is not scored, and why.

    Attributes:
        line: the record's line, from 1.
        code, path, value, expected: of the first problem.
        task_id, miner_uid, miner_hotkey, validator: of the record, each None if it has none that
            can be read.
        problems: the first of everything that is wrong, ``MOST_PROBLEMS`` at most; the first of
            them is this one.
    """

    line: int
    code: str
    path: str
    value: str
    expected: str
    task_id: str | None = None
    miner_uid: int | None = None
    miner_hotkey: str | None = None
    validator: str | None = None
    problems: tuple[Problem, ...] = attrs.field()

    @problems.default
    def _only_this(self) -> tuple[Problem, ...]:
        return (Problem(self.code, self.path, self.value, self.expected),)

    @classmethod
    def of(cls, error: RecordError, line: int, who: Identity = UNKNOWN) -> Reject:
        """Return the reject of a record that raised."""
        own = error.code, error.path, error.value, error.expected
        owner = who.task_id, who.miner_uid, who.miner_hotkey, who.validator
        return cls(line, *own, *owner, error.problems[:MOST_PROBLEMS])

    def to_error(self) -> RecordError:
        """Return the error of a record that is scored alone."""
        return RecordError.of(self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the reject as JSON values."""
        value: JsonObject = json_value(self)
        return value

    def to_json(self) -> bytes:
        """Return the line of the rejects file: a JSON object in UTF-8, without a line end."""
        return json_text(json_value(self)).encode()
