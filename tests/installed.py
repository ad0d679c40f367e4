"""Distributions as they are installed, and modules of theirs, in a folder of a test."""

from __future__ import annotations

import sys
from pathlib import Path

from tallystick.plugins.commands import installed_commands
from tallystick.plugins.registry import installed_plugins
from tallystick_governance.lint.catalog import installed_lints


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
    for remembered in (installed_commands, installed_lints, installed_plugins):
        remembered.cache_clear()
