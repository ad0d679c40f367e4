"""Entry points: what installed distributions offer in one group, found without importing any of it.

Names of the engine's own distribution are found first, the others in name order. A name that two
distributions offer is that of the engine's own one; where neither is, both are refused, as which of
them is used must not depend on the order of a folder. The environment can name the only strangers
that are used; what is the engine's own is always used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import lru_cache
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    distributions,
)
from typing import Generic, TextIO, TypeVar

from tallystick.errors import PluginError

PROJECT = "tallystick"
"""The distribution of the engine."""
API_VERSION = 1
"""The version of the interface; a module that declares another one is refused."""
GROUP = "tallystick.plugins"
"""The entry-point group of plugins."""
SECTIONS = "tallystick.sections"
"""The entry-point group of sections of rule sets."""
ALLOWED = "TALLYSTICK_PLUGINS"
"""The environment variable that names the only strangers' plugins to load, separated by commas."""

_HEAD = f"[{PROJECT}."
"""The beginning of a group of the project in a file of entry points."""

IMPORT_FAILED, NAME_TAKEN = "import-failed", "name-taken"
"""Codes of refusals."""

_Value = TypeVar("_Value")


class RefusedPluginError(PluginError):
    """A plugin that is refused; ``code`` is the stable name of the reason."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def installed_entries(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group that the installed distributions have."""
    return tuple(entry for entry in every_installed_entry() if entry.group == group)


def every_installed_entry() -> tuple[EntryPoint, ...]:
    """Return the entry points of all groups of the project."""
    return _selection(tuple(sys.path))[0]


def damaged_distributions() -> Mapping[str, str]:
    """Return why distributions whose metadata cannot be read are not used, by their names."""
    return _selection(tuple(sys.path))[1]


# a process asks for several groups; to look for the project's name in all files is twice as fast as
# to parse what all distributions offer, most of which is of others
@lru_cache(maxsize=1)
def _selection(
    _search_path: tuple[str, ...],
) -> tuple[tuple[EntryPoint, ...], Mapping[str, str]]:
    """Return the entry points of all groups of the project, and whose cannot be read."""
    unique, damaged = dict[str, tuple[EntryPoint, ...]](), dict[str, str]()
    for candidate in distributions():
        try:
            if _HEAD in _offers_of(candidate) and (name := _name(candidate)) and _counts(candidate):
                entries = (e for e in candidate.entry_points if e.group.startswith(_HEAD[1:]))
                name = name.lower().replace("_", "-").replace(".", "-")
                unique.setdefault(name, tuple(entries))
        except Exception as error:  # noqa: BLE001  # whatever is wrong with one, the others work
            if _HEAD.encode() in getattr(error, "object", _HEAD.encode()):
                damaged |= _damage(candidate, error)
    return tuple(entry for entries in unique.values() for entry in entries), damaged


def _damage(found: Distribution, error: Exception) -> Mapping[str, str]:
    """Return why the metadata of a distribution cannot be read, by its name."""
    try:
        name, text = _name(found), _offers_of(found)
    except UnicodeDecodeError:
        name, text = str(found.locate_file("")), ""
    lines = (line for line in text.splitlines() if line.strip() and line[0] not in "[#;")
    mangled = next((line for line in lines if "=" not in line), None)
    what = f"{type(error).__name__}: {error}" if mangled is None else f"the line {mangled!r}"
    return {
        name: f"its metadata cannot be read: found {what}, expected entry points such as "
        "acme = acme.plugin: install it again, or uninstall it"
    }


def _counts(found: Distribution) -> bool:
    """Return whether a distribution is the first of its name, whose modules are imported."""
    try:
        return _offers_of(distribution(_name(found))) == _offers_of(found)
    except PackageNotFoundError:  # its folder has another name than it has
        return True


def _offers_of(found: Distribution) -> str:
    return found.read_text("entry_points.txt") or ""


def allowed_names() -> frozenset[str] | None:
    """Return the names of the only strangers that the environment allows; None allows all."""
    names = os.environ.get(ALLOWED)
    if names is None or not names.strip():
        return None
    return frozenset(name.strip() for name in names.split(",") if name.strip())


def distribution_of(entry: EntryPoint) -> str:
    """Return the name of the distribution of an entry point; empty where it has none."""
    return _name(entry.dist) if entry.dist else ""


# `Distribution.name` parses the whole file each time, the README too
@lru_cache(maxsize=64)
def _name(found: Distribution) -> str:
    return found.name


def own_packages() -> frozenset[str]:
    """Return the packages of the engine's own distribution, as its entry points name them."""
    own = filter(is_own, every_installed_entry())
    return frozenset({PROJECT, *(entry.module.partition(".")[0] for entry in own)})


def is_own(entry: EntryPoint) -> bool:
    """Return whether an entry point is of the engine's own distribution."""
    return distribution_of(entry) == PROJECT


