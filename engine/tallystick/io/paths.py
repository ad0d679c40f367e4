"""Paths as callers give them: text, or anything that stands for a path."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from tallystick.errors import InputError

PathLike = str | os.PathLike[str]
"""A path of a file or a folder."""


_RECEIPT = ".receipt.json"


def receipt_beside(output: Path) -> Path:
    """Return the path of the receipt of an output, unless another one is named."""
    return output.with_name(output.name + _RECEIPT)


def is_receipt_beside(path: Path, names: Collection[str]) -> bool:
    """Return whether a path is that of the receipt of one of some names beside it."""
    return path.name.endswith(_RECEIPT) and path.name.removesuffix(_RECEIPT) in names


def path_of(value: PathLike, what: str = "a path") -> Path:
    """Return a path that a caller gave.

    Args:
        value: text or an ``os.PathLike``.
        what: what it should be, for the error.

    Raises:
        InputError: it is something else.
    """
    return Path(path_text(value, what))


def path_text(value: PathLike, what: str = "a path") -> str:
    """Return the text of a path that a caller gave, or of an URL.

    Raises:
        InputError: it is neither text nor an ``os.PathLike`` of text.
    """
    text: object = value
    if isinstance(value, os.PathLike):
        text = os.fspath(value)
    if not isinstance(text, str):
        raise InputError(
            f"found {_named(text)}, expected {what}: text, or an os.PathLike such as pathlib.Path"
        )
    return text


def _named(value: object) -> str:
    return "None" if value is None else f"a Python {type(value).__name__}"
