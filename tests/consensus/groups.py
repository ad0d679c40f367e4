"""Made-up groups: strategies of submissions, and what a group of them says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from consensus.vectors import scorer_of
from hypothesis import strategies as st

import tallystick
from tallystick.numbers.nano import NANO
from tallystick_consensus.group import GroupConsensus, MemberConsensus

Json = dict[str, Any]

VERDICTS = ("ALLOW", "REVIEW", "BLOCK")
SETS = (
    *("findings_recall", "findings_precision"),
    *("capabilities_agreement", "dependencies_agreement"),
)
"""The four components of sets whose items everybody may flag."""
_PERMITS = {
    "net_domain": ("network", "connect"),
    "fs_read": ("filesystem", "read"),
    "fs_write": ("filesystem", "write"),
    "tool": ("tool", "call"),
    "child": ("skill", "invoke"),
}

findings = st.fixed_dictionaries(
    {"category": st.sampled_from("ab"), "severity": st.sampled_from(["low", "high"])},
    optional={
        "file": st.sampled_from([None, "a.py", "b.py"]),
        "line": st.one_of(st.none(), st.integers(0, 40)),
    },
)
capabilities = st.fixed_dictionaries(
    {"kind": st.sampled_from([*_PERMITS, "proc", "shell"]), "value": st.sampled_from("xyz")}
)
rules = st.fixed_dictionaries(
    {
        "resource": st.sampled_from(["network", "filesystem", "tool", "other"]),
        "action": st.sampled_from(["connect", "deny", "read", "call"]),
        "pattern": st.sampled_from("xyz"),
    }
)
submissions = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(VERDICTS),
        "risk_score": st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.7, 1.0]),
        "findings": st.lists(findings, max_size=8),
        "capabilities": st.lists(capabilities, max_size=6),
        "dependencies": st.lists(st.sampled_from(["CVE-1", "CVE-2", "CVE-3"]), max_size=4),
        "recommended_policy": st.lists(rules, max_size=4),
    }
)
several = st.lists(submissions, min_size=3, max_size=7)


def group(answers: Sequence[Json]) -> Json:
    """A group whose members, three primaries and then auditors, submitted some answers."""
    members = [
        {
            "uid": place,
            "hotkey": f"hk-{place}",
            "role": "primary" if place < 3 else "auditor",
            "submission": answer,
        }
        for place, answer in enumerate(answers)
    ]
    about = {"skill_type": "rag_knowledge", "task_id": "t", "round": 1, "epoch": 0}
    return about | {"validator": "val-1", "members": members}


def said(whole: Json, reference: str) -> GroupConsensus:
    """What a group comes to."""
    (found,) = tallystick.consensus([whole], scorer_of(reference))
    assert isinstance(found, GroupConsensus)
    return found


def members_of(whole: Json, reference: str) -> Mapping[str, MemberConsensus]:
    """What a group says of each member, by hotkey."""
    return {member.hotkey: member for member in said(whole, reference).members}


def mean_of_sets(members: Sequence[MemberConsensus]) -> Fraction:
    """The mean weighted share of the four components of sets."""
    weights = (30, 15, 15, 10)
    total = sum(
        weight * member.components[name]
        for member in members
        for name, weight in zip(SETS, weights, strict=True)
    )
    return Fraction(total, 100 * NANO * len(members))


def policy_of(capable: Sequence[Json]) -> list[Json]:
    """The policy that permits some capabilities, as far as a policy can say them."""
    named = ((_PERMITS[c["kind"]], c["value"]) for c in capable if c["kind"] in _PERMITS)
    return [{"resource": r, "action": a, "pattern": value} for (r, a), value in named]
