"""The registry: formulas, skill types and requirements of the installed plugins, by entry points.

A plugin is imported when it is named: `InstalledPlugins.of` gives what some plugins offer, and one
that is not among them is not touched. What a plugin offers stands under its own name, the
*namespace*, so that a rule set names a plugin by naming its formula.

The plugins of the engine's own distribution come first, the others in name order. A plugin that
cannot be imported, declares another API version, has the name of another, offers what stands under
another name, or a name that is taken, is refused by name with the reason; the rest keep working.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import attrs
import pluggy

from tallystick.formula.formula import Formula, Requirement
from tallystick.plugins import spec
from tallystick.plugins.entries import (
    ALLOWED,
    GROUP,
    NAME_TAKEN,
    PROJECT,
    Extensions,
    RefusedPluginError,
    allowed_names,
    code_of_strangers,
    damaged_distributions,
    distribution_of,
    every_installed_entry,
    imported,
    installed_entries,
)
from tallystick.plugins.skill_type import SkillType
from tallystick.plugins.strategy import Strategy

_SHOWN = 5
_KINDS: Mapping[str, type] = {
    "formulas": Formula,
    "requirements": Requirement,
    "strategies": Strategy,
    "skill_types": SkillType,
    "rule_sets": Path,
}
"""Class of each item that a hook gives, by the attribute of `Plugin` that ends its name."""
_NAMED = tuple(kind for kind in _KINDS if kind != "rule_sets")
_HOOK, _FOREIGN = "hook-failed", "foreign-name"


@attrs.frozen
class Plugin:
    """One plugin and what it offers.

    Attributes:
        name: that of its entry point, under which everything stands that it offers.
        distribution: the name of what was installed.
        version: its version.
        formulas: what rule sets may name.
        skill_types: of the records that they score.
        requirements: what rule sets may ask of records.
        rule_sets: folders, laid out as ``NAME/VERSION.toml``.
        strategies: by which simulations try rule sets.
        module: the module of its entry point; empty where it is made in memory.
    """

    name: str
    distribution: str
    version: str
    formulas: tuple[Formula, ...] = ()
    skill_types: tuple[SkillType, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    rule_sets: tuple[Path, ...] = ()
    strategies: tuple[Strategy, ...] = ()
    module: str = ""

    def __repr__(self) -> str:
        return f"<Plugin {self.name} of {self.distribution} {self.version}>"


@attrs.frozen(eq=False)
class Registry:
    """The plugins, formulas and types that rule sets can name.

    Attributes:
        plugins: the plugins in use, by name.
        refused: why each other plugin is not in use, by name.
        formulas: by ``namespace/name@version``, with those of the engine itself.
        skill_types: by name.
        requirements: by name.
        rule_set_folders: where to look for the rule sets of each plugin, by its name.
        strategies: of miners in simulations, by name.
    """

    plugins: Mapping[str, Plugin]
    refused: Mapping[str, str]
    formulas: Mapping[str, Formula]
    skill_types: Mapping[str, SkillType]
    requirements: Mapping[str, Requirement]
    rule_set_folders: Mapping[str, tuple[Path, ...]]
    strategies: Mapping[str, Strategy] = attrs.field(factory=dict)

    def __repr__(self) -> str:
        return f"<Registry of {', '.join(self.plugins) or 'no plugins'}>"

    def of(self, names: Collection[str]) -> Registry:  # noqa: ARG002  # as others that load
        """Return the registry itself, whose plugins are loaded, whatever of it is wanted."""
        return self

    def own(self) -> Registry:
        """Return the registry itself."""
        return self

    def names(self) -> tuple[str, ...]:
        """Return the names of the plugins in use, in their order."""
        return tuple(self.plugins)


class InstalledPlugins(Extensions[Plugin]):
    """Plugins as they are installed, each imported when it is first named."""

    def __init__(
        self,
        found: Iterable[EntryPoint],
        allowed: frozenset[str] | None = None,
    ) -> None:
        """Import nothing yet.

        Args:
            found: the entry points, in any order.
            allowed: the only names of strangers to load; None loads any.
        """
        super().__init__(found, load, allowed)
        self._registries: dict[frozenset[str], Registry] = {}

    def of(self, names: Collection[str]) -> Registry:
        """Return the registry of some of the plugins, with the reasons why others are refused.

        A name that no plugin has gives nothing.
        """
        wanted = frozenset(names)
        if wanted not in self._registries:
            self._registries[wanted] = self._registry(wanted)
        return self._registries[wanted]

    def own(self) -> Registry:
        """Return the registry of the engine's own distribution, for hints."""
        return self.of([*filter(self.is_own, self.names())])

    def every(self) -> Registry:
        """Return the registry of all plugins that may be used: each of them is imported."""
        registry = self.of({*self.names(), *(self._allowed or ())})
        return attrs.evolve(registry, refused={**registry.refused, **damaged_distributions()})

    def _registry(self, names: frozenset[str]) -> Registry:
        (offered, refused), named = self.loaded(names), self._allowed or frozenset()
        plugins: dict[str, Plugin] = {}
        for name, plugin in offered.items():
            try:
                _add(plugin, plugins)
            except RefusedPluginError as error:
                refused[name] = str(error)
        for name in sorted(names & named - {entry.name for entry in every_installed_entry()}):
            if not self.is_installed(name):
                refused[name] = f"{ALLOWED} names it, but no installed distribution offers it"
        return _registry(plugins, refused)


Plugins: TypeAlias = InstalledPlugins | Registry
"""The source of the plugins that a rule set names; what was read with them is remembered."""


