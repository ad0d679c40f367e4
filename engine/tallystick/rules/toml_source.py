"""Files in TOML beside rule sets: read strictly by a schema, wrong values told by their place.

The files of a network's validators are such, and policies of a council. Errors have the file, the
line, the path of the value, what was expected there, and for a misspelt key the nearest one.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tallystick.errors import InputError, RuleSetError
from tallystick.io.documents import read_json, read_text
from tallystick.resources import schema_path
from tallystick.rules.schema import DocumentSchema, in_place
from tallystick.rules.toml import Document, parse


def read_source(path: Path, expected: str) -> Document:
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
        raise InputError(f"{path}: {expected} cannot be read ({reason}): check the name") from error
    return parse_source(text, str(path))


def parse_source(text: str, where: str) -> Document:
    """Return the tables of a text.

    Args:
        text: TOML.
        where: the name of the file, for errors.

    Raises:
        InputError: the text is no TOML, or deeper or larger than such a file may be.
    """
    try:
        return parse(text, where)
    except RuleSetError as error:
        raise InputError(str(error)) from None


def check_source(source: Document, schema: str) -> None:
    """Refuse tables that do not fit a schema of the engine.

    Raises:
        InputError: the first problem of the file.
    """
    findings = _schema(schema).validate(source.data).findings
    if findings:
        first = min(findings, key=lambda finding: source.line(finding.path))
        raise source.error(first.path, first.message)


@cache
def _schema(name: str) -> DocumentSchema:
    # the descriptions of these schemas say types and ranges in words
    document = read_json(schema_path(name), numbers="decimal")
    return DocumentSchema(
        in_place(document, document.get("$defs", {})),
        lambda part: part.get("description") or "another value",
    )
