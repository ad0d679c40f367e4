"""Terms of a solver, z3, for a tree: what a formula is for records that nobody has seen.

A formula becomes a real term over unknowns: one for each fact, one for each published value. What
is unsatisfiable over real unknowns has no record either, so that a proof may forget that facts are
whole numbers; ``exact`` unknowns remember it. A published value is bound to its exact one by
``rounded`` and ``same_order``, which hold of rounding half-even to nano.

The solver knows no powers, geometric means, exp and log: each is an unknown of its own, of which
some things are told that hold of the true value (`Function`). So a proof is one, and what the
solver finds instead may be no record.

Needs the extra ``prove``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias

import attrs
import z3

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import scale_of
from tallystick.formula.tree import OPERATORS, Kind, Node, arms_of, factors_of, value_of
from tallystick.numbers.nano import NANO

Term: TypeAlias = z3.ArithRef
"""A real term."""
Truth: TypeAlias = z3.BoolRef
"""A condition."""
Unknowns: TypeAlias = Mapping[str, z3.ExprRef]
"""Facts by digest, or published values by name, each over its scale; truths are conditions."""

_FEW = 8
"""Maximum width of a range, in steps, whose values are listed one by one."""
_SOLVED = 4
"""Maximum numerator and denominator of an exponent whose power gets its exact equation."""


@attrs.frozen(eq=False)
class Unknown:
    """One fact or published value that the solver chooses.

    Attributes:
        value: what a tree reads: a condition for a truth, else a real, divided by its scale.
        within: what holds of it.
    """

    value: Term | Truth
    within: tuple[Truth, ...]


@attrs.frozen(eq=False)
class Division:
    """A divisor of a tree, and where it is reached."""

    reached: Truth
    divisor: Term


@attrs.frozen(eq=False)
class Function:
    """An unknown in the place of a power, a geometric mean, an exp, a log or a rounding.

    Attributes:
        op: the operator.
        exponents: those of a power or a mean; the scale of a rounding; else none.
        arguments: what it is given.
        value: the unknown.
    """

    op: str
    exponents: tuple[Fraction, ...]
    arguments: tuple[Term, ...]
    value: Term

    @property
    def argument(self) -> Term:
        """The first argument, of most operators the only one."""
        return self.arguments[0]

    @property
    def told(self) -> Iterator[Truth]:
        """The solver's conditions on the function, where its argument is in the domain."""
        x, y, nought, one = self.argument, self.value, number(0), number(1)
        match self.op:
            case "exp":
                yield z3.And(y > nought, y >= one + x)
                yield z3.And((x > nought) == (y > one), (x < nought) == (y < one))
            case "log":
                yield z3.Implies(x > nought, y <= x - one)
                yield z3.Implies(x > nought, (x > one) == (y > nought))
                yield z3.Implies(x > nought, (x < one) == (y < nought))
            case "power":
                yield from self._of_power(x, y)
            case "geometric":
                # a number that is 0 makes it 0, and it is between the least and the greatest
                yield z3.Implies(z3.Or([each == nought for each in self.arguments]), y == nought)
                yield z3.Or([each <= y for each in self.arguments])
                yield z3.Or([each >= y for each in self.arguments])

    def _of_power(self, x: Term, y: Term) -> Iterator[Truth]:
        nought, one, (p, q) = number(0), number(1), self.exponents[0].as_integer_ratio()
        if p == 0:
            yield y == one
            return
        yield z3.Implies(x > nought, y > nought)
        if p > 0:
            yield z3.Implies(x == nought, y == nought)
            # between 0 and 1 a root is above its number, a power below, and beyond 1 turned round
            larger = (y > x) if p < q else (y < x) if p > q else (y == x)
            smaller = (y < x) if p < q else (y > x) if p > q else (y == x)
            yield z3.Implies(z3.And(x > nought, x < one), z3.And(y < one, larger))
            yield z3.Implies(x > one, z3.And(y > one, smaller))
        else:
            yield z3.Implies(z3.And(x > nought, x < one), y > one)
            yield z3.Implies(x > one, y < one)
        yield z3.Implies(x == one, y == one)
        if max(abs(p), q) <= _SOLVED:
            raised, reached = _times(y, q), _times(x, abs(p))
            yield z3.Implies(x > nought, raised == reached if p > 0 else raised * reached == one)

    def ordered(self, other: Function) -> Iterator[Truth]:
        """Yield the conditions on two functions of one operator and exponent: their order."""
        if (self.op, self.exponents) != (other.op, other.exponents):
            return
        (x, y), (v, w) = (self.argument, self.value), (other.argument, other.value)
        if self.op == "geometric":
            pairs = list(zip(self.arguments, other.arguments, strict=True))
            yield z3.Implies(z3.And([mine <= theirs for mine, theirs in pairs]), y <= w)
            yield z3.Implies(z3.And([mine >= theirs for mine, theirs in pairs]), y >= w)
            return
        if self.op == "round":
            yield z3.And(z3.Implies(x <= v, y <= w), z3.Implies(v <= x, w <= y))
            return
        if self.op == "power" and not self.exponents[0]:
            return
        inside = z3.And(x > 0, v > 0) if self.op != "exp" else z3.BoolVal(True)
        if self.op == "power" and self.exponents[0] < 0:
            y, w = w, y  # it falls
        yield z3.Implies(inside, z3.And((x < v) == (y < w), (v < x) == (w < y)))


