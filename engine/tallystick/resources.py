"""Where the files that ship with the engine are: rule sets and schemas.

A wheel carries them in ``tallystick/_data``; a checkout, also one installed as editable, is read
in place, so that an edit is seen at once and a digest never lies.
"""

from __future__ import annotations

from pathlib import Path

from tallystick.errors import TallystickError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder ``rules`` or ``schemas``, as installed or in the checkout."""
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise TallystickError(f"the installation lacks its folder {name!r}: install tallystick again")


def schema_path(name: str) -> Path:
    """The path of a schema of the engine, such as ``record-1``."""
    return folder("schemas") / f"{name}.schema.json"
