"""Distributions as they are installed, and modules of theirs, in a folder of a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from tallystick.cli.rows import installed_commands
from tallystick.plugins.registry import installed_plugins
from tallystick.rules.section import _installed as of_sections
from tallystick_governance.lint.catalog import installed_lints

_EXTENDED = ("tallystick.cli.explain", "tallystick.cli.score")
"""Modules of commands to which plugins add options, once in a process."""


def install(
    site: Path, distribution: str, *, version: str = "1.0", **groups: dict[str, str]
) -> None:
    """Write what pip writes of a distribution: name, version, entry points by group and name.

    The keyword ``lints`` is the group ``tallystick.lints``. A process looks once along its search
    path: a distribution that comes later, into a folder of that path, has a place of its own there.
    """
    if str(site) in sys.path:
        site /= f".{distribution}"
        sys.path.insert(0, str(site))
    folder = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    about = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    (folder / "METADATA").write_text(about)
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[tallystick.{group}]", *(f"{n} = {t}" for n, t in entries.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")


def look_again() -> None:
    """Let the next command find what is installed by now."""
    for remembered in (installed_commands, installed_lints, installed_plugins, of_sections):
        remembered.cache_clear()


@contextmanager
def beside(*sites: Path) -> Iterator[None]:
    """Let this process find what is installed in some folders, and forget it at the end."""
    with (
        mock.patch.dict(sys.modules),
        mock.patch.object(sys, "path", [*map(str, sites), *sys.path]),
        mock.patch.dict("os.environ", TALLYSTICK_PLUGINS=""),
    ):
        for name in _EXTENDED:
            sys.modules.pop(name, None)
        look_again()
        yield
    look_again()


class _Hidden:
    """A finder that hides one package, as if it were missing."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def without(package: str, *above: str) -> Iterator[None]:
    """Let this process lack a package, and import those anew that stand on it."""
    with beside(), mock.patch.object(sys, "meta_path", [_Hidden(package), *sys.meta_path]):
        for name in [*sys.modules]:
            if f"{name}.".startswith(tuple(f"{each}." for each in (package, *above))):
                del sys.modules[name]
        yield
