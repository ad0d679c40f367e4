"""The columns evaluator: the lowered form over NumPy columns, exact in 64-bit arithmetic.

Each arm is a ratio n/d, wanted as nano, rounded half-even once. The proved sizes choose the
cheapest strategy that is exact; q is the result, |·| a proved bound.

``constant``
    d is a number and |n · 10⁹/g| fits int64 (g cancels): integer division and its remainder.
``proposed``
    d is a number below 2⁶¹: doubles propose q, at most one off because the relative error of the
    numerator's terms stays below a quarter of 1/q; then the remainder n − q·d, exact modulo 2⁶⁴
    because it is below 2·d, corrects q.
``exact doubles``
    0 ≤ n ≤ d < 2²³: n · 10⁹ < 2⁵³ is exact, the quotient is rounded once, and a quotient that is no
    tie is at least 1/(2d) from one, more than half an ulp below 2³⁰: rint sees the right side.
``corrected doubles``
    0 ≤ n ≤ d < 2⁶¹ with n in int64: doubles propose q, at most one off; the remainder, exact
    modulo 2⁶⁴, corrects it.
``integers``
    anything else: the generated function of integers, row by row.

Rows outside an arm hold harmless garbage: they are overwritten by the arm that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd

import numpy as np
import numpy.typing as npt

from tallystick.formula.branch_ranges import BranchRanges
from tallystick.formula.condition import Always, Both, Compare, Condition, Either, Opposite, parts
from tallystick.formula.integers import compile_integers
from tallystick.formula.polynomial import Monomial, Polynomial, is_constant
from tallystick.formula.program import Arm, Cell, Program
from tallystick.numbers.nano import NANO

Column = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Columns = Mapping[int, Column]

CHUNK = 1 << 14
"""Rows at a time: the columns of a formula then stay in the cache."""
_INT64 = 1 << 63
_DIVISOR = 1 << 61
_DOUBLE = 1 << 53
_EXACT = 1 << 23


class ColumnProgram:
    """A program with the strategy of each arm chosen; call it with columns."""

    def __init__(self, program: Program) -> None:
        """Choose the strategies; the generated function is made only if it is needed."""
        self.program = program
        self.strategies = strategies_of(program)
        self._integers = compile_integers(program) if "integers" in self.strategies else None

    def __call__(self, columns: Sequence[Column], rows: int) -> Column:
        """The value of every row, in nano.

        Args:
            columns: an int64 column for each of ``program.inputs``, published values in nano.
            rows: how many rows there are.
        """
        if self._integers is not None:
            if not columns:
                return np.full(rows, self._integers(), np.int64)
            return np.fromiter(map(self._integers, *(c.tolist() for c in columns)), np.int64, rows)
        result = np.empty(rows, np.int64)
        with np.errstate(all="ignore"):
            for start in range(0, rows, CHUNK):
                stop = min(start + CHUNK, rows)
                self._chunk([column[start:stop] for column in columns], result[start:stop])
        return result

    def _chunk(self, columns: Sequence[Column], result: Column) -> None:
        given: dict[int, Column] = {}
        for (index, atom), column in zip(self.program.inputs, columns, strict=True):
            given[index] = column if atom.unit == 1 else column // atom.unit
        for index, cell in self.program.cells:
            given[index] = _cell(cell, given, len(result))
        arms = self.program.arms
        _select(arms, given, lambda i: _quotient(arms[i], self.strategies[i], given), result)


def strategies_of(program: Program) -> tuple[str, ...]:
    """The strategy of each arm, by the names of this module's docstring."""
    cells = [pair for _, cell in program.cells for pair in zip(cell.arms, cell.values, strict=True)]
    narrow = all(_fits(arm.when, arm.scope) for arm in program.arms) and all(
        _fits(arm.when, arm.scope) and arm.known.size(part) < _INT64 for arm, part in cells
    )
    return tuple(_strategy(arm) if narrow else "integers" for arm in program.arms)


def _fits(condition: Condition, scope: BranchRanges) -> bool:
    if isinstance(condition, Compare):
        return scope.size(condition.polynomial) < _INT64
    return all(_fits(part, scope) for part in parts(condition))


def _strategy(arm: Arm) -> str:
    known = arm.known
    numerator, denominator = known.size(arm.numerator), known.size(arm.denominator)
    if is_constant(arm.denominator):
        return _constant_strategy(arm, numerator)
    low, high = arm.bounds()
    if low < 0 or high > 1 or numerator >= _INT64 or denominator >= _DIVISOR:
        return "integers"
    return "exact doubles" if max(numerator, denominator) < _EXACT else "corrected doubles"


