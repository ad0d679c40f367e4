"""What a candidate proposes: its own words, and every value and formula that it changes."""

from __future__ import annotations

import attrs

from tallystick.governance.diff.change import (
    Change,
    FormulaChange,
    changes,
    formula_changes,
    own_summary,
)
from tallystick.scoring.bound_rules import BoundRules

_ASIDE = ("rule_set.", "lint.")
"""What a rule set says of itself and to the linter, which no score depends on."""


@attrs.frozen
class Proposal:
    """What a candidate proposes.

    Attributes:
        summary: what its file says it is for; None where it has no words of its own but those of
            the baseline.
        source: the documents that it follows, by its file.
        changes: the values that it gives otherwise than the baseline, by path.
        formulas: the formulas that it uses otherwise.
    """

    summary: str | None = None
    source: str = ""
    changes: tuple[Change, ...] = ()
    formulas: tuple[FormulaChange, ...] = ()


def proposal_of(baseline: BoundRules, candidate: BoundRules) -> Proposal:
    """What a rule set proposes beside a baseline; for the baseline itself no change."""
    header = candidate.rule_set.rule_set
    summary = own_summary(baseline, candidate)
    found = changes(baseline.rule_set, candidate.rule_set)
    return Proposal(
        summary,
        header.source,
        tuple(each for each in found if not each.path.startswith(_ASIDE)),
        formula_changes(baseline, candidate),
    )
