"""Loading a rule set: from a reference to a value that every check has passed.

A reference is one of::

    skills@1.0.0                      a rule set that ships with the plugin of its name
    path/to/mine.toml                 a file: what has a slash or ends in .toml
    sha256:…                          the digest of a shipped rule set
    skills@1.0.0@sha256:…             either of the first two, pinned to a digest
    path/to/mine.toml@sha256:…

A pin has all 64 digits, for fewer can be ground: another rule set can be made that has them too.
Who only looks a rule set up may shorten them to 12.

A rule set that ships is named after its plugin, so that no other plugin is imported to find it. A
digest alone says not whose it is: plugins are asked one after another, the engine's own first.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick import resources
from tallystick.canonical import PREFIX
from tallystick.diagnostics import nearest, problem
from tallystick.errors import RuleSetError
from tallystick.io.paths import PathLike, path_text
from tallystick.rules.findings import one_of
from tallystick.rules.formula_references import refused
from tallystick.rules.reading import LoadedRuleSet, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.diagnostics import Diagnostic
    from tallystick.plugins.registry import Plugins, Registry

_LOG = logging.getLogger(__name__)

FEWEST_DIGITS = 12
"""A digest by which a rule set is looked up may be shortened to so many digits."""

_ALL_DIGITS = 64
_DIGITS = re.compile(rf"[0-9a-f]{{{FEWEST_DIGITS},{_ALL_DIGITS}}}")
_NUMBERS = re.compile(r"[0-9]+")


@attrs.frozen
class Resolved:
    """The file that a reference means, and what the file must turn out to be.

    Attributes:
        path: the file.
        name: the ``name@version`` that it must have; None when any will do.
        pin: what its digest must begin with; None when any will do.
    """

    path: Path
    name: str | None = None
    pin: str | None = None

    @property
    def is_readable(self) -> bool:
        """True where there is something to read, a pipe too; reading it tells its own faults."""
        return self.path.exists() and not self.path.is_dir() and os.access(self.path, os.R_OK)


def load(reference: PathLike, plugins: Plugins, *, lookup: bool = False) -> LoadedRuleSet:
    """Return the rule set that a reference means; the top of this module lists the kinds.

    Args:
        reference: what is wanted.
        plugins: where the plugins are found that it names.
        lookup: whether nothing is computed under it, so that a pin may be shortened.

    Raises:
        InputError: the reference is neither text nor a path.
        RuleSetError: the reference means no file, or more than one; the file does not load; or it
            has another name than its place says, or another digest than the pin; or the pin has
            not all digits.
    """
    resolved = find(reference, plugins)
    loaded = read(resolved.path, plugins)
    problems = tuple(_differences(loaded, resolved, lookup))
    if problems:
        raise RuleSetError(problems)
    fields = {"rule_set": loaded.rule_set.reference, "digest": loaded.digest, "path": loaded.path}
    _LOG.info("loaded a rule set", extra=fields)
    return loaded


def find(reference: PathLike, plugins: Plugins) -> Resolved:
    """Return the file that a reference means; only a digest makes it read files.

    Raises:
        InputError: the reference is neither text nor a path.
        RuleSetError: the reference means no file, or more than one.
    """
    is_path = isinstance(reference, os.PathLike)
    reference = path_text(reference, "a rule set, by name@version, path or digest")
    if is_path:
        return Resolved(_path(reference))
    target, at, digits = reference.rpartition(f"@{PREFIX}")
    if not at and reference.startswith(PREFIX):
        digest = _digest(reference, reference.removeprefix(PREFIX))
        return Resolved(_by_digest(digest, plugins), pin=digest)
    pin = _digest(reference, digits) if at else None
    named = target if at else reference
    if _is_path(named):
        return Resolved(_path(named), pin=pin)
    return Resolved(_by_name(named, plugins), named, pin)


def shipped(registry: Registry) -> Mapping[str, tuple[Path, ...]]:
    """Return the files of every shipped rule set, by ``name@version``, older versions first.

    A plugin ships rule sets of its own name, and one of the engine the folders of the engine's own
    that it names. Each rule set has one file, unless two folders have one of a name.
    """
    own = resources.folder("rules").resolve()
    every = [(name, f.resolve()) for name, all_ in registry.rule_set_folders.items() for f in all_]
    folders = dict.fromkeys(f if f.parent == own else f / name for name, f in every)
    paths = sorted((path for f in folders for path in f.glob("*.toml")), key=_by_version)
    names = dict.fromkeys(_name(path) for path in paths)
    return {name: tuple(path for path in paths if _name(path) == name) for name in names}


def _differences(loaded: LoadedRuleSet, found: Resolved, lookup: bool) -> Iterator[Diagnostic]:
    reference = loaded.rule_set.reference
    if found.name is not None and reference != found.name:
        expected = f"{found.name}, as the folder and the name of the file say"
        yield loaded.problem(("rule_set",), reference, expected)
    if found.pin is not None and not loaded.digest.startswith(found.pin):
        expected = f"{found.pin}, to which the reference is pinned: the rule set is not the same"
        yield problem(str(loaded.path), 0, "the digest", loaded.digest, expected)
    elif found.pin is not None and len(found.pin) < len(loaded.digest) and not lookup:
        digits = len(found.pin) - len(PREFIX)
        value = f"a pin of {digits} digits, which {loaded.digest} has"
        expected = (
            f"all {_ALL_DIGITS} digits, as those whom you trust for the rules tell them: another "
            f"rule set can be made that has the first {digits}"
        )
        yield problem(str(loaded.path), 0, "the pin", value, expected)


def _name(path: Path) -> str:
    return f"{path.parent.name}@{path.stem}"


def _by_version(path: Path) -> tuple[str, list[int], str]:
    return path.parent.name, [int(n) for n in _NUMBERS.findall(path.stem)], path.stem


def _digest(reference: str, digits: str) -> str:
    if not _DIGITS.fullmatch(digits):
        expected = f"{FEWEST_DIGITS} to {_ALL_DIGITS} lower-case hexadecimal digits after {PREFIX}"
        raise _refusal(reference, reference, expected)
    return PREFIX + digits


def _is_path(named: str) -> bool:
    return named.endswith(".toml") or "/" in named or os.sep in named


def _path(named: str) -> Path:
    try:
        return Path(named).expanduser()
    except RuntimeError:
        home = named.partition("/")[0]
        raise _refusal(named, f"no home folder of {home}", "the path of a file") from None


def _by_name(named: str, plugins: Plugins) -> Path:
    name, at, _ = named.partition("@")
    registry = plugins.of({name})
    # a rule set of the engine's own may be of a plugin of another name
    rule_sets = shipped(registry) or shipped(plugins.own())
    candidates = rule_sets.get(named, ())
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        files = ", ".join(map(str, candidates))
        raise _refusal(named, f"several files, {files}", "one file: give its path")
    versions = [names for names in rule_sets if names.startswith(f"{name}@")]
    if versions:
        value = named if at else f"{named} without a version"
        raise _refusal(named, value, f"one of {one_of(versions)}")
    hinted = plugins.own()
    others = [f"those of {plugin}" for plugin in plugins.names() if plugin not in hinted.plugins]
    names = [*shipped(hinted), *others]
    hint = nearest(named, names) or f": {one_of(names)}"
    expected = f"name@version of a shipped rule set, a path or a digest{hint}{refused(registry)}"
    raise _refusal(named, named, expected)


def _by_digest(digest: str, plugins: Plugins) -> Path:
    is_whole = len(digest) == len(PREFIX) + _ALL_DIGITS
    digests, unreadable, refusals = dict[str, tuple[str, Path]](), list[str](), ""
    for plugin in plugins.names():
        registry = plugins.of({plugin})
        refusals += refused(registry)
        for name, path in ((n, p) for n, paths in shipped(registry).items() for p in paths):
            try:
                digests.setdefault(read(path, plugins).digest, (name, path))
            except RuleSetError:
                unreadable.append(name)
        if is_whole and digest in digests:
            return digests[digest][1]
    matches = {digest_of_set for digest_of_set in digests if digest_of_set.startswith(digest)}
    if len(matches) == 1:
        return digests[matches.pop()][1]
    listed = one_of(f"{name} is {digest_of_set}" for digest_of_set, (name, _) in digests.items())
    if matches:
        raise _refusal(digest, f"the beginning of {one_of(sorted(matches))}", "more digits")
    broken = f"; {one_of(unreadable)} cannot be read" if unreadable else ""
    expected = f"the digest of a shipped rule set: {listed}{broken}{refusals}"
    raise _refusal(digest, digest, expected)


def _refusal(reference: str, value: str, expected: str) -> RuleSetError:
    return RuleSetError([problem(reference, 0, "rule set", value, expected)])
