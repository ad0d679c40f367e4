"""Documents: small files in TOML and JSON, such as settings and schemas, read within limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tallystick.io.inputs import start_of

LARGEST = 256 * 1024
"""The largest document, in bytes."""


def read_text(path: Path) -> str:
    """The text of a document.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is larger than ``LARGEST``, or not in UTF-8.
    """
    return _text(start_of(path, LARGEST + 1))


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML document.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is too large, nested too deep, or no TOML.
    """
    return parse_toml(start_of(path, LARGEST + 1))


def parse_toml(data: bytes) -> dict[str, Any]:
    """Return the tables of the first ``LARGEST + 1`` bytes of a TOML document.

    Raises:
        ValueError: it is too large, nested too deep, or no TOML.
    """
    import tomli  # where there is such a file

    found: dict[str, Any] = _parsed(tomli.loads, _text(data))
    return found


def read_json(path: Path) -> Any:  # noqa: ANN401  # any JSON value
    """The value of a JSON document.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is too large, nested too deep, or no JSON.
    """
    return _parsed(json.loads, read_text(path))


def object_of(
    pairs: Sequence[tuple[str, Any]], refused: Callable[[str], Exception]
) -> dict[str, Any]:
    """A JSON object each of whose keys stands once.

    Args:
        pairs: its keys and values, as ``object_pairs_hook`` has them.
        refused: makes the error of a key that stands twice, which is raised.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        for key, _ in pairs:
            if key in seen:
                raise refused(key)
            seen.add(key)
    return found


def _text(data: bytes) -> str:
    if len(data) > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    return data.decode("utf-8")


def _parsed(parse: Callable[[str], Any], text: str) -> Any:  # noqa: ANN401  # as above
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
