"""Numbers for the tests of exact reals, and what python-flint makes of them at 60 digits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import flint

from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact

DIGITS = 60


@attrs.frozen
class Function:
    """A function of one number: ours, that of flint, and the inverse of that."""

    name: str
    ours: Callable[[Fraction], Exact]
    theirs: Callable[[Any], Any]
    inverse: Callable[[Any], Any]


def power(exponent: Fraction) -> Function:
    p, q = exponent.as_integer_ratio()
    return Function(
        f"x^{exponent}",
        lambda x: real.power(x, exponent),
        lambda x: (x**p).root(q),
        lambda y: (y**q).root(abs(p)) if p > 0 else 1 / (y**q).root(-p),
    )


EXP = Function("exp", real.exp, lambda x: x.exp(), lambda y: y.log())
LOG = Function("log", real.log, lambda x: x.log(), lambda y: y.exp())


def as_ball(value: Fraction) -> Any:  # noqa: ANN401  # flint has no types
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def nano_of(function: Function, x: Fraction) -> int:
    """The nano by flint, which says by itself how far it can be off."""
    digits = DIGITS
    while True:
        with flint.ctx.workdps(digits):
            above = (function.theirs(as_ball(x)) * NANO + flint.arb("0.5")).floor().unique_fmpz()
        if above is not None:
            return int(above)
        digits *= 2


def random_cases(seed: int, number: int) -> Iterator[tuple[Function, Fraction]]:
    """Functions with numbers of their domain, of many sizes."""
    rng = random.Random(seed)
    for _ in range(number):
        top, bottom = 10 ** rng.randrange(1, 19), 10 ** rng.randrange(1, 19)
        x = Fraction(rng.randrange(1, top), rng.randrange(1, bottom))
        exponent = Fraction(rng.choice([-1, 1]) * rng.randrange(1, 101), rng.randrange(1, 101))
        yield rng.choice(
            [
                (power(Fraction(1, rng.randrange(1, 101))), x),
                (power(exponent), Fraction(rng.randrange(1, 10**9), 10**9) + rng.randrange(2)),
                (EXP, Fraction(rng.randrange(-(10**11), 4 * 10**9), rng.choice([10**8, 10**9]))),
                (LOG, x),
            ]
        )


def near_halves(seed: int, number: int) -> Iterator[tuple[Function, Fraction, int]]:
    """Numbers whose value is 10⁻¹² to 10⁻³⁰ of a nano from the middle of two; and its nano."""
    rng = random.Random(seed)
    for _ in range(number):
        low, away = rng.randrange(1, NANO), rng.choice([-1, 1])
        exponent = Fraction(rng.choice([-1, 1]) * rng.randrange(1, 20), rng.randrange(1, 12))
        function = rng.choice([power(exponent), EXP, LOG])
        middle = Fraction(2 * low + 1, 2 * NANO)
        value = middle + Fraction(away, NANO * 10 ** rng.randrange(12, 31))
        with flint.ctx.workdps(4 * DIGITS):
            # so many digits that the value of the number that is cut stays on its side
            digits, _, places = function.inverse(as_ball(value)).mid_rad_10exp(2 * DIGITS)
        x = Fraction(int(digits)) * Fraction(10) ** int(places)
        yield function, x, low + (away > 0)
