"""Files in TOML beside rule sets: read strictly by a schema, wrong values told by their place.

The files of a network's validators are such, and policies of a council. Errors have the file, the
line, the path of the value, what was expected there, and for a misspelt key the nearest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError, RuleSetError
from tallystick.io.documents import read_json, read_text
from tallystick.resources import schema_path
from tallystick.rules.findings import dotted
from tallystick.rules.schema import DocumentSchema, in_place
from tallystick.rules.toml import Document, KeyPath, parse


@attrs.frozen
class TomlSource:
    """The text of a file, as tables with the line of every key.

    Attributes:
        where: the name of the file.
        document: its tables, with the line of each key.
    """

    where: str
    document: Document

    @property
    def tables(self) -> Mapping[str, Any]:
        """Return its tables; a number with a point is an exact decimal."""
        return self.document.data

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
            return cls(where, parse(text, where))
        except RuleSetError as error:
            raise InputError(str(error)) from None

    def error(self, path: KeyPath, message: str) -> InputError:
        """Return the error of a value: file, line, path and message."""
        line = self.document.positions.line(path)
        place = f"{self.where}:{line}" if line else self.where
        return InputError(f"{place}: {dotted(path) or 'the file'}: {message}")

    def check(self, schema: str) -> None:
        """Refuse tables that do not fit a schema of the engine.

        Raises:
            InputError: the first problem of the file.
        """
        findings = _schema(schema).validate(self.tables).findings
        if findings:
            first = min(findings, key=lambda finding: self.document.positions.line(finding.path))
            raise self.error(first.path, first.message)


@cache
def _schema(name: str) -> DocumentSchema:
    # the descriptions of these schemas say types and ranges in words
    document = read_json(schema_path(name), numbers="decimal")
    return DocumentSchema(
        in_place(document, document.get("$defs", {})),
        lambda part: part.get("description") or "another value",
    )
