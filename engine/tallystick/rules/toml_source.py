"""Files in TOML beside rule sets: read strictly by a schema, wrong values told by their place.

The files of a network's validators are such, and policies of a council. Errors have the file, the
line, the path of the value, what was expected there, and for a misspelt key the nearest one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError, RuleSetError
from tallystick.io.documents import read_json, read_text
from tallystick.io.json_schema import first_problem
from tallystick.resources import schema_path
from tallystick.rules.findings import dotted, shown
from tallystick.rules.toml import KeyPath, Positions, UnusableNumber, parse, scan

_MOST_NAMES = 4


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
        tables, known = self._plain(self.tables, ()), _schema(schema)
        for place, number in _numbers(self.tables, known, known, ()):
            expected = f"a whole number: write {number:f}".partition(".")[0]
            raise self.error(place, f"found {number}, expected {expected}")
        problem = first_problem(schema, tables)
        if problem is not None:
            for place, keys in _unknown_keys(tables, known, known, ()):
                raise self.error(place, keys)
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


def _numbers(
    value: object, schema: Mapping[str, Any], root: Mapping[str, Any], path: KeyPath
) -> Iterator[tuple[KeyPath, Decimal]]:
    """Yield the numbers with a point that are whole where a schema has whole numbers alone.

    For JSON they are whole numbers, and no reader of tables takes them for such.
    """
    schema = _resolved(schema, root)
    if isinstance(value, Decimal):
        is_whole = schema.get("type") == "integer" or type(schema.get("const")) is int
        if is_whole and value == value.to_integral_value():
            yield path, value
        return
    for step, part, of_part in _parts(value, schema):
        yield from _numbers(part, of_part, root, (*path, step))


def _unknown_keys(
    value: object, schema: Mapping[str, Any], root: Mapping[str, Any], path: KeyPath
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the tables that have other keys than those of the format, with what is wrong there."""
    schema = _resolved(schema, root)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        missing = [name for name in schema.get("required", ()) if name not in value]
        unknown = [name for name in value if name not in known]
        if unknown and schema.get("additionalProperties") is False:
            found = ", ".join(shown(name) for name in unknown[:_MOST_NAMES])
            lacking = ", ".join(shown(name) for name in missing[:_MOST_NAMES])
            keys = f" and no {lacking}, expected" if missing else ", expected none but"
            hint = nearest(unknown[0], known.keys() - value.keys())
            yield path, f"found {found}{keys} the keys of the format{hint}"
    for step, part, of_part in _parts(value, schema):
        yield from _unknown_keys(part, of_part, root, (*path, step))


def _parts(
    value: object, schema: Mapping[str, Any]
) -> Iterator[tuple[str | int, object, Mapping[str, Any]]]:
    """Yield the parts of a table or a list that a schema describes, with their schemas."""
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, part in value.items():
            of_part = known.get(name, others)
            if isinstance(of_part, Mapping):
                yield name, part, of_part
    elif isinstance(value, list) and "items" in schema:
        yield from ((index, part, schema["items"]) for index, part in enumerate(value))


@cache
def _schema(name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = read_json(schema_path(name))
    return schema


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    found: Mapping[str, Any] = root["$defs"][name] if name else schema
    return found
