"""The columns evaluator: the lowered form over NumPy columns, exact in 64-bit arithmetic.

Each arm is a ratio n/d of integer polynomials, wanted as nano, rounded half-even once. **Doubles
propose, whole numbers confirm.** Let q = n · 10⁹ / d and u = 2⁻⁵³. The proposal is the whole number
nearest to a quotient of doubles, whose error is bounded once, when the program is made:

``whole``
    n and d fit int64, so that both are exact and few roundings are left: where n · 10⁹ and d are
    below 2⁵³ there is one, of at most half an ulp of the largest q; else there are four, which
    together are less than 5u|q|.
``doubles``
    d is a number, and n may be larger: each of its terms is a product of doubles. A term of k atoms
    rounds k conversions, k products and its coefficient, then the terms add up: so the error is at
    most u · roundings · (the size of n · 10⁹) / d and 2u|q|; two roundings more than there are
    cover what is of higher order.
``integers``
    anything else: the generated function of integers, row by row.

A row whose quotient is further from every half than the bound is decided. An error of less than
1/(2d) is none: a quotient that is no tie is at least that far from a half, and a tie is a double.
The other rows are settled by the remainder of n · 10⁹ by d, which is exact modulo 2⁶⁴, as the
proposal is at most one off and d is below 2⁶¹.

Rows outside an arm hold harmless garbage: they are overwritten by the arm that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, gcd
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.branch_ranges import BranchRanges
from tallystick.formula.condition import Always, Both, Compare, Condition, Either, Opposite, parts
from tallystick.formula.integers import compile_integers
from tallystick.formula.polynomial import (
    ONE,
    Monomial,
    Polynomial,
    add,
    content,
    is_constant,
    scale,
)
from tallystick.formula.program import Arm, Cell, Program
from tallystick.numbers.nano import NANO, publish

Column = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
"""Positions of rows."""
Columns = Mapping[int, Column]

CHUNK = 1 << 15
"""Rows at a time: the columns of a formula then stay in the cache."""
_INT64 = 1 << 63
_DIVISOR = 1 << 61
_DOUBLE = 1 << 53
_UNIT = Fraction(1, _DOUBLE)
_NEAR = Fraction(1, 4)
"""The largest error of a proposal: more than half of the rows are then decided by doubles."""
_BYTE = 1 << 7
_TWO = 2


class ColumnProgram:
    """A program with the proposal of each arm chosen; call it with columns.

    Attributes:
        program: the lowered form.
        proposals: one an arm; none where the generated function of integers decides every row.
    """

    def __init__(self, program: Program) -> None:
        """Bound the errors; the generated function is made only if it is needed."""
        self.program = program
        self.proposals = _proposals(program)
        self._integers = None if self.proposals else compile_integers(program)

    def __call__(self, columns: Sequence[Column], rows: int) -> Column:
        """Return the value of every row, in nano.

        Args:
            columns: an int64 column for each of ``program.inputs``, published values in nano.
            rows: how many rows there are.
        """
        if self._integers is not None:
            if not columns:
                return np.full(rows, self._integers(), np.int64)
            return np.fromiter(map(self._integers, *(c.tolist() for c in columns)), np.int64, rows)
        result = np.empty(rows, np.int64)
        # rows outside an arm may divide by 0 in it; they are overwritten
        with np.errstate(all="ignore"):
            for start in range(0, rows, CHUNK):
                stop = min(start + CHUNK, rows)
                self._chunk([column[start:stop] for column in columns], result[start:stop])
        return result

    @cached_property
    def _conditions(self) -> _Function:
        """Gives the condition of each arm but the last."""
        writer = _Writer(self.program)
        conditions = [writer.condition(arm.when) for arm in self.program.arms[:-1]]
        return writer.function(f"({''.join(f'{condition}, ' for condition in conditions)})")

    def _chunk(self, columns: Sequence[Column], result: Column) -> None:
        # counted in the units of its domain a fact is smaller, and more of it is whole
        columns_of_chunk = {
            index: column if atom.unit == 1 else column // atom.unit
            for (index, atom), column in zip(self.program.inputs, columns, strict=True)
        }
        _select(self._conditions.of(columns_of_chunk), self.proposals, columns_of_chunk, result)


def _proposals(program: Program) -> tuple[Proposal, ...]:
    """Return the proposal of each arm; none where one of them cannot be bounded."""
    cells = [pair for _, cell in program.cells for pair in zip(cell.arms, cell.values, strict=True)]
    narrow = all(_fits(arm.when, arm.scope) for arm in program.arms) and all(
        _fits(arm.when, arm.scope) and arm.known.size(part) < _INT64 for arm, part in cells
    )
    # cells are shared by arms, so one that may overflow sends every arm to the integers
    proposals = [_proposal(program, arm) for arm in program.arms] if narrow else []
    known = tuple(each for each in proposals if each is not None)
    return known if len(known) == len(program.arms) else ()


def _fits(condition: Condition, scope: BranchRanges) -> bool:
    if isinstance(condition, Compare):
        return scope.size(condition.polynomial) < _INT64
    return all(_fits(part, scope) for part in parts(condition))


def _proposal(program: Program, arm: Arm) -> Proposal | None:
    """Return the proposal of an arm; None where its error is not small enough."""
    times, numerator, denominator = _scaled(arm)
    size, divisor = arm.known.size(numerator), arm.known.size(denominator)
    largest = max(map(abs, arm.bounds())) * NANO
    whole, fits = size < _INT64, times * size < _INT64
    if divisor >= _DIVISOR or not (whole or is_constant(denominator)):
        return None
    if denominator == ONE and fits:
        error = Fraction(0)
    elif not whole:
        # a term of k atoms rounds k conversions, k products and its coefficient; then terms add up
        roundings = len(numerator) + 2 * max(map(len, numerator)) + 2
        error = _UNIT * roundings * times * size / denominator[()] + 2 * _UNIT * largest
    elif max(times * size, divisor) < _DOUBLE:
        error = _UNIT * 2 ** ceil(largest).bit_length() / 2
        error = Fraction(0) if error * 2 * divisor < 1 else error
    else:
        error = 5 * _UNIT * largest
    if error >= _NEAR:
        return None
    number = None if arm.number is None else publish(arm.number)
    return Proposal(program, number, times, numerator, denominator, whole, fits, error)


def _scaled(arm: Arm) -> tuple[int, Polynomial, Polynomial]:
    """Return what the numerator is multiplied with, and both sides without what they share."""
    if not is_constant(arm.denominator):
        return NANO, arm.numerator, arm.denominator
    shared = gcd(NANO, arm.denominator[()])
    return NANO // shared, arm.numerator, {(): arm.denominator[()] // shared}


@attrs.frozen(eq=False)
class _Function:
    """A generated function of columns.

    Attributes:
        inputs: the numbers of the atoms that it reads.
        call: the function.
    """

    inputs: tuple[int, ...]
    call: Callable[..., Any]

    def of(self, given: Columns, rows: Rows | None = None) -> Any:  # noqa: ANN401  # as generated
        """Return the function's result over these rows; None is all of them."""
        columns = [given[index] for index in self.inputs]
        return self.call(*(columns if rows is None else [c.take(rows) for c in columns]))


