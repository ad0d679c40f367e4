"""Mutants: shipped rule sets, broken one by one; what notices each, and what nothing notices.

A mutant is the text of a shipped rule set in which some texts are replaced. Its name is what
docs/lint.md calls it.
"""

from __future__ import annotations

from pathlib import Path

import attrs

RULES = Path(__file__).resolve().parents[2] / "rules"
SKILLS, WORKFLOW = "skills@1.1.0", "workflow@1.1.0"

Change = tuple[str, str]


@attrs.frozen
class Mutant:
    """A rule set that differs from a shipped one.

    Attributes:
        name: what is changed, as the documentation says it.
        base: the rule set that is changed.
        changes: each first text is replaced by the second, wherever it is.
        by: a code of the linter, or a property, that notices it; empty is nothing.
        skill_type: whose records the property is about.
    """

    name: str
    base: str
    changes: tuple[Change, ...]
    by: str = ""
    skill_type: str = "rag_knowledge"

    @property
    def text(self) -> str:
        found = text_of(self.base)
        for old, new in self.changes:
            assert old in found, old
            found = found.replace(old, new)
        return found


def text_of(reference: str) -> str:
    """The text of a shipped rule set."""
    name, _, version = reference.partition("@")
    return (RULES / name / f"{version}.toml").read_text(encoding="utf-8")


def skills(name: str, *changes: Change, by: str = "", of: str = "rag_knowledge") -> Mutant:
    """A mutant of the skills."""
    return Mutant(name, SKILLS, changes, by, of)


def workflow(name: str, *changes: Change, by: str = "") -> Mutant:
    """A mutant of the workflow."""
    return Mutant(name, WORKFLOW, changes, by, "workflow")


def nothing(*lines: str) -> tuple[Change, ...]:
    """The values of some lines set to 0."""
    return tuple((line, f"{line.partition('=')[0]}= 0 ") for line in lines)


_RAG = (
    "detection = 0.30, evidence = 0.30, policy = 0.15, efficiency = 0.10, injection_recall = 0.15"
)
_GATE = '{ axis = "evidence", below = 0.10, composite = 0 }'
_SHARES = "{ success = 0.50, cost = 0.25, latency = 0.15, reliability = 0.10 }"
_RERUN = "[reputation.events.rerun_fail]\nmultiply = "
_MISMATCH = "[reputation.events.digest_mismatch]\nmultiply = "
_AGREED = "consensus >= 0.7\nadd = "
_OPTIMISED = 'from = "optimised"\nmultiplier = 1.4  '
_TIER_2 = f"[[tiers.levels]]{' ' * 24}# scoring.txt, Tier Assignment: from tier_optimised on\n"
_UNBOUNDED = (
    ('"skills/scaled-baseline@2"', '"skills/scaled-baseline@1"'),
    ("headroom = ", "# "),
)
_COMPONENTS = (
    "findings_recall = 0.30",
    "findings_precision = 0.15",
    "verdict_agreement = 0.15",
    "capabilities_agreement = 0.15",
    "dependencies_agreement = 0.10",
    "policy_agreement = 0.05",
)
_PENALTIES = ("0.95", "0.5", "0.6", "0.7")
_TRACKED = 'mode = "median_quality"\nroles = ["primary"]'
_GATED = f"weights = {_SHARES}\ngates = [{{ axis = 'success', below"
_LIMIT = "\n\n[axes.reliability]"
_GATE_OF_TIME = "gate = 0.7                              # workflow.txt, Sub-Dimensions: only when "
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
_POINTS = ("probe = 0.3", "traces = 0.3", "digest = 0.2", "citations = 0.2")
_LOSSES = ("unplanned_retry = 0.10", "timeout = 0.20", "hard_failure = 0.50")

