"""Allocations over one flat column of a table, for tests of single steps."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from allocation.subnets import rules_from

import tallystick
from tallystick.numbers import real
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.column import Column

HEAD = (
    '[rule_set]\nname = "one"\nversion = "1.0.0"\nformat = 1\n'
    '[measures.points]\nformula = "subnets/points@1"\n'
    '[skill_types."subnets/record"]\nmeasures = ["points"]\n'
)
_FIRST = '{ name = "x", do = "collect", value = "x", as = "last", within = [-1000000, 1000000000] }'
_LAST = (
    '{ name = "lift", do = "lift", of = "x", lowest = 1 },\n'
    '{ name = "weight", do = "share", of = "lift", publish = true }'
)
Cells = Mapping[str, Any]


def rules_with(*steps: str) -> str:
    """The text of a rule set that collects the column ``x`` and has some steps after it.

    Its weights are shares of ``x`` lifted to 1, whatever the steps: so these are tried alone.
    """
    return f"{HEAD}[allocation]\nsteps = [\n" + ",\n".join([_FIRST, *steps, _LAST]) + "\n]\n"


def rows_of(cells: Cells) -> list[dict[str, Any]]:
    """Rows of miners: a cell is a value of the column ``x``, or all the values of a row."""
    return [
        {"hotkey": key, **(value if isinstance(value, dict) else {"x": value})}
        for key, value in cells.items()
    ]


def applied(
    step: str, cells: Cells, held: Cells | None = None, carry: Cells | None = None
) -> Allocation:
    """What an allocation comes to with one or several steps over the column ``x``."""
    rules = rules_from(rules_with(step))
    return tallystick.allocate(rules, rows_of(cells), round=held, carry=carry)


def column(step: str, cells: Cells, held: Cells | None = None) -> dict[str, str]:
    """The exact values that the step ``y`` gives, by hotkey, for people."""
    found = applied(step, cells, held)
    values = found.columns["y"]
    if not isinstance(values, Column):
        assert isinstance(values, Fraction | real.Real)
        return {"": real.decimal(values)}
    places = zip(found.keys, values.cells, strict=True)
    return {key: real.decimal(value) for key, value in places if value is not None}
