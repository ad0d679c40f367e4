"""What tests need and pip cannot install: a test without its tool is left out, and told so.

Continuous integration names those that must be there in ``TALLYSTICK_REQUIRE``, separated by
commas; without one of them its tests fail.
"""

import os
import shutil
from pathlib import Path

import pytest

LEFT_OUT = "left out: "
"""How the reason begins; a run of the tests shows such reasons at its end."""


def tool(name: str) -> Path:
    """The program of a name; without it the test is left out, or fails where it is required."""
    found = shutil.which(name)
    return needed(name, None if found is None else Path(found))


def needed(name: str, path: Path | None) -> Path:
    """The path of what a test needs, if it is there; else as `tool`."""
    if path is not None and path.exists():
        return path
    if name in os.environ.get("TALLYSTICK_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here and not installed", pytrace=False)
    pytest.skip(f"{LEFT_OUT}{name} is not installed")