NOTICED = (
    # axes
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
    skills("no check of evidence has points", *nothing(*_POINTS), by="axis-constant"),
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
        "the risk of a right verdict costs nothing",
        ("risk_slope = 0.1", "risk_slope = 0"),
        by="fact-without-effect",
    ),
    skills(
        "a verified probe has no points", ("probe = 0.3", "probe = 0"), by="fact-without-effect"
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
        "shell coverage is computed as efficiency",
        ("skills/shell-coverage@1", "skills/efficiency@1"),
        by="axis-counted-twice",
        of="executable_script",
    ),
    # weights and gates
    skills(
        "detection weighs nothing",
        (_RAG, _RAG.replace("detection = 0.30, evidence = 0.30", "detection = 0, evidence = 0.60")),
        by="weight-zero",
    ),
    skills(
        "injection recall is forgotten",
        (_RAG, _RAG.replace("0.10, injection_recall = 0.15", "0.25")),
        by="axis-unused",
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
        "a gate on efficiency below 0.50",
        (_GATE, '{ axis = "efficiency", below = 0.50, composite = 0 }'),
        by="cliff",
    ),
    # base weights, tiers, emission
    skills("a base weight of 0", ("base_weight = 2.0", "base_weight = 0"), by="division-by-zero"),
    skills(
        "a base weight that makes the bootstrap bonus 313",
        ("base_weight = 1.6", "base_weight = 0.0016"),
        by="out-of-range",
    ),
    skills(
        "scaled-baseline@1 with a seed of 0.70",
        *_UNBOUNDED,
        ("baseline = 0.35", "baseline = 0.70"),
        by="tier-unreachable",
    ),
    skills(
        "scaled-baseline@1 with a tracked baseline",
        *_UNBOUNDED,
        ('mode = "published"', _TRACKED),
        by="tier-unreachable",
    ),
    skills(
        "the multipliers of the tiers reversed",
        ("multiplier = 0.5 ", "multiplier = 2.5 "),
        ("multiplier = 1.0 ", "multiplier = 1.7 "),
        ("multiplier = 2.0 ", "multiplier = 0.5 "),
        by="tiers-out-of-order",
    ),
    skills(
        "the highest tier is paid nothing",
        ("multiplier = 2.0", "multiplier = 0"),
        by="tiers-out-of-order",
    ),
    skills(
        "two tiers are paid alike",
        ("multiplier = 1.4", "multiplier = 1.0"),
        by="tier-without-effect",
    ),
    skills(
        "a tier is forgotten",
        (_TIER_2, ""),
        (f'name = "tier_2_optimised"\n{_OPTIMISED}', "# "),
        by="threshold-unused",
    ),
    skills(
        "the bonuses for early answers are 1",
        ("early_bonus = 1.15", "early_bonus = 1"),
        ("middle_bonus = 1.08", "middle_bonus = 1"),
        by="factor-without-effect",
    ),
    skills(
        "the bonuses for early answers exchanged",
        ("early_bonus = 1.15", "early_bonus = 1.08"),
        ("middle_bonus = 1.08", "middle_bonus = 1.15"),
        by="better-fact-never-lowers",
    ),
    skills(
        "the bootstrap bonus lasts no epoch",
        ("epochs = 30", "epochs = 0"),
        by="factor-without-effect",
    ),
    skills(
        "a base weight of 200",
        ("base_weight = 2.0", "base_weight = 200"),
        by="base-weight-dominates",
    ),
    skills("a seed baseline of 0", ("baseline = 0.35", "baseline = 0"), by="tier-empty"),
    skills("a seed baseline of 1", ("baseline = 0.35", "baseline = 1"), by="tier-empty"),
    skills(
        "the novel tier begins where the optimised one does",
        ("factor = 1.5 ", "factor = 1.15 "),
        ("headroom = 0.5 ", "headroom = 0.15 "),
        by="tier-empty",
    ),
    skills(
        "the novel threshold never moves",
        ("new = 0.30", "new = 0"),
        ("old = 0.70", "old = 1"),
        by="threshold-never-moves",
    ),
    skills(
        "the bands of early answers exchanged",
        ("early_until = 0.25", "early_until = 0.50"),
        ("middle_until = 0.50", "middle_until = 0.25"),
        by="arm-never-reached",
    ),
    skills(
        "both bands of early answers end alike",
        ("middle_until = 0.50", "middle_until = 0.25"),
        by="arm-never-reached",
    ),
    skills(
        "the consensus is the risk alone",
        *nothing(*_COMPONENTS),
        ("risk_agreement = 0.10", "risk_agreement = 1"),
        by="fact-without-effect",
    ),
    skills("primaries are paid nothing", ("primary = 1.0", "primary = 0"), by="never-paid"),
    # reputation, groups, rounds
    skills(
        "newcomers begin below the filter",
        ("initial = 0.5 ", "initial = 0.1 "),
        by="reputation-decays",
    ),
    skills(
        "the floor above the filter", ("floor = 0.05", "floor = 0.30"), by="bad-behaviour-stays"
    ),
    skills(
        "damping that replaces the reputation",
        ('mode = "drift"', 'mode = "replace"\nkeep = 0.9'),
        by="pool-extinction",
    ),
    skills("damping that applies nothing", ("apply = 0.1", "apply = 0"), by="bad-behaviour-stays"),
    skills("every reward with the other sign", ("add = 0.02", "add = -0.02"), by="nothing-rewards"),
    skills("every reward is 0", ("add = 0.02", "add = 0"), by="event-unrewarded"),
    skills(
        "a false digest costs nothing",
        (f"{_MISMATCH}0.5", f"{_MISMATCH}1"),
        by="event-unrewarded",
    ),
    skills(
        "no penalty costs anything",
        *((f"multiply = {each} ", "multiply = 1 ") for each in _PENALTIES),
        by="bad-behaviour-stays",
    ),
    skills(
        "weak consensus is left out of the mean",
        ("add = 0.0 ", "in_mean = false\nadd = 0.0 "),
        by="event-never-matters",
    ),
    skills(
        "a gap between two bands",
        ("at_least = 0.4, below = 0.7", "at_least = 0.5, below = 0.7"),
        by="bands-leave-a-gap",
    ),
    skills(
        "no slot for those below the filter",
        ("enabled = true                          # E31", "enabled = false"),
        by="floor-below-filter",
    ),
    skills(
        "the filter above a newcomer",
        ("minimum_reputation = 0.20", "minimum_reputation = 0.60"),
        by="reputation-decays",
    ),
    skills(
        "the base weight counts twice",
        ('times = ["reputation"]', 'times = ["base_weight", "reputation"]'),
        by="base-weight-counted-twice",
    ),
    skills(
        "one reward with the other sign",
        (f"{_AGREED}0.02", f"{_AGREED}-0.02"),
        by="band-rewards-less-work",
    ),
    skills(
        "failing the consensus raises",
        ("multiply = 0.95", "multiply = 1.05"),
        by="band-rewards-less-work",
    ),
    skills("a false digest raises", (f"{_MISMATCH}0.5", f"{_MISMATCH}1.5"), by="event-compounds"),
    skills(
        "a flag of collusion raises", ("multiply = 0.6 ", "multiply = 1.6 "), by="event-compounds"
    ),
    skills(
        "a failed rerun costs nothing",
        (f"{_RERUN}0.7", f"{_RERUN}1"),
        by="event-unrewarded",
    ),
    skills(
        "a filter of 0",
        ("minimum_reputation = 0.20", "minimum_reputation = 0"),
        by="filter-never-binds",
    ),
    skills(
        "consensus needs more members than a group has",
        ("minimum_members = 3", "minimum_members = 9"),
        by="groups-too-small",
    ),
    skills("a round without tasks scores 1", ("empty = 0,", "empty = 1,"), by="idle-round-pays"),
    skills(
        "a base weight of 0.02",
        ("base_weight = 2.0", "base_weight = 0.02"),
        by="silence-outgrown",
    ),
    workflow(
        "saving weighs more than success",
        (_SHARES, _SHARES.replace("success = 0.50, cost = 0.25", "success = 0.10, cost = 0.65")),
        by="silence-outgrown",
    ),
    # the workflow
    workflow("success@1 again", ("success@2", "success@1"), by="workflow/short-plan"),
    workflow("reliability@1 again", ("reliability@2", "reliability@1"), by="free-points"),
    workflow("cost and latency never count", ("gate = 0.7 ", "gate = 1 "), by="axis-constant"),
    workflow(
        "latency counts from another success on",
        (f"{_GATE_OF_TIME}S_success > 0.7 (E47){_LIMIT}", f"gate = 0.5{_LIMIT}"),
        by="cliff",
    ),
    workflow(
        "success weighs nothing",
        (_SHARES, _SHARES.replace("success = 0.50, cost = 0.25", "success = 0, cost = 0.75")),
        by="weight-zero",
    ),
    workflow("a geometric mean", ('"arithmetic"', '"geometric"'), by="axis-zeroes-everything"),
    workflow("budgets and limits may be 0", ("requires = [", "requires = [] # ["), by="cliff"),
    workflow(
        "a poor success makes the score 0.9",
        (f"weights = {_SHARES}", f"{_GATED} = 0.5, composite = 0.9 }}]"),
        by="composite-monotone",
    ),
    workflow(
        "a poor success makes the score 0",
        (f"weights = {_SHARES}", f"{_GATED} = 0.3, composite = 0 }}]"),
        by="cliff",
    ),
    workflow("a cap of 1", ("share = 0.15", "share = 1"), by="cap-never-binds"),
    workflow("a cap of 0.05", ("share = 0.15", "share = 0.05"), by="silence-outgrown"),
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
    workflow(
        "latency is computed as cost",
        ("workflow/latency@1", "workflow/cost@1"),
        by="axis-counted-twice",
    ),
    workflow(
        "no retry, timeout or failure costs anything",
        *nothing(*_LOSSES),
        by="fact-without-effect",
    ),
    workflow("timeouts cost nothing", ("timeout = 0.20", "timeout = 0"), by="fact-without-effect"),
    skills(
        "flags eject nobody",
        ("eject_at = 3", "eject_at = 1000000"),
        by="flags-eject-nobody",
    ),
    workflow("a window of one task", ("last = 100,", "last = 1,"), by="one-task-decides"),
)
"""What the linter or a property notices."""

