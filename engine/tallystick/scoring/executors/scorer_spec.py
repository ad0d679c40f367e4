"""Recipes: what a worker needs to be the scorer that it works for, and to know that it is.

A rule set goes to a worker as its text; plugins do not go, they must be there. The worker refuses
the work when its engine, a plugin or the rule set is not the same, told by version and digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import attrs

from tallystick.canonical import digest
from tallystick.errors import EngineError
from tallystick.plugins.registry import Plugin, Registry, installed
from tallystick.records.schema import load_schema, schema_digest
from tallystick.rules.reading import LoadedRuleSet, read_text
from tallystick.scoring.scorer import Scorer, bind
from tallystick.scoring.threshold_snapshots import Thresholds


@attrs.frozen
class ScorerSpec:
    """A scorer as a value that can be pickled, hashed and compared.

    Attributes:
        engine: the version of the engine.
        plugins: the distribution, version and digest of each plugin, by name.
        path: the file of the rule set, as it was given.
        text: what it says.
        digest: of the rule set.
        thresholds: of each skill type, by name, in nano.
    """

    engine: str
    plugins: tuple[tuple[str, str], ...]
    path: str
    text: str = attrs.field(repr=False)
    digest: str
    thresholds: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    @classmethod
    def of(
        cls, loaded: LoadedRuleSet, registry: Registry, thresholds: Mapping[str, Thresholds]
    ) -> ScorerSpec:
        """The recipe of a scorer, without its snapshots."""
        return cls(
            version("tallystick"),
            tuple(plugin_digests(registry).items()),
            str(loaded.path),
            loaded.text,
            loaded.digest,
            tuple((name, tuple(found.items())) for name, found in thresholds.items()),
        )

    def scorer(self) -> Scorer:
        """The scorer, bound once in a process.

        Raises:
            EngineError: the engine, a plugin or the rule set is not the same here.
        """
        return _bound(self)


@lru_cache(maxsize=4)
def _bound(recipe: ScorerSpec) -> Scorer:
    registry = installed()
    check(recipe, version("tallystick"), plugin_digests(registry))
    loaded = read_text(recipe.text, Path(recipe.path), registry)
    if loaded.digest != recipe.digest:
        raise EngineError(
            f"found the rule set {loaded.rule_set.reference} to be {loaded.digest}, expected "
            f"{recipe.digest}: install the same engine and plugins on every worker"
        )
    thresholds = {name: dict(found) for name, found in recipe.thresholds}
    return attrs.evolve(bind(loaded, registry), thresholds=thresholds)


def check(recipe: ScorerSpec, engine: str, plugins: Mapping[str, str]) -> None:
    """That an engine and its plugins are those of a recipe; further plugins do not matter.

    Raises:
        EngineError: the engine has another version.
        PluginError: a plugin is missing or is not the same.
    """
    if engine != recipe.engine:
        raise EngineError(
            f"found the engine tallystick {engine}, expected {recipe.engine}: install the same "
            "version on every worker"
        )
    for name, wanted in recipe.plugins:
        found = plugins.get(name)
        if found != wanted:
            raise EngineError(
                f"found the plugin {name} to be {found or 'missing'}, expected {wanted}: install "
                "the same on every worker"
            )


def plugin_digests(registry: Registry) -> dict[str, str]:
    """The distribution, version and digest of each plugin, by name."""
    return {
        name: f"{plugin.distribution} {plugin.version} {_plugin_digest(plugin)}"
        for name, plugin in sorted(registry.plugins.items())
    }


def _plugin_digest(plugin: Plugin) -> str:
    """What a plugin means for scores: its formulas, requirements, and schemas of skill types."""
    types = {
        each.name: {
            "schema": schema_digest(load_schema(each.schema)),
            "requirements": {r.name: r.digest for r in each.requirements},
        }
        for each in plugin.skill_types
    }
    return digest(
        {
            "formulas": {formula.name: formula.digest for formula in plugin.formulas},
            "requirements": {r.name: r.digest for r in plugin.requirements},
            "skill_types": types,
        }
    )
