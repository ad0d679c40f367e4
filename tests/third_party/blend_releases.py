"""The releases of the third-party plugin: where they are, and how a process loads one.

Release 1.0.0 is the project beside this file. Release 1.1.0 is made of it: it adds a second version
of one formula, and a rule set that uses it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from tallystick.plugins.entries import GROUP
from tallystick.plugins.registry import Registry, registry

HERE = Path(__file__).parent
PROJECT = HERE / "tallystick-blend"
PACKAGE = "tallystick_blend"
ENTRY = EntryPoint("blend", f"{PACKAGE}.plugin", GROUP)

_CHANGE = HERE / "release_1_1"
_NEWER = (
    ('version = "1.0.0"', 'version = "1.1.0"'),
    ('formula = "blend/efficiency@1"', 'formula = "blend/efficiency@2"\nper_event = 0.25'),
)


def copy_of(folder: Path) -> Path:
    """A copy of the project of release 1.0.0, in a folder that is not there yet."""
    return copytree(PROJECT, folder, ignore=ignore_patterns("__pycache__"))


def release_1_1(folder: Path) -> Path:
    """The project of release 1.1.0, in a folder that is not there yet."""
    package = copy_of(folder) / PACKAGE
    (package / "efficiency.py").write_text((_CHANGE / "efficiency.py").read_text())
    rules = package / "rules" / "blend"
    (rules / "1.1.0.toml").write_text(_replaced((rules / "1.0.0.toml").read_text(), *_NEWER))
    released = formulas(package) | formulas(_CHANGE)
    (package / "released.json").write_text(json.dumps({"formulas": released}))
    project = folder / "pyproject.toml"
    project.write_text(_replaced(project.read_text(), _NEWER[0]))
    return folder


def formulas(folder: Path) -> dict[str, str]:
    """The released formulas of a folder, by name."""
    found: dict[str, str] = json.loads((folder / "released.json").read_text())["formulas"]
    return found


def loaded(project: Path, *others: EntryPoint) -> Registry:
    """The registry of the project's plugins, of the shipped ones and of some others.

    The modules of the project are forgotten afterwards, so that another release can be loaded.
    """
    own = ("consensus", "skills", "workflow")
    shipped = [each for each in entry_points(group=GROUP) if each.name in own]
    with _importable(project):
        return registry([*shipped, ENTRY, *others])


@contextmanager
def _importable(project: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(project)
        _forget()
        yield
        _forget()


def _forget() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def _replaced(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
