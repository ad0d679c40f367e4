"""Bound rules: a rule set whose formulas are proved, with the tier thresholds that it scores by.

Rules can change: those of later epochs stand beside the first. A record is scored by the rules of
the epoch that it names, and by those of the line that has its skill type where there are several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import attrs

from tallystick.errors import RecordError
from tallystick.numbers.text import numbered
from tallystick.plugins.registry import Registry, united
from tallystick.records.decoding import Decoder, decoder_of
from tallystick.records.messages import shown
from tallystick.records.schema import Schema
from tallystick.rules.model import RuleSet
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.timeline import Timeline
from tallystick.scoring.binding import bind_rule_set
from tallystick.scoring.bound import BoundType
from tallystick.scoring.result import ResultLayout
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
        later: what holds instead from which epoch on, ascending, each from 1 or later.
        lines: where the rules of several lines hold together, those of each; `loaded` is then of
            the first, and `types` and `thresholds` are of all.
    """

    loaded: LoadedRuleSet
    registry: Registry
    types: Mapping[str, BoundType]
    thresholds: Mapping[str, Thresholds]
    pinned: Mapping[int, ThresholdSnapshot] = attrs.field(factory=dict)
    later: tuple[tuple[int, BoundRules], ...] = ()
    lines: tuple[BoundRules, ...] = ()

    def __repr__(self) -> str:
        names = " and ".join(line.rule_set.reference for line in self.lines or (self,))
        later = f", {numbered(len(self.later), 'change')} later" if self.later else ""
        return f"<{type(self).__name__} of {names}, {self.digest}{later}>"

    @property
    def rule_set(self) -> RuleSet:
        """The rule set as a value."""
        return self.loaded.rule_set

    @property
    def digest(self) -> str:
        """The digest of what the rule set means."""
        return self.loaded.digest

    @property
    def timeline(self) -> Timeline[BoundRules]:
        """The rules by epoch."""
        return Timeline(self, self.later)

    def rules_at(self, epoch: int) -> BoundRules:
        """Return the rules of an epoch."""
        return self.timeline.at(epoch) if self.later else self

    def thresholds_at(self, skill_type: str, epoch: int) -> Thresholds:
        """Return the thresholds of a type in an epoch; a snapshot stands over those of the rules.

        Args:
            skill_type: the type, which the rules of the epoch have.
            epoch: the one that a record names.
        """
        snapshot = self.pinned.get(epoch)
        pinned = None if snapshot is None else snapshot.thresholds.get(skill_type)
        return self.rules_at(epoch).thresholds[skill_type] if pinned is None else pinned

    @property
    def latest(self) -> BoundRules:
        """The rules that hold in the end."""
        return self.later[-1][1] if self.later else self

    def begins(self, epoch: int) -> int:
        """Return the first epoch of the rules of an epoch."""
        return max(begin for begin, _ in self.spans() if begin <= epoch)

    def line_of(self, skill_type: str) -> BoundRules:
        """Return the rules of the line that has a skill type; these if there is one line."""
        return next((line for line in self.lines if skill_type in line.types), self)

    def spans(self) -> Iterator[tuple[int, BoundRules]]:
        """Yield the rules with the first epoch of each, from 0."""
        yield 0, self
        yield from self.later

    def each(self) -> Iterator[BoundRules]:
        """Yield the rules of each span and line, those of one rule set once."""
        result = {
            rules.digest: rules for _, span in self.spans() for rules in span.lines or (span,)
        }
        yield from result.values()

    @cached_property
    def every_type(self) -> tuple[BoundType, ...]:
        """The skill types of every epoch, those of one epoch by name."""
        # the order of a file is no part of its digest
        return tuple(span.types[name] for _, span in self.spans() for name in sorted(span.types))

    @cached_property
    def schemas(self) -> Mapping[str, Schema]:
        """The record schema of every skill type of every epoch, by name."""
        types = (item for _, span in self.spans() for item in span.types.items())
        return {name: bound.schema for name, bound in types}

    @cached_property
    def layout(self) -> ResultLayout:
        """The fields of results of every epoch."""
        types = self.every_type
        measures = [measure for bound in types for measure in bound.measures]
        ratios = {measure.name for measure in measures if measure.is_exact}
        return ResultLayout(
            axes=tuple(sorted({axis.name for bound in types for axis in bound.axes})),
            measures={name: name in ratios for name in sorted({m.name for m in measures})},
            has_group=any(bound.group is not None for bound in types),
            factors=tuple(dict.fromkeys(name for each in types for name in each.shown_factors)),
        )

    @cached_property
    def tier_names(self) -> tuple[str, ...]:
        """The names of the tiers, from the lowest, each once."""
        tiers = (bound.tiers for bound in self.every_type if bound.tiers is not None)
        return tuple(dict.fromkeys(name for own in tiers for name in own.levels))

    @cached_property
    def decoder(self) -> Decoder:
        """Decodes the records of the skill types of every epoch."""
        return decoder_of(self.schemas)


def bind_rules(loaded: LoadedRuleSet, registry: Registry) -> BoundRules:
    """Bind a rule set that is loaded.

    Raises:
        RuleSetError: its formulas, types and schemas do not fit; ``problems`` holds all of it.
    """
    types = bind_rule_set(loaded, registry)
    return BoundRules(loaded, registry, types, {name: bound.seeds for name, bound in types.items()})


def without_rules(skill_type: str, epoch: int, types: Iterable[str]) -> RecordError:
    """Return the error of a record whose skill type is none of those of the rules of its epoch."""
    wanted = f"one of the rules of epoch {epoch}: {', '.join(sorted(types))}"
    return RecordError("unknown-skill-type", "skill_type", shown(skill_type), wanted)


def _together(lines: Sequence[BoundRules]) -> BoundRules:
    """Return the rules of one epoch of several lines, whose skill types are disjoint, as one."""
    first, *others = lines
    if not others:
        return first
    return attrs.evolve(
        first,
        registry=united([line.registry for line in lines]),
        types={name: bound for line in lines for name, bound in line.types.items()},
        thresholds={
            name: thresholds for line in lines for name, thresholds in line.thresholds.items()
        },
        lines=tuple(lines),
    )


def bound_over(lines: Sequence[Timeline[BoundRules]]) -> BoundRules:
    """Return the rules of every epoch of some lines, whose skill types are disjoint, as one."""
    begins = sorted({begin for line in lines for begin, _, _ in line.spans()})
    return from_epochs([(begin, [line.at(begin) for line in lines]) for begin in begins])


def from_epochs(of_epochs: Sequence[tuple[int, Sequence[BoundRules]]]) -> BoundRules:
    """Return the rules of every epoch, as one.

    Args:
        of_epochs: pairs of the epoch from which rules hold, ascending from 0, and the rules of each
            line, whose skill types are disjoint.
    """
    spans = [(begin, _together(lines)) for begin, lines in of_epochs]
    (_, first), *later = spans
    if not later:
        return first
    registry = united([rules.registry for _, rules in spans])
    return attrs.evolve(first, registry=registry, later=tuple(later))
