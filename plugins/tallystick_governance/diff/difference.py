"""The difference of two rule sets, as governance asks for it before a vote."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from tallystick.rules.compatibility import gone
from tallystick.rules.section import sections_of
from tallystick.rules.toml import dotted
from tallystick.scoring.scorer import Scorer
from tallystick_governance.diff.change import (
    Change,
    FormulaChange,
    changes,
    formula_changes,
    own_summary,
)
from tallystick_governance.diff.effect import Effect, effect
from tallystick_governance.diff.move import ThresholdPair
from tallystick_governance.diff.outcome import Outcome
from tallystick_governance.diff.outcomes import KNOWN_SECTIONS, outcomes
from tallystick_governance.diff.policy import (
    Level,
    can_change_a_result,
    level_of,
    raised,
    without_result,
)


@attrs.frozen
class NotAnalysed:
    """A value that is not followed to a score; with one, the exit status is that of findings.

    Attributes:
        value: its name.
        kind: what it is.
        tool: the tool that does not follow it.
        reason: why it cannot, as a clause without a full stop.
    """

    value: str
    kind: str
    tool: str
    reason: str

    def __str__(self) -> str:
        return f"not analysed: {self.value} ({self.kind}): {self.reason}"


@attrs.frozen
class RuleSetDifference:
    """The difference between two rule sets.

    Attributes:
        old: the reference of the old rule set.
        new: the reference of the new one.
        old_digest: the digest of the old rule set.
        new_digest: the digest of the new one.
        same_line: whether both have one name, so that a version policy binds them.
        changes: the values that differ.
        formulas: the formulas that differ.
        added_types: skill types of the new rule set alone.
        removed_types: skill types of the old rule set alone.
        gone: what others name and the new rule set lacks.
        effects: what the change can do to the scores of each type of both.
        needed: the part of the version that the change has to raise.
        raised: the part that it raises.
        summary: what the new rule set says it is for; None without words of its own.
        epoch: the open epoch of the state whose thresholds bound the effects; None without one.
        documentation: the paths of either rule set that no result depends on.
        other_sections: the sections that use a formula which differs.
        unknown: the requirements that differ; what they do to a score is not known.
        outcomes: every result that either rule set has, with why it can move.
    """

    old: str
    new: str
    old_digest: str
    new_digest: str
    same_line: bool
    changes: tuple[Change, ...]
    formulas: tuple[FormulaChange, ...]
    added_types: tuple[str, ...]
    removed_types: tuple[str, ...]
    gone: tuple[str, ...]
    effects: tuple[Effect, ...]
    needed: Level
    raised: Level
    summary: str | None = None
    epoch: int | None = None
    documentation: tuple[str, ...] = ()
    other_sections: tuple[str, ...] = ()
    unknown: tuple[NotAnalysed, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of the file in which a value differs, in name order."""
        return tuple(sorted({change.path.partition(".")[0] for change in self.changes}))

    @property
    def not_analysed(self) -> tuple[str, ...]:
        """The sections that differ and that no rule here follows to a result."""
        paths = [change.path for change in self.changes]
        changing = (path for path in paths if can_change_a_result(path, self.documentation))
        named = {path.partition(".")[0] for path in changing} | {*self.other_sections}
        return tuple(sorted(named - KNOWN_SECTIONS))

    @property
    def moving(self) -> tuple[Outcome, ...]:
        """The results that can move, each after those that it is computed from."""
        return tuple(outcome for outcome in self.outcomes if outcome.direction)

    @property
    def moves_more(self) -> bool:
        """True if a result can move that is not of one record alone."""
        return any(outcome.result not in {"scores", "emission"} for outcome in self.moving)

    @property
    def moves_thresholds(self) -> bool:
        """True if later thresholds of a state follow other rules than its present ones."""
        paths = [change.path for change in self.changes]
        return any(
            path.startswith(("tiers.thresholds.", "epochs.")) or path.endswith(".baseline")
            for path in paths
        )

    @property
    def any_tier(self) -> tuple[str, ...]:
        """The skill types of which any record can reach any tier, so that bounds say little."""
        return tuple(effect.skill_type for effect in self.effects if effect.any_tier)

    @property
    def is_breaking(self) -> bool:
        """True if something is gone that records, states or readers of results name."""
        return bool(self.gone)

    @property
    def is_enough(self) -> bool:
        """True if the version is raised as far as the change needs; other lines are free."""
        return not self.same_line or self.raised >= self.needed


def difference(
    old: Scorer,
    new: Scorer,
    bounds: Mapping[str, ThresholdPair] | None = None,
    epoch: int | None = None,
) -> RuleSetDifference:
    """Return the difference of two rule sets that are bound.

    Args:
        old: the rules before.
        new: the rules after.
        bounds: by skill type, the thresholds of a state under both; without them any can hold.
        epoch: the open epoch of that state.
    """
    pairs = bounds or {}
    before, after = old.rule_set, new.rule_set
    changed, meant = changes(before, after), formula_changes(old, new)
    lost, documentation = gone(before, after), without_result(old, new)
    effects = tuple(
        effect(old.types[name], new.types[name], pairs.get(name))
        for name in old.types
        if name in new.types
    )
    needed = level_of(changed, meant, lost, documentation)
    unknown = tuple(_changed_requirements(old, new))
    if unknown or any(type_effect.recomputed for type_effect in effects):
        needed = max(needed, Level.MINOR)
    return RuleSetDifference(
        old=before.reference,
        new=after.reference,
        old_digest=old.digest,
        new_digest=new.digest,
        same_line=before.rule_set.name == after.rule_set.name,
        changes=changed,
        formulas=meant,
        added_types=tuple(name for name in new.types if name not in old.types),
        removed_types=tuple(name for name in old.types if name not in new.types),
        gone=lost,
        effects=effects,
        needed=needed,
        raised=raised(before.rule_set.version, after.rule_set.version),
        summary=own_summary(old, new),
        epoch=epoch,
        documentation=documentation,
        other_sections=_sections_with({type_effect.name for type_effect in meant}, old, new),
        unknown=unknown,
        outcomes=outcomes(old, new, _moving(changed, documentation, old, new, meant), effects),
    )


def _moving(
    changed: Sequence[Change],
    documentation: Collection[str],
    old: Scorer,
    new: Scorer,
    meant: Sequence[FormulaChange],
) -> tuple[str, ...]:
    """Return the paths of values that a result depends on, and of formulas that mean another."""
    paths = [c.path for c in changed if can_change_a_result(c.path, documentation)]
    names = {formula.name for formula in meant}
    paths += [
        dotted(reference.key)
        for rules in (old, new)
        for section, values in sections_of(rules.rule_set)
        for reference in section.references(values)
        if reference.formula in names
    ]
    return tuple(dict.fromkeys(paths))


def _sections_with(formulas: Collection[str], *rules: Scorer) -> tuple[str, ...]:
    """Return the sections of rule sets that name one of some formulas."""
    names = {
        section.name
        for scorer in rules
        for section, values in sections_of(scorer.rule_set)
        if any(reference.formula in formulas for reference in section.references(values))
    }
    return tuple(sorted(names))


def _changed_requirements(old: Scorer, new: Scorer) -> Iterator[NotAnalysed]:
    """Yield the requirements of types of both rule sets that have one name and two meanings."""
    before, after = (
        {r.name: r.digest for bound in rules.types.values() for r in bound.required}
        for rules in (old, new)
    )
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            reason = "which records it refuses is not compared"
            yield NotAnalysed(name, "requirement", "rules diff", reason)
