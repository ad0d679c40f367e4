"""The columns evaluator: the lowered form over NumPy columns, exact in 64-bit arithmetic.

Each arm is a ratio n/d of integer polynomials, wanted as nano, rounded half-even once. **Doubles
propose, whole numbers confirm.** Let q = n · 10⁹ / d and u = 2⁻⁵³. The proposal is the whole number
nearest to a quotient of doubles, whose error is bounded once, when the program is made: n and d fit
int64, so that both are exact and few roundings are left. Where n · 10⁹ and d are below 2⁵³ there is
one, of at most half an ulp of the largest q; else there are four, which together are less than
5u|q|. Of a program in which something does not fit, the generated function of integers decides
every row.

A row whose quotient is further from every half than the bound is decided. An error of less than
1/(2d) is none: a quotient that is no tie is at least that far from a half, and a tie is a double.
The generated function of integers decides the other rows.

Rows outside an arm hold harmless garbage: they are overwritten by the arm that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, gcd
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.branch_ranges import BranchRanges
from tallystick.formula.generated import COLUMNS, compile_integers
from tallystick.formula.polynomial import ONE, Compare, Condition, Polynomial, is_constant, scale
from tallystick.formula.program import Arm, Program
from tallystick.numbers.doubles import nearest
from tallystick.numbers.nano import NANO, publish

Column = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
"""Positions of rows."""

CHUNK = 1 << 15
"""Rows at a time: the columns of a formula then stay in the cache."""
_INT64 = 1 << 63
_DOUBLE = 1 << 53
_UNIT = Fraction(1, _DOUBLE)
_NEAR = Fraction(1, 4)
"""The largest error of a proposal: more than half of the rows are then decided by doubles."""


class ColumnProgram:
    """A program with the proposal of each arm chosen; call it with columns.

    Attributes:
        program: the lowered form.
        proposals: one an arm; none where the generated function of integers decides every row.
    """

    def __init__(self, program: Program) -> None:
        """Bound the errors; functions are generated when they are needed."""
        self.program = program
        self.proposals = _proposals(program)

    def __call__(self, columns: Sequence[Column], rows: int) -> Column:
        """Return the value of every row, in nano.

        Args:
            columns: an int64 column for each of ``program.inputs``, published values in nano.
            rows: how many rows there are.
        """
        if not columns:
            return np.full(rows, self._integers(), np.int64)
        if not self.proposals:
            return self._decided(columns)
        result = np.empty(rows, np.int64)
        # rows outside an arm may divide by 0 in it; they are overwritten
        with np.errstate(all="ignore"):
            for start in range(0, rows, CHUNK):
                stop = min(start + CHUNK, rows)
                self._chunk([column[start:stop] for column in columns], result[start:stop])
        return result

    @cached_property
    def _integers(self) -> Callable[..., int]:
        return compile_integers(self.program)

    @cached_property
    def _proposed(self) -> Callable[..., Any]:
        """Gives the condition of each arm but the last, and what each arm proposes."""
        conditions = [COLUMNS.condition(arm.when) for arm in self.program.arms[:-1]]
        values = [proposal.source for proposal in self.proposals]
        return COLUMNS.function(
            self.program,
            [f"return [{', '.join(conditions)}], [{', '.join(values)}]"],
            chosen=chosen,
        )

    def _decided(self, columns: Sequence[Column]) -> Column:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.array([self._integers(*row) for row in rows], np.int64)

    def _chunk(self, columns: Sequence[Column], result: Column) -> None:
        conditions, values = self._proposed(*columns)
        nano, is_open = self.proposals[-1].nearest(values[-1])
        for condition, proposal, value in zip(
            reversed(conditions), self.proposals[-2::-1], values[-2::-1], strict=True
        ):
            nearest, open_here = proposal.nearest(value)
            nano = chosen(condition, nearest, nano)
            is_open = condition & open_here | ~condition & is_open
        result[:] = nano
        rows = np.flatnonzero(is_open)
        if len(rows):
            result[rows] = self._decided([column.take(rows) for column in columns])


def chosen(condition: Truths, value: Column | int, otherwise: Column | int) -> Column:
    """Return one value where a condition holds, and another where it does not."""
    # branches of the processor that depend on data cost ten times what arithmetic does
    return otherwise + condition * (value - otherwise)


def _proposals(program: Program) -> tuple[Proposal, ...]:
    """Return the proposal of each arm; none where one of them cannot be bounded."""
    cells = [pair for _, cell in program.cells for pair in zip(cell.arms, cell.values, strict=True)]
    narrow = all(_fits(arm.when, arm.scope) for arm in program.arms) and all(
        _fits(arm.when, arm.scope) and arm.known.size(part) < _INT64 for arm, part in cells
    )
    # cells are shared by arms, so one that may overflow sends every arm to the integers
    proposals = [_proposal(arm) for arm in program.arms] if narrow else []
    known = tuple(each for each in proposals if each is not None)
    return known if len(known) == len(program.arms) else ()


def _fits(condition: Condition, scope: BranchRanges) -> bool:
    if isinstance(condition, Compare):
        return scope.size(condition.polynomial) < _INT64
    return all(_fits(part, scope) for part in condition.parts)


@attrs.frozen(eq=False)
class Proposal:
    """The value of an arm in nano, as doubles propose it.

    Attributes:
        source: code for the quotient of every row in doubles, or for the nano themselves.
        is_divided: whether the code is for a quotient.
        error: the largest error of the quotient, in nano; 0 where no row can be rounded wrongly.
    """

    source: str
    is_divided: bool = False
    error: Fraction = Fraction()

    def nearest(self, value: Any) -> tuple[Column | int, Truths | bool]:  # noqa: ANN401  # as generated
        """Return the nano of every row by the value of the code, and whether a row stays open."""
        if not self.is_divided:
            return value, False
        if not self.error:
            return np.rint(value).astype(np.int64), False
        # of rows outside the arm the quotient may be no number
        return nearest(value, float(self.error))


def _proposal(arm: Arm) -> Proposal | None:
    """Return the proposal of an arm; None where its error is not small enough."""
    if arm.number is not None:
        return Proposal(str(publish(arm.number)))
    times, numerator, denominator = _scaled(arm)
    size, divisor = arm.known.size(numerator), arm.known.size(denominator)
    if max(size, divisor) >= _INT64:
        return None
    above = f"{COLUMNS.polynomial(numerator)} * {float(times)!r}"
    if times * size < _INT64:
        above = COLUMNS.polynomial(scale(numerator, times))
        if denominator == ONE:
            return Proposal(above)
    largest = max(map(abs, arm.bounds())) * NANO
    if max(times * size, divisor) < _DOUBLE:
        error = _UNIT * 2 ** ceil(largest).bit_length() / 2
        error = Fraction(0) if error * 2 * divisor < 1 else error
    else:
        error = 5 * _UNIT * largest
    if error >= _NEAR:
        return None
    return Proposal(f"{above} / {COLUMNS.polynomial(denominator)}", True, error)


def _scaled(arm: Arm) -> tuple[int, Polynomial, Polynomial]:
    """Return what the numerator is multiplied with, and both sides without what they share."""
    if not is_constant(arm.denominator):
        return NANO, arm.numerator, arm.denominator
    shared = gcd(NANO, arm.denominator[()])
    return NANO // shared, arm.numerator, {(): arm.denominator[()] // shared}
