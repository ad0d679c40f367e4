"""The gate: every clause of a policy asked of a change of rules, and the receipt of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tallystick.json_values import json_value
from tallystick.scoring.receipt import engine_name, plugin_names
from tallystick.scoring.scorer import Scorer
from tallystick_governance.gate.clauses import KINDS, Judgement, judged
from tallystick_governance.gate.evidence import Evidence
from tallystick_governance.gate.measurement import MeasuredOn
from tallystick_governance.gate.policy import Policy
from tallystick_simulation.switches import exercised_by_none
from tallystick_state.trust.gate_receipt import GateReceipt

if TYPE_CHECKING:
    from tallystick_governance.gate.sources import Source


@attrs.frozen
class Verdict:
    """The answer of the gate.

    Attributes:
        policy: the policy that was asked.
        judgements: its clauses with their outcomes, in their order.
        measured_on: the world that weights were measured on.
        receipt: all of it, for whoever adopts the rules.
    """

    policy: Policy
    judgements: tuple[Judgement, ...]
    measured_on: MeasuredOn
    receipt: GateReceipt

    @property
    def broken(self) -> tuple[Judgement, ...]:
        """The clauses that are broken."""
        return tuple(judgement for judgement in self.judgements if judgement.is_broken)

    @property
    def has_passed(self) -> bool:
        """True if no clause is broken."""
        return not self.broken


def ask(policy: Policy, old: Scorer, new: Scorer, source: Source) -> Verdict:
    """Return whether a change of rules keeps every clause of a policy.

    Args:
        policy: the clauses.
        old: the rules before.
        new: the rules after.
        source: the world that weights are measured on, where a clause is about them.

    Raises:
        TallystickError: a tool cannot read the rules or the world.
    """
    evidence = Evidence(old, new, policy.measure, source)
    judgements = tuple(judged(clause, evidence) for clause in policy.clauses)
    measured = {KINDS[j.clause.name].measures for j in judgements if j.is_asked} - {None}
    measured_on = source.measured_on if measured else NOTHING
    if "weights" in measured:
        names = exercised_by_none(figures.not_exercised for figures in evidence.weights)
        measured_on = attrs.evolve(measured_on, not_exercised=names)
    receipt = _receipt(policy, (old, new), judgements, measured_on)
    return Verdict(policy, judgements, measured_on, receipt)


NOTHING = MeasuredOn("nothing")
"""The world of a gate that asked nothing about weights."""


def _receipt(
    policy: Policy,
    rules: tuple[Scorer, Scorer],
    judgements: tuple[Judgement, ...],
    measured_on: MeasuredOn,
) -> GateReceipt:
    old, new = ({"reference": r.rule_set.reference, "digest": r.digest} for r in rules)
    content = {
        "format": 1,
        "policy": {"name": policy.name, "digest": policy.digest},
        "old": old,
        "new": new,
        "measured_on": json_value(measured_on),
        "clauses": [
            {
                "clause": judgement.clause.name,
                "outcome": judgement.outcome,
                "limit": judgement.limit,
                "figure": judgement.figure,
                "details": list(judgement.details),
            }
            for judgement in judgements
        ],
        "passed": not any(judgement.is_broken for judgement in judgements),
        "engine": engine_name(),
        "plugins": plugin_names(rules[1].registry),
    }
    return GateReceipt.of(content, "the gate")
