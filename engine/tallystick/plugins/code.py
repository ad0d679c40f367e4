"""Code: the files that the engine and its plugins are made of, by digest, and what they rest on.

The digest of a rule set covers what formulas mean. What reads records, takes facts and rounds is
code, and so are opaque facts: the digest of the files says which code it was. It covers every file
of a package, of whatever kind, but the bytecode that Python makes of a source beside it.

A package is digested as it stands on the disk, so that a checkout, an editable installation and a
wheel of one source have one digest. It is the digest of a list, in the order of the names, of
``[name, size, sha256]`` for each file, where text counts as it is with LF at the ends of its lines.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick import resources
from tallystick.canonical import digest
from tallystick.errors import PluginError

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry

DEPENDENCIES = ("jsonschema", "jsonschema-rs", "msgspec", "numpy", "pyarrow")
"""The distributions that decide which records are valid, or that results are computed with."""

Files = Mapping[str, tuple[int, str]]
"""The size and the SHA-256 of each file of a package, by its name from there, in name order."""

_ENGINE, _DATA, _DATA_FOLDERS = "tallystick", "_data", ("rules", "schemas")
_CACHE, _BYTECODE = "__pycache__", ".pyc"
# the readers of these do not tell CR LF from LF, and a checkout may have either
_TEXT = frozenset(
    {".css", ".html", ".js", ".json", ".jsonl", ".md", ".py", ".pyi", ".toml", ".txt"}
)


@attrs.frozen
class Code:
    """The code that results are made with.

    Attributes:
        engine: the digest of the engine's files.
        plugins: the digest of the files of each plugin, by its name; None of one that is in no
            files, but in an archive, say.
        dependencies: the versions of ``DEPENDENCIES``, by name.
    """

    engine: str
    plugins: Mapping[str, str | None]
    dependencies: Mapping[str, str]

    @classmethod
    def of(cls, registry: Registry) -> Code:
        """The code of the engine and of some plugins, as it is on the disk when first asked for.

        Raises:
            PluginError: a file of it cannot be read.
        """
        plugins = {p.name: plugin_digest(p.module) for p in registry.plugins.values()}
        return cls(engine_digest(), plugins, {name: version(name) for name in DEPENDENCIES})

    def parts(self) -> Iterator[tuple[str, str]]:
        """Each part by what it is called in a sentence, with its digest or version."""
        yield "the files of the engine", self.engine
        for name, found in sorted(self.plugins.items()):
            yield f"the files of the plugin {name}", found or "in no files"
        yield from sorted(self.dependencies.items())


def engine_digest() -> str:
    """The digest of the engine's files, the rule sets and schemas that ship with it among them.

    Raises:
        PluginError: a file cannot be read.
    """
    return _digest(engine_files())


@cache
def engine_files() -> Files:
    """The engine's files by their names in the package, as it is when it is installed.

    Raises:
        PluginError: a file cannot be read.
    """
    package = Path(resources.__file__).parent
    found = {name: path for name, path in files(package) if not name.startswith(f"{_DATA}/")}
    for folder in _DATA_FOLDERS:
        for name, path in files(resources.folder(folder)):
            found[f"{_DATA}/{folder}/{name}"] = path
    return _contents(found)


def plugin_digest(module: str) -> str | None:
    """The digest of the files of the package that a plugin's module is in; None if in no files.

    Raises:
        PluginError: as `plugin_files`.
    """
    found = plugin_files(module)
    return None if found is None else _digest(found)


@cache
def plugin_files(module: str) -> Files | None:
    """The files of the package that a plugin's module is in, by name; None if in no files.

    The package is the outermost that is no namespace package; a module in none is its one file.
    Nothing of it is imported.

    Raises:
        PluginError: a file cannot be read, or a link leads in a circle.
    """
    spec = _package(module)
    origin = None if spec is None or not spec.has_location else spec.origin
    if spec is None or origin is None or not Path(origin).is_file():
        return None
    place = Path(origin)
    if spec.submodule_search_locations is None:
        return _contents({place.name: place})
    return _contents(dict(files(place.parent)))


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a folder with its name from there, through links too.

    Raises:
        PluginError: a folder cannot be read, or a link leads in a circle.
    """
    yield from _files(folder, "", frozenset())


def _files(folder: Path, above: str, outer: frozenset[str]) -> Iterator[tuple[str, Path]]:
    real = os.path.realpath(folder)
    if real in outer:
        raise PluginError(f"{folder}: found a link in a circle, expected files: remove the link")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise _unreadable(folder, error) from error
    names = {entry.name for entry in entries}
    for entry in entries:
        name = above + entry.name
        if entry.is_dir():
            if entry.name != _CACHE:
                yield from _files(Path(entry.path), f"{name}/", outer | {real})
        elif not _is_made(entry.name, names) and not _leads_nowhere(entry):
            if not entry.is_file():
                raise PluginError(f"{entry.path}: found no file, expected one: remove it")
            yield name, Path(entry.path)


def _is_made(name: str, beside: set[str]) -> bool:
    """Whether a file is bytecode of a source beside it; without one it is what is imported."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122  # of a name alone
    return suffix == _BYTECODE and f"{stem}.py" in beside


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """Whether it is a link to nothing, such as an editor keeps beside a file that it changes."""
    return entry.is_symlink() and not os.path.exists(entry.path)  # noqa: PTH110  # as os.scandir


def _package(module: str) -> ModuleSpec | None:
    """Where the outermost package of a module is, or the module itself, if it is anywhere."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:length]))
        except (ImportError, ValueError):
            return None  # a module that was made in memory
        if spec is None or spec.has_location:
            return spec
    return None


def _contents(found: Mapping[str, Path]) -> Files:
    return {_text(name): content(found[name]) for name in sorted(found)}


def _digest(found: Files) -> str:
    return digest([[name, *each] for name, each in found.items()])


def content(path: Path) -> tuple[int, str]:
    """The size and the SHA-256 of a file, of text as it is with LF at the ends of its lines.

    Raises:
        PluginError: it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if path.suffix in _TEXT:
        data = data.replace(b"\r\n", b"\n")
    return len(data), hashlib.sha256(data).hexdigest()


def _text(name: str) -> str:
    """A name as text that can be hashed, also where it is no UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _unreadable(path: Path, error: OSError) -> PluginError:
    reason = (error.strerror or str(error)).lower()
    return PluginError(f"{path}: cannot be read ({reason}), expected a file of a plugin")
