"""Intervals of the atoms in one branch of a formula: interval arithmetic with memory.

An interval is kept for each atom, and for each linear form that a guard or a requirement has
compared (``deadline − t_min ≥ 1``, ``shared ≤ mine``), as for each square of the formula, as the
intervals of the atoms alone cannot say it. Values are integers, so ``x > 0`` is ``x ≥ 1``, but for
those of *real* atoms, such as roots: a polynomial with a real atom is noted as not 0 instead. Every
interval that is returned holds for every valid record that reaches the branch; it may be wider than
need be.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any

from tallystick.formula.polynomial import (
    Compare,
    Condition,
    Monomial,
    Polynomial,
    Relation,
    add,
    atom,
    common,
    primitive,
    scale,
    strip,
)

End = int | Fraction
Interval = tuple[End, End]
"""The smallest and the largest value; whole numbers unless an atom is real."""
Key = tuple[tuple[Monomial, int], ...]

_ROUNDS = 2
"""Passes in which intervals are propagated: enough for the chains that formulas have."""
_CHOICES = 16
"""Maximum number of linear stand-ins that are tried for a product."""


class BranchRanges:
    """The intervals that hold in one branch.

    Attributes:
        possible: false once the conditions of the branch are seen to contradict each other.
        atoms: the real atoms that stand for a node in this branch, by the digest of the node.
    """

    def __init__(self, born: dict[int, Interval], reals: dict[int, bool] | None = None) -> None:
        """Know only what atoms are born with; the mappings are shared and may grow.

        Args:
            born: the interval of each atom.
            reals: the atoms that are no whole numbers, and whether they are never 0.
        """
        self._born, self._reals = born, {} if reals is None else reals
        self._learnt: dict[int, Interval] = {}
        self._forms: dict[Key, tuple[End | None, End | None]] = {}
        self._not_zero: tuple[Polynomial, ...] = ()
        self._known_gaps: Mapping[tuple[Monomial, Monomial], End] | None = None
        self.atoms: dict[str, int] = {}
        self.possible = True

    def copy(self) -> BranchRanges:
        """Return the same knowledge, to be refined on its own."""
        other = BranchRanges(self._born, self._reals)
        other._become(self)
        return other

    def interval(self, index: int) -> Interval:
        """Return the interval of an atom."""
        return self._learnt.get(index) or self._born[index]

    def range(self, polynomial: Polynomial) -> Interval:
        """Return an interval that holds the polynomial."""
        low, high = self._plain(polynomial)
        key, factor, rest = primitive(polynomial)
        if key in self._forms:
            ends = [None if e is None else factor * e + rest for e in self._forms[key]]
            below, above = ends if factor > 0 else reversed(ends)
            low = low if below is None else max(low, below)
            high = high if above is None else min(high, above)
        below, above = self._of_products(polynomial)
        low, high = max(low, below), min(high, above)
        return max(low, self._chased(polynomial)), min(high, -self._chased(scale(polynomial, -1)))

    def is_whole(self, polynomial: Polynomial) -> bool:
        """Return whether a polynomial is a whole number: none of its atoms is real."""
        return not self._reals or not any(i in self._reals for m in polynomial for i in m)

    def sign(self, polynomial: Polynomial) -> int:
        """+1 or −1 when the polynomial is proved to keep that sign, else 0."""
        if sign := self._sign(polynomial):
            return sign
        # x·y − x·z has the sign of x times that of y − z, which intervals of products lose
        sign, monomial = 1, common(polynomial)
        for index in monomial:
            sign *= self._sign(atom(index))
        return sign * self._sign(strip(polynomial, monomial)) if sign and monomial else 0

    def _sign(self, polynomial: Polynomial) -> int:
        low, high = self.range(polynomial)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        if self.is_whole(polynomial) or not (low >= 0 or high <= 0):
            return 0
        sign = 1 if low >= 0 else -1
        return sign if self._is_not_zero(scale(polynomial, sign)) else 0

    def _is_not_zero(self, polynomial: Polynomial) -> bool:
        """Return whether a polynomial ≥ 0 is at least a positive part of one that is not 0."""
        every = [atom(i) for m in polynomial if len(m) == 1 for i in m if self._reals.get(i)]
        for form in (*self._not_zero, *every):
            low, high = self.range(form)
            if low < 0 < high:
                continue
            positive = scale(form, 1 if low >= 0 else -1)
            for monomial in positive.keys() & polynomial.keys():
                one, other = positive[monomial], polynomial[monomial]
                if one * other > 0:
                    rest = add(scale(polynomial, abs(one)), positive, -abs(other))
                    if self.range(rest)[0] >= 0:
                        return True
        return False

    def size(self, polynomial: Polynomial) -> int:
        """Return a bound on every partial sum of the polynomial's terms, without sign."""
        # int64 columns add term by term, so it is partial sums that must not overflow
        largest = {i: self._largest(i) for m in polynomial for i in m}
        return sum(abs(c) * prod(largest[i] for i in m) for m, c in polynomial.items())

    def assume(self, condition: Condition) -> None:
        """Learn that a condition holds."""
        if isinstance(condition, Compare):
            self._compare(condition.polynomial, condition.relation)
        elif condition.every:
            # a later part narrows what an earlier one could not use yet
            for part in condition.parts * _ROUNDS:
                self.assume(part)
        else:
            self._assume_one(condition.parts)

    def at_most(self, polynomial: Polynomial, bound: End) -> None:
        """Learn that a polynomial is at most ``bound``."""
        key, factor, rest = primitive(polynomial)
        if not key:
            self.possible &= rest <= bound
            return
        low, high = self._forms.get(key, (None, None))
        limit: End = Fraction(bound - rest, factor)
        if self.is_whole(polynomial):
            limit = floor(limit) if factor > 0 else ceil(limit)
        if factor > 0:
            high = limit if high is None else min(high, limit)
        else:
            low = limit if low is None else max(low, limit)
        self._forms[key] = low, high
        self.possible &= low is None or high is None or low <= high
        self._known_gaps = None
        self._spread()

    def square(self, base: Polynomial, product: Polynomial) -> None:
        """Learn that a polynomial is the square of another."""
        low, high = self.range(base)
        ends = low * low, high * high
        least, most = 0 if low <= 0 <= high else min(ends), max(ends)
        self.at_most(product, most)
        self.at_most(scale(product, -1), -least)

    def _of_products(self, polynomial: Polynomial) -> Interval:
        """Return an interval after the known products, such as squares, are taken whole."""
        low: End = 0
        high: End = 0
        for key, (least, most) in self._forms.items():
            if least is None or most is None:
                continue
            form = dict(key)
            # of (x − y)² the product x·y, which is in no other square of the two
            term = max(form, key=lambda monomial: (len(monomial), len({*monomial})))
            times, left = divmod(polynomial.get(term, 0), form[term])
            if len(term) > 1 and times and not left:
                polynomial = add(polynomial, form, -times)
                low += min(times * least, times * most)
                high += max(times * least, times * most)
        rest = self._plain(polynomial)
        return low + rest[0], high + rest[1]

    def _largest(self, index: int) -> int:
        low, high = self.interval(index)
        return ceil(max(-low, high))

    def _become(self, other: BranchRanges) -> None:
        self._learnt = dict(other._learnt)
        self._forms = dict(other._forms)
        self._not_zero = other._not_zero
        self.atoms = dict(other.atoms)
        self._known_gaps = None
        self.possible = other.possible

    def _assume_one(self, conditions: tuple[Condition, ...]) -> None:
        """One of some: what all that can be allow, for each atom."""
        branches = []
        for condition in conditions:
            branch = self.copy()
            branch.assume(condition)
            branches += [branch] if branch.possible else []
        if not branches:
            self.possible = False
        elif len(branches) == 1:
            self._become(branches[0])
        else:
            for index in {index for branch in branches for index in branch._learnt}:  # noqa: SLF001  # of this class
                lows, highs = zip(*(branch.interval(index) for branch in branches), strict=True)
                self._learnt[index] = min(lows), max(highs)

    def _compare(self, polynomial: Polynomial, relation: Relation) -> None:
        match relation:
            case "<":
                self._below_zero(polynomial)
            case "<=":
                self.at_most(polynomial, 0)
            case "==":
                self.at_most(polynomial, 0)
                self.at_most(scale(polynomial, -1), 0)
            case "!=":
                self._differs_from_zero(polynomial)

    def _below_zero(self, polynomial: Polynomial) -> None:
        if self.is_whole(polynomial):
            self.at_most(polynomial, -1)
            return
        self.at_most(polynomial, 0)
        self._differs_from_zero(polynomial)

    def _differs_from_zero(self, polynomial: Polynomial) -> None:
        low, high = self.range(polynomial)
        if low == 0 == high:
            self.possible = False
        elif not self.is_whole(polynomial):
            self._not_zero = (*self._not_zero, polynomial)
        elif low == 0:
            self.at_most(scale(polynomial, -1), -1)
        elif high == 0:
            self.at_most(polynomial, -1)

    def _spread(self) -> None:
        for _ in range(_ROUNDS):
            for key, (low, high) in self._forms.items():
                form = dict(key)
                if high is not None:
                    self._narrow(form, high)
                if low is not None:
                    self._narrow(scale(form, -1), -low)

    def _narrow(self, form: Polynomial, bound: End) -> None:
        """Sharpen each atom of ``form ≤ bound`` by what the others leave it."""
        for monomial, coefficient in form.items():
            if len(monomial) != 1:
                continue
            rest = self._plain({m: c for m, c in form.items() if m != monomial})[0]
            limit: End = Fraction(bound - rest, coefficient)
            if monomial[0] not in self._reals:
                limit = floor(limit) if coefficient > 0 else ceil(limit)
            low, high = self.interval(monomial[0])
            if coefficient > 0:
                high = min(high, limit)
            else:
                low = max(low, limit)
            self._learnt[monomial[0]] = low, high
            self.possible &= low <= high

    def _plain(self, polynomial: Polynomial) -> Interval:
        low: End = 0
        high: End = 0
        for monomial, coefficient in polynomial.items():
            ends = _product([self.interval(index) for index in monomial])
            low += min(coefficient * ends[0], coefficient * ends[1])
            high += max(coefficient * ends[0], coefficient * ends[1])
        return low, high

    def _chased(self, polynomial: Polynomial) -> End:
        """Return a lower bound after spending known gaps ``y − x ≥ k`` on the negative terms."""
        return max(self._spent(linear) for linear in self._stand_ins(polynomial))

    def _stand_ins(self, polynomial: Polynomial) -> list[Polynomial]:
        """Linear polynomials nowhere above: of a product of atoms ≥ 0, one is kept."""
        linear_forms: list[Polynomial] = [{}]
        for monomial, coefficient in polynomial.items():
            terms = self._linear_terms(monomial, coefficient)
            linear_forms = [add(linear, term) for linear in linear_forms for term in terms][
                :_CHOICES
            ]
        return linear_forms

    def _linear_terms(self, monomial: Monomial, coefficient: int) -> list[Polynomial]:
        if len(monomial) < 2 or any(self.interval(index)[0] < 0 for index in monomial):
            return [{monomial: coefficient}]
        terms: list[Polynomial] = []
        for position, index in enumerate(monomial):
            others = monomial[:position] + monomial[position + 1 :]
            # of real atoms the bound is no whole number; what it is a part of is only compared
            bound: Any = prod(self.interval(other)[coefficient < 0] for other in others)
            terms.append({(index,): coefficient * bound} if bound else {})
        return terms

    def _spent(self, polynomial: Polynomial) -> End:
        low: End = 0
        for (larger, smaller), gap in self._gaps().items():
            times = min(polynomial.get(larger, 0), -polynomial.get(smaller, 0))
            if times > 0:
                polynomial = add(polynomial, {larger: 1, smaller: -1}, -times)
                low += times * gap
        return low + self._plain(polynomial)[0]

    def _gaps(self) -> Mapping[tuple[Monomial, Monomial], End]:
        """Return the largest known k with ``y − x ≥ k`` for pairs (y, x), also through a third."""
        if self._known_gaps is None:
            gaps = self._direct_gaps()
            for (y, x), first in list(gaps.items()):
                for (z, w), second in list(gaps.items()):
                    if x == z and y != w:
                        gaps[y, w] = max(first + second, gaps.get((y, w), first + second))
            self._known_gaps = gaps
        return self._known_gaps

    def _direct_gaps(self) -> dict[tuple[Monomial, Monomial], End]:
        gaps: dict[tuple[Monomial, Monomial], End] = {}
        for key, (low, high) in self._forms.items():
            if len(key) != 2 or {coefficient for _, coefficient in key} != {-1, 1}:
                continue
            larger, smaller = sorted(dict(key), key=lambda m: dict(key)[m], reverse=True)
            if low is not None:
                gaps[larger, smaller] = low
            if high is not None:
                gaps[smaller, larger] = -high
        return gaps


def _product(intervals: list[Interval]) -> Interval:
    low: End = 1
    high: End = 1
    for a, b in intervals:
        ends = (low * a, low * b, high * a, high * b)
        low, high = min(ends), max(ends)
    return low, high