@attrs.frozen(eq=False, slots=False)
class Proposal:
    """The value of an arm in nano: a number, or what doubles propose and whole numbers confirm.

    Attributes:
        program: that has the arm.
        number: that it is in every row; None where it varies.
        times: what the numerator is multiplied with, to be nano.
        numerator: of the ratio.
        denominator: of the ratio.
        is_whole: whether numerator and denominator are int64; else they are doubles.
        fits: whether the numerator is int64 when it is multiplied, too.
        error: the largest error of the quotient, in nano; 0 where no row can be rounded wrongly.
    """

    program: Program
    number: int | None
    times: int
    numerator: Polynomial
    denominator: Polynomial
    is_whole: bool
    fits: bool
    error: Fraction

    @property
    def _is_divided(self) -> bool:
        """Whether the value is a quotient, and not the numerator itself."""
        return self.denominator != ONE or not self.fits

    @cached_property
    def _proposed(self) -> _Function:
        """Gives the quotient of every row in doubles, or the value that nothing divides."""
        writer = _Writer(self.program)
        if not self.is_whole:
            above = writer.in_doubles(scale(self.numerator, self.times))
        elif self.fits:
            above = writer.polynomial(scale(self.numerator, self.times))
        else:
            above = f"{writer.polynomial(self.numerator)} * {float(self.times)!r}"
        below = f" / {writer.divisor(self.denominator)}" if self._is_divided else ""
        return writer.function(f"{above}{below}")

    @cached_property
    def _confirmed(self) -> _Function:
        """Gives the numerator, times 10⁹, and the denominator, both modulo 2⁶⁴."""
        writer = _Writer(self.program)
        above = writer.polynomial(scale(self.numerator, self.times))
        return writer.function(f"{above}, {writer.divisor(self.denominator)}")

    def of(self, given: Columns, rows: Rows | None) -> Column | int:
        """Return the value in these rows; None is all of them."""
        if self.number is not None:
            return self.number
        quotient = self._proposed.of(given, rows)
        if not self._is_divided:
            whole: Column = quotient
            return whole
        nearest = np.rint(quotient)
        result: Column = nearest.astype(np.int64)
        if not self.error:
            return result
        np.abs(np.subtract(quotient, nearest, out=quotient), out=quotient)
        # of rows outside the arm the quotient may be no number
        unsure = np.flatnonzero(~(quotient < 1 / 2 - float(self.error)))
        if len(unsure):
            sides = self._confirmed.of(given, unsure if rows is None else rows[unsure])
            result[unsure] = corrected(result.take(unsure), *sides)
        return result


