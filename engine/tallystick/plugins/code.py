"""Code: the files that decide results, by digest, and what they rest on.

The digest of a rule set covers what formulas mean. What reads records, takes facts and rounds is
code, and so are opaque facts: the digest of the files says which code it was.

Of the project's own packages a *closure* counts: the modules that declared roots import, and the
data that these read. It ships as a list of paths, so that nothing is parsed here;
``.ci/closures.py`` has the roots and writes the lists. Of a stranger's plugin every file of the
package counts, of whatever kind, but the bytecode that Python makes of a source beside it.

Files are digested as they stand on the disk, so that a checkout, an editable installation and a
wheel of one source have one digest. It is the digest of a list, in the order of the names, of
``[name, size, sha256]`` for each file, where text counts as it is with LF at the ends of its lines.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick import resources
from tallystick.canonical import PREFIX, digest, digest_of_bytes
from tallystick.errors import PluginError
from tallystick.json_values import json_fields
from tallystick.plugins.entries import (
    SECTIONS,
    Extensions,
    every_installed_entry,
    imported,
    is_own,
)
from tallystick.source_code import outermost

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry

DEPENDENCIES = ("jsonschema", "jsonschema-rs", "msgspec", "numpy", "pyarrow")
"""The distributions that decide which records are valid, or that results are computed with."""

SCORING, STATE = "scoring", "state"
"""The closures: of what scores records, and of what steps a state beside it."""

_ENGINE, _DATA = "tallystick", "_data/"
_SOURCE, _INIT, _CACHE, _BYTECODE = ".py", "__init__", "__pycache__", ".pyc"
# of the header of bytecode: it is used whatever its source has become since
_UNCHECKED = 0b01
# the readers of these do not tell CR LF from LF, and a checkout may have either
_TEXT = frozenset(
    {".css", ".html", ".js", ".json", ".jsonl", ".md", ".py", ".pyi", ".toml", ".txt"}
)


class ShadowedError(PluginError):
    """A file that would be imported in the place of a module of a closure.

    Attributes:
        path: the module.
        by: the file.
    """

    def __init__(self, path: Path, by: Path) -> None:
        self.path, self.by = path, by
        super().__init__(
            f"{by}: found a file that is imported in the place of {path}, expected none: remove it"
        )


@json_fields(empty=("sections",))
@attrs.frozen
class Code:
    """The code that results are made with.

    Attributes:
        engine: the digest of the files of the engine that score.
        plugins: the digest of the files of each plugin, by its name; None of one that is in no
            files, but in an archive, say.
        dependencies: the versions of ``DEPENDENCIES``, by name.
        sections: as ``plugins``, of each section of the rule sets that a plugin brings.
    """

    engine: str
    plugins: Mapping[str, str | None]
    dependencies: Mapping[str, str]
    sections: Mapping[str, str | None] = attrs.field(factory=dict)

    @classmethod
    def of(cls, registry: Registry, sections: Iterable[str] = ()) -> Code:
        """Return the code of the engine, of plugins and of sections, as it is on the disk.

        Args:
            registry: has the plugins.
            sections: the names of those that rule sets have.

        Raises:
            PluginError: a file of it cannot be read, or is shadowed.
        """
        offered = Extensions.installed(SECTIONS, imported)
        modules = {name: offered.entry(name).module for name in sorted({*sections})}
        return cls(
            engine_digest(),
            {plugin.name: plugin_digest(plugin.module) for plugin in registry.plugins.values()},
            {name: version(name) for name in DEPENDENCIES},
            {name: plugin_digest(module) for name, module in modules.items()},
        )

    def parts(self) -> Iterator[tuple[str, str]]:
        """Yield each part by what it is called in a sentence, with its digest or version."""
        yield "the files of the engine", self.engine
        for name, files_digest in sorted(self.plugins.items()):
            yield f"the files of the plugin {name}", files_digest or "in no files"
        for name, files_digest in sorted(self.sections.items()):
            yield f"the files of the section {name}", files_digest or "in no files"
        yield from sorted(self.dependencies.items())


@attrs.frozen
class CodeFiles:
    """The files that decide results, of the engine, of states or of a plugin.

    Attributes:
        package: the folder in the installation from which the digest names them; empty of a module
            in no package.
        contents: the size and the SHA-256 of each by its path in the installation, in order.
    """

    package: str
    contents: Mapping[str, tuple[int, str]] = attrs.field(repr=False)

    @classmethod
    def read(cls, package: str, found: Mapping[str, Path]) -> CodeFiles:
        """Return what files hold, by their paths in the installation.

        Raises:
            PluginError: one cannot be read.
        """
        return cls(package, {_text(path): content(found[path]) for path in sorted(found)})

    @cached_property
    def digest(self) -> str:
        """The digest of all of them."""
        folder = f"{self.package}/"
        listed = [[path.removeprefix(folder), *file] for path, file in self.contents.items()]
        return digest(listed)

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each, by its path in the installation."""
        return {path: PREFIX + sha256 for path, (_, sha256) in self.contents.items()}


