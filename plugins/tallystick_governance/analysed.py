"""The kinds of values that diff, lint and prove analyse; a value of another kind is told by name.

A tool here reads the structure of a value: the weights of a mean, the tree of a formula. A kind
that these tools do not know has a range and an order by its protocol, but no structure, so that
silence about it would be read as “nothing is wrong”.
"""

from __future__ import annotations

from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import GatedValue, MeanValue
from tallystick.scoring.computation import NotAnalysed
from tallystick.scoring.tiers import MultiplierValue, TierValue
from tallystick.scoring.value import ConstantValue, FormulaValue, MeasureValue, Value

ANALYSED: frozenset[type[Value]] = frozenset(
    {
        ConstantValue,
        FormulaValue,
        GatedValue,
        MeanValue,
        MeasureValue,
        MultiplierValue,
        TierValue,
    }
)
"""The classes of values that are analysed, without their subclasses, which compute otherwise."""


def is_analysed(value: Value) -> bool:
    """Return whether the tools of governance know the kind of a value."""
    return type(value) in ANALYSED


def not_analysed(value: Value, bound: BoundType, tool: str, reason: str) -> NotAnalysed:
    """Return the statement that a tool does not analyse a value of a skill type."""
    name = f"skill_types.{bound.name}.{value.name}"
    return NotAnalysed(name, value.kind, tool, reason)


def unknown_values(bound: BoundType, tool: str, reason: str) -> tuple[NotAnalysed, ...]:
    """Return a statement for each value of a type whose kind the tools do not know."""
    return tuple(
        not_analysed(value, bound, tool, reason) for value in bound.values if not is_analysed(value)
    )


def unknown_inputs(value: Value) -> tuple[Value, ...]:
    """Return the values of unknown kinds that a value is or reads, also through others."""
    pending, seen, unknown = [value], set[Value](), list[Value]()
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            unknown += [] if is_analysed(current) else [current]
            pending += current.inputs
    return tuple(unknown)
