"""Opening a file of records, and what is said when that fails."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from tallystick.errors import InputError


def opened(path: Path) -> BinaryIO:
    """The file, open for reading.

    Raises:
        InputError: there is no such file, or it cannot be opened.
    """
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "no such file: check the name"
        case IsADirectoryError():
            return "a folder, expected a file: name one file of records in it"
        case PermissionError():
            return "the file may not be read: check its permissions"
        case OSError():
            return f"the file cannot be read ({error.strerror or error}): check the name"
        case _:
            return f"found a name that no file can have ({error}), expected the name of a file"
