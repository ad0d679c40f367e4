"""Planted mutants: a reader that is wrong in one place is seen by the checks of the other tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd

import attrs
import numpy as np
import pytest
from formula.agreement import check_many, check_rows, check_unrounded, lowered
from formula.constructed import LIMITS, SIZES, TIES, A, Sample
from formula.random_trees import (
    LISTED,
    MINE,
    SHARED,
    Case,
    guarded_case,
    irrational_case,
    product_case,
)

from tallystick.errors import FormulaError
from tallystick.formula import (
    balls,
    columns,
    evaluate,
    function_ranges,
    integers,
    lowering,
    program,
)
from tallystick.formula.branch_ranges import BranchRanges
from tallystick.formula.columns import Column, Truths
from tallystick.formula.condition import Both, Condition, Either
from tallystick.formula.domain import Domain
from tallystick.formula.facts import relations
from tallystick.formula.program import Arm, Program
from tallystick.formula.tree import Node, arms_of, cases, floor, root
from tallystick.numbers.nano import NANO

Patch = pytest.MonkeyPatch


def values_of(samples: Sequence[Sample]) -> Callable[[], None]:
    """Only the values count here: a strategy that is not the expected one is no proof."""

    def check() -> None:
        for sample in samples:
            check_rows(sample.case, sample.rows)

    return check


def guarded() -> None:
    check_many(guarded_case, 7, 150)


def products() -> None:
    check_many(product_case, 8, 150)


def functions() -> None:
    check_many(irrational_case, 1, 60)


def unrounded() -> None:
    check_unrounded(1, 120)


def ties_of_functions() -> None:
    """Values in the middle of two nano, whole numbers and equal ones that doubles miss."""
    once = A * Fraction(1, 49) * 49
    for tree in (
        root(A, 2) / (2 * NANO),
        floor(once),
        cases((once < A, 0), (once > A, 0), otherwise=root(A, 3)),
    ):
        check_rows(Case(tree, ((A, Domain(0, 10**6)),)), [(n * n,) for n in range(999)])


def proofs() -> None:
    """What relations between facts prove: a share of a list is in [0, 1], and reaches both."""
    facts = tuple((f, Domain(0, 9)) for f in (SHARED, MINE, LISTED))
    for below in (MINE, LISTED):
        case = Case(cases((below == 0, 0), otherwise=SHARED / below), facts)
        bounds = lowered(case)
        assert (bounds.low, bounds.high) == (0, 1)
        check_rows(case, [(0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 3, 9), (9, 9, 9)])


def units() -> None:
    """A value that is one of few is a multiple of what they share."""
    bonus = cases((A == 0, Fraction(1, 2)), otherwise=Fraction(5, 4))
    check_rows(Case(bonus, ((A, Domain(0, 1)),)), [(0,), (1,)])


sizes, ties, limits = values_of(SIZES), values_of(TIES), values_of(LIMITS)


def rounds_columns_half_up(patch: Patch) -> None:
    for name in ("_divided", "_divided_in_doubles"):
        patch.setattr(columns, name, lambda n, d: (2 * n + d) // (2 * d))


def rounds_corrections_half_up(patch: Patch) -> None:
    def corrected(guess: Column, numerator: Column, divisor: Column | int) -> Column:
        twice = 2 * (numerator - guess * divisor)
        return guess + (twice >= divisor) - (-twice > divisor)

    patch.setattr(columns, "_corrected", corrected)


def drops_the_remainder_correction(patch: Patch) -> None:
    patch.setattr(columns, "_corrected", lambda guess, *_: guess)


def trusts_doubles_too_far(patch: Patch) -> None:
    patch.setattr(columns, "_EXACT", 1 << 27)


def trusts_divided_doubles_too_far(patch: Patch) -> None:
    patch.setattr(columns, "_divided", columns._divided_in_doubles)


def trusts_doubles_near_a_half(patch: Patch) -> None:
    patch.setattr(columns, "_SURE", 1 / 2)


def trusts_int64_too_far(patch: Patch) -> None:
    patch.setattr(columns, "_INT64", 1 << 66)
    patch.setattr(columns, "_DIVISOR", 1 << 66)


def lets_the_last_match_win(patch: Patch) -> None:
    def apart(conditions: Sequence[Truths], rows: int) -> list[Truths]:
        rest, found = np.ones(rows, np.bool_), list[Truths]()
        for condition in reversed(conditions):
            found.append(rest & condition)
            rest = rest & ~found[-1]
        return [*reversed(found), rest]

    patch.setattr(columns, "_apart", apart)


def asks_columns_for_half_of_and(patch: Patch) -> None:
    whole = columns._condition
    patch.setattr(
        columns,
        "_condition",
        lambda c, writer: whole(c.first if isinstance(c, Both) else c, writer),
    )


def takes_the_smaller_for_the_larger(patch: Patch) -> None:
    whole = columns._larger
    opposite = {True: False, False: True, None: None}
    patch.setattr(columns, "_larger", lambda cell: opposite[whole(cell)])


def forgets_that_garbage_overflows(patch: Patch) -> None:
    patch.setattr(columns, "_nano_over", lambda d: (10**9 // gcd(10**9, d), d))


def rounds_integers_half_up(patch: Patch) -> None:
    whole = integers._rounded
    patch.setattr(
        integers, "_rounded", lambda p: [line.replace("q & 1", "True") for line in whole(p)]
    )


def asks_integers_for_half_of_or(patch: Patch) -> None:
    whole = integers._condition
    patch.setattr(integers, "_condition", lambda c: whole(c.first if isinstance(c, Either) else c))


def forgets_the_unit_of_an_input(patch: Patch) -> None:
    whole = integers.source_of

    def source_of(found: Program) -> str:
        return "\n".join(line for line in whole(found).splitlines() if "//=" not in line)

    patch.setattr(integers, "source_of", source_of)


def takes_decimals_for_whole_numbers(patch: Patch) -> None:
    patch.setattr(lowering, "scale_of", lambda _: 1)


def forgets_to_clip_from_above(patch: Patch) -> None:
    whole = lowering._Lowering._choice

    def choice(self: lowering._Lowering, node: Node, known: BranchRanges) -> list[Arm]:
        if node.op == "min":
            return self.arms(node.args[0], known)
        return whole(self, node, known)

    patch.setattr(lowering._Lowering, "_choice", choice)


def cancels_only_above(patch: Patch) -> None:
    whole = lowering._cancelled
    patch.setattr(lowering, "_cancelled", lambda n, d, known: (whole(n, d, known)[0], d))


def drops_the_relations(patch: Patch) -> None:
    patch.setattr(lowering, "relations", lambda _: iter(()))


def turns_the_relations_around(patch: Patch) -> None:
    patch.setattr(
        lowering, "relations", lambda facts: ((large, small) for small, large in relations(facts))
    )


def is_off_by_one_below(patch: Patch) -> None:
    whole = BranchRanges.at_most
    patch.setattr(BranchRanges, "at_most", lambda self, p, bound: whole(self, p, bound - 1))


def is_off_by_one_above(patch: Patch) -> None:
    whole = BranchRanges.at_most
    patch.setattr(BranchRanges, "at_most", lambda self, p, bound: whole(self, p, bound + 1))


def forgets_the_guards_before(patch: Patch) -> None:
    whole = BranchRanges.assume

    def assume(self: BranchRanges, condition: Condition, *, holds: bool = True) -> None:
        if holds:
            whole(self, condition)

    patch.setattr(BranchRanges, "assume", assume)


def claims_too_coarse_a_unit(patch: Patch) -> None:
    patch.setattr(program, "gcd", lambda *values: max(values) + 1)


def reads_both_sides_of_and(patch: Patch) -> None:
    def both(self: evaluate._Evaluator, node: Node) -> Fraction:
        first, second = map(self.value, node.args)
        return first * second

    patch.setattr(evaluate._Evaluator, "_and", both)


def reads_every_case(patch: Patch) -> None:
    def every(self: evaluate._Evaluator, node: Node) -> Fraction:
        arms, otherwise = arms_of(node)
        values = [(self.value(c), self.value(v)) for c, v in arms]
        return next((v for held, v in values if held), self.value(otherwise))

    patch.setattr(evaluate._Evaluator, "_cases", every)


def takes_the_larger_of_what_wraps(patch: Patch) -> None:
    whole = columns._larger

    def larger(cell: program.Cell) -> bool | None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(columns, "_INT64", 1 << 90)
            return whole(cell)

    patch.setattr(columns, "_larger", larger)


def forgets_the_roundings_of_balls(patch: Patch) -> None:
    patch.setattr(balls, "_U", 0.0)


def trusts_functions_to_the_last_place(patch: Patch) -> None:
    patch.setattr(balls, "_TRUSTED", 0.0)


def accepts_what_touches_a_half(patch: Patch) -> None:
    patch.setattr(balls, "_HALF", 0.5000001)


def compares_balls_by_their_middles(patch: Patch) -> None:
    def compared(op: str, x: balls.Balls, y: balls.Balls) -> tuple[Truths, Truths]:
        holds = {"lt": np.less, "le": np.less_equal, "eq": np.equal}[op](x.middle, y.middle)
        return holds, np.ones(len(holds), np.bool_)

    patch.setattr(balls, "_compared", compared)


def takes_the_floor_of_the_middle(patch: Patch) -> None:
    whole = balls._floor
    patch.setitem(balls._FUNCTIONS, "floor", lambda x: whole(balls.Balls(x.middle, 0 * x.radius)))


def bounds_functions_by_one_end(patch: Patch) -> None:
    def wrong(node: Node, argument: function_ranges.Argument) -> tuple[Fraction, Fraction]:
        low, _ = function_ranges.range_of_function(node, argument)
        return low, low

    patch.setattr(lowering, "range_of_function", wrong)


def takes_real_atoms_for_whole_numbers(patch: Patch) -> None:
    patch.setattr(BranchRanges, "is_whole", lambda *_: True)


def forgets_to_look_for_what_is_not_zero(patch: Patch) -> None:
    patch.setattr(BranchRanges, "_is_not_zero", lambda *_: True)


@attrs.frozen
class Mutant:
    plant: Callable[[Patch], None]
    check: Callable[[], None]

    @property
    def name(self) -> str:
        return self.plant.__name__


MUTANTS = [
    Mutant(rounds_columns_half_up, ties),
    Mutant(rounds_corrections_half_up, sizes),
    Mutant(rounds_corrections_half_up, ties),
    Mutant(drops_the_remainder_correction, sizes),
    Mutant(drops_the_remainder_correction, ties),
    Mutant(trusts_doubles_too_far, sizes),
    Mutant(trusts_divided_doubles_too_far, limits),
    Mutant(trusts_doubles_near_a_half, sizes),
    Mutant(trusts_int64_too_far, sizes),
    Mutant(trusts_int64_too_far, limits),
    Mutant(lets_the_last_match_win, guarded),
    Mutant(asks_columns_for_half_of_and, guarded),
    Mutant(takes_the_smaller_for_the_larger, guarded),
    Mutant(takes_the_larger_of_what_wraps, limits),
    Mutant(forgets_that_garbage_overflows, guarded),
    Mutant(rounds_integers_half_up, ties),
    Mutant(asks_integers_for_half_of_or, guarded),
    Mutant(forgets_the_unit_of_an_input, products),
    Mutant(takes_decimals_for_whole_numbers, guarded),
    Mutant(forgets_to_clip_from_above, guarded),
    Mutant(cancels_only_above, guarded),
    Mutant(drops_the_relations, proofs),
    Mutant(turns_the_relations_around, proofs),
    Mutant(is_off_by_one_below, proofs),
    Mutant(is_off_by_one_above, proofs),
    Mutant(forgets_the_guards_before, proofs),
    Mutant(claims_too_coarse_a_unit, units),
    Mutant(reads_both_sides_of_and, guarded),
    Mutant(reads_every_case, guarded),
    Mutant(forgets_the_roundings_of_balls, functions),
    Mutant(trusts_functions_to_the_last_place, functions),
    Mutant(accepts_what_touches_a_half, ties_of_functions),
    Mutant(compares_balls_by_their_middles, ties_of_functions),
    Mutant(takes_the_floor_of_the_middle, ties_of_functions),
    Mutant(bounds_functions_by_one_end, functions),
    Mutant(takes_real_atoms_for_whole_numbers, unrounded),
    Mutant(forgets_to_look_for_what_is_not_zero, unrounded),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.name}-{m.check.__name__}")
def test_a_planted_mutant_is_caught(mutant: Mutant, monkeypatch: Patch) -> None:
    mutant.plant(monkeypatch)
    with pytest.raises((AssertionError, FormulaError, ZeroDivisionError)):
        mutant.check()


@pytest.mark.parametrize(
    "check",
    [
        guarded,
        products,
        functions,
        unrounded,
        ties_of_functions,
        proofs,
        units,
        sizes,
        ties,
        limits,
    ],
)
def test_without_a_mutant_the_check_passes(check: Callable[[], None]) -> None:
    check()
