"""The target of a check: a plugin that is installed, or the folder of a project that is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import PluginError
from tallystick.io.documents import read_toml
from tallystick.plugins.entries import GROUP, distribution_of, installed_entries

_PROJECT = "pyproject.toml"
_SOURCES = "src"


@attrs.frozen
class Target:
    """One plugin to check.

    Attributes:
        name: the name of the plugin.
        entry: where its module is.
        distribution: the name of its project.
        version: of its project; empty where the project does not say it.
        paths: the folders to import it from, before all others.
        others: the entry points of all other plugins: those of the same project, and the installed
            ones of other projects.
    """

    name: str
    entry: EntryPoint
    distribution: str
    version: str
    paths: tuple[Path, ...]
    others: tuple[EntryPoint, ...]

    @property
    def absolute(self) -> str:
        """The target as it is found from every folder."""
        return f"{self.paths[-1]}:{self.name}" if self.paths else self.name

    @property
    def code(self) -> tuple[Path, ...]:
        """The folders of its package, or the file of its module; found without importing it."""
        top = self.entry.module.partition(".")[0]
        search = [*map(str, self.paths), *sys.path]
        spec = PathFinder.find_spec(top, search)
        if spec is None:
            return ()
        places = spec.submodule_search_locations or filter(None, [spec.origin])
        return tuple(Path(path).resolve() for path in places)


def find(target: str) -> Target:
    """Return the plugin that a name of an installed one, ``PATH`` or ``PATH:NAME`` means.

    Raises:
        PluginError: there is no such plugin, or there are several.
    """
    every = sorted(
        installed_entries(GROUP),
        key=lambda entry: (entry.name, distribution_of(entry), entry.value),
    )
    if not _is_path(target):
        entries = [entry for entry in every if entry.name == target]
        if entries:
            return _installed(entries[0], every)
        if not Path(target).is_dir():
            raise _unknown(target, every)
    return _project(target, every)


def _is_path(target: str) -> bool:
    return target in {os.curdir, os.pardir} or "/" in target or os.sep in target


def _installed(entry: EntryPoint, every: Iterable[EntryPoint]) -> Target:
    version = entry.dist.version if entry.dist else ""
    others = tuple(other for other in every if other is not entry)
    return Target(entry.name, entry, distribution_of(entry), version, (), others)


def _unknown(target: str, every: Iterable[EntryPoint]) -> PluginError:
    names = ", ".join(dict.fromkeys(entry.name for entry in every)) or "none is installed"
    return PluginError(
        f"found no plugin {target!r}, expected the name of an installed one ({names}) or the "
        "folder of a project"
    )


def _project(target: str, every: Iterable[EntryPoint]) -> Target:
    folder, wanted = _folder(target)
    project = _read(folder / _PROJECT)
    name, offers = _offers(project, folder, wanted)
    about = _table(project.get("project"))
    distribution = str(about.get("name", ""))
    return Target(
        name=name,
        entry=offers.pop(name),
        distribution=distribution,
        version=str(about.get("version", "")),
        paths=tuple(p.resolve() for p in (folder / _SOURCES, folder) if p.is_dir()),
        others=(*_strangers(every, distribution), *offers.values()),
    )


def _strangers(every: Iterable[EntryPoint], distribution: str) -> Iterator[EntryPoint]:
    """Yield the installed plugins of other projects."""
    for other in every:
        if _normal(distribution_of(other)) != _normal(distribution):
            yield other


def _folder(target: str) -> tuple[Path, str | None]:
    path = Path(target)
    if path.exists():
        return (path.parent if path.name == _PROJECT else path), None
    head, _, name = target.rpartition(":")
    return (Path(head), name) if head else (path, None)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        return read_toml(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise PluginError(
            f"{file}: cannot be read ({reason}), expected the {_PROJECT} of a plugin's project"
        ) from error
    except ValueError as error:
        raise PluginError(f"{file}: found what is not TOML: {error}") from error


def _offers(
    project: Mapping[str, Any], folder: Path, wanted: str | None
) -> tuple[str, dict[str, EntryPoint]]:
    """Return the name of the plugin that is wanted, and all that the project offers."""
    groups = _table(_table(project.get("project")).get("entry-points"))
    listed = _table(groups.get(GROUP))
    offers = {n: EntryPoint(n, m, GROUP) for n, m in listed.items() if isinstance(m, str)}
    names = [name for name in offers if wanted in (None, name)]
    if len(names) == 1:
        return names[0], offers
    file = folder / _PROJECT
    if names:
        raise PluginError(
            f"{file}: found the plugins {', '.join(names)}, expected one: "
            f"check each as {folder}:{names[0]}"
        )
    named = f" {wanted!r}" if wanted else ""
    raise PluginError(
        f'{file}: found no plugin{named} in [project.entry-points."{GROUP}"], expected a line '
        'such as mine = "my_package.plugin"'
    )


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
