"""Exact reals: what is equal, what is rational, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tallystick.errors import NumberError, UndecidedError
from tallystick.numbers import real
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact, Real, compare, decimal, exp, log, power, publish, total

HALF = Fraction(1, 2)


def exact(x: Exact | int) -> Exact:
    return Fraction(x) if isinstance(x, int) else x


def root(x: Exact | int, degree: int = 2) -> Exact:
    return power(exact(x), Fraction(1, degree))


def e(x: Exact | int) -> Exact:
    return exp(exact(x))


def ln(x: Exact | int) -> Exact:
    return log(exact(x))


EQUAL: dict[str, Callable[[], tuple[Exact, Exact | int]]] = {
    "√8 = 2√2": lambda: (root(8), 2 * root(2)),
    "√2·√3 = √6": lambda: (root(2) * root(3), root(6)),
    "(1 + √2)² = 3 + 2√2": lambda: ((1 + root(2)) * (1 + root(2)), 3 + 2 * root(2)),
    "1/(√3 − √2) = √3 + √2": lambda: (1 / (root(3) - root(2)), root(3) + root(2)),
    "³√2·³√4 = 2": lambda: (root(2, 3) * root(4, 3), 2),
    "2^1.3·2^0.7 = 4": lambda: (
        power(exact(2), Fraction(13, 10)) * power(exact(2), Fraction(7, 10)),
        4,
    ),
    "√√x = ⁴√x": lambda: (root(root(7)), root(7, 4)),
    "x / x = 1": lambda: ((root(2) + root(5)) / (root(5) + root(2)), 1),
    "√(2/3) = √6/3": lambda: (power(Fraction(2, 3), HALF), root(6) / 3),
    "³√(12) · ³√(18) = 6": lambda: (root(12, 3) * root(18, 3), 6),
    "e²·e³ = e⁵": lambda: (e(2) * e(3), e(5)),
    "√e² = e": lambda: (root(e(2)), e(1)),
    "ln 8 = 3 ln 2": lambda: (ln(8), 3 * ln(2)),
    "ln 6 = ln 2 + ln 3": lambda: (ln(6), ln(2) + ln(3)),
    "ln 9 / ln 3 = 2": lambda: (ln(9) / ln(3), 2),
    "e^(ln 3) = 3": lambda: (e(ln(3)), 3),
    "e^(½ ln 3) = √3": lambda: (e(ln(3) / 2), root(3)),
    "ln √e = ½": lambda: (ln(root(e(1))), HALF),
    "ln 2 · ln 3 = ln 3 · ln 2": lambda: (ln(2) * ln(3), ln(3) * ln(2)),
    "shares sum to 1": lambda: (
        total(root(n) / total(map(root, range(1, 6))) for n in range(1, 6)),
        1,
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_is_equal_is_decided(name: str) -> None:
    one, other = map(exact, EQUAL[name]())
    assert compare(one, other) == compare(other, one) == 0
    assert one == other
    assert publish(one - other) == 0
    apart = Fraction(1, 10**60)
    assert compare(one + apart, other) == 1
    assert compare(one, other + apart) == -1


TINY = Fraction(1, 10**20)
APART: dict[str, Callable[[], tuple[Exact, Exact | int]]] = {
    "√2 + √3 > √5": lambda: (root(2) + root(3), root(5)),
    "√(10³⁰ + 1) > 10¹⁵": lambda: (root(10**30 + 1), 10**15),
    "e^(1/10²⁰) > 1 + 10⁻²⁰": lambda: (e(TINY), 1 + TINY),
    "ln 2 > 0.6931471805599453": lambda: (ln(2), Fraction(6931471805599453, 10**16)),
    "a tiny power of e is above 0": lambda: (e(-(10**6)), 0),
    "³√3 > √2": lambda: (root(3, 3), root(2)),
}


@pytest.mark.parametrize("name", APART)
def test_what_is_apart_is_decided(name: str) -> None:
    one, other = map(exact, APART[name]())
    assert compare(one, other) == 1
    assert other < one
    assert not one <= other


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (lambda: power(Fraction(4, 9), Fraction(3, 2)), Fraction(8, 27)),
        (lambda: root(784), Fraction(28)),
        (lambda: power(Fraction(32), Fraction(-2, 5)), Fraction(1, 4)),
        (lambda: power(Fraction(0), Fraction(1, 7)), Fraction(0)),
        (lambda: power(Fraction(7), Fraction(0)), Fraction(1)),
        (lambda: e(0), Fraction(1)),
        (lambda: ln(1), Fraction(0)),
        (lambda: root(2) - root(2), Fraction(0)),
        (lambda: 0 * root(2), Fraction(0)),
    ],
)
def test_what_is_rational_is_a_fraction(value: Callable[[], Exact], wanted: Fraction) -> None:
    found = value()
    assert isinstance(found, Fraction)
    assert found == wanted


@pytest.mark.parametrize(
    "value",
    [
        lambda: power(Fraction(-1), HALF),
        lambda: power(1 - root(2), HALF),
        lambda: power(Fraction(0), Fraction(0)),
        lambda: power(root(8) - 2 * root(2), Fraction(-1)),
        lambda: ln(0),
        lambda: log(root(2) - 2),
        lambda: e(10**6),
        lambda: exp(41 * root(1) + root(2)),
    ],
)
def test_what_has_no_value_is_refused(value: Callable[[], Exact]) -> None:
    with pytest.raises(NumberError, match="expected"):
        value()


def test_a_division_by_what_is_zero_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        1 / (root(8) - 2 * root(2))


def test_ties_go_to_the_even_nano() -> None:
    six = root(2) * root(3) * root(6)
    assert isinstance(six, Real)
    for nano, wanted in ((1, 0), (3, 2), (5, 2), (-1, 0), (-3, -2)):
        assert publish(six * nano / (12 * NANO)) == wanted
    assert real.places(six / 12, 0) == 0
    assert real.places(six / 4, 0) == 2
    assert real.places(six * Fraction(5, 6000), 2) == 0
    assert real.places(six * Fraction(15, 6000), 2) == Fraction(2, 100)


def test_the_floor_of_what_is_whole_is_itself() -> None:
    assert real.floor(root(2) * root(8) / 4) == 1
    assert real.floor(-root(2) * root(8) / 4) == -1
    assert [real.floor(ln(n) / ln(2)) for n in (1023, 1024, 1025)] == [9, 10, 10]
    assert real.floor(-root(2)) == -2
    assert real.floor(Fraction(-1, 2)) == -1


def test_what_is_nested_deeper_is_refused_never_guessed() -> None:
    nested, flat = root(3 + 2 * root(2)), 1 + root(2)
    with pytest.raises(UndecidedError, match="8192 bits do not tell apart"):
        compare(nested, flat)
    # what needs no comparison has its value all the same
    assert publish(nested) == publish(flat) == 2414213562
    assert compare(nested, flat + Fraction(1, 10**2000)) == -1


def test_a_number_is_shown_with_its_first_places() -> None:
    assert decimal(root(2)) == "1.4142135623730950488016887…"
    assert decimal(-root(2), 3) == "-1.414…"
    assert decimal(Fraction(1, 3), 3) == "0.333…"
    assert decimal(Fraction(5, 4)) == "1.25"
    assert decimal(-Fraction(10**5000, 3)) == f"-{'3' * 26}…e4974"


def test_a_number_whose_last_place_is_undecided_is_shown_all_the_same() -> None:
    one = root(3 + 2 * root(2)) - root(2)
    with pytest.raises(UndecidedError):
        real.places(one / 20, 1)
    assert decimal(one / 20, 1) in {"0.0…", "0.1…"}
    assert decimal(one / 20) == "0.0500000000000000000000000…"


def test_the_log_of_what_may_be_1_is_not_asked() -> None:
    one = root(3 + 2 * root(2)) - root(2)
    assert publish(log(one)) == 0
    assert compare(log(root(2) * root(8) / 4), Fraction(0)) == 0


def test_many_different_radicals_are_told_apart_by_few_steps() -> None:
    curve = [power(Fraction(count, 30009), Fraction(13, 10)) for count in range(1000, 1128)]
    whole = total(curve)
    shares = [each / whole for each in curve]
    assert total(reversed(curve)) == whole
    assert compare(total(shares), Fraction(1)) == 0
    assert sorted(map(publish, shares)) == [publish(each) for each in shares]
