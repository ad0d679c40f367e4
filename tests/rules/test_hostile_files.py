"""Rule-set files made to stop, slow or flood whoever reads them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tallystick.errors import MOST_TOLD, RuleSetError
from tallystick.json_values import error_value as view_of
from tallystick.plugins.registry import Registry
from tallystick.resources import folder
from tallystick.rules.reading import LARGEST, read_text

GOOD = (folder("rules") / "skills" / "1.0.0.toml").read_text(encoding="utf-8")
NUMBER = "expected a decimal of at most nine decimal places and thirty digits before the point"
MOST_TIMES = 100


def refused(text: str, registry: Registry) -> RuleSetError:
    with pytest.raises(RuleSetError) as caught:
        read_text(text, Path("hostile.toml"), registry)
    return caught.value


@pytest.mark.parametrize(
    ("number", "shown"),
    [
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
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        "format = 1\n",
        "beta = 0.5 ",
        'verdict = "x"\n',
        "weights = { detection = 0.30,",
        "gates = [{ axis = ",
    ],
)
def test_no_number_of_a_file_stops_the_reader(
    number: str, shown: str, place: str, registry: Registry
) -> None:
    key = place.partition("=")[0].strip()
    text = GOOD.replace(f"{key} = ", f"{key} = {number} # ", 1)
    if text == GOOD:
        text = f"{GOOD}\n[extra]\n{key} = {number}\n"
    told = str(refused(text, registry))
    assert len(told) < 5000
    assert shown in told or "extra: found a table" in told or "found an array" in told


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


def _filled(
    unit: Callable[[int], str], before: str = "", after: str = "", most: int = LARGEST
) -> str:
    """As many of something as a file may have, or so many."""
    parts, size = [before], 0
    while size < LARGEST and len(parts) <= most:
        parts.append(unit(len(parts)))
        size += len(parts[-1])
    return "".join([*parts, after])


_TYPE = GOOD + "\n[skill_types.k]\ncomposite='geometric'\n"
HOSTILE: dict[str, Callable[[], str]] = {
    "unknown keys": partial(_filled, lambda n: f"k{n}=1\n", after=GOOD),
    "some unknown keys": partial(_filled, lambda n: f"k{n}=1\n", after=GOOD, most=4000),
    "quoted keys": partial(_filled, lambda n: f'"k{n}"=1\n', most=4000),
    "axes without a formula": partial(
        _filled, lambda n: f"axes.k{n}=1\n", GOOD.partition("[axes")[0], most=4000
    ),
    "axes of an unknown formula": partial(
        _filled, lambda n: f"[axes.k{n}]\nformula='skills/k@{n}'\n", f"{GOOD}\n", most=2000
    ),
    "types of an unknown plugin": partial(
        _filled, lambda n: f"[skill_types.k{n}]\ncomposite='a/b@1'\n", f"{GOOD}\n", most=2000
    ),
    "tables where a name belongs": partial(
        _filled, lambda _: "{},", f"{_TYPE}axes=[", "]\n", most=4000
    ),
    "names that repeat": partial(_filled, lambda _: "'a',", f"{_TYPE}axes=[", "]\n", most=4000),
    "gates": partial(_filled, lambda _: "{axis='x'},", f"{_TYPE}gates=[", "]\n", most=2000),
    "dotted tables": partial(_filled, lambda n: f"[a.b{n}.c.d]\n"),
    "deep headers": partial(_filled, lambda n: f"[{'.'.join('a' * 31)}.b{n}]\n"),
    "tables of arrays": partial(_filled, lambda _: "[[a]]\n[[a.b]]\n"),
    "one dotted key": partial(_filled, lambda _: "a.", after="a=1\n"),
    "brackets": partial(_filled, lambda _: "[", "a="),
    "braces": partial(_filled, lambda _: "{a=", "a="),
    "numbers": partial(_filled, lambda _: "1,", "a=[", "]\n"),
    "decimals": partial(_filled, lambda _: "1e5,", "a=[", "]\n"),
    "a long whole number": partial(_filled, lambda _: "7", "a=0x", "\n"),
    "a long decimal": partial(_filled, lambda _: "7", "a=0.", "\n"),
    "escapes": partial(_filled, lambda _: "\\u0041", 'a="', '"\n'),
    "quotes": partial(_filled, lambda _: '""x', 'a="""', '"""\n'),
    "comments": partial(_filled, lambda _: "#\n"),
}


def _cpu(text: str, registry: Registry) -> float:
    """Seconds of the processor: how busy the machine is does not count."""
    before = time.process_time()
    with suppress(RuleSetError):
        read_text(text, Path("hostile.toml"), registry)
    return time.process_time() - before


@pytest.fixture(scope="module")
def of_a_good_file(registry: Registry) -> float:
    # with an unknown key, so that it takes the way on which mistakes are told
    return min(_cpu(f"{GOOD}\n[extra]\n# {n}\n", registry) for n in range(3))


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_file_costs_much_more_than_a_good_one(
    kind: str, of_a_good_file: float, registry: Registry
) -> None:
    text = HOSTILE[kind]()
    # another process may take the cache
    runs = (_cpu(text, registry) for _ in range(3))
    assert any(seconds < MOST_TIMES * of_a_good_file for seconds in runs)
    assert len(str(refused(text, registry))) < 50_000


def test_a_file_has_a_number_of_keys_that_can_be_told_of(registry: Registry) -> None:
    (problem,) = refused(HOSTILE["unknown keys"](), registry).problems
    assert problem.message == "expected at most 5000 keys and items of arrays"
