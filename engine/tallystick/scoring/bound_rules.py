"""Bound rules: a rule set whose formulas are proved, with the tier thresholds that it scores by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import attrs

from tallystick.plugins.registry import Registry
from tallystick.records.decoding import Decoder
from tallystick.rules.model import RuleSet
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.timeline import Timeline
from tallystick.scoring.binding import bind_rule_set
from tallystick.scoring.bound import BoundType
from tallystick.scoring.threshold_snapshots import Thresholds, ThresholdSnapshot


@attrs.frozen(eq=False, slots=False)
class BoundRules:
    """One rule set, bound to the plugins that it names.

    Attributes:
        loaded: the rule set and where it comes from.
        registry: the plugins that it was bound with.
        types: the bound skill types, by name.
        thresholds: the tier thresholds of each type in nano; without a state, the seeds.
        pinned: by epoch, the snapshots whose thresholds its records are scored by instead.
        later: the rules that records of later epochs are scored by, as (first epoch, rules), by
            ascending epochs.
    """

    loaded: LoadedRuleSet
    registry: Registry
    types: Mapping[str, BoundType]
    thresholds: Mapping[str, Thresholds]
    pinned: Mapping[int, ThresholdSnapshot] = attrs.field(factory=dict)
    later: tuple[tuple[int, BoundRules], ...] = ()

    def rules_at(self, epoch: int) -> BoundRules:
        """The rules that records of an epoch are scored by."""
        if not self.later:
            return self
        return Timeline[BoundRules](self, self.later).at(epoch)

    @property
    def rule_set(self) -> RuleSet:
        """The rule set as a value."""
        return self.loaded.rule_set

    @property
    def digest(self) -> str:
        """The digest of what the rule set means."""
        return self.loaded.digest

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Every axis of every type, each once, sorted."""
        return tuple(sorted({n for bound in self.types.values() for n in bound.axis_order}))

    @property
    def tier_names(self) -> tuple[str, ...]:
        """The names of the tiers, from the lowest; all types have the same."""
        levels = (bound.tiers.levels for bound in self.types.values() if bound.tiers is not None)
        return next(levels, ())

    @cached_property
    def decoder(self) -> Decoder:
        """Decodes the records of the skill types."""
        return Decoder({name: bound.schema for name, bound in self.types.items()})


def bind_rules(loaded: LoadedRuleSet, registry: Registry) -> BoundRules:
    """Bind a rule set that is loaded.

    Raises:
        RuleSetError: its formulas, types and schemas do not fit; ``problems`` holds all of it.
    """
    types = bind_rule_set(loaded, registry)
    return BoundRules(loaded, registry, types, {name: bound.seeds for name, bound in types.items()})
