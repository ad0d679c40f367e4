"""The cross checks of ``[consensus]``: its formulas, its shares, and what it needs elsewhere."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tallystick.diagnostics import nearest
from tallystick.numbers.text import fraction
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import check_circle, check_reference, formula_of
from tallystick_consensus.rules import CONSENSUS, references

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick_consensus.rules import Consensus, FindingLines

FACTOR = "consensus"
"""The factor of the emission whose parameters weigh the components."""


def check_consensus(
    rules: Consensus, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    """Yield what is wrong with the consensus of a group."""
    yield from _check_lines(rules.finding_lines)
    yield from _check_shares(rules)
    yield from _check_kinds(rules)
    yield from _check_components(rules, registry)
    yield from _check_weights(rules, rule_set, declared)


def _check_lines(lines: FindingLines) -> Iterator[Finding]:
    own, other = ("size", "lines") if lines.mode == "bucket" else ("lines", "size")
    path = (CONSENSUS.name, "finding_lines")
    if getattr(lines, own) is None:
        yield mistake((*path, own), "", f"a number, which the mode {shown(lines.mode)} needs")
    if getattr(lines, other) is not None:
        expected = f"no {other} in the mode {shown(lines.mode)}"
        yield mistake((*path, other), shown(getattr(lines, other)), expected)


def _check_shares(rules: Consensus) -> Iterator[Finding]:
    if not rules.quorum.share:
        yield mistake(
            (CONSENSUS.name, "quorum", "share"), "0", "more than 0: a quorum is of somebody"
        )
    alignment = rules.alignment
    total = sum(map(Fraction, (alignment.findings, alignment.capabilities, alignment.verdict)))
    if total != 1:
        expected = "findings, capabilities and verdict that sum to exactly 1"
        yield mistake(
            (CONSENSUS.name, "alignment"), f"a sum of {fraction(Fraction(total))}", expected
        )


def _check_kinds(rules: Consensus) -> Iterator[Finding]:
    """Yield rules of a policy whose capability does not count, or that are both kinds."""
    for table, kinds in (("permits", rules.permits), ("denies", rules.denies)):
        for name, kind in kinds.items():
            if kind not in rules.capability_kinds:
                expected = f"one of capability_kinds: {one_of(rules.capability_kinds)}"
                yield mistake((CONSENSUS.name, table, name), shown(kind), expected)
    for name in rules.denies:
        if name in rules.permits:
            expected = "a rule that is no permission too"
            yield mistake((CONSENSUS.name, "denies", name), shown(name), expected)


def _check_components(rules: Consensus, registry: Registry) -> Iterator[Finding]:
    reads = {}
    for reference in references(rules):
        name = str(reference.path[-1])
        yield from check_reference(reference, registry)
        formula = formula_of(reference, registry)
        reads[name] = () if formula is None else formula.reads
        for read in reads[name]:
            if read not in rules.components:
                hint = nearest(read, rules.components)
                expected = f"a formula that reads components only{hint}"
                yield mistake(
                    reference.key, f"{shown(reference.formula)}, which reads {read}", expected
                )
    yield from check_circle(reads, lambda _: (CONSENSUS.name, "components"))


def _check_weights(rules: Consensus, rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    """Yield the weights of the components stand in the factor of the emission, and nowhere else."""
    if "emission" in declared.sections and rule_set.emission is None:
        return
    factors = {} if rule_set.emission is None else rule_set.emission.factors
    path = ("emission", "factors", FACTOR)
    if FACTOR not in factors:
        expected = "a factor that weighs the components of [consensus] by parameters of their names"
        yield mistake(path, "", expected)
        return
    for name in rules.components:
        if name not in factors[FACTOR].parameters:
            yield mistake((*path, name), "", f"the weight of the component {name}")