def engine_digest() -> str:
    """Return the digest of the engine's files that score, schemas among them.

    Raises:
        PluginError: as `closure_files`.
    """
    return closure_files(SCORING).digest


def plugin_digest(module: str) -> str | None:
    """Return the digest of the files of a plugin's module; None if it is in no files.

    Raises:
        PluginError: as `plugin_files`.
    """
    files_of_plugin = plugin_files(module)
    return None if files_of_plugin is None else files_of_plugin.digest


def plugin_files(module: str) -> CodeFiles | None:
    """Return the files of a plugin's module; None if it is in no files.

    Of a plugin of the engine's own distribution they are the closure of the module, of a stranger's
    the whole package.

    Raises:
        PluginError: a file cannot be read or is shadowed, or a link leads in a circle.
    """
    own = {entry.module for entry in every_installed_entry() if is_own(entry)}
    return closure_files(module) if module in own else package_files(module)


@cache
def closure_files(closure: str) -> CodeFiles:
    """Return the files of a closure that are there.

    Args:
        closure: as of `listed`.

    Raises:
        PluginError: a file cannot be read, or is shadowed.
    """
    places = {line: place for line in listed(closure) if (place := _place(line)) is not None}
    refuse_shadows(places.values())
    found = {line: place for line, place in places.items() if place.is_file()}
    is_of_engine = closure in {SCORING, STATE}
    return CodeFiles.read(_ENGINE if is_of_engine else closure.partition(".")[0], found)


@cache
def package_files(module: str) -> CodeFiles | None:
    """Return every file of a module's package; None if it is in no files.

    The package is the outermost that is no namespace package; a module in none is its one file.
    Nothing of it is imported.

    Raises:
        PluginError: a file cannot be read, or a link leads in a circle.
    """
    spec = outermost(module)
    origin = None if spec is None or not spec.has_location else spec.origin
    if spec is None or origin is None or not Path(origin).is_file():
        return None
    path = Path(origin)
    if spec.submodule_search_locations is None:
        return CodeFiles.read("", {path.name: path})
    package = spec.name.replace(".", "/")
    return CodeFiles.read(package, {f"{package}/{n}": at for n, at in files(path.parent)})


def listed(closure: str) -> tuple[str, ...]:
    """Return the paths of a closure in the installation.

    Args:
        closure: `SCORING`, `STATE`, or a module of the engine's own distribution.

    Raises:
        PluginError: there is no such list, or it cannot be read.
    """
    at = f"{_ENGINE}/closures/{closure}.txt"
    if closure not in {SCORING, STATE}:
        at = f"{closure.replace('.', '/')}.closure.txt"
    path = _place(at) or Path(at)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(
            f"{path}: cannot be read ({error}), expected the list of what decides results: install "
            "tallystick again"
        ) from error
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def _place(path: str) -> Path | None:
    """Return where a path in the installation is here; None of a package that is not there.

    Raises:
        ShadowedError: the package would be imported from elsewhere than beside the engine.
    """
    home, _, name = path.partition("/")
    if name.startswith(_DATA):
        kind, _, name = name.removeprefix(_DATA).partition("/")
        return resources.folder(kind) / name
    folder = _package_folder(home)
    return None if folder is None else folder / name


