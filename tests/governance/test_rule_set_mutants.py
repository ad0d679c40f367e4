"""Mistakes of the corpus that a proof notices, each by the property that is about it."""

from __future__ import annotations

import attrs
import pytest
from examples import fast_rows
from governance.corpus.corpus import bad, build

from tallystick_governance.prove.proving import prove

NOTICED = [
    ("false-alarms-free", "rag_knowledge", "skills/wrong-verdict"),
    ("misses-free", "rag_knowledge", "skills/wrong-verdict"),
    ("risk-slope-tenfold", "rag_knowledge", "skills/true-verdict"),
    ("detection-as-printed", "rag_knowledge", "skills/nearer-verdict-to-allow"),
    ("canaries-counted-twice", "rag_knowledge", "no-gain-by-duplication"),
    ("flag-every-tool", "mcp_server", "skills/flagging-every-tool"),
    ("strict-and-lax-swapped", "rag_knowledge", "skills/too-lax"),
    ("evidence-as-printed", "rag_knowledge", "skills/absent-checks"),
    ("beta-zero", "rag_knowledge", "skills/partial-policy"),
    ("gate-pays", "agent_composition", "composite-monotone"),
    ("bonuses-swapped", "rag_knowledge", "better-fact-never-lowers"),
    ("own-plan-as-measure", "workflow", "workflow/short-plan"),
    ("cost-without-success", "workflow", "workflow/half-done-cost"),
    ("latency-gate-slip", "workflow", "workflow/half-done-latency"),
]


@pytest.mark.parametrize(("id", "skill_type", "name"), fast_rows(NOTICED, 0, 5, 9, 11, 12))
def test_a_broken_rule_set_is_noticed(id: str, skill_type: str, name: str) -> None:  # noqa: A002
    (entry,) = (entry for entry in bad() if entry.id == id)
    rules = build(entry).new
    # to ask about the other types, too, takes six times as long
    rules = attrs.evolve(rules, types={skill_type: rules.types[skill_type]})
    assert "counterexample" in {answer.status for answer in prove(rules, only=name)}
