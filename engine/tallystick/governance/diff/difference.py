"""The difference of two rule sets, as governance asks for it before a vote."""

from __future__ import annotations

import attrs

from tallystick.governance.diff.change import (
    Change,
    FormulaChange,
    changes,
    formula_changes,
)
from tallystick.governance.diff.effect import Effect, effect
from tallystick.governance.diff.policy import Level, level_of, raised
from tallystick.rules.compatibility import gone
from tallystick.scoring.scorer import Scorer


@attrs.frozen
class Difference:
    """What lies between two rule sets.

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

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of the file in which a value differs, in name order."""
        return tuple(sorted({change.path.partition(".")[0] for change in self.changes}))

    @property
    def is_breaking(self) -> bool:
        """Whether something is gone that records, states or readers of results name."""
        return bool(self.gone)

    @property
    def is_enough(self) -> bool:
        """Whether the version is raised as far as the change needs; other lines are free."""
        return not self.same_line or self.raised >= self.needed


def difference(old: Scorer, new: Scorer) -> Difference:
    """The difference of two rule sets that are bound."""
    before, after = old.rule_set, new.rule_set
    said, meant, lost = changes(before, after), formula_changes(old, new), gone(before, after)
    both = [name for name in old.types if name in new.types]
    return Difference(
        old=before.reference,
        new=after.reference,
        old_digest=old.digest,
        new_digest=new.digest,
        same_line=before.rule_set.name == after.rule_set.name,
        changes=said,
        formulas=meant,
        added_types=tuple(name for name in new.types if name not in old.types),
        removed_types=tuple(name for name in old.types if name not in new.types),
        gone=lost,
        effects=tuple(effect(old.types[name], new.types[name]) for name in both),
        needed=level_of(said, meant, lost),
        raised=raised(before.rule_set.version, after.rule_set.version),
    )