@lru_cache(maxsize=1)
def installed_plugins() -> InstalledPlugins:
    """Return the installed plugins, none of which is imported before it is named."""
    return InstalledPlugins(installed_entries(GROUP), allowed_names())


def with_modules(modules: Mapping[str, str]) -> InstalledPlugins:
    """Return the installed plugins, and some by their modules, whether they are installed or not.

    Args:
        modules: by the name of a plugin, its module, such as ``package.plugin``.
    """
    entries = [
        entry
        for entry in installed_entries(GROUP)
        if entry.name not in modules or distribution_of(entry) == PROJECT
    ]
    added = (EntryPoint(name, module, GROUP) for name, module in modules.items())
    allowed = allowed_names()
    return InstalledPlugins([*entries, *added], None if allowed is None else allowed | {*modules})


def installed() -> Registry:
    """The registry of all installed plugins that the environment allows: each is imported."""
    return installed_plugins().every()


def registry(found: Iterable[EntryPoint], allowed: frozenset[str] | None = None) -> Registry:
    """Return the registry of some entry points.

    Args:
        found: the entry points, in any order.
        allowed: the only names of strangers to load; None loads all.
    """
    return InstalledPlugins(found, allowed).every()


def joined(others: Registry, plugin: Plugin) -> Registry:
    """Return a registry with one more plugin, which comes last.

    Raises:
        RefusedPluginError: its name, or a name of what it offers, is taken.
    """
    plugins = dict(others.plugins)
    _add(plugin, plugins)
    refused = {name: why for name, why in others.refused.items() if name != plugin.name}
    return _registry(plugins, refused)


def united(registries: Sequence[Registry]) -> Registry:
    """Join registries into one.

    Raises:
        RefusedPluginError: two of them have different plugins of one name.
    """
    registry, *others = registries
    for plugin in (plugin for other in others for plugin in other.plugins.values()):
        if registry.plugins.get(plugin.name) != plugin:
            registry = joined(registry, plugin)
    return registry


def load(entry: EntryPoint, output: TextIO | None = None) -> Plugin:
    """Return the plugin of an entry point, on its own.

    Args:
        entry: the entry point.
        output: where goes what its import prints; by default the error output.

    Raises:
        RefusedPluginError: it cannot be used; the cause is what its own code raised.
    """
    module = imported(entry, output)
    for name in (name for name in vars(spec) if name.startswith(f"{PROJECT}_")):
        if not hasattr(getattr(module, name, None), f"{PROJECT}_impl") and hasattr(module, name):
            raise RefusedPluginError(
                _HOOK, f"found its {name} without @hookimpl, expected it marked"
            )
    with code_of_strangers("one of its hooks", _HOOK):
        manager = pluggy.PluginManager(PROJECT)
        manager.add_hookspecs(spec)
        manager.register(module, entry.name)
        manager.check_pending()
        hooks = {kind: getattr(manager.hook, f"{PROJECT}_{kind}") for kind in _KINDS}
        plugin = Plugin(
            name=entry.name,
            distribution=distribution_of(entry),
            version=entry.dist.version if entry.dist else "",
            module=entry.module,
            **{kind: _answer(hook(), _KINDS[kind]) for kind, hook in hooks.items()},
        )
    _refuse_foreign(plugin)
    return plugin


def _refuse_foreign(plugin: Plugin) -> None:
    """Refuse a plugin that offers what a rule set would look for in another one, or in none."""
    offers = [(kind, offer.name) for kind in _NAMED for offer in getattr(plugin, kind)]
    # a skill type is named as its records name it, in most cases without a plugin
    named = [name for kind, name in offers if kind != "skill_types" or "/" in name]
    foreign = [name for name in named if namespace(name) != plugin.name]
    if foreign:
        raise RefusedPluginError(
            _FOREIGN,
            f"found that it offers {', '.join(foreign[:_SHOWN])}, expected names that begin with "
            f"{plugin.name}/, the name of its entry point: rename them, or the entry point",
        )


def namespace(name: str) -> str:
    """Return the namespace of a name, which is the name of a plugin; empty where it has none."""
    return name.partition("/")[0] if "/" in name else ""


def _answer(answers: Sequence[Any], expected: type) -> tuple[Any, ...]:
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
            NAME_TAKEN,
            f"the distributions {other!r} and {plugin.distribution!r} both offer a plugin of this "
            "name: uninstall one",
        )
    for kind in _NAMED:
        names = [offer.name for offer in getattr(plugin, kind)]
        owner_of = {o.name: p.name for p in plugins.values() for o in getattr(p, kind)}
        twice = [name for name, times in Counter(names).items() if times > 1]
        clash = [f"{name} (of the plugin {owner_of[name]})" for name in names if name in owner_of]
        if twice or clash:
            what = kind.replace("_", " ")
            names_taken = ", ".join(twice + clash)
            raise RefusedPluginError(
                NAME_TAKEN, f"its {what} have names that are taken: {names_taken}"
            )
    plugins[plugin.name] = plugin


def _registry(plugins: Mapping[str, Plugin], refused: Mapping[str, str]) -> Registry:
    every = plugins.values()
    return Registry(
        plugins=plugins,
        refused=refused,
        formulas={f.name: f for p in every for f in p.formulas},
        skill_types={t.name: t for p in every for t in p.skill_types},
        requirements={r.name: r for p in every for r in p.requirements},
        rule_set_folders={p.name: p.rule_sets for p in every},
        strategies={s.name: s for p in every for s in p.strategies},
    )
