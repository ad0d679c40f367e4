"""The law: what a rule set says about the state, as the transitions need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import attrs

from tallystick.errors import StateError
from tallystick.records.messages import shown
from tallystick.rules.model import RuleSet
from tallystick.rules.sections import Epochs, Groups, Reputation
from tallystick.scoring.tiers import Thresholds, Tiers

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer

Section = TypeVar("Section")


@attrs.frozen(eq=False)
class StateRules:
    """A rule set, with what binding it gave.

    Attributes:
        rule_set: the rule set.
        digest: of what it means.
        base_weights: by skill type, in nano; types without an emission are left out.
        tiers: by skill type; types without tiers are left out.
        seeds: by skill type, the tracked thresholds at the seed baselines, in nano.
    """

    rule_set: RuleSet
    digest: str
    base_weights: Mapping[str, int]
    tiers: Mapping[str, Tiers]
    seeds: Mapping[str, Thresholds]

    def check_type(self, skill_type: str) -> None:
        """Refuse a skill type that the rule set does not have.

        Raises:
            StateError: it has no such type.
        """
        known = self.rule_set.skill_types
        if skill_type not in known:
            raise StateError(
                f"found the skill type {shown(skill_type)}, expected one of {', '.join(known)}"
            )

    @property
    def reputation(self) -> Reputation:
        """How reputations come about.

        Raises:
            StateError: the rule set does not say.
        """
        return _said(self.rule_set.reputation, self, "reputation")

    @property
    def groups(self) -> Groups:
        """How groups are selected.

        Raises:
            StateError: the rule set does not say.
        """
        return _said(self.rule_set.groups, self, "groups")

    @property
    def epochs(self) -> Epochs:
        """What happens when an epoch ends.

        Raises:
            StateError: the rule set does not say.
        """
        return _said(self.rule_set.epochs, self, "epochs")


def state_rules_of(scorer: Scorer) -> StateRules:
    """The law of a bound rule set."""
    types, rule_set = scorer.types, scorer.rule_set
    tiers = {name: bound.tiers for name, bound in types.items() if bound.tiers is not None}
    tracked = set(rule_set.epochs.thresholds) if rule_set.epochs is not None else set()
    return StateRules(
        rule_set=rule_set,
        digest=scorer.digest,
        base_weights={n: b.base_weight for n, b in types.items() if b.base_weight is not None},
        tiers=tiers,
        seeds={name: _tracked(types[name].seeds, tracked, tiers[name]) for name in tiers},
    )


def _tracked(seeds: Thresholds, tracked: set[str], tiers: Tiers) -> Thresholds:
    return {name: nano for name, nano in seeds.items() if name in {*tiers.tracked, *tracked}}


def _said(section: Section | None, law: StateRules, name: str) -> Section:
    if section is None:
        raise StateError(
            f"found no [{name}] in {law.rule_set.reference}, expected a rule set that has it"
        )
    return section
