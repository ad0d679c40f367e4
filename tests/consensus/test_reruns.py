"""Whose submission is run again: as the oracle has it, and no auditor in a breakdown."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from consensus.groups import group, said
from consensus.vectors import scorer_of
from oracle.consensus import rerun

from tallystick_consensus.files import ConsensusPaths, consensus_file
from tallystick_consensus.group import GroupConsensus

RULES = {"skills@1.0.0": False, "skills@1.2.0": True}
"""A rule set before and after the correction, and whether half of a group is rounded up (E77)."""


def answer(rng: random.Random) -> dict[str, Any]:
    """A submission: most agree, some find something else or reach another verdict."""
    lines = rng.choice([[10], [10], [10], [200], [10, 200, 300]])
    return {
        "verdict": rng.choice(["BLOCK", "BLOCK", "BLOCK", "ALLOW"]),
        "risk_score": 0.5,
        "findings": [
            {"category": "a", "severity": "low", "file": "a.py", "line": line} for line in lines
        ],
        "capabilities": [],
        "dependencies": [],
        "recommended_policy": [],
    }


def made(seed: int) -> dict[str, Any]:
    """A group of three to nine, some of whom submitted nothing."""
    rng = random.Random(seed)
    whole = group([answer(rng) for _ in range(rng.randint(3, 9))])
    primaries = rng.choice([0, 1, 3, 3, 3])
    for place, member in enumerate(whole["members"]):
        member["role"] = "primary" if place < primaries else "auditor"
        if rng.random() < 0.1:
            del member["submission"]
    return whole


def components(found: GroupConsensus) -> dict[str, dict[str, str]]:
    """The seven of each valid member, as text."""
    members = found.to_dict()["members"]
    return {each["hotkey"]: each["components"] for each in members if each["components"]}


@pytest.mark.parametrize("reference", RULES)
def test_the_oracle_runs_the_same_submissions_again(reference: str) -> None:
    seen = set()
    for seed in range(200):
        whole = made(seed)
        found = said(whole, reference)
        seven = components(found)
        if not seven:
            assert found.rerun == ()
            continue
        assert list(found.rerun) == rerun(whole, seven, "", up=RULES[reference])
        roles = {each["hotkey"]: each["role"] for each in whole["members"]}
        diverging = {roles[m.hotkey] for m in found.members if m.diverging}
        seen.add((found.breakdown, "primary" in diverging, len(found.rerun)))
        if found.breakdown:
            assert "auditor" not in {roles[hotkey] for hotkey in found.rerun}
    # breakdowns of auditors alone: all valid primaries, or none where there is none
    assert {(True, False, 3), (True, False, 0)} <= seen


def test_a_breakdown_without_a_valid_primary_is_no_group_without_consensus(tmp_path: Path) -> None:
    whole = next(
        each
        for each in map(made, range(200))
        if (found := said(each, "skills@1.1.0")).breakdown and not found.rerun
    )
    groups, reruns = tmp_path / "groups.jsonl", tmp_path / "reruns.jsonl"
    groups.write_text(json.dumps(whole) + "\n")
    counts = consensus_file(
        scorer_of("skills@1.1.0"), ConsensusPaths(groups, tmp_path / "out.jsonl", None, reruns)
    )
    assert (counts.groups, counts.without, counts.breakdowns) == (1, 0, 1)
    assert reruns.read_text() == ""
