"""Lowering: a tree to guarded ratios of integer polynomials, with the proofs of its bounds.

Each arm of a formula becomes one ratio of two integer polynomials over atoms (facts, published
values), cancelled. The divisor of every ratio is proved positive where the arm is reached, from the
ranges of the facts, the requirements on records, what facts count, and the guards of the arms
before it; a formula where that fails is refused. The ranges also say how large the integers get,
which is what ``columns`` chooses its arithmetic by.

A piecewise value inside an expression (``min``, ``|x|``, ``cases``) becomes a *cell*: an atom with
arms of its own, evaluated before the rest.

A power, a geometric mean, an exp, a log, a floor or a rounding is no such ratio. It becomes a
*bounded* atom, whose range follows from those of its arguments, and so does a piecewise value that
has one in it. What is lowered so is proved, but does not run: `balls` and `evaluate` do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.branch_ranges import BranchRanges, End, Interval
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import function_of, operands_of
from tallystick.formula.facts import relations, scale_of
from tallystick.formula.polynomial import (
    ONE,
    TRUE,
    ZERO,
    Compare,
    Condition,
    Connective,
    Polynomial,
    add,
    atom,
    common,
    compare,
    constant,
    content,
    divide,
    is_constant,
    multiply,
    opposite,
    scale,
    strip,
)
from tallystick.formula.program import Arm, Atom, Bounded, Cell, Input, Program, reached
from tallystick.formula.text import decimal_text, render
from tallystick.formula.tree import BEYOND_RATIOS, Kind, Node, arms_of, facts_in, leaves, value_of
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact

Ratio = tuple[Polynomial, Polynomial]
"""Numerator and positive denominator."""

Branch = tuple[Node | Condition, Node | Ratio]
"""The condition and the value of an arm; a node is lowered where it is reached."""

_LEAST_TO_EXP, _MOST_TO_EXP = Fraction(-(10**6)), Fraction(40)
"""The numbers that exp takes."""

_BITS = 64
"""Bits behind the point of an irrational end of a range."""


def lower(
    tree: Node,
    facts: Mapping[str, Domain],
    published: Mapping[str, Domain],
    requirements: Sequence[Node] = (),
) -> Program:
    """Lower a tree whose parameters are bound.

    Args:
        tree: the formula.
        facts: the range of each fact of the tree and of the requirements, by digest.
        published: the range of each published value, by name.
        requirements: conditions that hold for every valid record.

    Raises:
        FormulaError: a division that can be by zero, or a formula too large to prove.
    """
    return _Lowering(facts, published).program(tree, requirements)


def is_possible(
    conditions: Sequence[Node], facts: Mapping[str, Domain], published: Mapping[str, Domain]
) -> bool:
    """Return whether a record can meet some conditions, as far as ranges show.

    Args:
        conditions: each read only where those before it hold; parameters are bound.
        facts: the range of each fact of the conditions, by digest.
        published: the range of each published value, by name.
    """
    lowering = _Lowering(facts, published)
    try:
        return lowering.known(facts_in(*conditions).values(), conditions).possible
    except FormulaError:  # of one of them nothing is known
        return True


class _Lowering:
    def __init__(self, facts: Mapping[str, Domain], published: Mapping[str, Domain]) -> None:
        self.facts, self.published = facts, published
        self.atoms: list[Atom] = []
        self.born: dict[int, Interval] = {}
        self.reals: dict[int, bool] = {}
        self.index: dict[str, int] = {}

    def program(self, tree: Node, requirements: Sequence[Node]) -> Program:
        everywhere = facts_in(tree, *requirements).values()
        for node in (*everywhere, *leaves(tree, "published")):
            self.input(node)
        known = self.known(everywhere, requirements)
        arms = self.arms(tree, known) if known.possible else []
        if not arms:
            raise FormulaError("found requirements that no record meets, expected some that can be")
        bounds = [arm.bounds() for arm in arms]
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        atoms = tuple(self.atoms)
        # the atom of a root hides what its argument reads: then all that the tree reads counts
        if any(isinstance(atom, Bounded) for atom in atoms):
            read = (*leaves(tree, "fact"), *leaves(tree, "published"))
            used = tuple(sorted(self.index[node.digest] for node in read))
        else:
            used = reached(arms, atoms)
        return Program(atoms, used, tuple(arms), low, high)

    def known(self, facts: Collection[Node], requirements: Sequence[Node]) -> BranchRanges:
        """Return what requirements, and what some facts count, say of every record."""
        for node in (
            *facts,
            *(leaf for each in requirements for leaf in leaves(each, "published")),
        ):
            self.input(node)
        known = BranchRanges(self.born, self.reals)
        # facts of one list bound each other, whatever the record: shared <= mine
        for small, large in relations(tuple(facts)):
            gap = add(atom(self.index[small.digest]), atom(self.index[large.digest]), -1)
            known.at_most(gap, 0)
        for requirement in requirements:
            known.assume(self.condition(requirement, known))
        return known

    def input(self, node: Node) -> int:
        if node.digest in self.index:
            return self.index[node.digest]
        published = node.op == "published"
        domain = self.published[str(node.data[0])] if published else self.facts[node.digest]
        self.index[node.digest] = index = self.atom(
            Input(node, domain.unit), (domain.low // domain.unit, domain.high // domain.unit)
        )
        if not domain.whole:
            self.reals[index] = False
        return index

    def atom(self, what: Atom, interval: Interval) -> int:
        self.atoms.append(what)
        self.born[len(self.atoms) - 1] = interval
        return len(self.atoms) - 1

    def real(self, interval: Interval, *, nonzero: bool) -> int:
        """Return a bounded atom that is no whole number."""
        index = self.atom(Bounded(), interval)
        self.reals[index] = nonzero
        return index

    def arms(self, node: Node, known: BranchRanges) -> list[Arm]:
        """Return the arms of a node, where ``known`` holds."""
        if node.op in ("label", "rank"):
            return self.arms(node.args[0], known)
        if node.kind is Kind.TRUTH and node.op != "fact":
            return self.split([(node, (ONE, ONE)), (TRUE, (ZERO, ONE))], known)
        if node.op == "cases":
            arms, otherwise = arms_of(node)
            return self.split([*arms, (TRUE, otherwise)], known)
        if node.op in ("min", "max", "abs"):
            return self._choice(node, known)
        return [_arm(*self._single(node, known), known)]

    def _single(self, node: Node, known: BranchRanges) -> Ratio:
        match node.op:
            case "const":
                value = value_of(node)
                return constant(value.numerator), constant(value.denominator)
            case "fact":
                return atom(self.index[node.digest]), constant(scale_of(node))
            case "published":
                return self._published(node)
            case "add" | "sub" | "mul" | "div":
                return self._arithmetic(node, known)
            case "power" | "geometric" | "exp" | "log" | "floor" | "round":
                return self._function(node, known)
        raise FormulaError(f"found {node!r}, expected a tree whose parameters are bound")

    def _published(self, node: Node) -> Ratio:
        domain, index = self.published[str(node.data[0])], self.index[node.digest]
        # as a number its sign is known, so a factor of 1 may be a divisor
        if domain.low == domain.high:
            return constant(domain.low), constant(NANO)
        return atom(index, domain.unit), constant(NANO)

    def _arithmetic(self, node: Node, known: BranchRanges) -> Ratio:
        left, right = (self.ratio(argument, known) for argument in node.args)
        (n, d), (m, e) = left, right
        if node.op == "mul":
            product = multiply(n, m)
            if node.args[0].digest == node.args[1].digest:
                known.square(n, product)
            return product, multiply(d, e)
        if node.op == "div":
            return self._division(node, left, right, known)
        sign = 1 if node.op == "add" else -1
        if d == e:
            return add(n, m, sign), d
        return add(multiply(n, e), multiply(m, d), sign), multiply(d, e)

    def _division(self, node: Node, left: Ratio, right: Ratio, known: BranchRanges) -> Ratio:
        (n, d), (m, e) = left, right
        sign = known.sign(m)
        if not sign:
            low, high = (_unscaled(end, e) for end in known.range(m))
            raise FormulaError(
                f"found a division by {render(node.args[1])}, which can be 0 where it is reached "
                f"(range {low} to {high}): put the zero in an earlier case, or require it of the "
                "record"
            )
        return scale(multiply(n, e), sign), scale(multiply(d, m), sign)

    def _function(self, node: Node, known: BranchRanges) -> Ratio:
        """Return an operator that is no ratio of its arguments, by the ranges of these."""
        scaled = 10 ** int(str(node.data[0])) if node.op == "round" else 1
        # one atom for both uses of a node, so that they cancel and compare equal
        if node.digest not in known.atoms:
            read = operands_of(node)
            arms = [self.arms(argument, known) for argument in read]
            if not all(arms):
                return ZERO, ONE  # never reached
            arguments = [_argument_of(node, *each) for each in zip(read, arms, strict=True)]
            low, high = _range_of_function(node, arguments)
            positive = node.op in {"exp", "power", "geometric"} and (
                node.op == "exp" or all(argument.is_positive for argument in arguments)
            )
            known.atoms[node.digest] = (
                self.atom(Bounded(), (int(low * scaled), int(high * scaled)))
                if node.op in {"floor", "round"}
                else self.real((low, high), nonzero=positive)
            )
        return atom(known.atoms[node.digest]), constant(scaled)

    def _choice(self, node: Node, known: BranchRanges) -> list[Arm]:
        n, d = self.ratio(node.args[0], known)
        if node.op == "abs":
            return self.split([(compare(n, "<"), (scale(n, -1), d)), (TRUE, (n, d))], known)
        m, e = self.ratio(node.args[1], known)
        at_most = compare(add(multiply(n, e), multiply(m, d), -1), "<=")
        small, large = ((n, d), (m, e)) if node.op == "min" else ((m, e), (n, d))
        return self.split([(at_most, small), (TRUE, large)], known)

    def split(self, branches: Sequence[Branch], known: BranchRanges) -> list[Arm]:
        """First match wins: an arm knows its condition and the failure of all before it.

        Without an arm that can be reached, there is none.
        """
        scope, arms_so_far = known.copy(), list[Arm]()
        for when, value in branches:
            condition = self.condition(when, scope) if isinstance(when, Node) else when
            inside = scope.copy()
            inside.assume(condition)
            inner = self._taken(value, inside) if inside.possible else []
            if inner:
                arms_so_far += self._guarded(condition, inner, inside, scope.copy())
            scope.assume(opposite(condition))
            if not scope.possible:
                break
        # no record gets past it, so the last arm needs no test at run time
        if arms_so_far:
            arms_so_far[-1] = attrs.evolve(arms_so_far[-1], when=TRUE)
        return arms_so_far

    def _taken(self, value: Node | Ratio, known: BranchRanges) -> list[Arm]:
        return self.arms(value, known) if isinstance(value, Node) else [_arm(*value, known)]

    def _guarded(
        self, condition: Condition, inner: list[Arm], inside: BranchRanges, scope: BranchRanges
    ) -> list[Arm]:
        if condition == TRUE:
            return inner
        # arms within an arm become one cell: nested tests would multiply, cells add up
        numerator, denominator = self._joined(inner, inside)
        known = inner[0].known if len(inner) == 1 else inside
        return [Arm(condition, numerator, denominator, known, scope)]

    def ratio(self, node: Node, known: BranchRanges) -> Ratio:
        """Return one ratio for a node; a piecewise value becomes a cell."""
        if node.unlabelled.op in BEYOND_RATIOS or node.digest not in known.atoms:
            return self._joined(self.arms(node, known), known, node)
        return atom(known.atoms[node.digest]), ONE

    def _joined(self, arms: list[Arm], known: BranchRanges, node: Node | None = None) -> Ratio:
        """One ratio for some arms, which are those of a node; in one branch a node has one atom."""
        if not arms:
            return ZERO, ONE  # never reached
        if len(arms) == 1:
            return arms[0].numerator, arms[0].denominator
        if not all(map(_is_whole, arms)):
            bounds = [arm.bounds() for arm in arms]
            interval = min(low for low, _ in bounds), max(high for _, high in bounds)
            nonzero = all(arm.known.sign(arm.numerator) for arm in arms)
            index = self.real(interval, nonzero=nonzero)
            if node is not None:
                known.atoms[node.digest] = index
            return atom(index), ONE
        divisors = [arm.denominator for arm in arms]
        if all(map(is_constant, divisors)):
            shared = lcm(*(divisor[()] for divisor in divisors))
            scaled = [scale(arm.numerator, shared // arm.denominator[()]) for arm in arms]
            return self.cell(arms, scaled), constant(shared)
        return self.cell(arms, [arm.numerator for arm in arms]), self.cell(arms, divisors, least=1)

    def cell(
        self, arms: Sequence[Arm], values: Sequence[Polynomial], least: int | None = None
    ) -> Polynomial:
        """Return the atom of one value for each arm, which are known to be at least a number."""
        ranges = [arm.known.range(value) for arm, value in zip(arms, values, strict=True)]
        low, high = _hull(ranges)
        interval = (low, high) if least is None else (max(low, least), max(high, least))
        return atom(self.atom(Cell(tuple(arms), tuple(values)), interval))

    def condition(self, node: Node, known: BranchRanges) -> Condition:
        """Return a condition of the tree, lowered where ``known`` holds."""
        match node.op:
            case "fact":
                return Compare(atom(self.index[node.digest]), "!=")
            case "label":
                return self.condition(node.args[0], known)
            case "not":
                return opposite(self.condition(node.args[0], known))
            case "and" | "or":
                return self._connective(node, known)
        (n, d), (m, e) = (self.ratio(argument, known) for argument in node.args)
        gap = add(multiply(n, e), multiply(m, d), -1)
        return compare(gap, "<" if node.op == "lt" else "<=" if node.op == "le" else "==")

    def _connective(self, node: Node, known: BranchRanges) -> Condition:
        both = node.op == "and"
        first = self.condition(node.args[0], known)
        after = known.copy()
        after.assume(first if both else opposite(first))
        # the second is never asked, and might divide by what is 0 there
        if not after.possible:
            return first
        second = self.condition(node.args[1], after)
        return Connective((first, second), every=both)


def _arm(numerator: Polynomial, denominator: Polynomial, known: BranchRanges) -> Arm:
    n, d = _cancelled(numerator, denominator, known)
    return Arm(TRUE, n, d, known, known)


def _cancelled(numerator: Polynomial, denominator: Polynomial, known: BranchRanges) -> Ratio:
    """Return a ratio without the atoms that both sides share; the denominator stays positive.

    A shared atom divides a divisor proved not to be zero, so it is not zero; it is cancelled where
    its sign is known, and a negative one changes the signs of both.
    """
    if not numerator:
        return ZERO, ONE
    shared = gcd(content(numerator), content(denominator))
    n, d = divide(numerator, shared), divide(denominator, shared)
    rest, cancelled, sign = list(common(d)), list[int](), 1
    for index in common(n):
        low, high = known.interval(index)
        if index in rest and (low >= 0 or high <= 0):
            rest.remove(index)
            cancelled.append(index)
            sign = sign if low >= 0 else -sign
    return scale(strip(n, cancelled), sign), scale(strip(d, cancelled), sign)


def _is_whole(arm: Arm) -> bool:
    return arm.known.is_whole(arm.numerator) and arm.known.is_whole(arm.denominator)


def _unscaled(end: End, denominator: Polynomial) -> str:
    return decimal_text(Fraction(end, denominator.get((), 1)))


def _hull(intervals: list[Interval]) -> Interval:
    return min(i[0] for i in intervals), max(i[1] for i in intervals)


@attrs.frozen
class _Argument:
    """The range of an operator's argument.

    Attributes:
        low: the smallest.
        high: the largest.
        is_positive: whether it is above 0, however near it comes.
    """

    low: Fraction
    high: Fraction
    is_positive: bool


def _argument_of(node: Node, of: Node, arms: Sequence[Arm]) -> _Argument:
    """Return the range of an argument of an operator from its arms; held to the domain of that.

    Raises:
        FormulaError: it can be outside the domain.
    """
    bounds = [arm.bounds() for arm in arms]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    positive = low > 0 or all(
        arm.bounds()[0] >= 0 and arm.known.sign(arm.numerator) > 0 for arm in arms
    )
    argument = _Argument(low, high, positive)
    _check_domain(node, of, argument)
    return argument


def _range_of_function(node: Node, arguments: Sequence[_Argument]) -> tuple[Fraction, Fraction]:
    """Return the range of an operator over those of its arguments.

    Each operator rises or falls all along, so that its ends are those of its arguments. An
    irrational end is widened to the next of the numbers that are 2⁻⁶⁴ apart; the ends of ``floor``
    and ``round`` are exact.
    """
    lows, highs = [each.low for each in arguments], [each.high for each in arguments]
    ends = [_around(function_of(node, numbers)) for numbers in (lows, highs)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _check_domain(node: Node, of: Node, argument: _Argument) -> None:
    low, high = argument.low, argument.high
    falls = node.op == "power" and value_of(node.args[1]) <= 0
    if node.op in {"power", "geometric"} and low < 0:
        raise _refused(node, of, argument, "be below 0")
    if (node.op == "log" or falls) and not argument.is_positive:
        raise _refused(node, of, argument, "be 0 or below" if low < 0 else "be 0")
    if (node.op == "log" or falls) and not low:
        raise _refused(node, of, argument, "come as near to 0 as one likes")
    if node.op == "exp" and (low < _LEAST_TO_EXP or high > _MOST_TO_EXP):
        expected = f"be outside {decimal_text(_LEAST_TO_EXP)} to {decimal_text(_MOST_TO_EXP)}"
        raise _refused(node, of, argument, expected)


def _refused(node: Node, of: Node, argument: _Argument, can: str) -> FormulaError:
    names = {"log": "the logarithm of", "exp": "exp of", "geometric": "a geometric mean of"}
    name = names.get(node.op, "a power of")
    return FormulaError(
        f"found {name} {render(of)}, which can {can} where it is reached (range "
        f"{decimal_text(argument.low)} to {decimal_text(argument.high)}): put it in an earlier "
        "case, or require it of the record"
    )


def _around(value: Exact) -> tuple[Fraction, Fraction]:
    if isinstance(value, Fraction):
        return value, value
    low, high = value.enclosure(_BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)
