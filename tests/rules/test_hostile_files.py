"""Rule-set files made to stop, slow or flood whoever reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from examples import fast_rows
from work import calls

from tallystick.errors import MOST_TOLD, RuleSetError
from tallystick.json_values import error_value as view_of
from tallystick.plugins.registry import Registry
from tallystick.resources import folder
from tallystick.rules.reading import read_text

GOOD = (folder("rules") / "skills" / "1.0.0.toml").read_text(encoding="utf-8")
NUMBER = "expected a decimal of at most nine decimal places and thirty digits before the point"


def refused(text: str, registry: Registry) -> RuleSetError:
    with pytest.raises(RuleSetError) as caught:
        read_text(text, Path("hostile.toml"), registry)
    return caught.value


NUMBERS = [
    ("0x" + "f" * 5000, "0xfff"),
    ("0o" + "7" * 9000, "0xfff"),
    ("0b" + "1" * 90_000, "0xfff"),
    ("9" * 4000, "99999"),
    ("9" * 9000, "a long number"),
    ("1e999999999", "1e999999999"),
    ("1e-999999999", "1e-999999999"),
    ("1" * 9000 + ".5", "11111"),
    ("1e" + "9" * 9000, "1e99999"),
    ("-inf", "-inf"),
    ("nan", "nan"),
    ("1979-05-27", "1979-05-27"),
    ("1979-05-27T07:32:00-08:00", "1979-05-27T07:32:00-08:00"),
    ("07:32:00", "07:32:00"),
]
PLACES = ("format", "beta", "weights", "gates")


@pytest.mark.parametrize(
    ("number", "shown", "key"),
    [*((*each, "beta") for each in NUMBERS), *((*NUMBERS[7], key) for key in PLACES)],
)
def test_no_number_of_a_file_stops_the_reader(
    number: str, shown: str, key: str, registry: Registry
) -> None:
    text = GOOD.replace(f"{key} = ", f"{key} = {number} # ", 1)
    assert text != GOOD
    told = str(refused(text, registry))
    assert len(told) < 5000
    assert shown in told or "found an array" in told


def test_a_number_of_many_digits_is_told_by_its_beginning_and_its_place(registry: Registry) -> None:
    text = GOOD.replace("format = 1", f"format = 0x{'f' * 5000}", 1)
    (problem,) = refused(text, registry).problems
    assert (problem.path, problem.line) == ("rule_set.format", 10)
    assert str(problem).endswith(f"{NUMBER}")
    assert len(problem.evidence["value"]) == 60


def test_the_first_problems_are_told_in_full_and_the_rest_counted(registry: Registry) -> None:
    text = "".join(f"k{number} = 1\n" for number in range(4000)) + GOOD
    error = refused(text, registry)
    assert (len(error.problems), error.more) == (MOST_TOLD, 4000 - MOST_TOLD)
    assert [problem.path for problem in error.problems[:2]] == ["k0", "k1"]
    assert str(error).endswith("\nand 3950 more")
    assert len(str(error)) < 10_000
    view = view_of(error)
    assert (len(view["problems"]), view["more"]) == (MOST_TOLD, 3950)


def test_a_few_problems_are_all_told(registry: Registry) -> None:
    error = refused("x = 1\n" + GOOD, registry)
    assert (len(error.problems), error.more) == (1, 0)
    assert "more" not in str(error)


def test_a_long_key_is_told_by_its_beginning(registry: Registry) -> None:
    for key in ("k" * 100_000, '"' + "\\u0041" * 10_000 + '"'):
        error = refused(f"{GOOD}\n[{key}]\n", registry)
        assert len(str(error)) < 1000


def many(unit: Callable[[int], str], before: str = "", after: str = "") -> Callable[[int], str]:
    """The file with so many of something."""
    return lambda number: "".join([before, *map(unit, range(number)), after])


_TYPE = GOOD + "\n[skill_types.k]\ncomposite='geometric'\n"
HOSTILE: dict[str, Callable[[int], str]] = {
    "unknown keys": many(lambda n: f"k{n}=1\n", after=GOOD),
    "quoted keys": many(lambda n: f'"k{n}"=1\n'),
    "axes without a formula": many(lambda n: f"axes.k{n}=1\n", GOOD.partition("[axes")[0]),
    "axes of an unknown formula": many(
        lambda n: f"[axes.k{n}]\nformula='skills/k@{n}'\n", f"{GOOD}\n"
    ),
    "types of an unknown plugin": many(
        lambda n: f"[skill_types.k{n}]\ncomposite='a/b@1'\n", f"{GOOD}\n"
    ),
    "tables where a name belongs": many(lambda _: "{},", f"{_TYPE}axes=[", "]\n"),
    "names that repeat": many(lambda _: "'a',", f"{_TYPE}axes=[", "]\n"),
    "gates": many(lambda _: "{axis='x'},", f"{_TYPE}gates=[", "]\n"),
    "dotted tables": many(lambda n: f"[a.b{n}.c.d]\n"),
    "deep headers": many(lambda n: f"[{'.'.join('a' * 31)}.b{n}]\n"),
    "tables of arrays": many(lambda _: "[[a]]\n[[a.b]]\n"),
    "one dotted key": many(lambda _: "a.", after="a=1\n"),
    "brackets": many(lambda _: "[", "a="),
    "braces": many(lambda _: "{a=", "a="),
    "numbers": many(lambda _: "1,", "a=[", "]\n"),
    "decimals": many(lambda _: "1e5,", "a=[", "]\n"),
    "a long whole number": many(lambda _: "7", "a=0x", "\n"),
    "a long decimal": many(lambda _: "7", "a=0.", "\n"),
    "escapes": many(lambda _: "\\u0041", 'a="', '"\n'),
    "quotes": many(lambda _: '""x', 'a="""', '"""\n'),
    "comments": many(lambda _: "#\n"),
}


@pytest.mark.parametrize("kind", fast_rows(HOSTILE, 1, 4, 5, 8, 9, 10, 11, 12))
def test_the_work_grows_with_a_file_and_no_faster(kind: str, registry: Registry) -> None:
    def work(number: int) -> int:
        return calls(lambda: refused(HOSTILE[kind](number), registry))

    # the first reading finds what the others keep
    assert len(str(refused(HOSTILE[kind](100), registry))) < 10_000
    # more of each than the problems that are told; twice as many more are twice the further work
    small, middle, large = map(work, (60, 90, 150))
    assert large - middle < 2.5 * (middle - small) + 300


def test_a_file_has_a_number_of_keys_that_can_be_told_of(registry: Registry) -> None:
    (problem,) = refused(HOSTILE["unknown keys"](6000), registry).problems
    assert problem.message == "expected at most 5000 keys and items of arrays"
