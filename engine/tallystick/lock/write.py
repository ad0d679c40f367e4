"""Writing a lock: rule sets are loaded and proved, and what they rest on is named by digest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick import resources
from tallystick.canonical import PREFIX
from tallystick.errors import InputError, PluginError
from tallystick.io.atomic import write_file
from tallystick.lock.installed import RULE_SETS, installed
from tallystick.lock.lock_file import Lock, LockedRuleSet
from tallystick.plugins.code import content, plugin_files, text_digest
from tallystick.records.schema import schema_digest
from tallystick.rules.digest import used_formulas, used_requirements
from tallystick.scoring.scorer import Scorer, load

if TYPE_CHECKING:
    from tallystick.io.paths import PathLike
    from tallystick.plugins.registry import Registry


def lock_of(scorers: Iterable[Scorer], folder: Path) -> Lock:
    """Return the lock of some rule sets, as things are installed now.

    Args:
        scorers: the rule sets, bound.
        folder: where the lock will stand.

    Raises:
        InputError: two of them have one name and version.
        PluginError: a file of the engine or of a plugin cannot be read, or a plugin is not
            installed.
    """
    rule_sets = dict[str, LockedRuleSet]()
    plugins, sections, shipped = set[str](), set[str](), set[str]()
    for scorer in scorers:
        reference = scorer.rule_set.reference
        locked = _rule_set(scorer, folder)
        if rule_sets.setdefault(reference, locked) != locked:
            raise InputError(f"found two rule sets {reference}, expected one of each name")
        plugins |= scorer.registry.plugins.keys()
        sections |= scorer.rule_set.sections.keys()
        if locked.path is None and (path := _in_engine(scorer.loaded.path)) is not None:
            shipped.add(path)
    lock = installed(plugins, sections, shipped)
    for name in sorted(plugins - lock.plugins.keys()):
        raise PluginError(f"plugin {name!r}: found no distribution of it, expected one: install it")
    return attrs.evolve(lock, rule_sets=rule_sets)


def locked_rule_set(reference: PathLike, folder: Path) -> LockedRuleSet:
    """Return a rule set as a lock in a folder has it.

    Raises:
        RuleSetError: it does not load.
    """
    return _rule_set(load(reference), folder)


def write(lock: Lock, path: Path, *, follow_links: bool = False) -> None:
    """Write a lock, whole or not at all.

    Raises:
        OutputError: the file cannot be written.
    """
    write_file(path, lock.to_text().encode(), follow_links=follow_links)


def _rule_set(scorer: Scorer, folder: Path) -> LockedRuleSet:
    rules, registry, path = scorer.rule_set, scorer.registry, scorer.loaded.path
    kinds = [registry.skill_types[name] for name in rules.skill_types]
    named = [registry.requirements[name] for name in used_requirements(rules)]
    required = [*named, *(item for kind in kinds for item in kind.requirements)]
    is_shipped = _is_shipped(path, registry)
    return LockedRuleSet(
        digest=scorer.digest,
        formulas={name: registry.formulas[name].digest for name in used_formulas(rules)},
        requirements={item.name: item.digest for item in required},
        schemas={name: schema_digest(item.schema) for name, item in scorer.types.items()},
        path=None if is_shipped else _from(folder, path),
        text=None if is_shipped else text_digest(scorer.loaded.text.encode()),
    )


def _is_shipped(path: Path, registry: Registry) -> bool:
    """Return whether a file is one of a plugin, which is locked by its name."""
    folders = [each for folder_list in registry.rule_set_folders.values() for each in folder_list]
    packages = map(plugin_files, (plugin.module for plugin in registry.plugins.values()))
    if not any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
        return False
    digests = {digest for package in packages if package for digest in package.digests.values()}
    return _in_engine(path) is not None or PREFIX + content(path)[1] in digests


def _in_engine(path: Path) -> str | None:
    """Return the path in the installation of a rule set of the engine; None of any other file."""
    folder = resources.folder("rules").resolve()
    if not path.resolve().is_relative_to(folder):
        return None
    return RULE_SETS + path.resolve().relative_to(folder).as_posix()


def _from(folder: Path, path: Path) -> str:
    """Return the path of a file in or below a folder, from there and with slashes.

    Raises:
        InputError: there is no such file, or it lies elsewhere.
    """
    if not path.is_file():
        raise InputError(f"{path}: found no file, expected one that stays: a lock names it")
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        raise InputError(
            f"{path}: found a rule set outside of {folder.resolve()}, the folder of the lock, "
            "expected one in or below it: copy it there, or write the lock beside it by -o"
        ) from None