@cache
def _package_folder(home: str) -> Path | None:
    engine = Path(resources.__file__).parent
    if home == _ENGINE:
        return engine
    spec = importlib.util.find_spec(home)
    origin = None if spec is None or not spec.has_location else spec.origin
    for beside in (engine.parent / home, engine.parents[1] / "plugins" / home):
        if (init := beside / f"{_INIT}{_SOURCE}").is_file():
            if origin is not None and os.path.realpath(origin) != os.path.realpath(init):
                raise ShadowedError(init, Path(origin))
            return beside
    return None if origin is None else Path(origin).parent


def refuse_shadows(modules: Iterable[Path]) -> None:
    """Refuse what would be imported in the place of modules.

    Python takes a package before a module of its name, an extension before a source, and bytecode
    where there is no source.

    Raises:
        ShadowedError: there is such a file.
    """
    for path in modules:
        if path.suffix != _SOURCE:
            continue
        named = path.parent if path.stem == _INIT else path.with_suffix("")
        spec = PathFinder.find_spec(named.name, [str(named.parent)])
        origin = None if spec is None or spec.origin is None else Path(spec.origin)
        if origin == path:
            origin = _stale_bytecode(path)
        if origin is not None:
            raise ShadowedError(path, origin)


def _stale_bytecode(path: Path) -> Path | None:
    """Return bytecode that is used unchecked though it is of another source than stands here."""
    try:
        cached = Path(importlib.util.cache_from_source(path))
        with cached.open("rb") as file:
            header = file.read(16)
    except (NotImplementedError, OSError):
        return None
    flags = int.from_bytes(header[4:8], "little")
    if header[:4] != importlib.util.MAGIC_NUMBER or flags != _UNCHECKED:
        return None
    is_of_it = header[8:] == importlib.util.source_hash(path.read_bytes())
    return None if is_of_it else cached


def files(folder: Path, outer: frozenset[str] = frozenset()) -> Iterator[tuple[str, Path]]:
    """Yield every file below a folder with its name from there, through links too.

    Args:
        folder: where to begin.
        outer: the folders that lead to it, as they are without links.

    Raises:
        PluginError: a folder cannot be read, or a link leads in a circle.
    """
    real = os.path.realpath(folder)
    if real in outer:
        raise PluginError(f"{folder}: found a link in a circle, expected files: remove the link")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise _unreadable(folder, error) from error
    names = {entry.name for entry in entries}
    for entry in entries:
        if entry.is_dir():
            if entry.name != _CACHE:
                inner = files(Path(entry.path), outer | {real})
                yield from ((f"{entry.name}/{name}", path) for name, path in inner)
        elif not _is_made(entry.name, names) and not _leads_nowhere(entry):
            if not entry.is_file():
                raise PluginError(f"{entry.path}: found no file, expected one: remove it")
            yield entry.name, Path(entry.path)


def _is_made(name: str, beside: set[str]) -> bool:
    """Return whether a file is bytecode of a source beside it."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122  # of a name alone
    return suffix == _BYTECODE and f"{stem}.py" in beside


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a dangling link, as editors keep beside a changed file."""
    return entry.is_symlink() and not os.path.exists(entry.path)  # noqa: PTH110  # as os.scandir


def content(path: Path) -> tuple[int, str]:
    """Return the size and the SHA-256 of a file, of text as it is with LF at the ends of its lines.

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


def text_digest(data: bytes) -> str:
    """Return the digest of the bytes of a text file, with LF at the ends of its lines."""
    return digest_of_bytes(data.replace(b"\r\n", b"\n"))


def _text(name: str) -> str:
    """Return a name as text that can be hashed, also where it is no UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _unreadable(path: Path, error: OSError) -> PluginError:
    reason = (error.strerror or str(error)).lower()
    return PluginError(f"{path}: cannot be read ({reason}), expected a file of a plugin")
