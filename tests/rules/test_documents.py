"""Every number, mode and order of the documents is in the shipped rule sets, with its source."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import attrs
import pytest

from tallystick.plugins.registry import Registry
from tallystick.rules.loading import load
from tallystick.rules.model import RuleSet
from tallystick_allocation.rules import ALLOCATION, round_score
from tallystick_allocation.steps.memory import Average
from tallystick_state.sections import reputation as reputations
from tallystick_state.sections.windows import WINDOWS

Value = Any  # of the model
EVERY = ("1.0.0", "1.1.0", "1.2.0")
CORRECTED = EVERY[1:]
DECIDED = {
    ("skills@1.2.0", "axes.tool_poison_recall.formula"): "skills/tool-poison-recall@3",
    ("workflow@1.2.0", "axes.cost.formula"): "workflow/cost@2",
    ("workflow@1.2.0", "axes.cost.parameters.budget_abort_enabled"): "1",
    ("workflow@1.2.0", "axes.cost.parameters.budget_abort_cost"): "0",
}
"""What later decisions change, which the documents do not say."""


def at(rule_set: RuleSet, path: str) -> Value:
    """The value at a dotted path of the model; numbers index, the rest are names."""
    value: Value = rule_set
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value[part]
        elif isinstance(value, tuple):
            value = value[int(part)]
        elif isinstance(value, RuleSet) and part not in attrs.fields_dict(RuleSet):
            value = value.sections.get(part)
        else:
            value = getattr(value, part)
    return value


def rows(*tables: tuple[str, tuple[str, ...], dict[str, Value]]) -> list[tuple[str, str, Value]]:
    return [
        (f"{name}@{version}", path, DECIDED.get((f"{name}@{version}", path), value))
        for name, versions, table in tables
        for version in versions
        for path, value in table.items()
    ]


# scoring.txt, the axes
AXES = {
    "axes.evidence.parameters.probe": "0.3",
    "axes.evidence.parameters.traces": "0.3",
    "axes.evidence.parameters.digest": "0.2",
    "axes.evidence.parameters.citations": "0.2",
    "axes.policy.formula": "skills/policy@1",
    "axes.policy.parameters.beta": "0.5",
    "axes.efficiency.formula": "skills/efficiency@1",
    "axes.ml_agreement.formula": "skills/ml-agreement@1",
    "axes.shell_coverage.formula": "skills/shell-coverage@1",
    "axes.transitive_risk.formula": "skills/transitive-risk@1",
}
AXES_PUBLISHED = {
    "axes.detection.formula": "skills/detection@1",
    "axes.detection.parameters.review": "0.5",
    "axes.detection.parameters.unlisted": "0.5",
    "axes.detection.parameters.false_positive_slope": "0.4",
    "axes.detection.parameters.false_negative_slope": "2.5",
    "axes.evidence.formula": "skills/evidence@1",
    "axes.injection_recall.formula": "skills/injection-recall@1",
    "axes.manifest_integrity.formula": "skills/manifest-integrity@1",
    "axes.tool_poison_recall.formula": "skills/tool-poison-recall@1",
}
AXES_CORRECTED = {
    "axes.detection.formula": "skills/detection@2",
    "axes.detection.parameters.too_strict": "0.4",
    "axes.detection.parameters.too_lax": "1",
    "axes.detection.parameters.risk_slope": "0.1",
    "axes.evidence.formula": "skills/evidence@2",
    "axes.injection_recall.formula": "skills/injection-recall@2",
    "axes.manifest_integrity.formula": "skills/manifest-integrity@2",
    "axes.tool_poison_recall.formula": "skills/tool-poison-recall@2",
}
# scoring.txt, Per Type Composite Q and The ε Gate; the tables of base weights and seed baselines
TYPES = {
    "rag_knowledge": ("0.5", "0.35", "0.30 0.30 0.15 0.10", {"injection_recall": "0.15"}),
    "declarative": ("0.7", "0.40", "0.40 0.20 0.20 0.10", {"ml_agreement": "0.10"}),
    "executable_python": ("1.0", "0.50", "0.35 0.30 0.20 0.15", {}),
    "executable_script": ("1.2", "0.48", "0.30 0.30 0.15 0.10", {"shell_coverage": "0.15"}),
    "mcp_server": (
        "1.6",
        "0.45",
        "0.25 0.25 0.15 0.10",
        {"manifest_integrity": "0.10", "tool_poison_recall": "0.15"},
    ),
    "agent_composition": ("2.0", "0.40", "0.30 0.25 0.15 0.10", {"transitive_risk": "0.20"}),
}
# scoring.txt, Tier Assignment
TIERS = {
    "tiers.thresholds.baseline.formula": None,
    "tiers.thresholds.optimised.parameters.factor": "1.15",
    "tiers.thresholds.novel.parameters.factor": "1.5",
    "tiers.levels.0.name": "below_reference",
    "tiers.levels.0.threshold": None,
    "tiers.levels.0.multiplier": "0.5",
    "tiers.levels.1.name": "tier_1_reference",
    "tiers.levels.1.threshold": "baseline",
    "tiers.levels.1.multiplier": "1.0",
    "tiers.levels.2.name": "tier_2_optimised",
    "tiers.levels.2.threshold": "optimised",
    "tiers.levels.2.multiplier": "1.4",
    "tiers.levels.3.name": "tier_3_novel",
    "tiers.levels.3.threshold": "novel",
    "tiers.levels.3.multiplier": "2.0",
}
TIERS_PUBLISHED = {
    "tiers.thresholds.optimised.formula": "skills/scaled-baseline@1",
    "tiers.thresholds.novel.formula": "skills/scaled-baseline@1",
}
TIERS_CORRECTED = {  # E20
    "tiers.thresholds.optimised.formula": "skills/scaled-baseline@2",
    "tiers.thresholds.optimised.parameters.headroom": "0.15",
    "tiers.thresholds.novel.formula": "skills/scaled-baseline@2",
    "tiers.thresholds.novel.parameters.headroom": "0.5",
}
# the tables of the early bonus, the role multiplier, the consensus weights; E18
EMISSION = {
    "emission.formula": "skills/emission@1",
    "emission.factors.early_bonus.formula": "skills/early-bonus@1",
    "emission.factors.early_bonus.parameters.early_until": "0.25",
    "emission.factors.early_bonus.parameters.early_bonus": "1.15",
    "emission.factors.early_bonus.parameters.middle_until": "0.50",
    "emission.factors.early_bonus.parameters.middle_bonus": "1.08",
    "emission.factors.early_bonus.skill_types": None,
    "emission.factors.role_multiplier.formula": "skills/role-multiplier@1",
    "emission.factors.role_multiplier.parameters.primary": "1.0",
    "emission.factors.role_multiplier.parameters.auditor": "0.6",
    "emission.factors.consensus.formula": "skills/consensus@1",
    "emission.factors.consensus.parameters.findings_recall": "0.30",
    "emission.factors.consensus.parameters.findings_precision": "0.15",
    "emission.factors.consensus.parameters.verdict_agreement": "0.15",
    "emission.factors.consensus.parameters.capabilities_agreement": "0.15",
    "emission.factors.consensus.parameters.risk_agreement": "0.10",
    "emission.factors.consensus.parameters.dependencies_agreement": "0.10",
    "emission.factors.consensus.parameters.policy_agreement": "0.05",
    "emission.factors.bootstrap_bonus.formula": "skills/bootstrap-bonus@1",
    "emission.factors.bootstrap_bonus.parameters.epochs": "30",
    "emission.factors.bootstrap_bonus.parameters.added_weight": "0.5",
    "emission.factors.bootstrap_bonus.skill_types": ("mcp_server", "agent_composition"),
}
# reputation.txt; E27 to E29, E35, E39, E41 and the table of collusion
REPUTATION = {
    "reputation.initial": "0.5",
    "reputation.floor": "0.05",
    "reputation.ceiling": "1.0",
    "reputation.damping.apply": "0.1",
    "reputation.collusion.eject_at": 3,
    "reputation.collusion.detection.rounds": 30,
    "reputation.collusion.detection.minimum_samples": 5,
    "reputation.collusion.detection.primaries_above": "0.90",
    "reputation.collusion.detection.auditors_below": "0.60",
    "reputation.visibility.own": ("reputation", "rank", "dispatched_rounds"),
    "reputation.visibility.public": ("leaderboards",),
    "reputation.visibility.window_hours": 24,
    "reputation.visibility.window_start": "exclusive",
    "reputation.visibility.window_end": "inclusive",
}
REPUTATION_PUBLISHED = {
    "reputation.mean": "records",
    "reputation.damping.mode": "replace",
    "reputation.damping.keep": "0.9",
    "reputation.collusion.flag_window_resets": False,
}
REPUTATION_CORRECTED = {
    "reputation.mean": "validators",
    "reputation.damping.mode": "drift",
    "reputation.damping.keep": None,
    "reputation.collusion.flag_window_resets": True,
}
# reputation.txt, Update Rules: add, multiply, at_least, below, in the mean of the epoch
EVENTS = {
    "consensus_pass": ("0.02", None, "0.7", None, True),
    "consensus_weak": ("0.0", None, "0.4", "0.7", True),
    "consensus_fail": (None, "0.95", None, "0.4", True),
    "rerun_pass": ("0.02", None, None, None, True),
    "rerun_fail": (None, "0.7", None, None, True),
    "digest_mismatch": (None, "0.5", None, None, True),
    "validity_violation": (None, "0.5", None, None, True),
    "probe_fail": (None, "0.7", None, None, True),
    "missed_deadline": (None, None, None, None, False),
    "collusion_flag": (None, "0.6", None, None, True),
}
EVENTS_CORRECTED = {  # E39
    **EVENTS,
    "parse_failure": (None, "0.5", None, None, True),
    "early_arrival": (None, "0.7", None, None, True),
}
# reputation.txt, Refresh Cadence and Epoch Boundaries; E19, E21, E30, E40
EPOCHS = {
    "epochs.blocks": 100,
    "epochs.nominal_minutes": 20,
    "epochs.steps": (
        "aggregate_deltas",
        "update_reputations",
        "recompute_baselines",
        "recompute_thresholds",
        "persist",
    ),
    "epochs.thresholds.novel.best": 5,
    "epochs.thresholds.novel.minimum": 3,
    "epochs.thresholds.novel.roles": ("primary",),
    "epochs.thresholds.novel.new": "0.30",
    "epochs.thresholds.novel.old": "0.70",
}
EPOCHS_PUBLISHED = {
    "epochs.baseline.mode": "median_quality",
    "epochs.baseline.roles": ("primary", "auditor"),
    "epochs.thresholds.novel.per_miner": False,
}
EPOCHS_CORRECTED = {
    "epochs.baseline.mode": "published",
    "epochs.baseline.roles": (),
    "epochs.thresholds.novel.per_miner": True,
}
# reputation.txt, How Reputation Drives Group Selection; E31 to E34, E43
GROUPS = {
    "groups.primaries": 3,
    "groups.auditors": 2,
    "groups.minimum_reputation": "0.20",
    "groups.consensus.minimum_members": 3,
    "groups.consensus.minimum_submissions": 3,
    "groups.rotation.auditor_rounds": 3,
    "groups.recovery.auditor_slot": 2,
}
GROUPS_PUBLISHED = {
    "groups.ties": "hotkey",
    "groups.rotation.enabled": False,
    "groups.recovery.enabled": False,
}
ROUNDS = {
    "allocation.miners": "round",
    "allocation.steps.0.records": "round",
    "allocation.steps.0.value": "emission",
    "allocation.steps.0.empty": "0",  # E37
    "allocation.steps.1.zero": "zero",
}
ROUNDS_PUBLISHED = {
    "allocation.steps.0.times": ("base_weight", "reputation"),  # E36
    "allocation.steps.0.over": ("base_weight", "reputation"),  # E36
    "allocation.steps.0.missed": "left_out",  # E38
}
ROUNDS_CORRECTED = {
    "allocation.steps.0.times": ("reputation",),
    "allocation.steps.0.over": ("base_weight",),
    "allocation.steps.0.missed": "zero",
}
GROUPS_CORRECTED = {
    "groups.ties": "round_and_hotkey_digest",
    "groups.rotation.enabled": True,
    "groups.recovery.enabled": True,
}
# the table of auditor windows, in seconds
AUDITOR_WINDOWS = {
    "rag_knowledge": (2, 15),
    "declarative": (3, 30),
    "executable_python": (10, 90),
    "executable_script": (10, 90),
    "mcp_server": (20, 150),
    "agent_composition": (30, 240),
}
# workflow.txt
WORKFLOW = {
    "axes.cost.formula": "workflow/cost@1",
    "axes.cost.parameters.gate": "0.7",
    "axes.latency.formula": "workflow/latency@1",
    "axes.latency.parameters.gate": "0.7",
    "axes.reliability.parameters.unplanned_retry": "0.10",
    "axes.reliability.parameters.timeout": "0.20",
    "axes.reliability.parameters.hard_failure": "0.50",
    "skill_types.workflow.composite": "arithmetic",
    "skill_types.workflow.weights.success": "0.50",
    "skill_types.workflow.weights.cost": "0.25",
    "skill_types.workflow.weights.latency": "0.15",
    "skill_types.workflow.weights.reliability": "0.10",
    "skill_types.workflow.base_weight": None,
    "skill_types.workflow.baseline": None,
    "skill_types.workflow.gates": (),
    "allocation.miners": "slots",
    "allocation.steps.0.value": "quality",
    "allocation.steps.0.statistic": "mean",
    "allocation.steps.0.last": 100,
    "allocation.steps.0.empty": "0",
    "allocation.steps.1.zero": "zero",
    "allocation.steps.2.share": "0.15",
    "allocation.steps.2.lowest_share": "one_over_miners",
    "allocation.steps.2.excess": "water_filling",
    "emission": None,
    "tiers": None,
    "reputation": None,
}
WORKFLOW_PUBLISHED = {
    "axes.success.formula": "workflow/success@1",
    "axes.reliability.formula": "workflow/reliability@1",
    "skill_types.workflow.requires": (),
}
WORKFLOW_CORRECTED = {  # E45, E46, E48, E49
    "axes.success.formula": "workflow/success@2",
    "axes.reliability.formula": "workflow/reliability@2",
    "skill_types.workflow.requires": (
        "workflow/budget-positive",
        "workflow/latency-limit-positive",
    ),
}

ROWS = rows(
    *[("skills", EVERY, t) for t in (AXES, TIERS, EMISSION, REPUTATION, EPOCHS, GROUPS)],
    *[
        ("skills", ("1.0.0",), t)
        for t in (
            AXES_PUBLISHED,
            TIERS_PUBLISHED,
            REPUTATION_PUBLISHED,
            EPOCHS_PUBLISHED,
            GROUPS_PUBLISHED,
            ROUNDS_PUBLISHED,
        )
    ],
    *[
        ("skills", CORRECTED, t)
        for t in (
            AXES_CORRECTED,
            TIERS_CORRECTED,
            REPUTATION_CORRECTED,
            EPOCHS_CORRECTED,
            GROUPS_CORRECTED,
        )
    ],
    ("skills", ("1.0.0", "1.1.0"), ROUNDS),
    ("skills", ("1.1.0",), ROUNDS_CORRECTED),
    ("workflow", EVERY, WORKFLOW),
    ("workflow", ("1.0.0",), WORKFLOW_PUBLISHED),
    ("workflow", CORRECTED, WORKFLOW_CORRECTED),
)


@pytest.mark.parametrize("reference", sorted({row[0] for row in ROWS}))
def test_the_rule_set_says_what_the_documents_say(reference: str, registry: Registry) -> None:
    """The differences are told by path, as what the rule set says and what the documents say."""
    rule_set = load(reference, registry).rule_set
    differences = {}
    for path, said in ((path, value) for name, path, value in ROWS if name == reference):
        value = at(rule_set, path)
        expected = Decimal(said) if isinstance(value, Decimal) else said
        if (type(value), value) != (type(expected), expected):
            differences[path] = (value, expected)
    assert differences == {}


@pytest.mark.parametrize("version", EVERY)
def test_each_skill_type_is_weighed_gated_and_seeded_as_published(
    version: str, registry: Registry
) -> None:
    types = load(f"skills@{version}", registry).rule_set.skill_types
    assert list(types) == list(TYPES)
    for name, (base_weight, baseline, base_four, own) in TYPES.items():
        rules = types[name]
        four = dict(
            zip(("detection", "evidence", "policy", "efficiency"), base_four.split(), strict=True)
        )
        assert rules.composite == "geometric"
        assert rules.weights == {axis: Decimal(w) for axis, w in {**four, **own}.items()}
        assert (rules.base_weight, rules.baseline) == (Decimal(base_weight), Decimal(baseline))
        assert [attrs.astuple(gate) for gate in rules.gates] == [
            ("evidence", Decimal("0.10"), Decimal(0))
        ]
        assert rules.requires == rules.axes == ()


@pytest.mark.parametrize(
    ("version", "table"),
    [("1.0.0", EVENTS), *((version, EVENTS_CORRECTED) for version in CORRECTED)],
)
def test_the_reputation_events_are_those_of_the_table(
    version: str, table: Mapping[str, tuple[Value, ...]], registry: Registry
) -> None:
    reputation = load(f"skills@{version}", registry).rule_set.section(reputations.REPUTATION)
    assert reputation is not None
    assert list(reputation.events) == list(table)
    for name, (add, multiply, at_least, below, in_mean) in table.items():
        event = reputation.events[name]
        assert event.add == (None if add is None else Decimal(add))
        assert event.multiply == (None if multiply is None else Decimal(multiply))
        assert event.in_mean is in_mean
        assert (event.consensus is None) == (at_least is None and below is None)
        if event.consensus is not None:
            assert event.consensus.at_least == (at_least and Decimal(at_least))
            assert event.consensus.below == (below and Decimal(below))


def test_the_average_is_of_the_round_scores_of_before_under_the_cap_of_workflows(
    registry: Registry,
) -> None:
    rules = load("skills@1.2.0", registry).rule_set
    allocation = rules.section(ALLOCATION)
    assert allocation is not None
    score, average, part, weight = allocation.steps
    before = round_score(load("skills@1.1.0", registry).rule_set)
    assert before is not None
    # E97
    assert score == attrs.evolve(before, empty=None, publish=False, tasks="mean")
    # E94
    assert isinstance(average, Average)
    assert (average.new, average.newcomer, average.leaver) == (Decimal("0.2"), 0, "keep")
    assert (average.of, part.do, average.normalise) == ("score", "share", False)
    # E95
    workflow = load("workflow@1.1.0", registry).rule_set.section(ALLOCATION)
    assert workflow is not None
    assert workflow.steps[-1] == weight


@pytest.mark.parametrize("version", EVERY)
def test_the_windows_are_those_of_auditors_alone(version: str, registry: Registry) -> None:
    windows = load(f"skills@{version}", registry).rule_set.section(WINDOWS)
    assert windows is not None
    assert {
        name: {role: attrs.astuple(window) for role, window in roles.items()}
        for name, roles in windows.of_types.items()
    } == {name: {"auditor": bounds} for name, bounds in AUDITOR_WINDOWS.items()}


REFERENCES = [f"{name}@{version}" for name in ("skills", "workflow") for version in EVERY]
SOURCE = re.compile(r"# .*(scoring\.txt|reputation\.txt|workflow\.txt|\bterms\b|\bE\d+)")


def after_header(text: str) -> list[str]:
    """What is computed with: what the linter is to accept comes last, and says why itself."""
    lines = text[text.index("\n[axes.") + 1 :].splitlines()
    end = next((n for n, line in enumerate(lines) if line.endswith("- lint")), len(lines))
    return lines[:end]


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_number_and_every_mode_says_where_it_comes_from(
    reference: str, shipped_text: Callable[[str], str]
) -> None:
    before = ""
    for line in after_header(shipped_text(reference)):
        value = re.match(r"[a-z_.]+ = (.*)", line)
        named = re.match(r'(name|from|formula) = "', line)
        if value and not named:
            assert SOURCE.search(line) or SOURCE.match(before), line
        before = line


def test_the_corrected_rule_set_cites_a_row_for_every_difference(
    shipped_text: Callable[[str], str],
) -> None:
    for name in ("skills", "workflow"):
        published = set(shipped_text(f"{name}@1.0.0").splitlines())
        corrected = after_header(shipped_text(f"{name}@1.1.0"))
        table = ""
        for line in corrected:
            table = line if line.startswith("[") else table
            if line and line not in published and not line.startswith("["):
                assert re.search(r"# .*\bE\d+", line) or re.search(r"# .*\bE\d+", table), line


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_shipped_files_are_named_as_they_are_filed(reference: str, registry: Registry) -> None:
    header = load(reference, registry).rule_set.rule_set
    assert f"{header.name}@{header.version}" == reference
    assert header.format == 1
    assert header.summary
    assert ".txt" in header.source
