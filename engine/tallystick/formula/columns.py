"""The columns evaluator: the lowered form over NumPy columns, exact in 64-bit arithmetic.

Each arm is a ratio n/d, wanted as nano, rounded half-even once. The proved sizes choose the
cheapest strategy that is exact; q is the result, |·| a proved bound.

``constant``
    d is a number and |n · 10⁹/g| fits int64 (g cancels): integer division and its remainder; below
    2⁵² doubles, whose quotient is rounded once: one that is no tie is at least 1/(2d) from one,
    which is more than half its ulp, and a tie is a double.
``proposed``
    d is a number below 2⁶¹: doubles propose q, at most one off because the relative error of the
    numerator's terms stays below a quarter of 1/q; then the remainder n − q·d, exact modulo 2⁶⁴
    because it is below 2·d, corrects q.
``exact doubles``
    0 ≤ n ≤ d < 2²³: n · 10⁹ < 2⁵³ is exact, the quotient is rounded once, and a quotient that is no
    tie is at least 1/(2d) from one, more than half an ulp below 2³⁰: rint sees the right side.
``corrected doubles``
    0 ≤ n ≤ d < 2⁶¹ with n in int64: doubles propose q, at most 2⁻²¹ off; near a half the
    remainder, exact modulo 2⁶⁴, corrects it.
``integers``
    anything else: the generated function of integers, row by row.

Rows outside an arm hold harmless garbage: they are overwritten by the arm that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import gcd
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from tallystick.formula.branch_ranges import BranchRanges
from tallystick.formula.condition import Always, Both, Compare, Condition, Either, Opposite, parts
from tallystick.formula.integers import compile_integers
from tallystick.formula.polynomial import Monomial, Polynomial, add, content, is_constant, scale
from tallystick.formula.program import Arm, Cell, Program
from tallystick.numbers.nano import NANO

Column = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
Columns = Mapping[int, Column]

CHUNK = 1 << 15
"""Rows at a time: the columns of a formula then stay in the cache."""
_INT64 = 1 << 63
_DIVISOR = 1 << 61
_DOUBLE = 1 << 53
_EXACT = 1 << 23
_SURE = 1 / 2 - 2.0**-7
"""Distance from a whole number within which a ratio in doubles is sure to round to it."""
_BYTE = 1 << 7
_TWO = 2


class ColumnProgram:
    """A program with the strategy of each arm chosen; call it with columns."""

    def __init__(self, program: Program) -> None:
        """Choose the strategies; the generated function is made only if it is needed."""
        self.program = program
        self.strategies = strategies_of(program)
        self._integers = compile_integers(program) if "integers" in self.strategies else None

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

    @cached_property
    def _values(self) -> tuple[_Value, ...]:
        """Gives the value of each arm."""
        pairs = zip(self.program.arms, self.strategies, strict=True)
        return tuple(_value_of(self.program, arm, strategy) for arm, strategy in pairs)

    def _chunk(self, columns: Sequence[Column], result: Column) -> None:
        # counted in the units of its domain a fact is smaller, and fits a cheaper strategy
        columns_of_chunk = {
            index: column if atom.unit == 1 else column // atom.unit
            for (index, atom), column in zip(self.program.inputs, columns, strict=True)
        }
        _select(self._conditions.of(columns_of_chunk), self._values, columns_of_chunk, result)


def strategies_of(program: Program) -> tuple[str, ...]:
    """Return the strategy of each arm, by the names of this module's docstring."""
    cells = [pair for _, cell in program.cells for pair in zip(cell.arms, cell.values, strict=True)]
    narrow = all(_fits(arm.when, arm.scope) for arm in program.arms) and all(
        _fits(arm.when, arm.scope) and arm.known.size(part) < _INT64 for arm, part in cells
    )
    # cells are shared by arms, so one that may overflow sends every arm to the integers
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


