"""The native front of Tallystick: the shared library that reads lines of records.

The engine finds this package by its entry point, and holds the bytes of the library against the
digest that the build has noted.
"""

from pathlib import Path

from tallystick_native._built import DIGEST, NAME

__all__ = ["DIGEST", "library"]

tallystick_api = 1


def library() -> Path:
    """Return the path of the shared library."""
    return Path(__file__).with_name(NAME)
