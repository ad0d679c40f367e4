"""Promises of the six types' scores: which way facts are better, and what never pays."""

from functools import reduce
from operator import and_

from tallystick.plugins.author import (
    Direction,
    Node,
    Property,
    always_below,
    count,
    distinct,
    equal,
    flag,
    given,
    less_is_better,
    matches,
    more_is_better,
    never_above,
    never_beaten_by,
    never_below,
    number,
    overlap,
)
from tallystick_skills.record import earliest, ground_truth, latency, risk, verdict

_MINE, _EXPECTED = "submission.recommended_policy", "task.expected_policy"
_MATCHES, _CANARIES = "submission.findings[category=canary_match]", "task.injected_canaries"
_NAMED = f"{_MATCHES}.canary_id"
_FLAGGED = "submission.findings[category=tool_poisoning].tool"
_POISONED = "task.expected_poisoned_tools"
_EXECUTED, _PREDICTED = "checks.executed_commands", "task.predicted_taint_commands"
_HASH, _TRUE_HASH = "submission.mcp_manifest_hash", "task.expected_manifest_hash"
_IS_NAMED = matches(_TRUE_HASH, r"[^:]+:(?s:.*)")
"""The hash names its algorithm (E15)."""
_CHECKS = (
    "checks.probe_verified",
    "checks.trace_hashes_consistent",
    "checks.sandbox_digest_correct",
    "checks.findings_cited",
)

_VERIFIED = tuple(flag(path) for path in _CHECKS)
_SOME_VERIFIED = _VERIFIED[0] | _VERIFIED[1] | _VERIFIED[2] | _VERIFIED[3]
_NONE_FAILED = reduce(and_, (~given(path) | flag(path) for path in _CHECKS))
_TRUE_RISK = "task.expected_risk"
_RIGHT = verdict == ground_truth

_EVERY_DIRECTION = (
    *(more_is_better(each) for each in _VERIFIED),
    more_is_better(overlap(_MINE, _EXPECTED)),
    less_is_better(distinct(_MINE)),
    less_is_better(latency, where=latency >= earliest),
)

_EVERY_PROPERTY = (
    always_below(
        "skills/wrong-verdict",
        "A wrong verdict never earns full marks (E2)",
        "detection",
        1,
        where=~_RIGHT,
    ),
    never_beaten_by(
        "skills/true-verdict",
        "No other verdict earns more than the true one",
        "detection",
        where=_RIGHT,
        instead=~_RIGHT,
        changes=(verdict,),
    ),
    never_beaten_by(
        "skills/nearer-verdict-to-allow",
        "Where the truth is ALLOW, BLOCK earns no more than REVIEW (E6)",
        "detection",
        where=(ground_truth == "ALLOW") & (verdict == "REVIEW"),
        instead=verdict == "BLOCK",
        changes=(verdict,),
    ),
    never_beaten_by(
        "skills/nearer-verdict-to-block",
        "Where the truth is BLOCK, ALLOW earns no more than REVIEW (E2)",
        "detection",
        where=(ground_truth == "BLOCK") & (verdict == "REVIEW"),
        instead=verdict == "ALLOW",
        changes=(verdict,),
    ),
    never_beaten_by(
        "skills/too-lax",
        "Where the truth is REVIEW, ALLOW earns no more than BLOCK (E3)",
        "detection",
        where=(ground_truth == "REVIEW") & (verdict == "BLOCK"),
        instead=verdict == "ALLOW",
        changes=(verdict,),
    ),
    never_beaten_by(
        "skills/true-risk",
        "With a true verdict no risk score earns more than the expected one (E1)",
        "detection",
        where=_RIGHT & given(_TRUE_RISK) & (risk == number(_TRUE_RISK, missing=0)),
        instead=_RIGHT,
        changes=(risk,),
    ),
    never_beaten_by(
        "skills/blocking-everything",
        "BLOCK earns no more than the true verdict",
        "quality",
        where=_RIGHT,
        instead=verdict == "BLOCK",
        changes=(verdict,),
    ),
    never_above(
        "skills/no-evidence",
        "Where nothing was verified, evidence earns nothing",
        "evidence",
        0,
        where=~_SOME_VERIFIED,
    ),
    never_below(
        "skills/absent-checks",
        "A check that a record does not have costs no evidence (E9)",
        "evidence",
        1,
        where=_SOME_VERIFIED & _NONE_FAILED,
    ),
)


def _silent(name: str, summary: str, value: str, said: Node, expected: Node) -> Property:
    """Saying nothing where something is expected earns nothing."""
    return never_above(name, summary, value, 0, where=(said == 0) & (expected > 0))


_POLICY = (
    _silent(
        "skills/silent-policy",
        "No policy earns nothing where one is expected (E11)",
        "policy",
        distinct(_MINE),
        distinct(_EXPECTED),
    ),
    always_below(
        "skills/partial-policy",
        "A policy that leaves out what is expected never earns full marks",
        "policy",
        1,
        # less by a whole one: among all real numbers full marks would come as near as one likes
        where=overlap(_MINE, _EXPECTED) + 1 <= distinct(_EXPECTED),
    ),
)

_DIRECTIONS: dict[str, tuple[Direction, ...]] = {
    "rag_knowledge": (
        more_is_better(count(_MATCHES)),
        more_is_better(overlap(_NAMED, _CANARIES)),
    ),
    "executable_script": (more_is_better(overlap(_EXECUTED, _PREDICTED)),),
    "mcp_server": (
        more_is_better(equal(_HASH, _TRUE_HASH)),
        more_is_better(equal(_HASH, _TRUE_HASH, ignore_case=True)),
        more_is_better(overlap(_FLAGGED, _POISONED)),
        less_is_better(distinct(_FLAGGED)),
    ),
}

_PROPERTIES: dict[str, tuple[Property, ...]] = {
    "rag_knowledge": (
        _silent(
            "skills/silent-on-canaries",
            "No canary finding earns nothing where canaries were injected",
            "injection_recall",
            count(_MATCHES),
            distinct(_CANARIES),
        ),
    ),
    "executable_script": (
        _silent(
            "skills/silent-commands",
            "No command that ran earns nothing where some were predicted",
            "shell_coverage",
            distinct(_EXECUTED),
            distinct(_PREDICTED),
        ),
    ),
    "mcp_server": (
        never_above(
            "skills/silent-on-manifest",
            "No manifest hash earns nothing (E15)",
            "manifest_integrity",
            0,
            where=~given(_HASH),
        ),
        never_below(
            "skills/hash-in-other-case",
            "A true hash earns full marks in upper and in lower case (E15)",
            "manifest_integrity",
            1,
            where=equal(_HASH, _TRUE_HASH, ignore_case=True) & _IS_NAMED,
        ),
        _silent(
            "skills/silent-on-tools",
            "No flagged tool earns nothing where tools are poisoned",
            "tool_poison_recall",
            distinct(_FLAGGED),
            distinct(_POISONED),
        ),
        always_below(
            "skills/flagging-every-tool",
            "Flagging more tools than are poisoned never earns full marks (E12)",
            "tool_poison_recall",
            1,
            where=distinct(_FLAGGED) > overlap(_FLAGGED, _POISONED),
        ),
    ),
}


def directions_of(skill_type: str) -> tuple[Direction, ...]:
    """Return the directions in which the facts of a type are better."""
    return (*_EVERY_DIRECTION, *_DIRECTIONS.get(skill_type, ()))


def properties_of(skill_type: str) -> tuple[Property, ...]:
    """Return the promises of a type's scores."""
    return (*_EVERY_PROPERTY, *_POLICY, *_PROPERTIES.get(skill_type, ()))
