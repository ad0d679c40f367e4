"""Formulas over many rows: doubles with a bound, and the reference where that does not decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tallystick.formula.balls import BallProgram, Balls
from tallystick.formula.evaluate import evaluate
from tallystick.formula.tree import Node, leaves
from tallystick.numbers import real
from tallystick.numbers.real import Exact

_BITS = 64


def published_rows(tree: Node, rows: Sequence[Mapping[str, Exact]]) -> list[int]:
    """The value of a tree in each row, in nano, rounded half-even once.

    Args:
        tree: its parameters are bound, and it reads other values alone.
        rows: the exact value of each of them, by name.

    Raises:
        UndecidedError: a row needs what the most bits do not decide.
    """
    inputs = leaves(tree, "published")
    names = [str(node.data[0]) for node in inputs]
    balls = [_balls([row[name] for row in rows]) for name in names]
    program = BallProgram(tree, inputs)
    found = program.published(
        balls, len(rows), lambda row: real.publish(evaluate(tree, {}, rows[row]))
    )
    return [int(nano) for nano in found]


def _balls(values: Sequence[Exact]) -> Balls:
    rational = [value for value in values if isinstance(value, Fraction)]
    if len(rational) == len(values):
        return Balls.of_fractions(rational)
    ends = [_enclosure(value) for value in values]
    low, high = (np.array([_double(end[side]) for end in ends]) for side in (0, 1))
    middle = (low + high) / 2
    # each end is a double near the true one, by half a unit in its last place
    widest = np.maximum(np.abs(low), np.abs(high)) * 2.0**-50 + 2.0**-1000
    return Balls(middle, (high - low) / 2 + widest)


def _enclosure(value: Exact) -> tuple[int, int]:
    if isinstance(value, Fraction):
        low = (value.numerator << _BITS) // value.denominator
        return low, low + 1
    return value.enclosure(_BITS)


def _double(end: int) -> float:
    return float(Fraction(end, 1 << _BITS))
