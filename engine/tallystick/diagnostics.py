"""The one type of what is wrong: with a rule set, with what it does, with a plugin.

The problems of a rule set that does not load, what the linter finds and what the conformance checks
find are each a `Diagnostic`. A reject is not: it is one line of many, and its code says what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import attrs

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""Severities, the worst first."""

DOES_NOT_LOAD = "does-not-load"
"""The code of every problem for which a rule set does not load."""


@attrs.frozen(kw_only=True)
class Diagnostic:
    """One thing that is wrong, where it is, and what to do.

    Attributes:
        code: the stable name of what is wrong; it never changes its meaning.
        severity: an error keeps from using it; a warning is hardly meant; a note often is.
        file: the file as the user named it; empty where it is in no file.
        line: the line, from 1; 0 where it has no line.
        path: the place in the file, such as ``skill_types.rag_knowledge.weights``, or what of a
            plugin: a formula, a skill type, a part of a schema.
        message: what was found and what was expected, in lower case and without a full stop.
        evidence: what shows it, as JSON: figures, or the record of a counterexample.
        remedy: what to do.
    """

    code: str
    severity: Severity = "error"
    file: str = ""
    line: int = 0
    path: str = ""
    message: str
    # a mapping has no hash, and what differs in its evidence differs in its message
    evidence: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    remedy: str

    @property
    def where(self) -> str:
        """The file with its line; where there is no file, the path."""
        if not self.file:
            return self.path
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        parts = [self.where, self.path or "the file"] if self.file else [self.path]
        # one line: what is named in it may have line ends, which would begin another diagnostic
        return ": ".join([*parts, self.message]).replace("\n", "\\n")


def unexpected(value: str, expected: str) -> str:
    """Return the message of an unexpected value; without a value, the expectation alone."""
    return f"found {value}, expected {expected}" if value else f"expected {expected}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known word, or an empty text."""
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def problem(file: str, line: int, path: str, value: str, expected: str) -> Diagnostic:
    """Return the diagnostic of a problem for which a rule set does not load.

    Args:
        file: the file as the user named it.
        line: the line of the key's assignment, or of the statement that encloses it; 0 when the
            problem has no place in the file.
        path: the dotted path of the value.
        value: what was found, as text; empty when something is missing.
        expected: what was expected, and where it helps what to do.
    """
    return Diagnostic(
        code=DOES_NOT_LOAD,
        file=file,
        line=line,
        path=path,
        message=unexpected(value, expected),
        evidence={"value": value, "expected": expected},
        remedy="do what is expected there",
    )
