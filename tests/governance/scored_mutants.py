"""Rule sets of which the scores are broken: axes, weights, gates, and the workflow."""

from __future__ import annotations

from governance.mutant import nothing, skills, workflow

_RAG = (
    "detection = 0.30, evidence = 0.30, policy = 0.15, efficiency = 0.10, injection_recall = 0.15"
)
_GATE = '{ axis = "evidence", below = 0.10, composite = 0 }'
_SHARES = "{ success = 0.50, cost = 0.25, latency = 0.15, reliability = 0.10 }"
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

SKILLS_AXES = (
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
)
"""Axes, weights and gates of the skills, broken; something notices each."""

WORKFLOWS = (
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
)
"""The workflow, broken; something notices each."""
