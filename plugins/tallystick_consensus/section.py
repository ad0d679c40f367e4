"""The section ``[consensus]`` as rule sets have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.rules.section import Section
from tallystick_consensus.rules import CONSENSUS, Consensus, references

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.scoring.bound_rules import BoundRules

tallystick_api = 1


def _check(
    rules: Consensus, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    # who reads again what was checked before needs no checks
    from tallystick_consensus.checks import check_consensus

    return check_consensus(rules, rule_set, declared, registry)


def _prove(rules: BoundRules) -> None:
    from tallystick_consensus.run import prove_components

    prove_components(rules)


SECTION = Section(
    kind=CONSENSUS,
    schema=Path(__file__).parent / "schemas" / "consensus-1.schema.json",
    formulas=references,
    check=_check,
    prove=_prove,
)
