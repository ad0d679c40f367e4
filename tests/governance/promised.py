"""What the linter and the proofs find in the published rule sets, by the row of docs/errata.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import attrs

import tallystick
from tallystick.diagnostics import Diagnostic
from tallystick_governance.lint.linting import report
from tallystick_governance.prove.property import Answer
from tallystick_governance.prove.proving import prove


@attrs.frozen
class Promise:
    """One defect of a published rule set that a tool finds.

    Attributes:
        erratum: its row in docs/errata.md.
        reference: the published rule set.
        tool: who finds it.
        name: the code of the linter, or the property.
        figures: what it finds, as text: evidence of the linter by its keys, or the values of the
            records of a counterexample, which are ``value`` and ``other_value``.
        corrected: whether the corrected version no longer has it.
    """

    erratum: str
    reference: str
    tool: Literal["lint", "prove"]
    name: str
    figures: Mapping[str, str]
    corrected: bool = True

    @property
    def successor(self) -> str:
        """The corrected version."""
        return f"{self.reference.partition('@')[0]}@1.1.0"


def _skills(
    erratum: str,
    tool: Literal["lint", "prove"],
    name: str,
    corrected: bool = True,
    **figures: str,
) -> Promise:
    return Promise(erratum, "skills@1.0.0", tool, name, figures, corrected)


def _workflow(
    erratum: str,
    tool: Literal["lint", "prove"],
    name: str,
    corrected: bool = True,
    **figures: str,
) -> Promise:
    return Promise(erratum, "workflow@1.0.0", tool, name, figures, corrected)


PROMISES = (
    _skills("E2", "prove", "skills/wrong-verdict", value="1.000000000"),
    _skills("E6", "prove", "skills/nearer-verdict-to-allow", value="0.500000000"),
    _skills("E8", "lint", "gate-never-binds", False, below="0.100000000", next_value="0.200000000"),
    _skills("E12", "prove", "skills/flagging-every-tool", value="1.000000000"),
    _skills(
        "E14",
        "prove",
        "no-gain-by-duplication",
        value="0.500000000",
        other_value="1.000000000",
    ),
    _skills("E20", "lint", "tier-unreachable", above="2/3", baseline="0.666666668"),
    _skills(
        "E25",
        "lint",
        "axis-zeroes-everything",
        False,
        axes="detection, evidence, policy, efficiency",
    ),
    _skills(
        "E26",
        "lint",
        "reputation-decays",
        **{
            "best.epochs_until_below_filter": "10",
            "best.reputation_then": "0.187365652",
            "best.epochs_until_floor": "27",
        },
    ),
    _skills("E31", "lint", "floor-below-filter", floor="0.050000000", filter="0.200000000"),
    _skills("E32", "lint", "ties-by-hotkey", ties="hotkey"),
    _skills("E36", "lint", "base-weight-counted-twice", counted="16", ratio="4"),
    _skills("E54", "lint", "emission-above-one", False, emission="5.750000000"),
    _workflow("E47", "lint", "cliff", False, position="0.700000000", height="0.400000000"),
    _workflow("E49", "lint", "free-points", quality="0.100000000"),
    _workflow("E49", "prove", "workflow/idle-earns-nothing", value="0.100000000"),
    _workflow("E51", "lint", "cap-infeasible", False, share="0.150000000", miners="7"),
    _skills("E62", "lint", "consensus-self-vote", others="1"),
    _skills("E63", "lint", "consensus-buckets", size="5"),
    _skills("E66", "lint", "consensus-order", tie="first_member"),
    _skills(
        *("E70", "lint", "consensus-recall-unbound"),
        recall="1.000000000",
        precision="0.001000000",
    ),
    _skills(
        *("E72", "lint", "consensus-nothing-agreed"),
        component="policy_agreement",
        value="0.500000000",
    ),
    _skills("E73", "lint", "consensus-denial-permits", denials="network/deny"),
    _skills("E74", "lint", "consensus-inexpressible", kinds="net_ip, net_port, proc, secret"),
    _skills("E77", "lint", "consensus-breakdown-of-one", members="3"),
    _skills("E80", "lint", "consensus-missing-side", alignment="1.000000000"),
    _skills("E85", "lint", "consensus-cliff", False, position="0.150000000", height="0.500000000"),
    _skills("E94", "lint", "weights-forget", False, step="score", drawn="5"),
)
"""In the order of docs/errata.md."""


@cache
def findings(reference: str) -> tuple[Diagnostic, ...]:
    """What the linter finds, silenced or not."""
    return report(reference).every


@cache
def answers(reference: str, name: str | None = None) -> tuple[Answer, ...]:
    """What is answered about one property, or about all."""
    return prove(tallystick.load(reference), only=name)


def refuted(reference: str, name: str) -> tuple[Answer, ...]:
    """The counterexamples to one property."""
    return tuple(each for each in answers(reference, name) if each.status == "counterexample")


def figures_of(promise: Promise, reference: str) -> list[dict[str, str]]:
    """The figures of a promise in everything that its tool finds there."""
    if promise.tool == "prove":
        found = [attrs.asdict(each) for each in refuted(reference, promise.name)]
    else:
        found = [dict(f.evidence) for f in findings(reference) if f.code == promise.name]
    return [{key: str(_at(each, key)) for key in promise.figures} for each in found]


def _at(evidence: Mapping[str, Any], key: str) -> object:
    value: Any = evidence
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
