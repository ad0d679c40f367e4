"""The steps of a rule set as ``tallystick rules show`` has them: lines for people, and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.rules.structure import table_of
from tallystick_allocation.files import round_schema
from tallystick_allocation.proofs import proved_allocation
from tallystick_allocation.rules import ALLOCATION, placed_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.rules.model import RuleSet
    from tallystick.scoring.bound_rules import BoundRules

_INDENT = "    "


def lines_of(rule_set: RuleSet) -> list[str]:
    """Return the steps from scores to weights, as the rule set writes them; none without any."""
    rules = rule_set.section(ALLOCATION)
    if rules is None:
        return []
    head = ["", "allocation"]
    if rules.group is not None:
        head.append(f"{_INDENT}by {rules.group}: {_value(table_of(rules)['groups'])}")
    return [*head, *(_INDENT + _step(table_of(each.rules)) for each in placed_steps(rule_set))]


def view_of(rules: BoundRules) -> dict[str, Any]:
    """Return the steps as JSON, with the schema of what they ask of a round; empty without any."""
    bound = proved_allocation(rules)
    if bound is None:
        return {}
    steps = [table_of(step.rules) for step in bound.steps]
    return {"allocation": {"digest": bound.digest, "steps": steps, "round": round_schema(bound)}}


def _step(table: Mapping[str, Any]) -> str:
    keys = {key: value for key, value in table.items() if key not in ("name", "do", "publish")}
    told = [f"{key} {_value(value)}" for key, value in keys.items()]
    told += ["rounded"] if table.get("publish") else []
    return f"{table['name']} = {table['do']}: {', '.join(told)}"


def _value(value: object) -> str:
    match value:
        case dict():
            return f"({', '.join(f'{key} {each}' for key, each in value.items())})"
        case list():
            return f"[{', '.join(map(str, value))}]"
        case bool():
            return str(value).lower()
    return str(value)
