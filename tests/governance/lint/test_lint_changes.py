"""What a change of the rules that score does to pay: named where it is a mistake, else not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from linted import CHECKS, RULES, Placed, changed

import tallystick
from tallystick.plugins.registry import installed
from tallystick.rules.edit import edited_text, edits, read_value
from tallystick.rules.findings import dotted
from tallystick.rules.toml import parse
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint import answers, pay, settings
from tallystick_governance.lint.linting import Report, report

SKILLS, WORKFLOW = "skills@1.2.0", "workflow@1.2.0"
PYTHON = "skill_types.executable_python"
Change = str | tuple[str, str]
"""A value for a path, as `rules set` takes it, or a text with the one that replaces it."""

GATES = 'gates = [{ axis = "evidence", below = 0.10, composite = 0 }] # scoring.txt, The ε Gate'
BINDING = GATES.replace("below = 0.10", "below = 0.50")


def text_of(reference: str) -> str:
    name, _, version = reference.partition("@")
    return (RULES / name / f"{version}.toml").read_text(encoding="utf-8")


def with_changes(base: str, *changes: Change) -> str:
    """A rule set with other values, and other texts before these are set."""
    text = changed(base, *(change for change in changes if isinstance(change, tuple)))
    data = parse(text, "").data
    pairs = [change.split("=", 1) for change in changes if isinstance(change, str)]
    values = [(path, read_value(data, path, value)) for path, value in pairs]
    return edited_text(text, edits(data, values)) if values else text


@cache
def scorer_of(text: str) -> Scorer:
    folder = Path(__file__).parent
    loaded = tallystick.rules.reading.read_text(text, folder / "rules.toml", installed())
    return tallystick.scoring.scorer.bind(loaded, loaded.registry)


def compared(code: str, old: str, new: str) -> list[Placed]:
    """What a comparison finds between two texts."""
    check = CHECKS[code]
    assert check.compare is not None
    return [
        Placed(code, each.severity or check.severity, dotted(each.path), each)
        for each in check.compare(scorer_of(old), scorer_of(new))
    ]


REPORTED: list[tuple[str, str, str, str, tuple[Change, ...]]] = [
    (
        "setting-dropped",
        "warning",
        "allocation.steps[0]",
        SKILLS,
        (('times = ["reputation"], ', ""),),
    ),
    ("setting-dropped", "warning", "claims", SKILLS, (("rounds_per_epoch = 100", "#"),)),
    ("setting-dropped", "warning", "skill_types.workflow", WORKFLOW, (("requires = [", "#"),)),
    (
        "setting-dropped",
        "warning",
        "emission.factors.bootstrap_bonus.skill_types",
        SKILLS,
        (('"mcp_server", "agent_composition"] # E18', '"mcp_server"] # E18'),),
    ),
    (
        "switch-off",
        "warning",
        "groups.rotation.enabled",
        SKILLS,
        ("groups.rotation.enabled=false",),
    ),
    (
        "switch-off",
        "warning",
        "axes.cost.budget_abort_enabled",
        WORKFLOW,
        ("axes.cost.budget_abort_enabled=0",),
    ),
    ("constant-leaps", "warning", "axes.policy.beta", SKILLS, ("axes.policy.beta=10",)),
    (
        "constant-leaps",
        "note",
        "axes.detection.too_strict",
        SKILLS,
        ("axes.detection.too_strict=1",),
    ),
    (
        "constant-leaps",
        "warning",
        "allocation.steps[0].last",
        WORKFLOW,
        ("allocation.steps[0].last=1",),
    ),
    (
        "constant-leaps",
        "warning",
        "allocation.steps[1].new",
        SKILLS,
        ("allocation.steps[average].new=1",),
    ),
    (
        "constant-leaps",
        "warning",
        "reputation.events.consensus_pass.add",
        SKILLS,
        ("reputation.events.consensus_pass.add=-0.02",),
    ),
    ("formula-older", "warning", "axes.success.formula", WORKFLOW, (("success@2", "success@1"),)),
    ("mistake-costs-less", "warning", "axes.detection", SKILLS, ("axes.detection.too_lax=0.3",)),
    ("mistake-costs-less", "warning", "axes.policy", SKILLS, ("axes.policy.beta=3",)),
    (
        "mistake-costs-less",
        "warning",
        "axes.reliability",
        WORKFLOW,
        ("axes.reliability.hard_failure=0.1",),
    ),
    (
        "mistakes-reordered",
        "warning",
        "axes.reliability",
        WORKFLOW,
        ("axes.reliability.hard_failure=0.1", "axes.reliability.unplanned_retry=0.5"),
    ),
    ("promise-broken", "error", "axes.detection", SKILLS, ("axes.detection.risk_slope=1",)),
    ("promise-broken", "error", "axes.cost", WORKFLOW, ("axes.cost.gate=0",)),
    (
        "promise-broken",
        "error",
        "emission.factors.early_bonus",
        SKILLS,
        ("emission.factors.early_bonus.middle_bonus=1.5",),
    ),
    (
        "weight-falls",
        "warning",
        f"{PYTHON}.weights.detection",
        SKILLS,
        (f"{PYTHON}.weights.detection=0.05",),
    ),
    (
        "weight-falls",
        "warning",
        "emission.factors.consensus.findings_recall",
        SKILLS,
        (
            "emission.factors.consensus.findings_recall=0.05",
            "emission.factors.consensus.policy_agreement=0.30",
        ),
    ),
    (
        "weight-falls",
        "warning",
        "skill_types.workflow.weights.reliability",
        WORKFLOW,
        ("skill_types.workflow.weights.reliability=0.01",),
    ),
    (
        "weight-dominates",
        "warning",
        f"{PYTHON}.weights.detection",
        SKILLS,
        (f"{PYTHON}.weights.detection=0.8",),
    ),
    (
        "saving-outweighs-work",
        "warning",
        f"{PYTHON}.weights",
        SKILLS,
        (f"{PYTHON}.weights.efficiency=0.7",),
    ),
    (
        "saving-outweighs-work",
        "warning",
        "skill_types.workflow.weights",
        WORKFLOW,
        ("skill_types.workflow.weights.success=0.2",),
    ),
    (
        "gate-weaker",
        "note",
        PYTHON,
        SKILLS,
        ((f"policy = 0.20, efficiency = 0.15 }}\n{GATES}", "policy = 0.20, efficiency = 0.15 }"),),
    ),
    ("gate-weaker", "error", f"{PYTHON}.gates[0]", SKILLS, (f"{PYTHON}.gates[0].composite=0.5",)),
    ("good-work-pays-less", "error", PYTHON, SKILLS, (f"{PYTHON}.gates[0].below=1",)),
    ("poor-work-pays-more", "warning", PYTHON, SKILLS, (f"{PYTHON}.gates[0].composite=0.9",)),
    (
        "failed-axis-costs-less",
        "warning",
        f"{PYTHON}.composite",
        SKILLS,
        (f"{PYTHON}.composite=arithmetic",),
    ),
    ("tier-moves", "warning", f"{PYTHON}.baseline", SKILLS, (f"{PYTHON}.baseline=0.9",)),
    (
        "tier-moves",
        "warning",
        "tiers.thresholds.novel",
        SKILLS,
        ("tiers.thresholds.novel.factor=3", "tiers.thresholds.novel.headroom=1"),
    ),
    (
        "tier-moves",
        "warning",
        "tiers.thresholds.novel",
        SKILLS,
        ("tiers.thresholds.novel.factor=1.2",),
    ),
    (
        "tier-pays-otherwise",
        "warning",
        "tiers.levels[3].multiplier",
        SKILLS,
        ("tiers.levels[3].multiplier=20",),
    ),
    (
        "tier-pays-otherwise",
        "warning",
        "tiers.levels[3].multiplier",
        SKILLS,
        ("tiers.levels[3].multiplier=1.4",),
    ),
    (
        "base-weight-moves",
        "warning",
        "skill_types.declarative.base_weight",
        SKILLS,
        ("skill_types.declarative.base_weight=3",),
    ),
    (
        "emission-moves",
        "warning",
        "emission",
        SKILLS,
        ("emission.factors.bootstrap_bonus.added_weight=4",),
    ),
    (
        "factor-moves",
        "warning",
        "emission.factors.role_multiplier",
        SKILLS,
        ("emission.factors.role_multiplier.auditor=0.05",),
    ),
    (
        "factor-leaves-types",
        "warning",
        "emission.factors.role_multiplier.skill_types",
        SKILLS,
        (("auditor = 0.6 ", 'skill_types = ["declarative"]\nauditor = 0.6 '),),
    ),
    (
        "roles-reordered",
        "warning",
        "emission.factors.role_multiplier",
        SKILLS,
        (
            "emission.factors.role_multiplier.auditor=1",
            "emission.factors.role_multiplier.primary=0.6",
        ),
    ),
]
"""Code, severity, path, the rule set that is changed, and how."""


@pytest.mark.parametrize(
    ("code", "severity", "path", "base", "changes"),
    REPORTED,
    ids=[f"{code} at {path}" for code, _, path, _, _ in REPORTED],
)
def test_a_change_is_named(
    code: str, severity: str, path: str, base: str, changes: tuple[Change, ...]
) -> None:
    old = text_of(base)
    places = {
        (each.path, each.severity) for each in compared(code, old, with_changes(old, *changes))
    }
    assert (path, severity) in places


SOUND: list[tuple[str, tuple[Change, ...]]] = [
    (SKILLS, ("axes.policy.beta=1", "axes.detection.too_strict=0.5", "axes.detection.too_lax=0.9")),
    (
        SKILLS,
        tuple(f"axes.evidence.{name}=0.25" for name in ("probe", "traces", "digest", "citations")),
    ),
    (
        SKILLS,
        (
            f"{PYTHON}.weights.efficiency=0.1",
            "skill_types.mcp_server.weights.detection=0.28",
            f"{PYTHON}.gates[0].below=0.3",
            f"{PYTHON}.base_weight=1.5",
            f"{PYTHON}.baseline=0.45",
        ),
    ),
    (
        SKILLS,
        tuple(
            f"{PYTHON}.weights.{axis}=0.25"
            for axis in ("detection", "evidence", "policy", "efficiency")
        ),
    ),
    (
        SKILLS,
        (
            "tiers.levels[0].multiplier=0.4",
            "tiers.levels[2].multiplier=1.5",
            "tiers.levels[3].multiplier=1.8",
            "tiers.thresholds.novel.headroom=0.6",
            "tiers.thresholds.optimised.headroom=0.2",
        ),
    ),
    (
        SKILLS,
        (
            "emission.factors.early_bonus.early_bonus=1.2",
            "emission.factors.early_bonus.early_until=0.3",
            "emission.factors.role_multiplier.auditor=0.7",
            "emission.factors.bootstrap_bonus.epochs=60",
            "emission.factors.bootstrap_bonus.added_weight=0.6",
            "emission.factors.consensus.findings_recall=0.25",
            "emission.factors.consensus.findings_precision=0.20",
        ),
    ),
    (
        SKILLS,
        (
            "reputation.initial=0.45",
            "groups.auditors=3",
            "epochs.blocks=120",
            "groups.recovery.auditor_slot=1",
            "claims.per_round=8192",
            "allocation.steps[average].new=0.25",
        ),
    ),
    (
        WORKFLOW,
        (
            "axes.reliability.timeout=0.3",
            "axes.reliability.hard_failure=0.6",
            "axes.cost.gate=0.65",
            "axes.latency.gate=0.65",
            "skill_types.workflow.weights.success=0.55",
            "allocation.steps[0].last=150",
        ),
    ),
]
"""Changes that are as sound as what they change."""


@pytest.mark.parametrize(("base", "changes"), SOUND, ids=range(len(SOUND)))
def test_a_change_that_is_as_sound_is_left_alone(base: str, changes: tuple[Change, ...]) -> None:
    old = text_of(base)
    new = with_changes(old, *changes)
    for module in (settings, answers, pay):
        for check in vars(module).values():
            if check in CHECKS.values():
                assert compared(check.code, old, new) == []


def test_every_comparison_is_tried() -> None:
    own = {check.code for check in CHECKS.values() if check.compare is not None}
    modules = {id(check) for module in (settings, answers, pay) for check in vars(module).values()}
    mine = {code for code in own if id(CHECKS[code]) in modules}
    assert mine == {code for code, *_ in REPORTED}


def test_a_gate_that_binds_and_is_gone_is_a_warning() -> None:
    old = changed(text_of(WORKFLOW), ("requires = [", _BINDING + "requires = ["))
    (finding,) = compared("gate-weaker", old, text_of(WORKFLOW))
    assert (finding.severity, finding.path) == ("warning", "skill_types.workflow")
    lower = changed(old, ("below = 0.5", "below = 0.4"))
    (finding,) = compared("gate-weaker", old, lower)
    assert (finding.severity, finding.path) == ("warning", "skill_types.workflow.gates[0]")


_BINDING = 'gates = [{ axis = "success", below = 0.5, composite = 0 }]\n'


def test_a_step_that_is_gone_or_is_of_another_kind_is_told() -> None:
    old = text_of(SKILLS)
    cap = old[
        old.index('  { name = "weight", do = "cap"') : old.index(
            "]\n\n# ------", old.index("[allocation]")
        )
    ]
    gone = old.replace(cap, "").replace(
        'do = "share", of = "average" }', 'do = "share", of = "average", publish = true }'
    )
    (finding,) = compared("setting-dropped", old, gone)
    assert (finding.path, finding.evidence["dropped"]) == (
        "allocation.steps",
        "allocation.steps.weight",
    )
    # one of another kind has other keys; what it pays is compared by running both
    mixed = old.replace(cap.strip().partition(" #")[0], MIXED)
    assert compared("setting-dropped", old, mixed) == []


MIXED = '{ name = "weight", do = "mix", of = { part = 1 }, publish = true },'


def test_a_rule_set_of_another_name_has_dropped_nothing() -> None:
    assert compared("setting-dropped", text_of(SKILLS), text_of(WORKFLOW)) == []
    assert compared("setting-dropped", text_of(WORKFLOW), text_of(SKILLS)) == []


@pytest.mark.parametrize(("old", "new"), [("skills@1.1.0", SKILLS), ("workflow@1.1.0", WORKFLOW)])
def test_the_shipped_rule_sets_do_no_worse_than_their_own_predecessors(old: str, new: str) -> None:
    for check in CHECKS.values():
        if check.compare is None or check.on_request:
            continue
        if check.code not in {"setting-dropped", "constant-leaps"}:
            assert compared(check.code, text_of(old), text_of(new)) == []


MISTAKES: list[tuple[str, str, tuple[Change, ...]]] = [
    ("good-work-pays-less", SKILLS, (f"{PYTHON}.gates[0].below=1",)),
    (
        "saving-outweighs-work",
        SKILLS,
        (
            f"{PYTHON}.weights.detection=0.1",
            f"{PYTHON}.weights.evidence=0.1",
            f"{PYTHON}.weights.policy=0.1",
            f"{PYTHON}.weights.efficiency=0.7",
        ),
    ),
    (
        "tier-for-the-perfect",
        SKILLS,
        ("tiers.thresholds.novel.factor=3", "tiers.thresholds.novel.headroom=1"),
    ),
    ("never-paid", SKILLS, ("emission.factors.role_multiplier.auditor=0",)),
    (
        "mistakes-reordered",
        WORKFLOW,
        ("axes.reliability.hard_failure=0.1", "axes.reliability.unplanned_retry=0.5"),
    ),
]
"""Mistakes that every council should be told of, each with a code that names it."""


@cache
def shipped_report(reference: str) -> Report:
    return report(reference)


@pytest.mark.parametrize(("code", "base", "changes"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_named_beside_the_rules_in_force(
    tmp_path: Path, code: str, base: str, changes: tuple[Change, ...]
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(with_changes(text_of(base), *changes), encoding="utf-8")
    findings = report(path).since(shipped_report(base)).findings
    assert code in {finding.code for finding in findings if finding.severity != "note"}
