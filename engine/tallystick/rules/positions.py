"""Where each key of a TOML document stands.

TOML readers give values without places. This scanner gives the places without values: it reads
text that a TOML reader has accepted and notes the line of every key, table and array item.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

import attrs
import tomli

if TYPE_CHECKING:
    from collections.abc import Mapping

KeyPath = tuple[str | int, ...]
"""The keys, and for array items the indices from 0, that lead to a value."""

DEEPEST = 32
"""No rule set nests deeper; a hostile file must not exhaust the stack."""

_SPACE = re.compile(r"[ \t\r]*")
_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\]|\\.)*\"|'[^']*'")
_STRING = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"\"\"\"{0,2}|'''.*?''''{0,2}|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n]*")


class TooDeepError(Exception):
    """A value nested deeper than `DEEPEST`; ``line`` is where."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(line)


@attrs.frozen
class Positions:
    """The line, from 1, of every key path of one document."""

    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """The line of the path, or of what encloses it; 0 for the document itself."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


def scan(text: str) -> Positions:
    """The positions of a document that a TOML reader has accepted.

    Raises:
        TooDeepError: something is nested deeper than `DEEPEST`.
    """
    scanner = _Scanner(text)
    scanner.document()
    return Positions(scanner.lines)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
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
        for place, key in enumerate(keys, 1):
            path = (*path, key)
            final = place == len(keys)
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
        found = pattern.match(self.text, self.at)
        if found is None:
            raise AssertionError(f"text at {self.at} that a TOML reader would not accept")
        self.at = found.end()
        return found.group()

    def _note(self, path: KeyPath, line: int, *, again: bool = False) -> None:
        if len(path) > DEEPEST:
            raise TooDeepError(line)
        if again or path not in self.lines:
            self.lines[path] = line

    def _line(self) -> int:
        return bisect_left(self._newlines, self.at) + 1
