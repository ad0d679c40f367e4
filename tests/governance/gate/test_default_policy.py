"""The policy that ships lets small corrections through, and names what is wrong with mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import run

CORRECTIONS = (
    ("workflow@1.2.0", "axes.reliability.hard_failure=0.55"),
    ("workflow@1.2.0", "skill_types.workflow.weights.success=0.52"),
    ("skills@1.2.0", "skill_types.rag_knowledge.weights.detection=0.32"),
    # half of all is burnt
    ("king@1.0.0", "allocation.steps[king].margin=0.051"),
    # weights are rounded one by one
    ("ladder@1.0.0", "axes.reward.high=1.01"),
)
MISTAKES = (
    (("workflow@1.2.0", "axes.cost.gate=0"), "prove.new_refuted"),
    (("workflow@1.2.0", "axes.reliability.formula=workflow/reliability@1"), "prove.new_refuted"),
    (("skills@1.2.0", "axes.policy.beta=10"), "simulation.deviation_gain_at_most"),
    (("skills@1.2.0", "reputation.initial=1"), "weight.moved_at_most"),
)


def asked(folder: Path, reference: str, *values: str) -> tuple[int, list[str]]:
    """The exit status of the gate, and the clauses that are broken."""
    new = folder / "new.toml"
    assert run("rules", "set", reference, *values, "-o", new).status == 0
    done = run("rules", "gate", "default", reference, new, "--json")
    clauses = done.json()["clauses"]
    return done.status, [each["clause"] for each in clauses if each["outcome"] == "broken"]


@pytest.mark.nightly
@pytest.mark.parametrize("change", CORRECTIONS)
def test_a_small_correction_passes(tmp_path: Path, change: tuple[str, ...]) -> None:
    assert asked(tmp_path, *change) == (0, [])


@pytest.mark.nightly
@pytest.mark.parametrize(("change", "clause"), MISTAKES)
def test_a_mistake_is_named(tmp_path: Path, change: tuple[str, ...], clause: str) -> None:
    status, broken = asked(tmp_path, *change)
    assert status == 1
    assert clause in broken