class _Writer:
    """Writes a function of columns; what is read twice is computed once.

    As in `integers`, the source is made from polynomials and atom numbers only.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._lines: list[str] = []
        self._names: dict[object, str] = {}
        self._inputs: list[int] = []

    def function(self, result: str) -> _Function:
        """Return the function that gives a result, an expression over what was written."""
        parameters = ", ".join(f"x{index}" for index in self._inputs)
        lines = [f"def value({parameters}):", *self._lines, f"    return {result}"]
        namespace: dict[str, Any] = {"np": np}
        exec("\n".join(lines), namespace)  # noqa: S102  # made of integers and atom numbers only
        return _Function(tuple(self._inputs), namespace["value"])

    def condition(self, condition: Condition) -> str:
        """Return code for the rows in which a condition holds."""
        return _condition(condition, self)

    def polynomial(self, polynomial: Polynomial) -> str:
        """Return the value of a polynomial; a number when it reads no atom."""
        rest = wrapped(polynomial.get((), 0))
        total = self.sum(polynomial)
        if not total:
            return f"np.int64({rest})"
        return f"({total} + {rest})" if rest else total

    def sum(self, polynomial: Polynomial) -> str:
        """The terms of a polynomial that read atoms, the positive ones first; none is nothing."""
        terms = sorted(((c, m) for m, c in polynomial.items() if m), reverse=True)
        signs = [
            "-" if coefficient < 0 < position else "+"
            for position, (coefficient, _) in enumerate(terms)
        ]
        parts = [
            self._term(-c if sign == "-" else c, m)
            for sign, (c, m) in zip(signs, terms, strict=True)
        ]
        text = " ".join(f"{sign} {part}" for sign, part in zip(signs, parts, strict=True))
        return self._named(text.removeprefix("+ ")) if len(terms) > 1 else "".join(parts)

    def in_doubles(self, polynomial: Polynomial) -> str:
        """Return the polynomial in doubles."""
        return "({})".format(
            " + ".join(
                "*".join([repr(float(c)), *(self._atom(index) for index in m)])
                for m, c in polynomial.items()
            )
        )

    def divisor(self, polynomial: Polynomial) -> str:
        """Return a polynomial to divide by; one that reads no atom as the plain number."""
        return str(polynomial[()]) if is_constant(polynomial) else self.polynomial(polynomial)

    def _term(self, coefficient: int, monomial: Monomial) -> str:
        atoms = [self._atom(index) for index in monomial]
        if coefficient == 1:
            return self._named(" * ".join(atoms)) if len(atoms) > 1 else atoms[0]
        # a coefficient beyond 64 bits belongs to a term that is proved to be 0
        return self._named(" * ".join([*atoms, str(wrapped(coefficient))]))

    def _atom(self, index: int) -> str:
        atom = self.program.atoms[index]
        if isinstance(atom, Cell):
            if index not in self._names:
                self._names[index] = self._line(self._cell(atom))
            return self._names[index]
        if index not in self._inputs:
            self._inputs.append(index)
        return f"x{index}"

    def _cell(self, cell: Cell) -> str:
        values = [self.polynomial(value) for value in cell.values]
        larger = _larger(cell)
        if larger is not None:
            return f"np.{'maximum' if larger else 'minimum'}({', '.join(values)})"
        text = values[-1]
        for arm, value in zip(reversed(cell.arms[:-1]), reversed(values[:-1]), strict=True):
            text = f"np.where({self.condition(arm.when)}, {value}, {text})"
        return text

    def _named(self, text: str) -> str:
        if text not in self._names:
            self._names[text] = self._line(text)
        return self._names[text]

    def _line(self, text: str) -> str:
        name = f"y{len(self._lines)}"
        self._lines.append(f"    {name} = {text}")
        return name


def _larger(cell: Cell) -> bool | None:
    """Return True where a cell is the larger of two values, False for the smaller; else None.

    Outside its arm, too, each value must fit.
    """
    if len(cell.arms) != _TWO or not isinstance(when := cell.arms[0].when, Compare):
        return None
    first, second = cell.values
    apart = add(second, first, -1)
    compared, shared = when.polynomial, content(apart)
    scope = cell.arms[0].scope
    if when.relation == "=" or not shared or any(scope.size(v) >= _INT64 for v in cell.values):
        return None
    if dict(scale(compared, shared)) == apart:
        return True
    return False if dict(scale(compared, -shared)) == apart else None


def _condition(condition: Condition, writer: _Writer) -> str:
    match condition:
        case Always(holds):
            return f"np.bool_({holds})"
        case Opposite(inner):
            return f"~{_condition(inner, writer)}"
        case Both(first, second):
            return f"({_condition(first, writer)} & {_condition(second, writer)})"
        case Either(first, second):
            return f"({_condition(first, writer)} | {_condition(second, writer)})"
        case Compare(polynomial, relation):
            sign = "==" if relation == "=" else relation
            total = writer.sum(polynomial) or "np.int64(0)"
            return f"({total} {sign} {-polynomial.get((), 0)})"


def _select(
    conditions: Sequence[Truths], values: Sequence[Proposal], given: Columns, result: Column
) -> None:
    """First match wins; of the last the condition is not asked.

    Branches of the processor that depend on data cost more than arithmetic, so numbers are looked
    up, the arm of most rows is computed for all, and the other arms for their own rows.
    """
    masks = _apart(conditions, len(result))
    varying = [arm for arm, value in enumerate(values) if value.number is None]
    if not varying:
        result[:] = _looked_up([value.number or 0 for value in values], masks)
        return
    counts = [np.count_nonzero(masks[arm]) for arm in varying]
    most, rest = varying[counts.index(max(counts))], list(range(len(values)))
    if 2 * max(counts) >= len(result):
        result[:] = values[most].of(given, None)
        rest = [arm for arm in rest if arm != most]
    for arm in rest:
        rows = np.flatnonzero(masks[arm])
        if len(rows):
            result[rows] = values[arm].of(given, rows)


def _apart(conditions: Sequence[Truths], rows: int) -> list[Truths]:
    """Return the rows of each arm; none is in two."""
    masks: list[Truths] = []
    rest: Truths = np.ones(rows, np.bool_)
    for condition in conditions:
        masks.append(rest & condition)
        rest ^= masks[-1]
    return [*masks, rest]


def _looked_up(numbers: Sequence[int], masks: Sequence[Truths]) -> Column | int:
    """For each row the number whose mask has it."""
    if len(numbers) == 1:
        return numbers[0]
    places = masks[1].view(np.int8)
    if len(numbers) > _TWO:
        kind = np.int8 if len(masks) < _BYTE else np.int16
        places = places.astype(kind)
        for arm, mask in enumerate(masks[2:], 2):
            places += mask.view(np.int8) * kind(arm)
    return np.array(numbers, np.int64).take(places, mode="clip")


def wrapped(value: int) -> int:
    """Return the value modulo 2⁶⁴, as a signed integer."""
    return (value + _INT64) % (2 * _INT64) - _INT64


def corrected(guess: Column, numerator: Column, divisor: Column | int) -> Column:
    """The half-even quotient from a guess at most one off; sums wrap, the remainder is exact."""
    twice = 2 * (numerator - guess * divisor)
    odd = guess & 1
    result: Column = guess + (twice + odd > divisor) - (odd - twice > divisor)
    return result
