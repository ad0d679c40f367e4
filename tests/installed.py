"""Distributions as they are installed, and modules of theirs, in a folder of a test."""

from __future__ import annotations

from pathlib import Path

from tallystick.plugins import entries as entry_points


def install(site: Path, distribution: str, **groups: dict[str, str]) -> None:
    """Write what pip writes of a distribution: its name, and its entry points by group and name.

    The keyword ``lints`` is the group ``tallystick.lints``.
    """
    folder = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    about = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
    (folder / "METADATA").write_text(about)
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[tallystick.{group}]", *(f"{n} = {t}" for n, t in entries.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    # a process looks once; here distributions come while it runs
    for value in vars(entry_points).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()