def _times(term: Term, number_of_factors: int) -> Term:
    product = term
    for _ in range(number_of_factors - 1):
        product = product * term
    return product


def number(value: Fraction | int) -> Term:
    """Return an exact number as a term."""
    exact = Fraction(value)
    return z3.Q(exact.numerator, exact.denominator)


def as_number(value: Term | Truth) -> Term:
    """Return a truth as 1 or 0; a number as it is."""
    return z3.If(value, number(1), number(0)) if z3.is_bool(value) else value


def unknown_fact(name: str, fact: Node, domain: Domain, *, exact: bool = False) -> Unknown:
    """Return a fact that can be any value of its domain."""
    if fact.kind is Kind.TRUTH:
        return Unknown(z3.Bool(name), ())
    return _unknown(name, domain, scale_of(fact), exact=exact)


def unknown_published(name: str, domain: Domain, *, exact: bool = False) -> Unknown:
    """Return a published value that can be any of its domain, in nano."""
    return _unknown(name, domain, NANO, exact=exact)


def _unknown(name: str, domain: Domain, scale: int, *, exact: bool) -> Unknown:
    if domain.high - domain.low <= _FEW * domain.unit:
        value = z3.Real(name)
        several = range(domain.low, domain.high + 1, domain.unit)
        return Unknown(value, (z3.Or([value == number(Fraction(n, scale)) for n in several]),))
    if exact:
        whole = z3.Int(name)
        inside = (whole >= -(-domain.low // domain.unit), whole <= domain.high // domain.unit)
        return Unknown(z3.ToReal(whole) * number(Fraction(domain.unit, scale)), inside)
    value = z3.Real(name)
    low, high = (number(Fraction(end, scale)) for end in (domain.low, domain.high))
    if scale == 1:  # whole numbers have a gap beside the smallest, which is often 0
        next_one = number(domain.low + domain.unit)
        return Unknown(value, (z3.Or(value == low, value >= next_one), value <= high))
    return Unknown(value, (value >= low, value <= high))


def rounded(exact: Term, published: Term, marks: Iterable[Fraction] = ()) -> list[Truth]:
    """Return the relation of an exact value and the published one: 2 · |n − 10⁹ · x| ≤ 1.

    Args:
        exact: the exact value.
        published: the published one, in units of one.
        marks: numbers that rounding cannot cross; those that are no nano are left out.
    """
    half = number(Fraction(1, 2 * NANO))
    near = [published - exact <= half, exact - published <= half]
    for mark in {m for m in marks if NANO % m.denominator == 0}:
        near += [z3.Implies(exact <= number(mark), published <= number(mark))]
        near += [z3.Implies(exact >= number(mark), published >= number(mark))]
    return near


def same_order(one: tuple[Term, Term], other: tuple[Term, Term]) -> list[Truth]:
    """Rounding keeps the order of two values, each given as (exact, published)."""
    (x, n), (y, m) = one, other
    return [z3.Implies(x <= y, n <= m), z3.Implies(y <= x, m <= n)]


class Encoder:
    """Reads trees whose parameters are bound.

    Attributes:
        divisions: every division that was read so far.
        functions: every power, geometric mean, exp, log and rounding that was read so far.
        told: what holds of these.
    """

    def __init__(
        self,
        facts: Unknowns,
        published: Unknowns,
        name: str | None = None,
    ) -> None:
        """Read over these unknowns.

        Args:
            facts: by digest.
            published: by name.
            name: what no other encoder of a question is called. By it functions are named; without
                it their names, and so what the solver does, depend on all that were read before.
        """
        self._facts, self._published, self._name = facts, published, name
        self._reached: Truth = z3.BoolVal(True)
        self.divisions: list[Division] = []
        self.functions: list[Function] = []
        self.told: list[Truth] = []

    def value(self, node: Node) -> Term:
        """Return the exact value of a tree; a condition counts as 1 or 0."""
        if node.kind is Kind.TRUTH:
            return as_number(self.truth(node))
        match node.op:
            case "const":
                return number(value_of(node))
            case "fact":
                return self._facts[node.digest]
            case "published":
                return self._published[str(node.data[0])]
            case "label" | "rank":
                return self.value(node.args[0])
            case "cases":
                return self._cases(*arms_of(node))
            case "power" | "exp" | "log" | "floor" | "round":
                return self._function(node)
            case "geometric":
                return self._geometric_mean(node)
        return self._arithmetic(node)

    def _geometric_mean(self, node: Node) -> Term:
        exponents = tuple(exponent for _, exponent in factors_of(node))
        arguments = tuple(map(self.value, node.args))
        value = self._new(node.op, z3.Real, z3.FreshReal)
        return self._told(Function(node.op, exponents, arguments, value))

    def _told(self, function: Function) -> Term:
        """Note what holds of a function, and return its unknown."""
        ordered = (t for earlier in self.functions for t in function.ordered(earlier))
        self.told += [*function.told, *ordered]
        self.functions.append(function)
        return function.value

    def _function(self, node: Node) -> Term:
        argument = self.value(node.args[0])
        if node.op == "floor":
            return z3.ToReal(z3.ToInt(argument))
        exponents: tuple[Fraction, ...] = ()
        value = self._new(node.op, z3.Real, z3.FreshReal)
        if node.op == "power":
            exponents = (value_of(node.args[1]),)
        if node.op == "round":
            scale = 10 ** int(str(node.data[0]))
            whole = self._new("whole", z3.Int, z3.FreshInt)
            half = number(Fraction(1, 2 * scale))
            value = z3.ToReal(whole) * number(Fraction(1, scale))
            self.told.append(z3.And(value - argument <= half, argument - value <= half))
            exponents = (Fraction(scale),)
        return self._told(Function(node.op, exponents, (argument,), value))

    def _new(self, kind: str, named: Callable[[str], Term], new: Callable[[str], Term]) -> Term:
        if self._name is None:
            return new(kind)
        return named(f"{self._name} {kind}!{len(self.functions)}")

    def truth(self, node: Node) -> Truth:
        """Return a condition of a tree."""
        match node.op:
            case "fact":
                return self._facts[node.digest]
            case "label":
                return self.truth(node.args[0])
            case "not":
                return z3.Not(self.truth(node.args[0]))
            case "and" | "or":
                first = self.truth(node.args[0])
                both = node.op == "and"
                with self._where(first if both else z3.Not(first)):
                    second = self.truth(node.args[1])
                return z3.And(first, second) if both else z3.Or(first, second)
        return OPERATORS[node.op](*map(self.value, node.args))

    def _arithmetic(self, node: Node) -> Term:
        operands = [self.value(argument) for argument in node.args]
        match node.op, operands:
            case "add" | "sub" | "mul", (x, y):
                return OPERATORS[node.op](x, y)
            case "div", (x, y):
                self.divisions.append(Division(self._reached, y))
                return x / y
            case "min", (x, y):
                return z3.If(x <= y, x, y)
            case "max", (x, y):
                return z3.If(x <= y, y, x)
            case "abs", (x,):
                return z3.If(x < 0, -x, x)
        raise FormulaError(f"found {node!r}, expected a tree whose parameters are bound")

    def _cases(self, arms: list[tuple[Node, Node]], otherwise: Node) -> Term:
        if not arms:
            return self.value(otherwise)
        (condition, node), *rest = arms
        holds = self.truth(condition)
        with self._where(holds):
            value = self.value(node)
        with self._where(z3.Not(holds)):
            return z3.If(holds, value, self._cases(rest, otherwise))

    @contextmanager
    def _where(self, condition: Truth) -> Iterator[None]:
        before = self._reached
        self._reached = z3.And(before, condition)
        try:
            yield
        finally:
            self._reached = before
