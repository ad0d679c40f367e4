"""Roots, powers, exp and log against python-flint, which shares no code with them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from kernels.reals import EXP, as_ball, nano_of, near_halves, random_cases

from tallystick.numbers import real


@pytest.mark.parametrize("number", [400, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_every_published_value_is_that_of_flint(number: int) -> None:
    seen: Counter[str] = Counter()
    for function, x in random_cases(number, number):
        found = function.ours(x)
        assert real.publish(found) == nano_of(function, x), (function.name, x)
        seen[function.name[:1], isinstance(found, Fraction)] += 1
    assert len(seen) >= 4


def test_an_enclosure_holds_the_value_at_every_precision() -> None:
    for function, x in random_cases(3, 60):
        found = function.ours(x)
        for bits in (64, 128, 512):
            if isinstance(found, real.Real):
                low, high = found.enclosure(bits)
                with_flint = function.theirs(as_ball(x))
                assert not with_flint < as_ball(Fraction(low, 1 << bits))
                assert not with_flint > as_ball(Fraction(high, 1 << bits))
                assert high - low < 1 << 12


@pytest.mark.parametrize("number", [60, pytest.param(5_000, marks=pytest.mark.nightly)])
def test_values_beside_the_middle_of_two_nano_go_to_their_side(number: int) -> None:
    wrong_in_doubles = 0
    for function, x, wanted in near_halves(number, number):
        assert real.publish(function.ours(x)) == wanted == nano_of(function, x)
        with_doubles = float(as_ball(x).exp()) if function is EXP else None
        wrong_in_doubles += with_doubles is not None and round(with_doubles * 1e9) != wanted
    assert wrong_in_doubles  # doubles do not tell these cases apart
