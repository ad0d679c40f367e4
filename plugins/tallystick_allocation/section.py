"""The section ``[allocation]`` as rule sets have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.rules.section import RecordGroup, Section
from tallystick_allocation.rules import ALLOCATION, AllocationRules, references

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.scoring.bound_rules import BoundRules

tallystick_api = 1
_BY_TYPE = "skill_type"
"""The word of ``group`` that means no field of a record."""


def _record_group(rules: AllocationRules) -> RecordGroup | None:
    if rules.group is None or rules.group == _BY_TYPE:
        return None
    return RecordGroup(rules.group, tuple(rules.groups), (ALLOCATION.name, "group"))


def _check(
    rules: AllocationRules, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    # who reads again what was checked before needs no checks
    from tallystick_allocation.checks import check_allocation

    return check_allocation(rules, rule_set, declared, registry)


def _prove(rules: BoundRules) -> None:
    from tallystick_allocation.proofs import proved_allocation

    proved_allocation(rules)


def _lines(rules: BoundRules) -> Iterable[str]:
    from tallystick_allocation.rule_text import lines_of

    return lines_of(rules.rule_set)


def _view(rules: BoundRules) -> Mapping[str, Any]:
    from tallystick_allocation.rule_text import view_of

    return view_of(rules)


SECTION = Section(
    kind=ALLOCATION,
    schema=Path(__file__).parent / "schemas" / "allocation-1.schema.json",
    formulas=references,
    check=_check,
    record_group=_record_group,
    prove=_prove,
    lines=_lines,
    view=_view,
)
