"""An answer: what of a submission counts in a group, made comparable once.

Repeated items count once, and what stands in which order is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import from_double
from tallystick_consensus.group_record import Submission
from tallystick_consensus.places import Lines, reduced

if TYPE_CHECKING:
    from tallystick_consensus.binding import BoundConsensus

VERDICTS = ("ALLOW", "REVIEW", "BLOCK")
"""Verdicts from the laxest to the strictest."""
Place = tuple[str, str | None]
"""The category and the file of a finding."""
Items = frozenset[tuple[str | int | None, ...]]
Signatures = frozenset[tuple[str, str]]
"""Kinds of capabilities, each with a value."""


@attrs.frozen
class Answer:
    """The parts of a submission that are compared.

    Attributes:
        verdict: its place, from the laxest.
        risk: in nano.
        findings: those that are equal or not: with a bucket, or without a line.
        lines: of the others, by category and file.
        capabilities: of the kinds that count.
        dependencies: each a text of its own.
        policy: what the rules of the policy permit.
        expressible: the capabilities of voters that a policy is compared with.
    """

    verdict: int
    risk: int
    findings: Items
    lines: Mapping[Place, Lines]
    capabilities: Signatures
    dependencies: frozenset[str]
    policy: Signatures
    expressible: Signatures


def answer_of(submission: Submission, rules: BoundConsensus) -> Answer:
    """Return the parts of a submission that are compared under some rules."""
    findings, lines = _findings(submission, rules)
    kinds, entries = rules.kinds, submission.capabilities
    capabilities = frozenset((c.kind, c.value) for c in entries if c.kind in kinds)
    expressible = capabilities
    if rules.compared_kinds is not None:
        compared = rules.compared_kinds
        expressible = frozenset(
            capability for capability in capabilities if capability[0] in compared
        )
    return Answer(
        verdict=VERDICTS.index(submission.verdict),
        risk=from_double(submission.risk_score),
        findings=findings,
        lines=lines,
        capabilities=capabilities,
        dependencies=frozenset(submission.dependencies),
        policy=_policy(submission, rules),
        expressible=expressible,
    )


def _findings(submission: Submission, rules: BoundConsensus) -> tuple[Items, dict[Place, Lines]]:
    """Return the findings that are equal or not, and the lines of the others."""
    section = rules.rules.finding_lines
    size, distance, absent = section.size, section.lines or 0, section.missing == "zero"
    items: set[tuple[str | int | None, ...]] = set()
    lines: dict[Place, set[int]] = {}
    for finding in submission.findings:
        line = 0 if finding.line is None and absent else finding.line
        if line is None:
            items.add((finding.category, finding.file, None))
        elif size is not None:
            items.add((finding.category, finding.file, line // size))
        else:
            lines.setdefault((finding.category, finding.file), set()).add(line)
    return frozenset(items), {
        location: reduced(numbers, distance) for location, numbers in lines.items()
    }


def _policy(submission: Submission, rules: BoundConsensus) -> Signatures:
    permits, denies = rules.rules.permits, rules.rules.denies
    named = [(f"{r.resource}/{r.action}", r.pattern) for r in submission.recommended_policy]
    permitted = {(permits[name], pattern) for name, pattern in named if name in permits}
    denied = {(denies[name], pattern) for name, pattern in named if name in denies}
    return frozenset(permitted | denied if rules.denials_permit else permitted - denied)
