"""The rules of a state in an epoch: a rule set as transitions read it, and all lines together.

A state keeps its rule sets, whole, in its log; `rules_in_force` says which holds when. Transitions
and queries read the sections of a rule set; formulas are bound when the threshold of a tier is
asked for, and records are scored by a `Scorer` that the ledger binds when it needs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import attrs

from tallystick.canonical import digest
from tallystick.diagnostics import nearest
from tallystick.errors import StateError
from tallystick.json_values import JsonKey, json_object
from tallystick.numbers.nano import from_decimal
from tallystick.plugins.registry import Registry
from tallystick.records.messages import shown
from tallystick.rules.model import RuleSet
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.timeline import Timeline
from tallystick_state.sections.epochs import EPOCHS, Epochs
from tallystick_state.sections.groups import GROUPS, Groups
from tallystick_state.sections.reputation import REPUTATION, Reputation

if TYPE_CHECKING:
    from tallystick.scoring.bound_rules import BoundRules
    from tallystick.scoring.threshold_snapshots import Thresholds
    from tallystick.scoring.tiers import Tiers
    from tallystick_allocation.binding import BoundAllocation

GENESIS = "genesis"
"""Kind of the first entry of a log, which holds the rule set."""

Section = TypeVar("Section")


@json_object("digest", JsonKey("reference", "rule_set.reference"), JsonKey("text", "loaded.text"))
@attrs.frozen(eq=False, slots=False)
class StateRules:
    """The rule set of a state.

    Attributes:
        loaded: the rule set, with its text and its digest.
    """

    loaded: LoadedRuleSet

    def __repr__(self) -> str:
        return f"<StateRules of {self.rule_set.reference}, {self.digest}>"

    @property
    def registry(self) -> Registry:
        """The plugins that have its formulas."""
        return self.loaded.registry

    @property
    def rule_set(self) -> RuleSet:
        """The rule set as a value."""
        return self.loaded.rule_set

    @property
    def digest(self) -> str:
        """The digest of what the rule set means."""
        return self.loaded.digest

    @property
    def line(self) -> str:
        """The name of the line of rule sets that this one is a version of."""
        return self.rule_set.rule_set.name

    @property
    def quorum(self) -> int:
        """The number of validators whose flags eject a miner."""
        reputation = self.rule_set.section(REPUTATION)
        collusion = None if reputation is None else reputation.collusion
        return 1 if collusion is None else collusion.quorum

    @cached_property
    def events(self) -> frozenset[str]:
        """The names of the events that change a reputation."""
        reputation = self.rule_set.section(REPUTATION)
        return frozenset() if reputation is None else frozenset(reputation.events)

    @cached_property
    def base_weights(self) -> Mapping[str, int]:
        """The base weights in nano, by skill type; types without an emission are left out."""
        types = self.rule_set.skill_types.items()
        weights = {name: rules.base_weight for name, rules in types}
        return {name: from_decimal(w) for name, w in weights.items() if w is not None}

    @cached_property
    def allocation(self) -> BoundAllocation | None:
        """The steps from scores to weights; None where the rule set has none."""
        from tallystick_allocation.binding import bind_allocation  # of few commands

        return bind_allocation(self.rule_set, self.registry)

    @cached_property
    def tiers(self) -> Mapping[str, Tiers]:
        """The tiers by skill type; types without tiers are left out."""
        from tallystick.scoring.binding import bind_tiers  # proves formulas

        tiers = bind_tiers(self.loaded, self.registry)
        return {} if tiers is None else dict.fromkeys(self._baselines, tiers)

    @cached_property
    def seeds(self) -> Mapping[str, Thresholds]:
        """The tracked thresholds by skill type, in nano, at the seed baselines."""
        epochs = self.rule_set.section(EPOCHS)
        tracked = set() if epochs is None else set(epochs.thresholds)
        tracked_seeds: dict[str, Thresholds] = {}
        for name, tiers in self.tiers.items():
            seeds = tiers.thresholds(dict.fromkeys(tiers.tracked, self._baselines[name]))
            names = {*tiers.tracked, *tracked}
            tracked_seeds[name] = {
                threshold: nano for threshold, nano in seeds.items() if threshold in names
            }
        return tracked_seeds

    @property
    def _baselines(self) -> Mapping[str, int]:
        types = self.rule_set.skill_types.items()
        seeds = {name: rules.baseline for name, rules in types}
        return {name: from_decimal(seed) for name, seed in seeds.items() if seed is not None}

    @cached_property
    def reputation(self) -> Reputation:
        """The rules of reputations.

        Raises:
            StateError: the rule set does not say.
        """
        return self._section(self.rule_set.section(REPUTATION), "reputation")

    @cached_property
    def reputation_bounds(self) -> tuple[int, int]:
        """The floor and the ceiling of reputations, in nano.

        Raises:
            StateError: the rule set does not say.
        """
        return from_decimal(self.reputation.floor), from_decimal(self.reputation.ceiling)

    @cached_property
    def initial_reputation(self) -> int:
        """The reputation of a newcomer, in nano.

        Raises:
            StateError: the rule set does not say.
        """
        return from_decimal(self.reputation.initial)

    @cached_property
    def groups(self) -> Groups:
        """The rules by which groups are selected.

        Raises:
            StateError: the rule set does not say.
        """
        return self._section(self.rule_set.section(GROUPS), "groups")

    @cached_property
    def minimum_reputation(self) -> int:
        """The reputation, in nano, below which a miner is in no pool.

        Raises:
            StateError: the rule set does not say.
        """
        return from_decimal(self.groups.minimum_reputation)

    @cached_property
    def epochs(self) -> Epochs:
        """The rules of the end of an epoch.

        Raises:
            StateError: the rule set does not say.
        """
        return self._section(self.rule_set.section(EPOCHS), "epochs")

    def _section(self, section: Section | None, name: str) -> Section:
        if section is None:
            raise StateError(
                f"found no [{name}] in {self.rule_set.reference}, expected a rule set that has it: "
                "adopt a version that does with tallystick state adopt"
            )
        return section


@attrs.frozen(eq=False, slots=False)
class EpochRules:
    """The rules of every line in one epoch.

    Attributes:
        lines: of each line, in the order of their names.
    """

    lines: tuple[StateRules, ...]

    def __repr__(self) -> str:
        return f"<EpochRules of {' and '.join(rules.rule_set.reference for rules in self.lines)}>"

    @cached_property
    def type_rules(self) -> Mapping[str, StateRules]:
        """The rules of its line, by skill type."""
        return {name: rules for rules in self.lines for name in rules.rule_set.skill_types}

    @property
    def quorum(self) -> int:
        """The number of validators whose flags eject a miner; the largest of any line."""
        return max(rules.quorum for rules in self.lines)

    @property
    def seeds(self) -> Mapping[str, Thresholds]:
        """The tracked thresholds by skill type, in nano, at the seed baselines."""
        return {name: seeds for rules in self.lines for name, seeds in rules.seeds.items()}

    @property
    def digest(self) -> str:
        """The digest that a snapshot names: of the only rule set, or of all of them by line."""
        if len(self.lines) == 1:
            return self.lines[0].digest
        return digest({rules.line: rules.digest for rules in self.lines})

    def only(self) -> StateRules:
        """Return the rules of a state that has one line.

        Raises:
            StateError: it has several.
        """
        if len(self.lines) > 1:
            names = ", ".join(rules.line for rules in self.lines)
            raise StateError(f"found a state of the lines {names}, expected one line: name it")
        return self.lines[0]

    def watching(self) -> StateRules:
        """Return the rules of the hours over which dispatches count: of the first line with any."""
        candidates = (
            rules for rules in self.lines if rules.rule_set.section(REPUTATION) is not None
        )
        return next((r for r in candidates if r.reputation.visibility is not None), self.lines[0])

    def of_type(self, skill_type: str) -> StateRules:
        """Return the rules of the line that has a skill type.

        Raises:
            StateError: no line has it.
        """
        if skill_type not in self.type_rules:
            types = self.type_rules
            raise StateError(
                f"found the skill type {shown(skill_type)}, expected one of {', '.join(types)}"
                f"{nearest(skill_type, types)}"
            )
        return self.type_rules[skill_type]


def state_rules_of(rules: BoundRules) -> StateRules:
    """Return the rules of a state that follows the bound rule set."""
    return StateRules(rules.loaded)


def proved_rules_of(rules: BoundRules) -> StateRules:
    """Return the same of a rule set that a state begins with or adopts.

    Raises:
        RuleSetError: a formula of its allocation cannot be proved safe.
    """
    from tallystick_allocation.proofs import proved_allocation  # a query needs none

    proved_allocation(rules)
    return state_rules_of(rules)


def first_block(epoch: int, timeline: Timeline[StateRules]) -> int | None:
    """Return the first block of an epoch; None where rules without epochs hold before it.

    Args:
        epoch: from 0.
        timeline: the rules of a line.
    """
    blocks = 0
    for start, end, rules in timeline.spans():
        if epoch <= start:
            break
        epochs = rules.rule_set.section(EPOCHS)
        if epochs is None:
            return None
        last = epoch if end is None else min(epoch, end)
        blocks += (last - start) * epochs.blocks
    return blocks


def epoch_of(block: int, timeline: Timeline[StateRules]) -> int:
    """Return the epoch that a block belongs to.

    Args:
        block: from 0.
        timeline: the rules of a line.

    Raises:
        StateError: the block is negative, or rules without epochs hold by then.
    """
    if block < 0:
        raise StateError(f"found the block {block}, expected at least 0")
    before = 0
    for start, end, rules in timeline.spans():
        epoch = start + (block - before) // rules.epochs.blocks
        if end is None or epoch < end:
            return epoch
        before += (end - start) * rules.epochs.blocks
    raise AssertionError  # the last span has no end
