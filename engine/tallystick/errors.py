"""Every error that Tallystick raises for a user's mistake.

::

    TallystickError
    ├── NumberError      a number that no published value can be
    ├── FormulaError     a formula that cannot be built, or cannot be proved safe
    ├── PluginError      a plugin that cannot be used
    ├── SchemaError      a record schema that the engine cannot read
    ├── RuleSetError     a rule set that does not load; carries every problem found
    ├── RecordError      one record that cannot be scored
    ├── InputError       a file of records that cannot be read
    └── OutputError      a result that cannot be written

A message says what was found, where, what was expected, and what to do; lower case, no full stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence


class TallystickError(Exception):
    """The root: catch this to catch every error of the engine."""


class NumberError(TallystickError):
    """A number that no published value can be: not finite, negative, or finer than 1e-9."""


class FormulaError(TallystickError):
    """A formula that cannot be built, or that cannot be proved safe for every valid record."""


class PluginError(TallystickError):
    """A plugin that cannot be used, with its name and the reason."""


class SchemaError(TallystickError):
    """A record schema that the engine cannot read."""


class InputError(TallystickError):
    """A file of records that cannot be read at all."""


class OutputError(TallystickError):
    """A result that cannot be written."""


@attrs.frozen
class Problem:
    """One thing that is wrong with a rule-set file.

    Attributes:
        file: the file as the user named it.
        line: the line, from 1, of the key's assignment or of the statement that encloses it;
            0 when the problem has no place in the file.
        path: dotted path of the value, such as ``skill_types.rag_knowledge.weights``.
        value: what was found, as text; empty when something is missing.
        expected: what was expected, and where it helps what to do.
    """

    file: str
    line: int
    path: str
    value: str
    expected: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        found = f"found {self.value}, " if self.value else ""
        return f"{place}: {self.path or 'the file'}: {found}expected {self.expected}"


class RuleSetError(TallystickError):
    """A rule set that does not load; ``problems`` holds everything that was found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class RecordError(TallystickError):
    """One record that cannot be scored: a stable code, the path, the value, what was expected."""

    def __init__(self, code: str, path: str, value: str, expected: str) -> None:
        self.code, self.path, self.value, self.expected = code, path, value, expected
        super().__init__(f"{code}: {path or 'the record'}: found {value}, expected {expected}")
