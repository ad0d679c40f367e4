"""Checks of gates that do nothing, or everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallystick.numbers.nano import to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.bound import BoundType
from tallystick.scoring.composite import Gate
from tallystick.scoring.lint import check
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.type_probe import Values, values_of
from tallystick_governance.ranges import composite_range


@check("gate-never-binds", "warning")
def _gate_never_binds(scorer: Scorer) -> Iterator[Finding]:
    """A gate never changes a composite.

    A gate that does nothing looks like a protection and is none. The possible values of the axis
    are all combinations of its facts, as far as they are few, else its proved range; a gate counts
    as binding when at one value below its edge the composite can be anything but what the gate
    makes it.

    Remedy: raise the edge above a value that the axis can have, or remove the gate.
    """
    for bound, index, gate, values in _gates(scorer):
        later = [g for g in bound.gates[index + 1 :] if _covers(g, gate)]
        if later:
            edge = to_text(later[0].below)
            message = f"a later gate below {edge} decides wherever this one does"
            yield Finding(_path(bound, index), message, _figures(bound, gate, values))
        elif not can_change(bound, gate):
            yield Finding(
                _path(bound, index),
                f"where {gate.axis} of {bound.name} is below the edge of its gate, the composite "
                f"is {to_text(gate.composite)} anyway",
                _figures(bound, gate, values),
            )


@check("gate-always-binds", "error")
def _gate_always_binds(scorer: Scorer) -> Iterator[Finding]:
    """A gate decides every composite.

    The largest value that the axis can have is below the edge of the gate, so every record gets the
    composite of the gate, whatever it has done.

    Remedy: lower the edge, or remove the gate.
    """
    for bound, index, gate, values in _gates(scorer):
        if values.high < gate.below:
            yield Finding(
                _path(bound, index),
                f"{gate.axis} of {bound.name} is at most {to_text(values.high)}, always below "
                f"{to_text(gate.below)}",
                _figures(bound, gate, values),
            )


@check("gate-passes-the-best-alone", "warning")
def _gate_passes_the_best_alone(scorer: Scorer) -> Iterator[Finding]:
    """A gate that nothing passes but the highest value of its axis.

    Of the values that the axis can have, only the highest is not below the edge of the gate, or,
    where they are too many to list, the edge is in their highest hundredth. So the smallest fault
    is worth as little as having done nothing. An axis of two values is left out: there a gate is a
    yes or a no.

    Remedy: lower the edge.
    """
    for bound, index, gate, values in _gates(scorer):
        if values.high < gate.below:
            continue  # it always binds
        if values.listed is not None:
            passing = [value for value in values.listed if value >= gate.below]
            is_total = len(passing) == 1 and len(values.listed) > _TWO
        else:
            is_total = _HUNDREDTH * (values.high - gate.below) < values.high - values.low
        if is_total:
            yield Finding(
                _path(bound, index),
                f"nothing passes the gate of {bound.name} on {gate.axis} below "
                f"{to_text(gate.below)} but {to_text(values.high)}, the highest",
                _figures(bound, gate, values),
            )


_TWO = 2
"""Number of values of an axis that is a yes or a no."""
_HUNDREDTH = 100
"""Number of parts of a range of which a gate in the highest lets hardly anything pass."""


def _gates(scorer: Scorer) -> Iterator[tuple[BoundType, int, Gate, Values]]:
    for bound in scorer.types.values():
        axes = {axis.name: axis for axis in bound.axes}
        for index, gate in enumerate(bound.gates):
            yield bound, index, gate, values_of(bound, axes[gate.axis])


def _covers(later: Gate, gate: Gate) -> bool:
    return later.axis == gate.axis and later.below >= gate.below


def can_change(bound: BoundType, gate: Gate, least: int = 0) -> bool:
    """Return whether the composite can be something else where a gate of the type decides it.

    Args:
        bound: the type.
        gate: the gate.
        least: the lowest value of its axis that is asked, in nano.
    """
    same = (gate.composite, gate.composite)
    axis = next(axis for axis in bound.axes if axis.name == gate.axis)
    ranges = values_of(bound, axis).below(gate.below)
    asked = [(max(low, least), high) for low, high in ranges if high >= least]
    return any(composite_range(bound, {gate.axis: interval}) != same for interval in asked)


def _path(bound: BoundType, place: int) -> KeyPath:
    return ("skill_types", bound.name, "gates", place)


def _figures(bound: BoundType, gate: Gate, values: Values) -> dict[str, Any]:
    listed = values.listed or ()
    beyond = min((v for v in listed if v >= gate.below), default=max(values.low, gate.below))
    below = [to_text(v) for v in listed if v < gate.below]
    return {
        "skill_type": bound.name,
        "axis": gate.axis,
        "below": to_text(gate.below),
        "values_below": below,
        "next_value": to_text(min(beyond, values.high)),
        "lowest": to_text(values.low),
        "highest": to_text(values.high),
    }
