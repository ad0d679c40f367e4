"""Whatever the formula: what fails for some record is never proved, and is found if it is plain.

The oracle evaluates every record of a small grid exactly; it knows nothing of a solver.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from governance.prove.sample import sample, style, words

from tallystick.formula.evaluate import evaluate
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import publish
from tallystick.plugins.author import (
    Formula,
    Node,
    Parameters,
    absolute,
    axis,
    cases,
    clip,
    exp,
    floor,
    log,
    maximum,
    minimum,
    more_is_better,
    places,
    power,
    root,
)
from tallystick_governance.prove.built_in_properties import DIRECTION
from tallystick_governance.prove.proving import prove

STYLES = range(0, NANO + 1, NANO // 8)
WORDS = (0, 1, 2, 5, 9)


def tree(rng: random.Random, depth: int = 3) -> Node:
    """A small expression over the style and the number of words."""
    if depth == 0:
        leaves = (style, words / 8, style * 0 + Fraction(rng.randrange(5), 4), style)
        return rng.choice(leaves)
    left, right = tree(rng, depth - 1), tree(rng, depth - 1)
    match rng.randrange(8):
        case 0:
            return left + right
        case 1:
            return left - right / 4
        case 2:
            return left * right
        case 3:
            return minimum(left, right)
        case 4:
            return maximum(left, right)
        case 5:
            return absolute(left - right)
        case 6:
            return cases((words == 0, right), otherwise=left / words)
    return cases((left < right, left), otherwise=right)


def function(rng: random.Random, depth: int = 2) -> Node:
    """The same with roots, powers, exp, log and roundings."""
    inner = clip(tree(rng, depth)) if rng.randrange(2) else style
    made = rng.choice(
        [
            root(inner, 2),
            power(inner, Fraction(13, 10)),
            power(inner + Fraction(1, 2), Fraction(-2, 3)) - Fraction(1, 2),
            exp(inner - 1),
            1 / (1 + exp(-4 * inner)),
            log(1 + inner),
            floor(4 * inner) / 4,
            places(inner, 1),
        ]
    )
    return rng.choice([made, 1 - made, made * style, made - style / 2, maximum(made, inner)])


def formula(
    number: int, rng: random.Random, grow: Callable[[random.Random], Node] = tree
) -> Formula:
    made = clip(grow(rng))

    @axis(f"sample/random-{number}@1")
    def random_axis(_p: Parameters) -> Node:
        """A random axis."""
        return made

    return random_axis


def falls(made: Formula) -> bool:
    """Whether more style lowers the published axis for some record of the grid."""
    for many in WORDS:
        values = [
            publish(evaluate(made.tree, {style.digest: each, words.digest: many}, {}))
            for each in STYLES
        ]
        if any(low > high for (i, low), (j, high) in product(enumerate(values), repeat=2) if i < j):
            return True
    return False


def outcomes(
    folder: Path,
    seed: int,
    number: int,
    grow: Callable[[random.Random], Node] = tree,
    *,
    only_falling: bool = False,
) -> Counter[tuple[bool, str]]:
    """By whether a formula fails on the grid and by what is said of it, how many."""
    rng, found = random.Random(seed), Counter[tuple[bool, str]]()
    for i in range(number):
        made = formula(i, rng, grow)
        fails = falls(made)
        if only_falling and not fails:
            continue
        scorer = sample(
            folder, style=f"random-{i}", further=(made,), directions=(more_is_better(style),)
        )
        for answer in prove(scorer, only=DIRECTION):
            found[fails, answer.status] += 1
    return found


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (root(style, 2), "proved"),
        (power(style, Fraction(13, 10)), "proved"),
        (exp(style - 1), "proved"),
        (log(1 + style), "proved"),
        (floor(4 * style) / 4, "proved"),
        (places(style, 1), "proved"),
        (1 / (1 + exp(-4 * style)), "proved"),
        (1 - root(style, 3), "counterexample"),
        (root(style, 2) - style / 2, "proved"),
        (exp(-style), "counterexample"),
    ],
)
def test_what_rises_with_a_root_a_power_or_exp_is_proved(
    tmp_path: Path, made: Node, status: str
) -> None:
    found = outcomes(tmp_path, 1, 1, lambda _: made)
    assert found == {(status != "proved", status): 1}


@pytest.mark.nightly  # the solver gives up late on some
def test_what_fails_on_a_grid_is_never_proved_of_roots_powers_exp_and_log(tmp_path: Path) -> None:
    found = outcomes(tmp_path, 5, 20, function)
    assert found[True, "proved"] == 0
    assert found[False, "proved"] >= 5


@pytest.mark.nightly
def test_what_fails_on_a_grid_is_refuted_for_hundreds_of_formulas(tmp_path: Path) -> None:
    # no answer about another one would be wrong, and their proofs take the longest
    found = outcomes(tmp_path, 11, 550, only_falling=True)
    assert found.total() > 200
    assert found[True, "proved"] == 0
    assert found[True, "undecided"] <= 4
