"""Files in TOML that validators of a network have: read strictly, wrong values told by their place.

Errors have the file, the line, the path of the value, and what was expected there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError, RuleSetError
from tallystick.io.documents import read_text
from tallystick.io.json_schema import first_problem
from tallystick.rules.findings import dotted, shown
from tallystick.rules.toml import KeyPath, Positions, UnusableNumber, parse, scan


@attrs.frozen
class TomlSource:
    """The text of a file, as tables with the line of every key.

    Attributes:
        where: the name of the file.
        tables: its tables; a number with a point is an exact decimal.
        positions: the lines of the keys.
    """

    where: str
    tables: Mapping[str, Any]
    positions: Positions

    @classmethod
    def read(cls, path: Path, expected: str) -> TomlSource:
        """Return the tables of a file.

        Args:
            path: the file.
            expected: what it is, for errors.

        Raises:
            InputError: the file cannot be read, or is no TOML.
        """
        try:
            text = read_text(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{path}: {expected} cannot be read ({reason}): check the name"
            ) from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, where: str) -> TomlSource:
        """Return the tables of a text.

        Args:
            text: TOML.
            where: the name of the file, for errors.

        Raises:
            InputError: the text is no TOML, or deeper or larger than such a file may be.
        """
        try:
            return cls(where, parse(text, where).data, scan(text))
        except RuleSetError as error:
            raise InputError(str(error)) from None

    def error(self, path: KeyPath, message: str) -> InputError:
        """Return the error of a value: file, line, path and message."""
        return self._error(dotted(path), path, message)

    def check(self, schema: str) -> None:
        """Refuse tables that do not fit a schema of the engine.

        Raises:
            InputError: the first problem.
        """
        problem = first_problem(schema, self._plain(self.tables, ()))
        if problem is not None:
            paths = {dotted(path): path for path in self.positions.lines}
            path = problem.path
            # a key that lacks in a table of an array has no place of its own
            while path and path not in paths:
                path = path[: max(path.rfind("."), path.rfind("["), 0)]
            raise self._error(problem.path, paths.get(path, ()), problem.message)

    def _error(self, name: str, path: KeyPath, message: str) -> InputError:
        line = self.positions.line(path)
        place = f"{self.where}:{line}" if line else self.where
        return InputError(f"{place}: {name or 'the file'}: {message}")

    def _plain(self, value: Any, path: KeyPath) -> Any:  # noqa: ANN401  # any value of a document
        """Return the value as JSON; the exact decimals are only compared with bounds there.

        Raises:
            InputError: a date, or a number that is too fine or too large.
        """
        if isinstance(value, dict):
            return {key: self._plain(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._plain(item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(value, dt.date | dt.time | UnusableNumber):
            expected = "a number of at most nine decimal places, or text: no dates"
            raise self.error(path, f"found {shown(value)}, expected {expected}")
        return float(value) if isinstance(value, Decimal) else value
