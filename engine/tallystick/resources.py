"""Resources: the folders of the rule sets, schemas and vectors that ship with the engine.

A wheel carries them in ``tallystick/_data``; a checkout, also one installed as editable, is read
in place, so that an edit is seen at once and a digest never lies.
"""

from __future__ import annotations

from pathlib import Path

from tallystick.errors import TallystickError

_PACKAGE = Path(__file__).resolve().parent


_IN_CHECKOUT = {"vectors": "tests/vectors"}
"""Folders of a checkout that do not stand at its top."""


def folder(name: str) -> Path:
    """Return the folder ``rules``, ``schemas`` or ``vectors``, as installed or in the checkout."""
    in_checkout = _PACKAGE.parents[1] / _IN_CHECKOUT.get(name, name)
    for candidate in (_PACKAGE / "_data" / name, in_checkout):
        if candidate.is_dir():
            return candidate
    raise TallystickError(f"the installation lacks its folder {name!r}: install tallystick again")


def schema_path(name: str) -> Path:
    """Return the path of a schema of the engine, such as ``record-1``."""
    return folder("schemas") / f"{name}.schema.json"


def vectors_path() -> Path:
    """Return the path of the vectors of whole records: lines with their rows of results."""
    return folder("vectors") / "rows.json"
