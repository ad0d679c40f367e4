"""A rule-set file as TOML: exact decimals, the line of every key, and errors that say where.

A TOML reader gives values without places. The scanner here gives the places without values: it
reads text that the reader has accepted and notes the line of every key, table and array item.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import attrs
import tomli

from tallystick.diagnostics import Diagnostic, problem
from tallystick.errors import InputError, NumberError, RuleSetError
from tallystick.io.text import escaped
from tallystick.numbers.nano import from_decimal, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

KeyPath = tuple[str | int, ...]
"""The keys, and for array items the indices from 0, that lead to a value."""

DEEPEST = 32
"""No rule set nests deeper; a hostile file must not exhaust the stack."""
MOST = 5000
"""The most keys and items of arrays: each may be a mistake, and telling one takes a while."""

_SPACE = re.compile(r"[ \t\r]*")
_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\]|\\.)*\"|'[^']*'")
_STRING = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"\"\"\"{0,2}|'''.*?''''{0,2}|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_KEY = 200
_LONG_INTEGER = re.compile(r"[0-9_]{4000,}")
# Python writes no integer of more than 4300 decimal digits; one of so many bits has fewer
_DECIMAL_BITS = 14000
NUMBER = "a decimal of at most nine decimal places and thirty digits before the point"
"""The form of a number of a rule set, for messages."""


@attrs.frozen
class Document:
    """A TOML document.

    Attributes:
        file: its name, for errors.
        data: the tables; a number with a point is a `Decimal`, or an `UnusableNumber`.
        lines: the line, from 1, of every key path.
    """

    file: str
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = attrs.field(repr=False)

    def line(self, path: KeyPath) -> int:
        """Return the line of the path, or of what encloses it; 0 for the document itself."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0

    def problem(self, path: KeyPath, value: str, expected: str) -> Diagnostic:
        """Return a problem of a rule set, with its line."""
        return problem(self.file, self.line(path), dotted(path), value, expected)

    def error(self, path: KeyPath, message: str) -> InputError:
        """Return the error of a value of another file: file, line, path and message."""
        line = self.line(path)
        place = f"{self.file}:{line}" if line else self.file
        return InputError(f"{place}: {dotted(path) or 'the file'}: {message}")


def dotted(path: KeyPath) -> str:
    """Return the path as people write it, such as ``tiers.levels[2].multiplier``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_shown_key(part)}" for part in path]
    return "".join(parts).removeprefix(".")


def _shown_key(part: str) -> str:
    text = part if _BARE_KEY.fullmatch(part) else f'"{escaped(part)}"'
    # no name is longer than a schema lets it be; a stranger's file may have others
    return text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 1]}…"


def parse(text: str, file: str) -> Document:
    """Return the document in the text of a file; ``file`` is named in errors.

    Raises:
        RuleSetError: the text is not TOML, or is deeper or larger than any rule set.
    """
    try:
        data = tomli.loads(text, parse_float=read_decimal)
        scanner = _Scanner(text, file)
        scanner.document()
    except tomli.TOMLDecodeError as error:
        # what is missing at the end of the text is missing on its last line
        line = min(error.lineno, text.rstrip().count("\n") + 1)
        raise _refusal(file, line, "", _readable(error.msg)) from None
    except ValueError:
        raise _refusal(file, _line_of_long_integer(text), "a long number", NUMBER) from None
    except RecursionError:
        raise _refusal(file, 0, "", f"at most {DEEPEST} levels of nesting") from None
    return Document(file, data, scanner.lines)


def _line_of_long_integer(text: str) -> int:
    match = _LONG_INTEGER.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _readable(reason: str) -> str:
    return f"TOML that can be read ({reason[:1].lower()}{reason[1:]})"


def _refusal(file: str, line: int, value: str, expected: str) -> RuleSetError:
    return RuleSetError([problem(file, line, "", value, expected)])


@attrs.frozen
class UnusableNumber:
    """A number of a file that no rule set may hold: ``nan``, ``inf``, too fine or too large."""

    text: str


def whole_text(value: int) -> str:
    """Return a whole number as text; in hexadecimal where Python writes no decimal of it."""
    return hex(value) if value.bit_length() > _DECIMAL_BITS else str(value)


def read_decimal(text: str) -> Decimal | UnusableNumber:
    """Return the decimal that TOML text denotes, or what cannot be one."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return UnusableNumber(text)
    return value if is_usable(value) else UnusableNumber(text)


def is_usable(value: Decimal | int) -> bool:
    """Return whether nine decimal places and thirty digits before the point hold the value."""
    if isinstance(value, int) and value.bit_length() > _DECIMAL_BITS:
        return False
    try:
        from_decimal(value)
    except NumberError:
        return False
    return True


def decimal_text(value: Decimal) -> str:
    """Return the shortest plain form: ``0.5`` for 0.50, ``100`` for 1E+2, ``0`` for -0.0."""
    text = to_text(from_decimal(value)).rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class _Scanner:
    """Notes the line of every key of a text that a TOML reader has accepted."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._tables_in_array: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while self._peek_after(_BLANK):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._assignment(table)

    def _header(self) -> KeyPath:
        line = self._line()
        of_array = self.text.startswith("[[", self.at)
        self.at += 2 if of_array else 1
        path: KeyPath = ()
        keys = self._keys()
        for depth, key in enumerate(keys, 1):
            path = (*path, key)
            final = depth == len(keys)
            self._note(path, line, again=final and not of_array)
            if final and of_array:
                self._tables_in_array[path] = self._tables_in_array.get(path, 0) + 1
            if path in self._tables_in_array:
                path = (*path, self._tables_in_array[path] - 1)
                self._note(path, line)
        self._peek_after(_SPACE)
        self.at += 2 if of_array else 1
        return path

    def _assignment(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, line)
        self.at += 1  # the equals sign
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        match self._peek_after(_SPACE):
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                self._take(_STRING)
            case _:
                self._take(_PLAIN)

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self._peek_after(_BLANK) != "]":
            self._note((*path, index), self._line())
            self._value((*path, index))
            index += 1
        self.at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self._peek_after(_BLANK) != "}":
            self._assignment(path)
        self.at += 1

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self._peek_after(_SPACE) == ".":
            self.at += 1
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._take(_SPACE)
        raw = self._take(_KEY)
        if raw[0] in "\"'":
            return str(tomli.loads(f"key = {raw}")["key"])
        return raw

    def _peek_after(self, skipped: re.Pattern[str]) -> str:
        self._take(skipped)
        return self.text[self.at : self.at + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise AssertionError(f"text at {self.at} that a TOML reader would not accept")
        self.at = match.end()
        return match.group()

    def _note(self, path: KeyPath, line: int, *, again: bool = False) -> None:
        if len(path) > DEEPEST:
            raise _refusal(self.file, line, "", f"at most {DEEPEST} levels of nesting")
        if len(self.lines) > MOST:
            raise _refusal(self.file, line, "", f"at most {MOST} keys and items of arrays")
        if again or path not in self.lines:
            self.lines[path] = line

    def _line(self) -> int:
        return bisect_left(self._newlines, self.at) + 1
