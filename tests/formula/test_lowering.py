"""What is proved when a formula is bound: its range, and that no divisor is zero."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from formula.agreement import check_rows, lowered
from formula.random_trees import FLAG, GIVEN, LISTED, MINE, SHARED, THEIRS, Case

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import integer, number
from tallystick.formula.lowering import lower
from tallystick.formula.polynomial import MAX_TERMS
from tallystick.formula.tree import (
    Node,
    absolute,
    cases,
    clip,
    const,
    label,
    maximum,
    minimum,
    param,
    published,
    summed,
)
from tallystick.numbers.nano import NANO

A, B, C = integer("a"), integer("b"), integer("c")
X, Y = number("x"), number("y")
UNIT = Domain(0, NANO)


def case(tree: Node, *ranges: tuple[Node, int, int], requirements: Sequence[Node] = ()) -> Case:
    facts = tuple((fact, Domain(low, high)) for fact, low, high in ranges)
    return Case(const(tree), facts, {}, tuple(requirements))


def of_two(tree: Node, *requirements: Node) -> Case:
    """A case of A from 0 to 3 and B from 0 to 9."""
    return case(tree, (A, 0, 3), (B, 0, 9), requirements=requirements)


TWO = [(0, 0), (0, 1), (2, 7), (3, 0), (3, 1)]
SIGNED = ((A, 0, 3), (B, -9, 9))
THREE = ((A, 0, 9), (B, 0, 9), (C, 0, 9))
SAFE: dict[str, tuple[Case, list[tuple[int, ...]]]] = {
    "a positive range": (case(A / B, (A, 0, 3), (B, 1, 9)), [(0, 1), (3, 9), (2, 7)]),
    "a negative range": (case(A / B, (A, 0, 3), (B, -9, -1)), [(0, -1), (3, -9), (2, -7)]),
    "a guard": (of_two(cases((B == 0, 0), otherwise=A / B)), TWO),
    "a guard from above": (case(cases((B > 0, A / B), otherwise=0), *SIGNED), [(3, -3), *TWO]),
    "the opposite of a guard": (of_two(cases((~(B == 0), A / B), otherwise=0)), TWO),
    "an earlier case": (of_two(cases((B == 0, 0), (A / B < 1, 1), otherwise=2)), TWO),
    "the left side of and": (of_two(cases(((B > 0) & (A / B < 1), 1), otherwise=0)), TWO),
    "the left side of or": (of_two(cases(((B == 0) | (A / B < 1), 1), otherwise=0)), TWO),
    "either of two": (of_two(cases(((A == 0) | (B == 0), 0), otherwise=1 / (A * B))), TWO),
    "a guard on a product": (of_two(cases((A * B <= 0, 0), otherwise=1 / (A * B))), TWO),
    "a guard on a square": (of_two(cases((A * A <= 0, 0), otherwise=1 / (A * A))), TWO),
    "a requirement": (of_two(1 / (B - A), A < B), [(0, 1), (3, 9)]),
    "a chain of requirements": (
        case(1 / (C - A), *THREE, requirements=[A <= B, B < C]),
        [(0, 0, 1), (8, 8, 9), (0, 3, 9)],
    ),
    "what an overlap implies": (
        case(
            cases((SHARED == 0, 0), otherwise=1 / (MINE * THEIRS)),
            *((fact, 0, 9) for fact in (SHARED, MINE, THEIRS)),
        ),
        [(0, 0, 0), (1, 1, 9), (9, 9, 9)],
    ),
    "what a flag implies": (
        case(cases((FLAG, 1 / (2 * GIVEN)), otherwise=0), (FLAG, 0, 1), (GIVEN, 0, 1)),
        [(0, 0), (0, 1), (1, 1)],
    ),
    "a guard by name": (
        of_two(cases((label("none", B == 0), 0), otherwise=label("share", A / B))),
        TWO,
    ),
    "a maximum": (case(A / maximum(1, B), *SIGNED), [(3, -9), (3, 1), (2, 7)]),
    "a size": (case(A / (1 + absolute(B)), *SIGNED), [(3, -9), (3, 0), (2, 7)]),
}


@pytest.mark.parametrize("name", SAFE)
def test_a_division_is_proved_safe_by(name: str) -> None:
    check_rows(*SAFE[name])


@pytest.mark.parametrize(
    "unsafe",
    [
        of_two(A / B),
        of_two(A / (B - A)),
        of_two(A / (B - A), A <= B),
        of_two(cases((A == 0, 0), otherwise=A / B)),
        of_two(cases((B == 0, A / B), otherwise=0)),
        of_two(cases(((A / B < 1) & (B > 0), 1), otherwise=0)),
        of_two(1 / clip(B)),
        case(const(1) / 0),
    ],
)
def test_a_division_that_can_be_by_zero_does_not_load(unsafe: Case) -> None:
    with pytest.raises(FormulaError, match=r"which can be 0 where it is reached .*earlier case"):
        lowered(unsafe)


def test_a_division_by_zero_is_shown_as_it_is_written() -> None:
    with pytest.raises(FormulaError, match=r"division by b − a, .*\(range .3 to 9\)"):
        lowered(of_two(1 / (B - A)))


EXACT_BOUNDS = {
    "a share": (
        case(
            cases((B == 0, 0), otherwise=A / B),
            (A, 0, 9), (B, 0, 9), requirements=[A <= B],
        ), 0, 1,
    ),
    "what is left": (
        case(cases((A > B, 0), otherwise=1 - A / B), (A, 1, 9), (B, 1, 9)), 0, 1,
    ),
    "a position in a window": (
        case(
            cases((C < A, 0), (C > B, 0), otherwise=1 - (C - A) / (B - A)),
            (A, 0, 99), (B, 0, 99), (C, 0, 99), requirements=[A < B],
        ), 0, 1,
    ),
    "a clipped line": (case(clip(1 - Fraction(5, 2) * (1 - X)), (X, 0, NANO)), 0, 1),
    "a distance": (case(maximum(0, 1 - absolute(X - Y)), (X, 0, NANO), (Y, 0, NANO)), 0, 1),
    "a sum": (case(summed([X / 2, Y / 4]), (X, 0, NANO), (Y, 0, NANO)), 0, Fraction(3, 4)),
    "a Brier score": (case(1 - (X - Y) ** 2, (X, 0, NANO), (Y, 0, NANO)), 0, 1),
    "a mean of squares": (
        case(1 - ((X - Y) ** 2 + (2 * X - 1) ** 2) / 2, (X, 0, NANO), (Y, 0, NANO)), 0, 1,
    ),
    "a square away from zero": (
        case(1 / (A - B) ** 2, (A, 5, 9), (B, 0, 3)), Fraction(1, 81), Fraction(1, 4),
    ),
    "a smaller one": (case(minimum(A, B), (A, 0, 3), (B, 2, 9)), 0, 3),
    "an F-score": (
        case(
            cases(
                (MINE + THEIRS == 0, 1),
                otherwise=2 * SHARED / (MINE + THEIRS),
            ),
            (SHARED, 0, 9), (MINE, 0, 9), (THEIRS, 0, 9),
        ), 0, 1,
    ),
    "a precision": (
        case(cases((MINE == 0, 0), otherwise=SHARED / MINE), (SHARED, 0, 9), (MINE, 0, 9)), 0, 1,
    ),
    "a count of different items": (
        case(cases((LISTED == 0, 0), otherwise=MINE / LISTED), (LISTED, 0, 9), (MINE, 0, 9)), 0, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT_BOUNDS)
def test_the_bounds_are_as_narrow_as_people_would_say_of(name: str) -> None:
    formula, low, high = EXACT_BOUNDS[name]
    program = lowered(formula)
    assert (program.low, program.high) == (low, high)


def test_an_arm_that_cannot_be_reached_does_not_widen_the_bounds() -> None:
    program = lowered(case(cases((A < 0, 100), (A <= 9, 1), otherwise=200), (A, 0, 9)))
    assert (program.low, program.high, len(program.arms)) == (1, 1, 1)
    assert program.inputs == ()


def test_a_value_without_range_of_its_own_enters_as_its_only_value() -> None:
    program = lower(
        published("p") * A, {A.digest: Domain(0, 9)}, {"p": Domain(NANO // 2, NANO // 2)}
    )
    assert (program.low, program.high) == (0, Fraction(9, 2))
    assert [given.node.op for _, given in program.inputs] == ["fact"]


def test_the_unit_of_few_values_is_what_they_share() -> None:
    bonus = case(
        cases((A < 3, Fraction(23, 20)), (A < 6, Fraction(27, 25)), otherwise=1), (A, 0, 9)
    )
    check_rows(bonus, [(0,), (3,), (6,)])
    assert lowered(bonus).domain == Domain(NANO, 1_150_000_000, 10_000_000)
    assert lowered(case(X, (X, 0, NANO))).domain == UNIT
    assert lowered(case(const(0))).domain == Domain(0, 0)


def test_parameters_must_be_bound() -> None:
    with pytest.raises(FormulaError, match="expected a tree whose parameters are bound"):
        lower(param("k") * A, {A.digest: Domain(0, 9)}, {})


def test_a_formula_that_expands_too_far_is_refused() -> None:
    facts = [integer(f"f{i}") for i in range(40)]
    total = summed(facts)
    with pytest.raises(FormulaError, match=f"more than {MAX_TERMS} terms: publish a part"):
        lower(total * total, {f.digest: Domain(0, 9) for f in facts}, {})


NEGATIVE = ((A, -5, -1), (B, 0, 9), (C, -5, -1))
SIGNED_ROWS = [(-5, 7, -3), (-3, 1, -5), (-1, 9, -1)]
HARMLESS: dict[str, tuple[Case, list[tuple[int, ...]]]] = {
    "a negative factor": (case(A / (A * A), *NEGATIVE), SIGNED_ROWS),
    "two negative factors": (case((A * B) / (A * C), *NEGATIVE), SIGNED_ROWS),
    "a negative factor in a case": (
        case(cases((A >= 0, 0), otherwise=B * A / (A * A)), *NEGATIVE),
        SIGNED_ROWS,
    ),
    "an arm that only its inside shows to be unreachable": (
        of_two(cases((A <= B, cases((A <= 2, 1), otherwise=2)), otherwise=0), B < A),
        [(1, 0), (3, 2)],
    ),
    "a large coefficient of a fact that is zero": (
        of_two(cases((A == 0, B + A * 10**20), otherwise=0)),
        TWO,
    ),
    "a very fine constant": (case(const(Fraction(1, 10**30))), [(), ()]),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_once_went_wrong_is_exact(name: str) -> None:
    check_rows(*HARMLESS[name])


def test_requirements_that_no_record_meets_are_refused() -> None:
    with pytest.raises(FormulaError, match="requirements that no record meets"):
        lowered(of_two(A, A > 5))
