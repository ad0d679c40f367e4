"""Writing a lock: rule sets are loaded and proved, and what they rest on is named by digest."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick import resources
from tallystick.errors import InputError
from tallystick.io.atomic import atomic_files, output_path
from tallystick.lock.lock_file import (
    RULE_SETS,
    Lock,
    LockedPlugin,
    LockedRuleSet,
    text_digest,
    vectors_digest,
)
from tallystick.lock.self_test import rows_of
from tallystick.plugins.code import (
    DEPENDENCIES,
    content,
    engine_digest,
    engine_files,
    file_digests,
    plugin_digest,
    plugin_files,
    state_digest,
    state_files,
)
from tallystick.plugins.entries import distribution_of
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
        PluginError: a file of the engine or of a plugin cannot be read.
    """
    rule_sets = dict[str, LockedRuleSet]()
    plugins, sections = dict[str, LockedPlugin](), dict[str, LockedPlugin]()
    files = file_digests(engine_files())
    for scorer in scorers:
        reference = scorer.rule_set.reference
        locked = _rule_set(scorer, folder)
        if rule_sets.setdefault(reference, locked) != locked:
            raise InputError(f"found two rule sets {reference}, expected one of each name")
        plugins |= {
            name: _plugin(plugin.distribution, plugin.version, plugin.module)
            for name, plugin in scorer.registry.plugins.items()
        }
        sections |= _sections(scorer)
        if locked.path is None and (name := _in_engine(scorer.loaded.path)) is not None:
            files[name] = locked.text
    return Lock(
        version=version("tallystick"),
        engine=engine_digest(),
        files=files,
        state=state_digest(),
        state_files=file_digests(state_files()),
        dependencies={name: version(name) for name in DEPENDENCIES},
        vectors=vectors_digest(),
        plugins=plugins,
        rule_sets=rule_sets,
        sections=sections,
    )


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
    with atomic_files(output_path(path, follow_links=follow_links)) as (file,):
        file.write(lock.to_text().encode())


def _rule_set(scorer: Scorer, folder: Path) -> LockedRuleSet:
    rules, registry = scorer.rule_set, scorer.registry
    kinds = [registry.skill_types[name] for name in rules.skill_types]
    named = [registry.requirements[name] for name in used_requirements(rules)]
    required = [*named, *(item for kind in kinds for item in kind.requirements)]
    path = scorer.loaded.path
    return LockedRuleSet(
        digest=scorer.digest,
        text=text_digest(scorer.loaded.text.encode()),
        path=None if _is_shipped(path, registry) else _from(folder, path),
        vectors=len(rows_of(rules.reference)),
        formulas={name: registry.formulas[name].digest for name in used_formulas(rules, registry)},
        requirements={item.name: item.digest for item in required},
        schemas={name: schema_digest(item.schema) for name, item in scorer.types.items()},
    )


def _is_shipped(path: Path, registry: Registry) -> bool:
    """Return whether a file is one of a plugin, which is locked by its name."""
    folders = [each for folder_list in registry.rule_set_folders.values() for each in folder_list]
    packages = [plugin_files(plugin.module) or {} for plugin in registry.plugins.values()]
    if not any(path.resolve().is_relative_to(folder.resolve()) for folder in folders):
        return False
    digests = {sha256 for files in packages for _, sha256 in files.values()}
    return _in_engine(path) is not None or content(path)[1] in digests


def _in_engine(path: Path) -> str | None:
    """Return the name in the engine of a rule set that ships with it; None of any other file."""
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


def _sections(scorer: Scorer) -> dict[str, LockedPlugin]:
    """Return the sections of a rule set that plugins bring; none of what is made in memory."""
    names = scorer.rule_set.sections
    entries = ((name, scorer.registry.sections.entry(name)) for name in names)
    return {
        name: _plugin(
            distribution_of(entry), entry.dist.version if entry.dist else "", entry.module
        )
        for name, entry in entries
        if entry is not None
    }


def _plugin(distribution: str, version: str, module: str) -> LockedPlugin:
    files = file_digests(plugin_files(module) or {})
    return LockedPlugin(distribution, version, module, plugin_digest(module), files)
