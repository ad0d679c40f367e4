"""Where the files that ship with the engine are: rule sets, schemas and vectors.

A wheel carries them in ``tallystick/_data``; a checkout, also one installed as editable, is read
in place, so that an edit is seen at once and a digest never lies.
"""

from __future__ import annotations

from pathlib import Path

from tallystick.errors import TallystickError

_PACKAGE = Path(__file__).resolve().parent


_IN_CHECKOUT = {"vectors": "tests/vectors"}
"""Where a checkout has a folder that does not stand at its top."""


def folder(name: str) -> Path:
    """The folder ``rules``, ``schemas`` or ``vectors``, as installed or in the checkout."""
    in_checkout = _PACKAGE.parents[1] / _IN_CHECKOUT.get(name, name)
    for candidate in (_PACKAGE / "_data" / name, in_checkout):
        if candidate.is_dir():
            return candidate
    raise TallystickError(f"the installation lacks its folder {name!r}: install tallystick again")


def schema_path(name: str) -> Path:
    """The path of a schema of the engine, such as ``record-1``."""
    return folder("schemas") / f"{name}.schema.json"


def vectors_path() -> Path:
    """The path of the vectors of whole records: lines, and the row of results that each is."""
    return folder("vectors") / "rows.json"
