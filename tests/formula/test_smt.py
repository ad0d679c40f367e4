"""The solver's encoder says what the exact encoder computes."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import pytest
import z3
from examples import fast_rows
from formula.random_trees import Case, guarded_case, many, product_case, signed_case, tight_case

from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import integer, number, scale_of
from tallystick.formula.smt import (
    Encoder,
    Unknowns,
    rounded,
    same_order,
    unknown_fact,
)
from tallystick.formula.smt import number as term
from tallystick.formula.tree import (
    Kind,
    Node,
    cases,
    exp,
    floor,
    log,
    places,
    power,
    published,
    root,
)
from tallystick.numbers.nano import NANO, publish
from tallystick.numbers.real import Real

A, B, X = integer("a"), integer("b"), number("x")


def exactly(case: Case, facts: dict[str, int], read: dict[str, int]) -> tuple[Unknowns, Unknowns]:
    """The facts and published values of a row as terms."""
    given = {
        f.digest: z3.BoolVal(bool(facts[f.digest]))
        if f.kind is Kind.TRUTH
        else term(Fraction(facts[f.digest], scale_of(f)))
        for f, _ in case.facts
    }
    return given, {name: term(Fraction(nano, NANO)) for name, nano in read.items()}


def fraction_of(value: z3.ExprRef) -> Fraction:
    found = z3.simplify(value)
    return Fraction(found.numerator_as_long(), found.denominator_as_long())


@pytest.mark.parametrize(
    "make", fast_rows([guarded_case, product_case, signed_case, tight_case], 1, 3)
)
def test_the_encoder_gives_the_exact_value_of_random_trees(
    make: Callable[[random.Random], Case],
) -> None:
    checked = 0
    for case, rows in many(make, 5, 12, rows=3):
        for facts, read in rows:
            expected = evaluate(case.tree, facts, read)
            given = exactly(case, dict(facts), dict(read))
            assert fraction_of(Encoder(*given).value(case.tree)) == expected
            checked += 1
    assert checked >= 12


def test_a_divisor_is_told_with_where_it_is_reached() -> None:
    tree = cases((A == 0, 1), (B < 3, A / B), otherwise=1 / A)
    facts = {f.digest: unknown_fact(f.data[1], f, Domain(0, 99)).value for f in (A, B)}
    encoder = Encoder(facts, {})
    encoder.value(tree)
    first, second = encoder.divisions
    solver = z3.Solver()
    assert solver.check(first.reached, first.divisor == 0) == z3.sat
    assert solver.model().eval(facts[B.digest]).as_long() == 0
    assert solver.check(second.reached, second.divisor == 0) == z3.unsat


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("fact", "domain", "inside", "outside"),
    [
        (A, Domain(0, 2), (0, 1, 2), (-1, 3)),
        (A, Domain(5, 1000), (5, 6, 1000), (4, 1001)),
        (A, Domain(-6, 60, 3), (-6, -3, 60), (-9, 63)),
        (X, Domain(0, NANO), (0, 1, NANO), (-1, NANO + 1)),
    ],
)
def test_an_unknown_is_every_value_of_its_domain_and_none_beyond(
    exact: bool,
    fact: Node,
    domain: Domain,
    inside: tuple[int, ...],
    outside: tuple[int, ...],
) -> None:
    unknown = unknown_fact("fact", fact, domain, exact=exact)
    solver = z3.Solver()
    solver.add(*unknown.within)
    for values, status in ((inside, z3.sat), (outside, z3.unsat)):
        for each in values:
            assert solver.check(unknown.value == term(Fraction(each, scale_of(fact)))) == status


def test_an_exact_unknown_is_whole() -> None:
    unknown = unknown_fact("fact", A, Domain(0, 1000), exact=True)
    solver = z3.Solver()
    solver.add(*unknown.within)
    assert solver.check(2 * unknown.value == 5) == z3.unsat


def holds(conditions: list[z3.BoolRef]) -> bool:
    return z3.is_true(z3.simplify(z3.And(conditions)))


def test_what_is_told_of_rounding_holds_of_publishing_and_of_no_other_nano() -> None:
    rng = random.Random(7)
    marks = [Fraction(0), Fraction(1), Fraction(7, 10), Fraction(1, 3)]
    values = [Fraction(rng.randrange(10**10), rng.randrange(1, 10**10)) for _ in range(40)]
    values += [Fraction(n, 2 * NANO) for n in (1, 3, 5, 2 * NANO - 1)]
    pairs = [(each, Fraction(publish(each), NANO)) for each in values]
    for exact, said in pairs:
        assert holds(rounded(term(exact), term(said), marks))
        assert not holds(rounded(term(exact), term(said + Fraction(2, NANO)), marks))
    for (x, n), (y, m) in zip(pairs, reversed(pairs), strict=True):
        assert holds(same_order((term(x), term(n)), (term(y), term(m))))
        wrong = term(m + (1 if y <= x else -1) * abs(n - m) * 2 + (1 if y <= x else -1))
        assert not holds(same_order((term(x), term(n)), (term(y), wrong)))


OF_ONE: dict[str, Callable[[Node], Node]] = {
    "a root": lambda x: root(x, 2),
    "a power above 1": lambda x: power(x, Fraction(13, 10)),
    "a power of whole numbers": lambda x: power(x, Fraction(3, 2)),
    "a power below 0": lambda x: power(x + Fraction(1, 9), Fraction(-2, 3)),
    "exp": lambda x: exp(x - 1),
    "log": lambda x: log(x + Fraction(1, 9)),
    "floor": lambda x: floor(3 * x - 1),
    "places": lambda x: places(x / 7, 1),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_what_is_told_of_a_function_holds_of_its_true_value(name: str) -> None:
    tree = OF_ONE[name](published("x"))
    points = [Fraction(n, 4) for n in (0, 1, 3, 4, 5, 14)]
    encoders = [Encoder({}, {"x": term(point)}) for point in points]
    solver = z3.Solver()
    for point, encoder in zip(points, encoders, strict=True):
        value, true = encoder.value(tree), evaluate(tree, {}, {"x": point})
        low, high = (true, true) if isinstance(true, Fraction) else ends(true)
        solver.add(*encoder.told, value >= term(low), value <= term(high))
    functions = [function for encoder in encoders for function in encoder.functions]
    for one, other in combinations(functions, 2):
        solver.add(*one.ordered(other))
    assert solver.check() == z3.sat
    # and another value is none: what is told says something
    wrong = encoders[-1].value(tree)
    solver.add(*encoders[-1].told, wrong < term(low - 100))
    assert solver.check() == z3.unsat


def ends(value: Real) -> tuple[Fraction, Fraction]:
    low, high = value.enclosure(64)
    return Fraction(low - 1, 1 << 64), Fraction(high + 1, 1 << 64)