class Extensions(Generic[_Value]):
    """Values of one kind that distributions offer in one group, each imported when it is named."""

    def __init__(
        self,
        found: Iterable[EntryPoint],
        load: Callable[[EntryPoint], _Value],
        allowed: frozenset[str] | None = None,
    ) -> None:
        """Import nothing yet.

        Args:
            found: the entry points of the group, in any order.
            load: imports the value of one; raises `RefusedPluginError` where it cannot be used.
            allowed: the only names of strangers that are used; None allows any.
        """
        self._entries: dict[str, list[EntryPoint]] = {}
        for entry in found:
            self._entries.setdefault(entry.name, []).append(entry)
        self._load, self._allowed = load, allowed
        self._loaded: dict[str, _Value | RefusedPluginError] = {}

    @classmethod
    def installed(cls, group: str, load: Callable[[EntryPoint], _Value]) -> Extensions[_Value]:
        """Return those of the installed distributions.

        A stranger counts where the environment allows its name, or a plugin of its distribution.
        """
        entries, allowed = installed_entries(group), allowed_names()
        if allowed is not None:
            plugins = installed_entries(GROUP)
            named = {distribution_of(entry) for entry in plugins if entry.name in allowed}
            allowed |= {entry.name for entry in entries if distribution_of(entry) in named}
        return cls(entries, load, allowed)

    def names(self) -> tuple[str, ...]:
        """Return the names that may be used: the engine's own first, the others in name order."""
        return self._ordered(filter(self.is_allowed, self._entries))

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=lambda name: (not self.is_own(name), name)))

    def is_installed(self, name: str) -> bool:
        """Return whether a distribution offers a name, if only one that is not allowed."""
        return name in self._entries

    def is_allowed(self, name: str) -> bool:
        """Return whether the environment lets a name be used."""
        return self._allowed is None or name in self._allowed or self.is_own(name)

    def is_own(self, name: str) -> bool:
        """Return whether the engine's own distribution offers a name, which nobody can take."""
        return any(map(is_own, self._entries.get(name, ())))

    def entry(self, name: str) -> EntryPoint:
        """Return the entry point of a name that a distribution offers.

        Raises:
            RefusedPluginError: two strangers have it.
        """
        entries = self._entries[name]
        own = next(filter(is_own, entries), None)
        if own is None and len(entries) > 1:
            raise RefusedPluginError(
                NAME_TAKEN, f"{_offers(entries)}, and none is used: uninstall one"
            )
        return own or entries[0]

    def value(self, name: str) -> _Value:
        """Return the value of a name, imported once.

        Raises:
            KeyError: no distribution offers the name.
            RefusedPluginError: the value cannot be used, or the environment does not allow it.
        """
        if name not in self._loaded:
            if not self.is_allowed(name) and name in self._entries:
                raise RefusedPluginError("not-allowed", f"{ALLOWED} does not name it")
            try:
                self._loaded[name] = self._load(self.entry(name))
            except RefusedPluginError as error:
                self._loaded[name] = error
        value = self._loaded[name]
        if isinstance(value, RefusedPluginError):
            raise value
        return value

    def loaded(
        self, only: Collection[str] | None = None
    ) -> tuple[dict[str, _Value], dict[str, str]]:
        """Return each value that can be used, and why others cannot, by name; each is imported.

        A stranger that has a name of the engine's own is among the others.

        Args:
            only: names, of which those that no distribution offers are left out; by default all
                that may be used.
        """
        values, refused = dict[str, _Value](), dict[str, str]()
        names = self.names() if only is None else filter(self.is_installed, self._ordered(only))
        for name in names:
            entries = self._entries[name]
            if self.is_own(name) and len(entries) > 1:
                refused[name] = (
                    f"{_offers(entries)}, and only that of {PROJECT} is used: uninstall one"
                )
            try:
                values[name] = self.value(name)
            except RefusedPluginError as error:
                refused[name] = str(error)
        return values, refused


@contextmanager
def code_of_strangers(what: str, code: str, output: TextIO | None = None) -> Iterator[None]:
    """Refuse whatever a stranger's code raises, so that the others go on, but an interrupt.

    Args:
        what: begins the message.
        code: of the refusal.
        output: where goes what it prints, which must not end up in what a command prints; by
            default the error output.

    Raises:
        RefusedPluginError: the code failed.
    """
    try:
        with redirect_stdout(sys.stderr if output is None else output):
            yield
    except (KeyboardInterrupt, RefusedPluginError):
        raise
    except BaseException as error:
        raise RefusedPluginError(code, f"{what} failed: {failure(error)}") from error


def imported(entry: EntryPoint, output: TextIO | None = None) -> object:
    """Import what an entry point names, whatever a stranger's code raises.

    Args:
        entry: the entry point.
        output: where goes what the import prints; by default the error output.

    Raises:
        RefusedPluginError: it cannot be imported, or its module declares another API version.
    """
    if not EntryPoint.pattern.match(entry.value):
        raise RefusedPluginError(
            IMPORT_FAILED,
            f"found the entry point {entry.value!r}, expected a module such as package.plugin: "
            "fix the plugin's project file",
        )
    with code_of_strangers("its import", IMPORT_FAILED, output):
        value: object = entry.load()
    api = getattr(sys.modules.get(entry.module), "tallystick_api", None)
    if type(api) is not int or api != API_VERSION:
        raise RefusedPluginError(
            "api-version",
            f"found tallystick_api = {api!r} in {entry.module}, expected {API_VERSION}: "
            "install a version of the plugin for this engine",
        )
    return value


def failure(error: BaseException) -> str:
    """Return what a stranger's code raised, and what to do, as the end of a message."""
    return f"{type(error).__name__}: {error}: fix the plugin, or uninstall it"


def of_kind(
    kind: type[_Value], check: Callable[[EntryPoint, _Value], None] | None = None
) -> Callable[[EntryPoint], _Value]:
    """Return a function that imports a value of a class from its ``module:attribute``.

    Args:
        kind: the class.
        check: raises `RefusedPluginError` for a value of the class that cannot be used.
    """

    def load(entry: EntryPoint) -> _Value:
        value = imported(entry)
        if not isinstance(value, kind):
            raise RefusedPluginError(
                "wrong-kind", f"found {value!r} at {entry.value}, expected a {kind.__name__}"
            )
        if check is not None:
            check(entry, value)
        return value

    return load


def _offers(entries: Sequence[EntryPoint]) -> str:
    names = sorted(repr(distribution_of(entry)) for entry in entries)
    return f"the distributions {' and '.join(names)} both offer a plugin of this name"
