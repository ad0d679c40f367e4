"""Every kind of mistake gives its line, its path, what was found and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tallystick.diagnostics import Diagnostic

ROLE_MULTIPLIER = 'formula = "skills/role-multiplier@1"\nprimary = 1\nauditor = 1'

# an edit of skills@1.0.0 (a pattern and its replacement), then the one problem that follows: its
# path, its value, and a part of what was expected
EDITS = [
    # keys
    (r'version = "1.0.0"', 'version = "1.0.0"\ntag = "x"', "rule_set.tag", '"x"', "source"),
    (
        r"initial = 0.5 .*\n",
        "",
        "reputation.initial",
        "",
        "(the reputation of a newcomer for every type that it declared), which is missing",
    ),
    # types and ranges
    (r"format = 1", "format = 2", "rule_set.format", "2", "1 (the version of this"),
    (r'"1.0.0"', r'"1.0.0\\n"', "rule_set.version", r'"1.0.0\n"', "a version such"),
    (r"base_weight = 1.6", "base_weight = true", ".mcp_server.base_weight", "true", "a num"),
    (r"blocks = 100", "blocks = 100.0", "epochs.blocks", "100.0", "a whole number from 1"),
    (r"per_miner = false", "per_miner = 0", "per_miner", "0", "true or false"),
    (
        r'mean = "records"',
        'mean = "record"',
        "reputation.mean",
        '"record"',
        '"records" or "validators" (the mean delta of an epoch',
    ),
    (r"beta = 0.5", 'beta = "b"', "axes.policy.beta", '"b"', "a number (the value of a par"),
    (
        r'roles = \["primary"\]',
        'roles = ["primary", "primary"]',
        "epochs.thresholds.novel.roles",
        "an array",
        "an array that is not empty without repetitions",
    ),
    (
        r'formula = "skills/policy@1"',
        'formula = "policy"',
        "axes.policy.formula",
        '"policy"',
        'the name of a formula, such as "skills/detection@1"',
    ),
    # parameters
    (
        r"findings_recall = 0.30",
        "findings_recall = 0.25",
        "emission.factors.consensus",
        "a sum of 0.95",
        "a sum of exactly 1 of findings_recall",
    ),
    # skill types
    (
        r"transitive_risk = 0.20 }",
        "transitive_risc = 0.20 }",
        "skill_types.agent_composition.weights.transitive_risc",
        '"transitive_risc"',
        "an axis of [axes]; did you mean 'transitive_risk'?",
    ),
    (
        r'(executable_python\n.*\ngates = \[\{ axis = )"evidence"',
        r'\1"ml_agreement"',
        "skill_types.executable_python.gates[0].axis",
        '"ml_agreement"',
        "an axis of the type: detection, evidence, policy, efficiency",
    ),
    (
        r"(baseline = 0.50 .*)",
        r'\1\nrequires = ["workflow/budget-positiv"]',
        "skill_types.executable_python.requires[0]",
        '"workflow/budget-positiv"',
        "a requirement of an installed plugin; did you mean 'workflow/budget-positive'?",
    ),
    (
        r"(baseline = 0.50 .*)",
        r"\1\nparameters = { divisor = 0.85 }",
        "skill_types.executable_python.parameters.divisor",
        "0.85",
        "no parameters: the composite geometric has none",
    ),
    # tiers and emission
    (
        r"baseline = 0.50 .*",
        "",
        "skill_types.executable_python.baseline",
        "",
        "a type with a base_weight has an emission",
    ),
    (r'from = "novel"', 'from = "nowel"', "tiers.levels[3].from", '"nowel"', "'novel'?"),
    (r'from = "optimised"\n', "", "tiers.levels[2].from", "", "only the first"),
    (
        r'name = "below_reference"',
        'name = "below_reference"\nfrom = "baseline_"',
        "tiers.levels[0].from",
        '"baseline_"',
        "no threshold: the first tier is the lowest",
    ),
    (
        r"(\[tiers\.thresholds\.baseline\].*)",
        r"\1\nfactor = 1",
        "tiers.thresholds.baseline.factor",
        "1",
        "no parameters without a formula",
    ),
    (
        r"(\[tiers\.thresholds\.optimised\].*)",
        r"[tiers.thresholds.other]\n\1",
        "tiers.thresholds.other.formula",
        "",
        "only baseline has none",
    ),
    (
        r"(?s)\[emission\.factors\.early_bonus\].*?\n\n",
        "",
        "emission.formula",
        '"skills/emission@1", which reads early_bonus',
        "or a declaration of early_bonus",
    ),
    (
        r"(\[emission\.factors\.role_multiplier\])",
        f"[emission.factors.extra]\n{ROLE_MULTIPLIER}\n\\1",
        "emission.factors.extra",
        '"extra"',
        "a factor that skills/emission@1 reads",
    ),
    (
        r'"mcp_server", "agent_composition"\]',
        '"mcp_servers", "agent_composition"]',
        "emission.factors.bootstrap_bonus.skill_types[0]",
        '"mcp_servers"',
        "a skill type of this rule set; did you mean 'mcp_server'?",
    ),
    (
        r"base_weight = 1.6 .*",
        "",
        "emission.factors.bootstrap_bonus.skill_types[0]",
        '"mcp_server"',
        "a skill type with a base_weight",
    ),
    # reputation, epochs, groups, windows
    (r"floor = 0.05", "floor = 0.6", "reputation.initial", "0.5", "from 0.6 to 1"),
    (r"ceiling = 1.0", "ceiling = 0.04", "reputation.floor", "0.05", "the ceiling, 0.04"),
    (r'mode = "replace"', 'mode = "drift"', "reputation.damping.keep", "0.9", "no keep"),
    (
        r"at_least = 0.7 }",
        "at_least = 0.6 }",
        "reputation.events.consensus_weak.consensus",
        "an overlap",
        "a band apart from that of consensus_pass",
    ),
    (
        r"at_least = 0.4, below = 0.7",
        "at_least = 0.7, below = 0.4",
        "reputation.events.consensus_weak.consensus",
        "0.7 to 0.4",
        "a band that begins below its end",
    ),
    (
        r'  "persist",\n',
        "",
        "epochs.steps",
        "aggregate_deltas, update_reputations, recompute_baselines, recompute_thresholds",
        "steps that end with persist",
    ),
    (r"new = 0.30", "new = 0.40", "epochs.thresholds.novel", "a sum of 1.1", "exactly 1"),
    (r"minimum = 3", "minimum = 6", "novel.minimum", "6", "at most best, 5"),
    (
        r"(?m)^\[epochs\.thresholds\.novel\]",
        "[epochs.thresholds.nowel]",
        "epochs.thresholds.nowel",
        '"nowel"',
        "did you mean 'novel'?",
    ),
    (
        r'mode = "median_quality" ',
        'mode = "published" ',
        "epochs.baseline.roles",
        "an array",
        "the baseline never moves",
    ),
    (
        r"auditors = 2 (?s:.*)enabled = false( .*\nauditor_slot)",
        lambda m: (
            m[0]
            .replace("auditors = 2", "auditors = 1")
            .replace("enabled = false" + m[1], "enabled = true" + m[1])
        ),
        "groups.recovery.auditor_slot",
        "2",
        "a slot from 1 to 1",
    ),
    (
        r"rag_knowledge\.auditor",
        "rag_knowlege.auditor",
        "windows.rag_knowlege",
        '"rag_knowlege"',
        "did you mean 'rag_knowledge'?",
    ),
]

# as above, but a second problem follows from the first
EDITS_WITH_CONSEQUENCES = [
    (
        r'"tier_2_optimised"',
        '"tier_3_novel"',
        "tiers.levels[2].name",
        '"tier_3_novel"',
        "a name that no other tier has",
    ),
    (
        r'from = "optimised"',
        'from = "novel"',
        "tiers.levels[2].from",
        '"novel"',
        "a threshold that no other tier begins at",
    ),
    (
        r"\[emission\.factors\.early_bonus\]",
        "[emission.factors.quality]",
        "emission.factors.quality",
        '"quality"',
        "a name that is not a term of every emission",
    ),
    (
        r"(?s)\[tiers\.thresholds\.baseline\].*(# -* emission)",
        r"\1",
        "emission.formula",
        '"skills/emission@1"',
        "the section [tiers], because skills/emission@1 reads tier_multiplier",
    ),
    (
        r"(?s)\[tiers\.thresholds\.baseline\].*(# -* emission)",
        r"\1",
        "epochs.thresholds.novel",
        '"novel"',
        "the section [tiers], which has its floor",
    ),
    (
        r"(?s)\[reputation\]\n.*(# -* epochs)",
        r"\1",
        "groups",
        "",
        "the section [reputation], which [groups] works with",
    ),
    (
        r"\[tiers\.thresholds\.baseline\]",
        '[tiers.thresholds.baseline]\nformula = "skills/scaled-baseline@1"\nfactor = 1',
        "tiers.thresholds.baseline.formula",
        '"skills/scaled-baseline@1"',
        "the tracked baseline of the type",
    ),
    (
        r"policy = 0.20, efficiency = 0.15",
        "policy = 0.2005, efficiency = 0.1495",
        "skill_types.executable_python.weights.policy",
        "0.2005",
        "at most three decimal places",
    ),
    (
        r"\[axes\.policy\]",
        "[axes.Policy]",
        "axes.Policy",
        'the key "Policy"',
        "a name of lower-case letters",
    ),
    (
        r"skill_types\.declarative\]",
        "skill_types.declarativ]",
        "skill_types.declarativ",
        '"declarativ"',
        "did you mean 'declarative'?",
    ),
    (
        r"(baseline = 0.50 .*)",
        r'\1\naxes = ["mu"]',
        "skill_types.executable_python.axes[0]",
        '"mu"',
        "an axis of [axes]",
    ),
]


@pytest.mark.parametrize("edit", [*EDITS, *EDITS_WITH_CONSEQUENCES], ids=lambda edit: edit[2])
def test_a_mistake_is_told_with_its_line(
    edit: tuple[str, str | Callable[[re.Match[str]], str], str, str, str],
    shipped_text: Callable[[str], str],
    problems_of: Callable[[str], tuple[Diagnostic, ...]],
) -> None:
    pattern, replacement, path, value, expected = edit
    text, times = re.subn(pattern, replacement, shipped_text("skills@1.0.0"), count=1)
    assert times == 1, "the edit no longer fits the file"
    problems = problems_of(text)
    assert [
        problem
        for problem in problems
        if problem.line > 0
        and problem.path.endswith(path)
        and problem.evidence["value"] == value
        and expected in problem.evidence["expected"]
    ], problems
    assert len(problems) == 1 or edit in EDITS_WITH_CONSEQUENCES
