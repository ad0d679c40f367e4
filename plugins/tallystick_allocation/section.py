"""The section ``[allocation]`` as rule sets have it, and the steps of a rule set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.rules.formula_references import FormulaReference
from tallystick.rules.section import RecordGroup, Section
from tallystick_allocation.rules import AllocationRules, Collect, FormulaStep, StepRules

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.findings import Finding
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared
    from tallystick.rules.toml import KeyPath
    from tallystick.scoring.bound_rules import BoundRules

tallystick_api = 1
NAME = "allocation"
_BY_TYPE = "skill_type"
"""The word of ``group`` that means no field of a record."""


@attrs.frozen
class PlacedStep:
    """A step, and the keys of the rule set that say it."""

    rules: StepRules
    origin: KeyPath


def placed_steps(rule_set: RuleSet) -> Iterator[PlacedStep]:
    """Yield the steps of a rule set in order, with what says them."""
    allocation = rule_set.section(SECTION)
    for place, rules in enumerate(() if allocation is None else allocation.steps):
        yield PlacedStep(rules, (NAME, "steps", place))


def round_score(rule_set: RuleSet) -> Collect | None:
    """Return the step that gives the score of a miner in a round; None where there is none."""
    steps = (placed.rules for placed in placed_steps(rule_set))
    of_round = (each for each in steps if isinstance(each, Collect) and each.records == "round")
    return next(of_round, None)


def formula_of_step(path: KeyPath, step: FormulaStep) -> FormulaReference:
    """Return the formula that a step names."""
    return FormulaReference(path, (*path, "formula"), step.formula, "measure", step.parameters)


def _formulas(rules: AllocationRules) -> Iterator[FormulaReference]:
    for place, step in enumerate(rules.steps):
        if isinstance(step, FormulaStep):
            yield formula_of_step((NAME, "steps", place), step)


def _record_group(rules: AllocationRules) -> RecordGroup | None:
    if rules.group is None or rules.group == _BY_TYPE:
        return None
    return RecordGroup(rules.group, tuple(rules.groups), (NAME, "group"))


def _check(
    rules: AllocationRules, rule_set: RuleSet, declared: Declared, registry: Registry
) -> Iterator[Finding]:
    # who reads again what was checked before needs no checks
    from tallystick_allocation.checks import check_allocation  # noqa: PLC0415

    return check_allocation(rules, rule_set, declared, registry)


def _prove(rules: BoundRules) -> None:
    from tallystick_allocation.proofs import proved_allocation  # noqa: PLC0415  # heavy

    proved_allocation(rules)


def _lines(rules: BoundRules) -> Iterable[str]:
    from tallystick_allocation.rule_text import lines_of  # noqa: PLC0415  # heavy

    return lines_of(rules.rule_set)


def _view(rules: BoundRules) -> Mapping[str, Any]:
    from tallystick_allocation.rule_text import view_of  # noqa: PLC0415  # heavy

    return view_of(rules)


SECTION = Section(
    name=NAME,
    rules=AllocationRules,
    schema=Path(__file__).parent / "schemas" / "allocation-1.schema.json",
    formulas=_formulas,
    check=_check,
    record_group=_record_group,
    prove=_prove,
    lines=_lines,
    view=_view,
)
