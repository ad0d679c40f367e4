"""A formula in lowered form: guarded ratios of integer polynomials over numbered atoms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import gcd, prod

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.branch_ranges import BranchRanges
from tallystick.formula.domain import Domain
from tallystick.formula.polynomial import Compare, Condition, Polynomial, add, is_constant
from tallystick.formula.tree import Node
from tallystick.numbers.nano import publish


@attrs.frozen(eq=False)
class Arm:
    """One arm: where ``when`` holds, and no earlier arm does, the value is the ratio.

    Attributes:
        when: the condition of the arm.
        numerator: of the ratio.
        denominator: of the ratio; proved positive where the arm is reached.
        known: what holds where the arm is reached.
        scope: what holds where its condition is asked.
    """

    when: Condition
    numerator: Polynomial
    denominator: Polynomial
    known: BranchRanges
    scope: BranchRanges

    @property
    def number(self) -> Fraction | None:
        """The ratio, if it reads nothing."""
        if not (is_constant(self.numerator) and is_constant(self.denominator)):
            return None
        return Fraction(self.numerator.get((), 0), self.denominator[()])

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Return the range of the ratio.

        The numerator is compared with multiples of the denominator, so that what binds them to
        each other is not lost.

        Raises:
            FormulaError: it has none, as the denominator can be as near to 0 as one likes.
        """
        (low, high), (small, large) = map(self.known.range, (self.numerator, self.denominator))
        if self.known.is_whole(self.denominator):
            small, large = max(small, 1), max(large, 1)
        least = [Fraction(low, divisor)] if (divisor := small if low < 0 else large) > 0 else []
        most = [Fraction(high, divisor)] if (divisor := small if high > 0 else large) > 0 else []
        for level in (0, 1):
            below, above = self.known.range(add(self.numerator, self.denominator, -level))
            least += [Fraction(level)] if below >= 0 else []
            most += [Fraction(level)] if above <= 0 else []
        if not least or not most:
            raise FormulaError(
                "found a division by a number that can be as near to 0 as one likes where it is "
                "reached: put what is small in an earlier case, or use clip()"
            )
        return max(least), min(most)


@attrs.frozen(eq=False)
class Input:
    """An atom that is given: a fact by its digest, or a published value by its name.

    Attributes:
        node: the fact or the published value.
        unit: a published value enters as nano over this unit.
    """

    node: Node
    unit: int = 1


@attrs.frozen(eq=False)
class Cell:
    """An atom that is computed: the numerator or the denominator of a piecewise value.

    Attributes:
        arms: those of the piecewise value.
        values: the atom in each arm.
    """

    arms: tuple[Arm, ...]
    values: tuple[Polynomial, ...]


@attrs.frozen(eq=False)
class Bounded:
    """An atom of which only a range is known: a value that is no ratio of polynomials."""


Atom = Input | Cell | Bounded


@attrs.frozen(eq=False)
class Program:
    """A formula in lowered form; one that has bounded atoms says its range and does not run.

    Attributes:
        atoms: every atom by its number, cells after the atoms that they read.
        used: the numbers of the atoms that the arms need, in order of evaluation.
        arms: the arms; the last holds wherever the others do not.
        low: the smallest value for any valid record, or less.
        high: the largest value for any valid record, or more.
    """

    atoms: tuple[Atom, ...]
    used: tuple[int, ...]
    arms: tuple[Arm, ...]
    low: Fraction
    high: Fraction

    @property
    def is_rational(self) -> bool:
        """True where its value is a ratio of polynomials in each arm, so that it runs."""
        return not any(isinstance(atom, Bounded) for atom in self.atoms)

    @property
    def inputs(self) -> tuple[tuple[int, Input], ...]:
        """The inputs that the formula reads, with their numbers."""
        return tuple((i, a) for i in self.used if isinstance(a := self.atoms[i], Input))

    @property
    def cells(self) -> tuple[tuple[int, Cell], ...]:
        """The cells with their numbers, in order of evaluation."""
        return tuple((i, a) for i in self.used if isinstance(a := self.atoms[i], Cell))

    @property
    def product(self) -> tuple[tuple[Node, ...], Fraction] | None:
        """The factors and the number of a tree that is one product of what it reads; else None."""
        (arm, *further), inputs = self.arms, dict(self.inputs)
        is_alone = not further and self.is_rational and not self.cells
        if not is_alone or len(arm.numerator) != 1 or not is_constant(arm.denominator):
            return None
        ((monomial, coefficient),) = arm.numerator.items()
        divisor = arm.denominator[()] * prod(inputs[index].unit for index in monomial)
        return tuple(inputs[index].node for index in monomial), Fraction(coefficient, divisor)

    @property
    def domain(self) -> Domain:
        """The range of the value as published; the unit is known when the values are few."""
        low, high = publish(self.low), publish(self.high)
        numbers = [arm.number for arm in self.arms]
        values = [publish(number) for number in numbers if number is not None]
        return Domain(low, high, gcd(*values) or 1 if len(values) == len(numbers) else 1)


def reached(arms: Iterable[Arm], atoms: Sequence[Atom]) -> tuple[int, ...]:
    """Return the numbers of the atoms that the arms need, cells after what they read."""
    indices: set[int] = set()
    pending = list(_read_by(arms))
    while pending:
        index = pending.pop()
        if index in indices:
            continue
        indices.add(index)
        what = atoms[index]
        if isinstance(what, Cell):
            pending += _read_by(what.arms)
    return tuple(sorted(indices))


def _read_by(arms: Iterable[Arm]) -> Iterator[int]:
    for arm in arms:
        for polynomial in (arm.numerator, arm.denominator, *_compared(arm.when)):
            for monomial in polynomial:
                yield from monomial


def _compared(condition: Condition) -> Iterator[Polynomial]:
    if isinstance(condition, Compare):
        yield condition.polynomial
        return
    for part in condition.parts:
        yield from _compared(part)