def _constant_strategy(arm: Arm, numerator: int) -> str:
    times, divisor = _nano_over(arm.denominator[()])
    size = times * numerator
    if size + 2 * divisor < _INT64:
        return "constant"
    # a term of k atoms rounds k conversions, k products and its coefficient; then the terms add up
    roundings = len(arm.numerator) + 2 * max(map(len, arm.numerator), default=0) + 2
    near = size * roundings < divisor * (_DOUBLE // 4) and size // divisor < _DOUBLE // 8
    return "proposed" if divisor < _DIVISOR and near else "integers"


def _nano_over(denominator: int) -> tuple[int, int]:
    shared = gcd(NANO, denominator)
    return NANO // shared, denominator // shared


def _cell(cell: Cell, given: Columns, rows: int) -> Column:
    result = np.empty(rows, np.int64)
    values = cell.values
    _select(cell.arms, given, lambda i: _polynomial(values[i], given), result)
    return result


def _select(
    arms: Sequence[Arm],
    given: Columns,
    value: Callable[[int], Column],
    result: Column,
) -> None:
    """First match wins: earlier arms are written over later ones."""
    result[:] = value(len(arms) - 1)
    for i in reversed(range(len(arms) - 1)):
        np.copyto(result, value(i), where=_condition(arms[i].when, given))


def _condition(condition: Condition, given: Columns) -> Truths | bool:
    match condition:
        case Always(holds):
            return holds
        case Opposite(inner):
            return np.logical_not(_condition(inner, given))
        case Both(first, second):
            return np.logical_and(_condition(first, given), _condition(second, given))
        case Either(first, second):
            return np.logical_or(_condition(first, given), _condition(second, given))
        case Compare(polynomial, relation):
            return _compare(polynomial, relation, given)


def _compare(polynomial: Polynomial, relation: str, given: Columns) -> Truths:
    value = _polynomial({m: c for m, c in polynomial.items() if m}, given)
    limit = -polynomial.get((), 0)
    if relation == "<":
        return value < limit
    return value <= limit if relation == "<=" else value == limit


def _polynomial(polynomial: Polynomial, given: Columns) -> Column:
    """The polynomial of every row; one row when no column is read."""
    total = np.zeros(1, np.int64)
    for position, (monomial, coefficient) in enumerate(polynomial.items()):
        term = _term(monomial, coefficient, given)
        total = total + term if position else term
    return total


def _term(monomial: Monomial, coefficient: int, given: Columns) -> Column:
    if not monomial:
        return np.array([coefficient], np.int64)
    term = given[monomial[0]]
    for index in monomial[1:]:
        term = term * given[index]
    # a coefficient beyond 64 bits belongs to a term that is proved to be 0
    return term if coefficient == 1 else term * _wrapped(coefficient)


def _wrapped(value: int) -> int:
    """The value modulo 2⁶⁴, as a signed integer."""
    return (value + _INT64) % (2 * _INT64) - _INT64


def _quotient(arm: Arm, strategy: str, given: Columns) -> Column:
    if strategy in ("constant", "proposed"):
        times, divisor = _nano_over(arm.denominator[()])
        scaled = {m: c * times for m, c in arm.numerator.items()}
        if strategy == "proposed":
            return _proposed(scaled, divisor, given)
        return _divided(_polynomial(scaled, given), divisor)
    numerator, denominator = (
        _polynomial(arm.numerator, given),
        _polynomial(arm.denominator, given),
    )
    guess = np.rint(numerator * 1e9 / denominator).astype(np.int64)
    if strategy == "exact doubles":
        return guess
    return _corrected(guess, numerator * NANO, denominator)


def _divided(numerator: Column, divisor: int) -> Column:
    if divisor == 1:
        return numerator
    quotient = numerator // divisor
    twice = 2 * (numerator - quotient * divisor) + (quotient & 1)
    return quotient + (twice > divisor)


def _proposed(numerator: Polynomial, divisor: int, given: Columns) -> Column:
    wrapped, double = _both(numerator, given)
    return _corrected(np.rint(double / divisor).astype(np.int64), wrapped, divisor)


def _both(polynomial: Polynomial, given: Columns) -> tuple[Column, npt.NDArray[np.float64]]:
    """The polynomial modulo 2⁶⁴, and in doubles."""
    wrapped, double = np.zeros(1, np.int64), np.zeros(1)
    for monomial, coefficient in polynomial.items():
        whole = np.array([_wrapped(coefficient)], np.int64)
        approximate = np.array([float(coefficient)])
        for index in monomial:
            whole, approximate = whole * given[index], approximate * given[index]
        wrapped, double = wrapped + whole, double + approximate
    return wrapped, double


def _corrected(guess: Column, numerator: Column, divisor: Column | int) -> Column:
    """The half-even quotient from a guess at most one off; sums wrap, the remainder is exact."""
    twice = 2 * (numerator - guess * divisor)
    odd = guess & 1
    corrected: Column = guess + (twice + odd > divisor) - (odd - twice > divisor)
    return corrected
