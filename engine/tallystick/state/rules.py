"""The rules that a state follows: what its rule set says, as the transitions need it.

A state keeps its rule set, whole, in the first entry of its log. Transitions and queries read the
sections of the rule set; formulas are bound when the threshold of a tier is asked for, and records
are scored by a `Scorer` that the ledger binds when it needs one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tallystick.diagnostics import nearest
from tallystick.errors import DamagedError, StateError
from tallystick.numbers.nano import from_decimal
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.records.messages import shown
from tallystick.rules.model import RuleSet
from tallystick.rules.reading import LoadedRuleSet, read_again
from tallystick.rules.sections import Epochs, Groups, Reputation
from tallystick.state.claims import Hearing

if TYPE_CHECKING:
    from tallystick.scoring.bound_rules import BoundRules
    from tallystick.scoring.threshold_snapshots import Thresholds
    from tallystick.scoring.tiers import Tiers
    from tallystick.state.chain import Entry

GENESIS = "genesis"
"""The kind of the first entry of a log, which holds the rule set."""

Section = TypeVar("Section")


@attrs.frozen(eq=False, slots=False)
class StateRules:
    """The rule set of a state.

    Attributes:
        loaded: the rule set, with its text and its digest.
        registry: the plugins that have its formulas.
    """

    loaded: LoadedRuleSet
    registry: Registry

    @property
    def rule_set(self) -> RuleSet:
        """The rule set as a value."""
        return self.loaded.rule_set

    @property
    def digest(self) -> str:
        """The digest of what the rule set means."""
        return self.loaded.digest

    @cached_property
    def base_weights(self) -> Mapping[str, int]:
        """By skill type, the base weight in nano; types without an emission are left out."""
        types = self.rule_set.skill_types.items()
        weights = {name: rules.base_weight for name, rules in types}
        return {name: from_decimal(w) for name, w in weights.items() if w is not None}

    @cached_property
    def tiers(self) -> Mapping[str, Tiers]:
        """By skill type, its tiers; types without tiers are left out."""
        from tallystick.scoring.binding import bind_tiers  # noqa: PLC0415  # proves formulas

        tiers = bind_tiers(self.loaded, self.registry)
        return {} if tiers is None else dict.fromkeys(self._baselines, tiers)

    @cached_property
    def seeds(self) -> Mapping[str, Thresholds]:
        """By skill type, the thresholds that a state tracks, in nano, at the seed baselines."""
        epochs = self.rule_set.epochs
        tracked = set() if epochs is None else set(epochs.thresholds)
        found: dict[str, Thresholds] = {}
        for name, tiers in self.tiers.items():
            seeds = tiers.thresholds(dict.fromkeys(tiers.tracked, self._baselines[name]))
            names = {*tiers.tracked, *tracked}
            found[name] = {each: nano for each, nano in seeds.items() if each in names}
        return found

    @property
    def _baselines(self) -> Mapping[str, int]:
        types = self.rule_set.skill_types.items()
        seeds = {name: rules.baseline for name, rules in types}
        return {name: from_decimal(seed) for name, seed in seeds.items() if seed is not None}

    def check_type(self, skill_type: str) -> None:
        """Refuse a skill type that the rule set does not have.

        Raises:
            StateError: it has no such type.
        """
        known = self.rule_set.skill_types
        if skill_type not in known:
            raise StateError(
                f"found the skill type {shown(skill_type)}, expected one of {', '.join(known)}"
                f"{nearest(skill_type, known)}"
            )

    @property
    def reputation(self) -> Reputation:
        """How reputations come about.

        Raises:
            StateError: the rule set does not say.
        """
        return self._section(self.rule_set.reputation, "reputation")

    @property
    def groups(self) -> Groups:
        """How groups are selected.

        Raises:
            StateError: the rule set does not say.
        """
        return self._section(self.rule_set.groups, "groups")

    @property
    def epochs(self) -> Epochs:
        """What happens when an epoch ends.

        Raises:
            StateError: the rule set does not say.
        """
        return self._section(self.rule_set.epochs, "epochs")

    def _section(self, section: Section | None, name: str) -> Section:
        if section is None:
            raise StateError(
                f"found no [{name}] in {self.rule_set.reference}, expected a rule set that has it"
            )
        return section


def state_rules_of(rules: BoundRules) -> StateRules:
    """The rules of a state that follows the bound rule set."""
    return StateRules(rules.loaded, rules.registry)


def genesis_rules(
    genesis: Entry | None, where: str, registry: Registry | None = None
) -> StateRules:
    """The rules that the first entry of a log holds.

    Args:
        genesis: the first entry, if the log has one.
        where: the store or the file, for errors.
        registry: the plugins; by default the installed ones.

    Raises:
        DamagedError: the entry is none that begins a log, or the installed plugins give the rule
            set another meaning than it had.
        RuleSetError: the rule set does not load with the installed plugins.
    """
    try:
        said = _first(genesis, where)["rule_set"]
        # whoever forged the entry may have put anything there
        text, name, digest = (_text(said[key]) for key in ("text", "reference", "digest"))
    except (ValueError, KeyError, TypeError):
        raise DamagedError(
            f"{where}: found a first entry without a rule set, expected one: restore a copy"
        ) from None
    plugins = registry or installed_plugins()
    loaded = read_again(text, Path(f"{where}#{name}"), digest, plugins)
    if loaded.digest != digest:
        raise DamagedError(
            f"{where}: found that {name} means {loaded.digest} with the installed "
            f"plugins, expected {digest}: install the plugins that the state began with"
        )
    return StateRules(loaded, loaded.registry)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def genesis_hearing(genesis: Entry | None, where: str) -> Hearing:
    """Whose claims the state takes, as the first entry of its log says.

    Args:
        genesis: the first entry, if the log has one.
        where: the store or the file, for errors.

    Raises:
        DamagedError: it says no such thing.
    """
    said = _first(genesis, where)
    validator, heard = said.get("validator"), said.get("hears", [])
    texts = isinstance(heard, list) and all(isinstance(each, str) for each in heard)
    if not texts or not isinstance(validator, str | None):
        raise DamagedError(
            f"{where}: found a first entry that names no validators, expected hotkeys: restore a "
            "copy"
        )
    return Hearing(validator, frozenset(heard) or None)


def _first(genesis: Entry | None, where: str) -> Mapping[str, Any]:
    """What the entry says that begins a log."""
    if genesis is None or genesis.kind != GENESIS:
        kind = "nothing" if genesis is None else genesis.kind
        raise DamagedError(
            f"{where}: found a log that begins with {kind}, expected {GENESIS}: restore a copy"
        )
    found: Mapping[str, Any] = json.loads(genesis.body)
    return found