UNNOTICED = (
    skills(
        "a missed deadline is left out of the round",
        ('missed = "zero"', 'missed = "left_out"'),
    ),
)
"""What nothing notices; docs/lint.md says why."""

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
"""What does not load: neither noticed nor unnoticed."""

SOUND = (
    skills(
        "other weights",
        (
            _RAG,
            _RAG.replace("policy = 0.15, eff", "policy = 0.10, eff").replace(
                "injection_recall = 0.15", "injection_recall = 0.20"
            ),
        ),
    ),
    skills("as much recall as precision", ("beta = 0.5", "beta = 1")),
    skills("a dearer mistake", ("too_strict = 0.4", "too_strict = 0.5")),
    skills("auditors are paid half", ("auditor = 0.6", "auditor = 0.5")),
    skills("a higher threshold", ("factor = 1.15", "factor = 1.20")),
    skills("a milder penalty", ("multiply = 0.95 ", "multiply = 0.97 ")),
    skills("fewer flags eject", ("eject_at = 3", "eject_at = 2")),
    # what is below an edge is for governance: half of the points is as good an edge as a tenth
    skills("a gate on evidence below 0.50", (_GATE, _GATE.replace("0.10", "0.50"))),
    # an answer without evidence earns nothing still: the gate sees to it
    skills("an arithmetic mean", ('"geometric"', '"arithmetic"')),
    # which role earns more is for governance, and both are paid
    skills(
        "auditors are paid more than primaries",
        ("primary = 1.0", "primary = 0.6"),
        ("auditor = 0.6", "auditor = 1.0"),
    ),
    workflow(
        "other shares",
        (_SHARES, _SHARES.replace("0.15", "0.10").replace("y = 0.10 }", "y = 0.15 }")),
    ),
    workflow("a longer window", ("last = 100,", "last = 200,")),
    workflow("dearer timeouts", ("timeout = 0.20", "timeout = 0.30")),
)
"""Other choices that are as sound: nothing may be said of them that was not said before."""
