"""The section ``[allocation]`` as rule sets have it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.rules.section import RecordGroup, Section
from tallystick.rules.structure import table_of
from tallystick_allocation.checks import check_allocation
from tallystick_allocation.population import BY_TYPE
from tallystick_allocation.rules import ALLOCATION, AllocationRules, references

if TYPE_CHECKING:
    from tallystick.scoring.bound_rules import BoundRules

tallystick_api = 1
_INDENT = "    "


def _record_group(rules: AllocationRules) -> RecordGroup | None:
    if rules.group is None or rules.group == BY_TYPE:
        return None
    return RecordGroup(rules.group, tuple(rules.groups), (ALLOCATION.name, "group"))


def _prove(rules: BoundRules) -> None:
    from tallystick_allocation.proofs import proved_allocation

    proved_allocation(rules)


def _lines(bound: BoundRules) -> list[str]:
    """Return the steps from scores to weights, as the rule set writes them; none without any."""
    rules = bound.rule_set.section(ALLOCATION)
    if rules is None:
        return []
    head = ["", "allocation"]
    if rules.group is not None:
        head.append(f"{_INDENT}by {rules.group}: {_value(table_of(rules)['groups'])}")
    return [*head, *(_INDENT + _step(table_of(step)) for step in rules.steps)]


def _view(rules: BoundRules) -> dict[str, Any]:
    """Return the steps as JSON, with the schema of what they ask of a round; empty without any."""
    from tallystick_allocation.files import round_schema
    from tallystick_allocation.proofs import proved_allocation

    bound = proved_allocation(rules)
    if bound is None:
        return {}
    steps = [table_of(step.rules) for step in bound.steps]
    return {"allocation": {"digest": bound.digest, "steps": steps, "round": round_schema(bound)}}


def _step(table: Mapping[str, Any]) -> str:
    keys = {key: value for key, value in table.items() if key not in ("name", "do", "publish")}
    texts = [f"{key} {_value(value)}" for key, value in keys.items()]
    texts += ["rounded"] if table.get("publish") else []
    return f"{table['name']} = {table['do']}: {', '.join(texts)}"


def _value(value: object) -> str:
    match value:
        case dict():
            return f"({', '.join(f'{key} {part}' for key, part in value.items())})"
        case list():
            return f"[{', '.join(map(str, value))}]"
        case bool():
            return str(value).lower()
    return str(value)


SECTION = Section(
    kind=ALLOCATION,
    schema=Path(__file__).parent / "schemas" / "allocation-1.schema.json",
    formulas=references,
    check=check_allocation,
    record_group=_record_group,
    prove=_prove,
    lines=_lines,
    view=_view,
)
