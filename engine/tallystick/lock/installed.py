"""Installed plugins and files, as a lock has them; nothing of a plugin is imported to list them.

A file that scores is in both closures, as a state is stepped by scores.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

import attrs

from tallystick import resources
from tallystick.errors import PluginError
from tallystick.lock.lock_file import Lock
from tallystick.plugins.code import (
    DEPENDENCIES,
    SCORING,
    STATE,
    CodeFiles,
    closure_files,
    files,
    plugin_files,
)
from tallystick.plugins.entries import (
    GROUP,
    PROJECT,
    SECTIONS,
    Extensions,
    distribution_of,
    imported,
)

CLOSURES = (SCORING, STATE)
"""Closures that a lock has by name: what scores records, and what steps a state beside it."""
RULE_SETS = f"{PROJECT}/_data/rules/"
"""Folder of the rule sets that ship with the engine, in the installation."""
VECTORS = f"{PROJECT}/_data/vectors/rows.json"
"""Path of the vectors in the installation."""


@attrs.frozen
class PinnedFile:
    """A file that a lock pins.

    Attributes:
        path: where it is in the installation; of a rule set that does not ship, from the folder of
            the lock.
        closures: whose it is: of what scores, of what steps a state, or of both.
        digest: of its bytes, of text with LF at the ends of its lines.
    """

    path: str
    closures: tuple[str, ...]
    digest: str


def installed(
    plugins: Collection[str],
    sections: Collection[str],
    rule_sets: Collection[str] | None,
) -> Lock:
    """Return what is installed, as a lock without rule sets has it.

    Args:
        plugins: the entry points of those that count; one that is not installed is left out.
        sections: those of the sections that count.
        rule_sets: the paths in the installation of those that ship with the engine and count; None
            for all.

    Raises:
        PluginError: a file cannot be read, or is shadowed.
    """
    versions = {name: version(name) for name in (PROJECT, *DEPENDENCIES)}
    digests = closure_files(SCORING).digests
    shipped = {RULE_SETS + name: path for name, path in files(resources.folder("rules"))}
    data = {path: at for path, at in shipped.items() if rule_sets is None or path in rule_sets}
    if (vectors := resources.vectors_path()).is_file():
        data[VECTORS] = vectors
    digests |= CodeFiles.read(PROJECT, data).digests
    modules: dict[str, dict[str, str]] = {GROUP: {}, SECTIONS: {}}
    for group, names in ((GROUP, plugins), (SECTIONS, sections)):
        extensions = Extensions.installed(group, imported)
        for name in filter(extensions.is_installed, names):
            try:
                entry = extensions.entry(name)
            except PluginError:
                continue  # two strangers offer it, and none is used
            modules[group][name] = entry.module
            versions[distribution_of(entry)] = entry.dist.version if entry.dist else ""
            if (found := plugin_files(entry.module)) is not None:
                digests |= found.digests
    states = closure_files(STATE).digests
    return Lock(versions, modules[GROUP], modules[SECTIONS], digests, states)


def everything_installed() -> Lock:
    """Return what is installed, of every plugin, section and rule set that ships.

    Raises:
        PluginError: as `installed`.
    """
    plugins = Extensions.installed(GROUP, imported).names()
    return installed(plugins, Extensions.installed(SECTIONS, imported).names(), None)


def pinned_files(lock: Lock) -> tuple[PinnedFile, ...]:
    """Return the files that a lock pins, in the order of their paths."""
    texts = {rules.path: rules.text for rules in lock.rule_sets.values()}
    rules = {path: text for path, text in texts.items() if path and text}
    pins = {path: PinnedFile(path, (STATE,), digest) for path, digest in lock.state_files.items()}
    for path, digest in {**lock.files, **rules}.items():
        pins[path] = PinnedFile(path, CLOSURES, digest)
    return tuple(pins[path] for path in sorted(pins))
