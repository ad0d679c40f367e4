"""What the installed plugins offer together, found by entry points.

The plugins of the engine's own distribution come first, the others in name order. A plugin that
cannot be imported, declares another API version, has the name of another, or offers a name that is
taken is refused by name with the reason; the rest keep working.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pluggy

from tallystick.errors import PluginError
from tallystick.formula.formula import Formula, Requirement
from tallystick.plugins import spec
from tallystick.plugins.skill_type import SkillType

_Offer = TypeVar("_Offer")

GROUP = "tallystick.plugins"
"""The entry-point group of plugins."""
ALLOWED = "TALLYSTICK_PLUGINS"
"""The environment variable that names the only plugins to load, separated by commas."""

_HOOK, _TAKEN = "hook-failed", "name-taken"


class RefusedPluginError(PluginError):
    """A plugin that is refused; ``code`` is the stable name of the reason."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@attrs.frozen
class Plugin:
    """One plugin and what it offers."""

    name: str
    distribution: str
    version: str
    formulas: tuple[Formula, ...] = ()
    skill_types: tuple[SkillType, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    rule_sets: tuple[Path, ...] = ()


@attrs.frozen(eq=False)
class Registry:
    """Everything that rule sets can name.

    Attributes:
        plugins: the plugins in use, by name.
        refused: why each other plugin is not in use, by name.
        formulas: by ``namespace/name@version``.
        skill_types: by name.
        requirements: by name.
        rule_set_folders: where to look for rule sets.
    """

    plugins: Mapping[str, Plugin]
    refused: Mapping[str, str]
    formulas: Mapping[str, Formula]
    skill_types: Mapping[str, SkillType]
    requirements: Mapping[str, Requirement]
    rule_set_folders: tuple[Path, ...]


@lru_cache(maxsize=1)
def installed() -> Registry:
    """The registry of the installed plugins that the environment allows."""
    return registry(entry_points(group=GROUP), allowed_names())


def allowed_names() -> frozenset[str] | None:
    """The names of the only plugins that the environment allows; None allows all."""
    return _allowed(os.environ.get(ALLOWED))


def registry(found: Iterable[EntryPoint], allowed: frozenset[str] | None = None) -> Registry:
    """The registry of some entry points.

    Args:
        found: the entry points, in any order.
        allowed: the only names to load; None loads all.
    """
    plugins: dict[str, Plugin] = {}
    refused: dict[str, str] = {}
    for entry in _in_order(found, allowed):
        try:
            # what an import prints must not end up in what a command prints
            with redirect_stdout(sys.stderr):
                plugin = load(entry)
            _add(plugin, plugins)
        except PluginError as error:
            refused.setdefault(entry.name, str(error))
    for name in sorted((allowed or frozenset()) - plugins.keys() - refused.keys()):
        refused[name] = f"{ALLOWED} names it, but no installed distribution offers it"
    return _registry(plugins, refused)


def joined(others: Registry, plugin: Plugin) -> Registry:
    """A registry with one more plugin, which comes last.

    Raises:
        RefusedPluginError: its name, or a name of what it offers, is taken.
    """
    plugins = dict(others.plugins)
    _add(plugin, plugins)
    refused = {name: why for name, why in others.refused.items() if name != plugin.name}
    return _registry(plugins, refused)


def _allowed(names: str | None) -> frozenset[str] | None:
    if names is None or not names.strip():
        return None
    return frozenset(name.strip() for name in names.split(",") if name.strip())


def _in_order(found: Iterable[EntryPoint], allowed: frozenset[str] | None) -> list[EntryPoint]:
    # the name of a distribution is looked up once, as each time its whole metadata are parsed
    wanted = [(_distribution(e), e) for e in found if allowed is None or e.name in allowed]
    wanted.sort(key=lambda each: (each[0] != spec.PROJECT, each[1].name, each[0], each[1].value))
    return [entry for _, entry in wanted]


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else ""


def load(entry: EntryPoint) -> Plugin:
    """The plugin of an entry point, on its own.

    Raises:
        RefusedPluginError: it cannot be used; the cause is what its own code raised.
    """
    if not EntryPoint.pattern.match(entry.value):
        raise RefusedPluginError(
            "import-failed",
            f"found the entry point {entry.value!r}, expected a module such as package.plugin: "
            "fix the plugin's project file",
        )
    try:
        module = entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the others go on, whatever a stranger raises
        raise RefusedPluginError(
            "import-failed", f"its import failed: {_failure(error)}"
        ) from error
    api = getattr(module, "tallystick_api", None)
    if type(api) is not int or api != spec.API_VERSION:
        raise RefusedPluginError(
            "api-version",
            f"found tallystick_api = {api!r} in {entry.value}, expected {spec.API_VERSION}: "
            "install a version of the plugin for this engine",
        )
    return _offered(entry, module)


def _offered(entry: EntryPoint, module: object) -> Plugin:
    for name in (name for name in vars(spec) if name.startswith(f"{spec.PROJECT}_")):
        if not hasattr(getattr(module, name, None), f"{spec.PROJECT}_impl") and hasattr(
            module, name
        ):
            raise RefusedPluginError(
                _HOOK, f"found its {name} without @hookimpl, expected it marked"
            )
    manager = pluggy.PluginManager(spec.PROJECT)
    manager.add_hookspecs(spec)
    try:
        manager.register(module, entry.name)
        manager.check_pending()
        return Plugin(
            name=entry.name,
            distribution=_distribution(entry),
            version=entry.dist.version if entry.dist else "",
            formulas=_answer(manager.hook.tallystick_formulas(), Formula),
            skill_types=_answer(manager.hook.tallystick_skill_types(), SkillType),
            requirements=_answer(manager.hook.tallystick_requirements(), Requirement),
            rule_sets=_answer(manager.hook.tallystick_rule_sets(), Path),
        )
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RefusedPluginError(_HOOK, f"one of its hooks failed: {_failure(error)}") from error


def _failure(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}: fix the plugin, or uninstall it"


def _answer(answers: Sequence[Any], expected: type[_Offer]) -> tuple[_Offer, ...]:
    offers = [offer for answer in answers for offer in answer]
    for offer in offers:
        if not isinstance(offer, expected):
            raise RefusedPluginError(
                _HOOK, f"found {offer!r} in a hook's answer, expected {expected.__name__}"
            )
    return tuple(offers)


def _add(plugin: Plugin, plugins: dict[str, Plugin]) -> None:
    if plugin.name in plugins:
        other = plugins[plugin.name].distribution
        raise RefusedPluginError(
            _TAKEN,
            f"the distributions {other!r} and {plugin.distribution!r} both offer a plugin of this "
            "name, and only the first is used: uninstall one",
        )
    for kind in ("formulas", "skill_types", "requirements"):
        names = [offer.name for offer in getattr(plugin, kind)]
        taken = {o.name: p.name for p in plugins.values() for o in getattr(p, kind)}
        twice = [name for name, times in Counter(names).items() if times > 1]
        clash = [f"{name} (of the plugin {taken[name]})" for name in names if name in taken]
        if twice or clash:
            what = kind.replace("_", " ")
            names_taken = ", ".join(twice + clash)
            raise RefusedPluginError(_TAKEN, f"its {what} have names that are taken: {names_taken}")
    plugins[plugin.name] = plugin


def _registry(plugins: Mapping[str, Plugin], refused: Mapping[str, str]) -> Registry:
    every = plugins.values()
    return Registry(
        plugins=plugins,
        refused=refused,
        formulas={f.name: f for p in every for f in p.formulas},
        skill_types={t.name: t for p in every for t in p.skill_types},
        requirements={r.name: r for p in every for r in p.requirements},
        rule_set_folders=tuple(folder for p in every for folder in p.rule_sets),
    )
