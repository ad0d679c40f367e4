"""What every formula owes: each evaluator gives what the exact one gives, within the bounds.

The functions here are the laws that the tests of the evaluators assert; the planted mutants show
that they would see an evaluator that is wrong.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from math import isfinite

import numpy as np
from formula.random_trees import Case, Row, many, unrounded_case, unrounded_rows

from tallystick.errors import FormulaError, UndecidedError
from tallystick.formula.balls import BallProgram
from tallystick.formula.columns import ColumnProgram, Proposal
from tallystick.formula.evaluate import compile_reference, evaluate
from tallystick.formula.generated import compile_integers
from tallystick.formula.lowering import lower
from tallystick.formula.program import Input, Program
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import publish

INT64 = 1 << 63


def lowered(case: Case) -> Program:
    return lower(case.tree, case.domains, case.published, case.requirements)


def check_case(case: Case, rows: Sequence[Row]) -> tuple[str, ...]:
    """Assert that all evaluators agree on some rows; the ways of the columns, if they fit int64."""
    return check_program(lowered(case), case, rows)


def check_program(program: Program, case: Case, rows: Sequence[Row]) -> tuple[str, ...]:
    """As before, for a case that is lowered already."""
    exact = [evaluate(case.tree, *row) for row in rows]
    assert program.low <= min(exact) <= max(exact) <= program.high
    if not program.is_rational:
        return _check_balls(program, case, rows, [publish(value) for value in exact])
    wanted = [round(value * NANO) for value in exact]
    domain = program.domain
    assert all(domain.low <= n <= domain.high and n % domain.unit == 0 for n in wanted)
    arguments = [[_given(given, row) for _, given in program.inputs] for row in rows]
    function = compile_integers(program)
    assert [function(*row) for row in arguments] == wanted
    if NANO * max(abs(program.low), abs(program.high)) >= INT64 - 1:
        return ()
    columns = ColumnProgram(program)
    inputs = [np.array(column, np.int64) for column in zip(*arguments, strict=True)]
    assert columns(inputs, len(rows)).tolist() == wanted
    return tuple(map(way_of, columns.proposals)) or ("integers",)


def way_of(proposal: Proposal) -> str:
    """How an arm is computed: by whole numbers, and whether some rows are settled."""
    return "settled whole" if proposal.error else "whole"


def _check_balls(
    program: Program, case: Case, rows: Sequence[Row], wanted: Sequence[int]
) -> tuple[str, ...]:
    """As before, for a formula that is no ratio: columns of balls hold the exact value."""
    assert all(program.domain.low <= n <= program.domain.high for n in wanted)
    nodes = [given.node for _, given in program.inputs]
    arguments = [[_given(given, row) for _, given in program.inputs] for row in rows]
    function = compile_reference(case.tree, nodes)
    assert [function(*row) for row in arguments] == wanted
    if NANO * max(abs(program.low), abs(program.high)) >= INT64 - 1:
        return ()
    balls = BallProgram(case.tree, nodes)
    columns = [np.array(column, np.int64) for column in zip(*arguments, strict=True)]
    assert balls(columns, len(rows)).tolist() == wanted
    found = balls.balls(balls.given(columns), len(rows))
    for row, middle, radius in zip(rows, found.middle.tolist(), found.radius.tolist(), strict=True):
        if isfinite(radius):
            off = abs(evaluate(case.tree, *row) - Fraction(middle))
            assert off <= Fraction(radius)
    return ("balls", *(["open"] if not found.published()[1].all() else []))


def _given(given: Input, row: Row) -> int:
    facts, published = row
    node = given.node
    return facts[node.digest] if node.op == "fact" else published[str(node.data[0])]


def check_many(make: Callable[[random.Random], Case], seed: int, number: int) -> Counter[str]:
    """Check random cases; how often each strategy was taken, and what was refused and checked."""
    taken: Counter[str] = Counter()
    for case, rows in many(make, seed, number):
        try:
            program = lowered(case)
        except FormulaError:
            taken["refused"] += 1
            continue
        taken.update({"checked", *check_program(program, case, rows)})
    return taken


def check_unrounded(seed: int, number: int) -> int:
    """Check what is proved of values that are not rounded; how many trees were proved."""
    rng, proved = random.Random(seed), 0
    for _ in range(number):
        case = unrounded_case(rng)
        try:
            program = lowered(case)
        except FormulaError:
            continue
        proved += 1
        for row in unrounded_rows(case, rng, 12):
            # what has no value, by a division by zero, is an error here
            with suppress(UndecidedError):
                assert program.low <= evaluate(case.tree, {}, row) <= program.high
    return proved


def check_rows(case: Case, rows: Iterable[Sequence[int]]) -> tuple[str, ...]:
    """Check rows that list the facts of a case in order."""
    digests = list(case.domains)
    return check_case(case, [(dict(zip(digests, row, strict=True)), {}) for row in rows])