@attrs.frozen(eq=False)
class _Value:
    """The value of an arm in nano: a number, or a function that gives a column or one number."""

    number: int = 0
    function: _Function | None = None


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
        namespace: dict[str, Any] = {
            "np": np,
            "divided": _divided,
            "divided_in_doubles": _divided_in_doubles,
            "proposed": _proposed,
            "ratio": _ratio,
            "corrected_ratio": _corrected_ratio,
        }
        exec("\n".join(lines), namespace)  # noqa: S102  # made of integers and atom numbers only
        return _Function(tuple(self._inputs), namespace["value"])

    def condition(self, condition: Condition) -> str:
        """Return code for the rows in which a condition holds."""
        return _condition(condition, self)

    def polynomial(self, polynomial: Polynomial) -> str:
        """Return the value of a polynomial; a number when it reads no atom."""
        rest = _wrapped(polynomial.get((), 0))
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

    def both(self, polynomial: Polynomial) -> str:
        """Return the polynomial modulo 2⁶⁴, and in doubles."""
        whole = [self._term(c, m) if m else str(_wrapped(c)) for m, c in polynomial.items()]
        double = [
            "*".join([repr(float(c)), *(self._atom(index) for index in m)])
            for m, c in polynomial.items()
        ]
        return f"{' + '.join(whole)}, {' + '.join(double)}"

    def _term(self, coefficient: int, monomial: Monomial) -> str:
        atoms = [self._atom(index) for index in monomial]
        if coefficient == 1:
            return self._named(" * ".join(atoms)) if len(atoms) > 1 else atoms[0]
        # a coefficient beyond 64 bits belongs to a term that is proved to be 0
        return self._named(" * ".join([*atoms, str(_wrapped(coefficient))]))

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
    conditions: Sequence[Truths], values: Sequence[_Value], given: Columns, result: Column
) -> None:
    """First match wins; of the last the condition is not asked.

    Branches of the processor that depend on data cost more than arithmetic, so numbers are looked
    up, the arm of most rows is computed for all, and the other arms for their own rows.
    """
    masks = _apart(conditions, len(result))
    varying = [arm for arm, value in enumerate(values) if value.function is not None]
    if not varying:
        result[:] = _looked_up([value.number for value in values], masks)
        return
    counts = [np.count_nonzero(masks[arm]) for arm in varying]
    most, rest = varying[counts.index(max(counts))], list(range(len(values)))
    if 2 * max(counts) >= len(result):
        result[:] = _values_of(values[most], given, None)
        rest = [arm for arm in rest if arm != most]
    for arm in rest:
        rows = np.flatnonzero(masks[arm])
        if len(rows):
            result[rows] = _values_of(values[arm], given, rows)


def _values_of(value: _Value, given: Columns, rows: Rows | None) -> Column | int:
    return value.number if value.function is None else value.function.of(given, rows)


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


def _wrapped(value: int) -> int:
    """Return the value modulo 2⁶⁴, as a signed integer."""
    return (value + _INT64) % (2 * _INT64) - _INT64


def _value_of(program: Program, arm: Arm, strategy: str) -> _Value:
    writer = _Writer(program)
    if strategy == "integers":
        return _Value()
    if strategy in ("constant", "proposed"):
        times, divisor = _nano_over(arm.denominator[()])
        scaled = {m: c * times for m, c in arm.numerator.items()}
        if strategy == "proposed":
            return _Value(function=writer.function(f"proposed({writer.both(scaled)}, {divisor})"))
        if is_constant(scaled):
            return _Value(int(_divided(np.array([scaled.get((), 0)], np.int64), divisor)[0]))
        small = times * arm.known.size(arm.numerator) < _DOUBLE // 2
        divide = "divided_in_doubles" if small else "divided"
        return _Value(function=writer.function(f"{divide}({writer.polynomial(scaled)}, {divisor})"))
    ratio = "ratio" if strategy == "exact doubles" else "corrected_ratio"
    both = f"{writer.polynomial(arm.numerator)}, {writer.polynomial(arm.denominator)}"
    return _Value(function=writer.function(f"{ratio}({both})"))


def _ratio(numerator: Column, denominator: Column) -> Column:
    return np.rint(numerator * 1e9 / denominator).astype(np.int64)


def _corrected_ratio(numerator: Column, denominator: Column) -> Column:
    """Doubles decide what is not near a half: they are at most 2⁻²¹ off."""
    ratio = numerator * 1e9 / denominator
    nearest = np.rint(ratio)
    nanos: Column = nearest.astype(np.int64)
    np.abs(np.subtract(ratio, nearest, out=ratio), out=ratio)
    # of rows outside the arm the ratio may be no number
    unsure = np.flatnonzero(~(ratio < _SURE))
    if len(unsure):
        above, below = (c.take(unsure) if np.ndim(c) else c for c in (numerator, denominator))
        nanos[unsure] = _corrected(nanos.take(unsure), above * NANO, below)
    return nanos


def _divided(numerator: Column, divisor: int) -> Column:
    if divisor == 1:
        return numerator
    quotient = numerator // divisor
    twice = 2 * (numerator - quotient * divisor) + (quotient & 1)
    return quotient + (twice > divisor)


def _divided_in_doubles(numerator: Column, divisor: int) -> Column:
    if divisor == 1:
        return numerator
    quotient = numerator / divisor
    return np.rint(quotient, out=quotient).astype(np.int64)


def _proposed(wrapped: Column, double: npt.NDArray[np.float64], divisor: int) -> Column:
    return _corrected(np.rint(double / divisor).astype(np.int64), wrapped, divisor)


def _corrected(guess: Column, numerator: Column, divisor: Column | int) -> Column:
    """The half-even quotient from a guess at most one off; sums wrap, the remainder is exact."""
    twice = 2 * (numerator - guess * divisor)
    odd = guess & 1
    corrected: Column = guess + (twice + odd > divisor) - (odd - twice > divisor)
    return corrected
