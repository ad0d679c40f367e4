"""Mutants: shipped rule sets, broken one by one; the property that notices each, if one does.

A mutant is the text of a shipped rule set in which some texts are replaced. What each code of the
linter notices is in tests/governance/lint.
"""

from __future__ import annotations

import attrs
from governance.revision import Change, shipped

SKILLS, WORKFLOW = "skills@1.1.0", "workflow@1.1.0"


@attrs.frozen
class Mutant:
    """A rule set that differs from a shipped one.

    Attributes:
        name: what is changed, as the documentation says it.
        base: the rule set that is changed.
        changes: each first text is replaced by the second, wherever it is.
        by: the property that notices it; empty is none.
        skill_type: whose records the property is about.
    """

    name: str
    base: str
    changes: tuple[Change, ...]
    by: str = ""
    skill_type: str = "rag_knowledge"

    @property
    def text(self) -> str:
        return shipped(self.base, *self.changes)


def skills(name: str, *changes: Change, by: str = "", of: str = "rag_knowledge") -> Mutant:
    """A mutant of the skills."""
    return Mutant(name, SKILLS, changes, by, of)


def workflow(name: str, *changes: Change, by: str = "") -> Mutant:
    """A mutant of the workflow."""
    return Mutant(name, WORKFLOW, changes, by, "workflow")


_RAG = (
    "detection = 0.30, evidence = 0.30, policy = 0.15, efficiency = 0.10, injection_recall = 0.15"
)
_GATE = '{ axis = "evidence", below = 0.10, composite = 0 }'
_SHARES = "{ success = 0.50, cost = 0.25, latency = 0.15, reliability = 0.10 }"
_GATED = f"weights = {_SHARES}\ngates = [{{ axis = 'success', below"
_PUBLISHED_ALPHA = (
    (
        'skills/detection@2"',
        (
            'skills/detection@1"\nreview = 0.5\nunlisted = 0.5\n'
            "false_positive_slope = 0.4\nfalse_negative_slope = 2.5"
        ),
    ),
    ("too_strict = ", "# "),
    ("too_lax = ", "# "),
    ("risk_slope = ", "# "),
)

NOTICED = (
    skills(
        "a verdict that is too strict costs nothing",
        ("too_strict = 0.4", "too_strict = 0"),
        by="skills/wrong-verdict",
    ),
    skills(
        "a verdict that is too lax costs nothing",
        ("too_lax = 1.0", "too_lax = 0"),
        by="skills/wrong-verdict",
    ),
    skills(
        "a right verdict can lose everything by its risk",
        ("risk_slope = 0.1", "risk_slope = 1"),
        by="skills/true-verdict",
    ),
    skills("detection@1 again", *_PUBLISHED_ALPHA, by="skills/nearer-verdict-to-allow"),
    skills(
        "injection-recall@1 again",
        ("injection-recall@2", "injection-recall@1"),
        by="no-gain-by-duplication",
    ),
    skills(
        "tool-poison-recall@1 again",
        ("tool-poison-recall@2", "tool-poison-recall@1"),
        by="skills/flagging-every-tool",
        of="mcp_server",
    ),
    skills(
        "too lax costs less than too strict",
        ("too_strict = 0.4", "too_strict = 1.0"),
        ("too_lax = 1.0", "too_lax = 0.4"),
        by="skills/too-lax",
    ),
    skills(
        "evidence@1 again", ("skills/evidence@2", "skills/evidence@1"), by="skills/absent-checks"
    ),
    skills(
        "a policy without recall (β = 0)", ("beta = 0.5", "beta = 0"), by="skills/partial-policy"
    ),
    skills(
        "manifest-integrity@1 again",
        ("manifest-integrity@2", "manifest-integrity@1"),
        by="skills/hash-in-other-case",
        of="mcp_server",
    ),
    skills(
        "no evidence makes the composite 1",
        (_GATE, _GATE.replace("composite = 0", "composite = 1")),
        by="composite-monotone",
    ),
    skills(
        "a poor policy makes the composite 0.5",
        (_GATE, '{ axis = "policy", below = 0.50, composite = 0.5 }'),
        by="composite-monotone",
    ),
    skills(
        "the bonuses for early answers exchanged",
        ("early_bonus = 1.15", "early_bonus = 1.08"),
        ("middle_bonus = 1.08", "middle_bonus = 1.15"),
        by="better-fact-never-lowers",
    ),
    workflow("success@1 again", ("success@2", "success@1"), by="workflow/short-plan"),
    workflow(
        "a poor success makes the score 0.9",
        (f"weights = {_SHARES}", f"{_GATED} = 0.5, composite = 0.9 }}]"),
        by="composite-monotone",
    ),
    workflow(
        "cost and latency count from a success of 0 on",
        ("gate = 0.7 ", "gate = 0 "),
        by="workflow/half-done-cost",
    ),
    workflow(
        "cost and latency count from a success of 0.3 on",
        ("gate = 0.7 ", "gate = 0.3 "),
        by="workflow/half-done-latency",
    ),
)
"""Mutants that a property notices."""

UNNOTICED = (
    skills(
        "a missed deadline is left out of the round",
        ('missed = "zero"', 'missed = "left_out"'),
    ),
)
"""Mutants that no property and no check of a rule set by itself notices."""

REFUSED = (
    skills("weights that sum to 1.1", (_RAG, _RAG.replace("0.15, eff", "0.25, eff"))),
    skills("a negative weight", (_RAG, _RAG.replace("policy = 0.15", "policy = -0.15"))),
    skills("a tier factor below 1", ("factor = 1.5 ", "factor = 0.9 ")),
    skills("thresholds out of order at a seed", ("headroom = 0.5 ", "headroom = 0 ")),
    skills("a newcomer above the ceiling", ("ceiling = 1.0", "ceiling = 0.4")),
    skills("bands that overlap", ("at_least = 0.4, below", "at_least = 0.3, below")),
    skills(
        "a fact that records do not have", ("skills/transitive-risk@1", "skills/ml-agreement@1")
    ),
    workflow("a gate above 1", ("gate = 0.7 ", "gate = 1.7 ")),
)
"""Mutants that do not load: neither noticed nor unnoticed."""
