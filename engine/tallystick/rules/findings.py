"""Findings of checks in a rule set, each with its place in the file and its message."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.diagnostics import Diagnostic, Severity, unexpected
from tallystick.io.text import escaped
from tallystick.numbers.text import fraction
from tallystick.rules.toml import UnusableNumber, decimal_text, whole_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tallystick.rules.toml import Document, KeyPath

_LONGEST = 60


@attrs.frozen
class Finding:
    """A finding at a place of a rule set, before its line is looked up.

    Attributes:
        path: the keys and indices that lead to the value, also where it is missing.
        message: what was found, in lower case and without a full stop.
        evidence: what shows it, as JSON: exact numbers as text.
        severity: another severity than that of the check, for this place.
    """

    path: KeyPath
    message: str
    # a mapping has no hash, and what differs in its evidence differs in its message
    evidence: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    severity: Severity | None = None


def mistake(path: KeyPath, value: str, expected: str) -> Finding:
    """A value that is not what was expected; the value is empty when something is missing."""
    evidence = {"value": value, "expected": expected}
    return Finding(path, unexpected(value, expected), evidence)


def problems(mistakes: Iterable[Finding], document: Document) -> tuple[Diagnostic, ...]:
    """Return the mistakes with their lines, in the order of the file."""
    placed = [document.problem(finding.path, **finding.evidence) for finding in mistakes]
    return tuple(sorted(placed, key=lambda p: (p.line, p.path, p.evidence["expected"])))


def shown(value: object) -> str:
    """A value of a document as short text: strings in quotes, tables and arrays by their kind."""
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def one_of(words: Iterable[str]) -> str:
    """Return the words as a list for a message, or ``none``."""
    return ", ".join(words) or "none"


def _text(value: Any) -> str:  # noqa: ANN401  # any value of a document
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{escaped(value)}"'
        case Decimal():
            return decimal_text(value)
        case Fraction():
            return fraction(value)
        case dict():
            return "a table"
        case list() | tuple():
            return "an array"
        case UnusableNumber():
            return value.text
        case int():
            return whole_text(value)
        case dt.date() | dt.time():
            return value.isoformat()
    return str(value)
