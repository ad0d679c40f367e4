"""Formulas over many rows: doubles with a bound, and the reference where that does not decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from tallystick.formula.balls import BallProgram, Balls
from tallystick.formula.evaluate import evaluate
from tallystick.formula.tree import Node, leaves
from tallystick.numbers import real
from tallystick.numbers.real import Exact
from tallystick_allocation.column import Column

_BITS = 64
_INT64 = 1 << 63


def published_rows(
    tree: Node,
    inputs: Mapping[str, Column],
    places: Sequence[int],
    row: Callable[[int], Mapping[str, Exact]],
) -> list[int]:
    """Return the value of a tree at some places, in nano, rounded half-even once.

    Args:
        tree: its parameters are bound, and it reads other values alone.
        inputs: these, by name; each has a value at the places.
        places: the places.
        row: gives the exact values at a place.

    Raises:
        UndecidedError: a place needs what the most bits do not decide.
    """
    read = leaves(tree, "published")
    balls = [_balls(inputs[str(node.data[0])], places) for node in read]
    program = BallProgram(tree, read)
    result = program.published(
        balls, len(places), lambda n: real.publish(evaluate(tree, {}, row(places[n])))
    )
    return [int(nano) for nano in result]


def _balls(column: Column, places: Sequence[int]) -> Balls:
    whole = [n for n in map(column.numerators.__getitem__, places) if isinstance(n, int)]
    if len(whole) == len(places) and max(column.denominator, *map(abs, whole)) < _INT64:
        return Balls.of_integers(np.array(whole, np.int64), column.denominator)
    return _of_exact([column.at(place) for place in places])


def _of_exact(values: Sequence[Exact]) -> Balls:
    rational = [value for value in values if isinstance(value, Fraction)]
    if len(rational) == len(values):
        return Balls.of_fractions(rational)
    sides = zip(*(real.enclosed(value, _BITS) for value in values), strict=True)
    low, high = (np.array([float(Fraction(end, 1 << _BITS)) for end in side]) for side in sides)
    middle = (low + high) / 2
    # each end is a double near the true one, by half a unit in its last place
    widest = np.maximum(np.abs(low), np.abs(high)) * 2.0**-50 + 2.0**-1000
    return Balls(middle, (high - low) / 2 + widest)
