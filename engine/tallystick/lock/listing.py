"""The files that a lock pins, each with its closures and its digest.

A file that scores is in both closures, as a state is stepped by scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tallystick import resources
from tallystick.lock.lock_file import RULE_SETS, Lock, vectors_digest
from tallystick.plugins.code import (
    SCORING,
    STATE,
    content,
    engine_files,
    file_digests,
    files,
    package_of,
    path_of,
    plugin_files,
    state_files,
)
from tallystick.plugins.entries import GROUP, SECTIONS, Extensions, imported

_ENGINE = "tallystick"
_VECTORS = f"{_ENGINE}/_data/vectors/rows.json"
_BOTH = (SCORING, STATE)


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


def pinned_files(lock: Lock) -> tuple[PinnedFile, ...]:
    """Return the files that a lock pins, in the order of their paths."""
    rules = {
        pinned.path: pinned.text for pinned in lock.rule_sets.values() if pinned.path is not None
    }
    parts = (*lock.plugins.values(), *lock.sections.values())
    plugins = (_in_package(package_of(pinned.module), pinned.files) for pinned in parts)
    scoring = [_in_package(_ENGINE, lock.files), *plugins, {_VECTORS: lock.vectors}, rules]
    return _listed(scoring, lock.state_files)


def installed_files() -> tuple[PinnedFile, ...]:
    """Return the files that a lock of every installed rule set and plugin would pin.

    Raises:
        PluginError: a file cannot be read, or is shadowed.
    """
    rules = {f"{RULE_SETS}{name}": content(path) for name, path in files(resources.folder("rules"))}
    scoring = [_in_package(_ENGINE, file_digests({**engine_files(), **rules}))]
    groups = (Extensions.installed(group, imported) for group in (GROUP, SECTIONS))
    offers = (extensions.entry(name) for extensions in groups for name in extensions.names())
    for module in (entry.module for entry in offers if entry is not None):
        digests = file_digests(plugin_files(module) or {})
        scoring.append(_in_package(package_of(module), digests))
    return _listed([*scoring, {_VECTORS: vectors_digest()}], file_digests(state_files()))


def _listed(
    scoring: Sequence[Mapping[str, str]], state: Mapping[str, str]
) -> tuple[PinnedFile, ...]:
    files = {path: PinnedFile(path, (STATE,), digest) for path, digest in state.items()}
    for part in scoring:
        files |= {path: PinnedFile(path, _BOTH, digest) for path, digest in part.items()}
    return tuple(files[path] for path in sorted(files))


def _in_package(package: str, named: Mapping[str, str]) -> dict[str, str]:
    return {path_of(package, name): digest for name, digest in named.items()}
