"""Sweeps: rule sets that are the baseline with some of its numbers changed.

A sweep is ``PATH=START:STOP:STEP``, in exact decimals; the values are START, START + STEP and so on
up to STOP, which is the last when it is hit exactly. Several sweeps give every combination. PATH is
one of `rules.edit` that leads to a number; weights are scaled as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import attrs

from tallystick.errors import TallystickError
from tallystick.rules.edit import is_path, read_number

_DIGITS = 64
"""More than any number of a rule set has."""
Point = tuple[tuple[str, Decimal], ...]
"""One value for the path of each sweep."""


@attrs.frozen
class Sweep:
    """The values that one number takes.

    Attributes:
        path: as it was given.
        start: the first.
        stop: none is above it.
        step: from one to the next.
    """

    path: str
    start: Decimal
    stop: Decimal
    step: Decimal

    @property
    def count(self) -> int:
        """How many values there are."""
        return int((Fraction(self.stop) - Fraction(self.start)) / Fraction(self.step)) + 1

    @property
    def values(self) -> list[Decimal]:
        """The values, ascending."""
        with localcontext(prec=_DIGITS):
            return [self.start + self.step * place for place in range(self.count)]


def parse_sweep(text: str) -> Sweep:
    """The sweep that ``PATH=START:STOP:STEP`` is.

    Raises:
        TallystickError: it is not one, or its steps never reach the end.
    """
    path, equals, values = text.partition("=")
    parts = values.split(":")
    usual = "expected PATH=START:STOP:STEP, such as axes.NAME.weight=0.05:0.30:0.05"
    if not equals or not is_path(path) or len(parts) != len(("start", "stop", "step")):
        raise TallystickError(f"found the sweep {text!r}, {usual}")
    numbers = [number for number in map(read_number, parts) if number is not None]
    if len(numbers) != len(parts):
        raise TallystickError(f"found the sweep {text!r}, {usual} with at most nine decimals")
    start, stop, step = numbers
    if step <= 0:
        raise TallystickError(f"found the step {step} of {path}, expected one above 0")
    if stop < start:
        raise TallystickError(
            f"found {start}:{stop} for {path}, expected a STOP that steps from START reach"
        )
    return Sweep(path, start, stop, step)


def points(sweeps: Sequence[Sweep], most: int) -> list[Point]:
    """Every combination of the values, the last sweep turning fastest.

    Raises:
        TallystickError: two sweeps are of one path, or there are more than ``most`` combinations.
    """
    for place, sweep in enumerate(sweeps):
        if any(sweep.path == other.path for other in sweeps[:place]):
            raise TallystickError(f"found two sweeps of {sweep.path}, expected each path once")
    count = 1
    for sweep in sweeps:
        count *= sweep.count
    if count > most:
        raise TallystickError(
            f"found sweeps of {count} candidates, expected at most {most}: make the steps larger"
        )
    axes = [[(each.path, value) for value in each.values] for each in sweeps]
    return list(product(*axes)) if axes else []
