"""Who holds the first place, round by round, by hand; and what holds of every history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from allocation.subnets import rules_from
from allocation.tables import rules_with
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.errors import RuleSetError
from tallystick.numbers.nano import NANO
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.files import weights_document

Cells = Mapping[str, Any]
REIGN = '{ name = "r", do = "reign", of = "y" }'


def history(keys: str, rounds: Iterable[Cells]) -> list[Allocation]:
    """The allocations of some rounds by a step hold over the column x, each after the other."""
    rules = rules_from(rules_with(f'{{ name = "y", do = "hold", of = "x", {keys} }}', REIGN))
    found: list[Allocation] = []
    for cells in rounds:
        rows = [
            {"hotkey": key, **(value if isinstance(value, dict) else {"x": value})}
            for key, value in cells.items()
        ]
        carry = weights_document(found[-1]) if found else None
        found.append(tallystick.allocate(rules, rows, carry=carry))
    return found


def holders(found: Allocation) -> str:
    """The holders that are remembered, the present one first."""
    carried = found.carry["y"]
    return "".join(sorted(carried, key=carried.__getitem__, reverse=True))


def kept(found: Allocation) -> tuple[str, str, int]:
    """Who holds, the value that is held, and the rounds since."""
    ((holder, held),) = found.carry["y.held"].items()
    ((same, reign),) = found.carry["y.reign"].items()
    assert holder == same
    return holder, str(Fraction(held, NANO)), reign // NANO


def told(keys: str, *rounds: Cells) -> list[str]:
    return [holders(found) for found in history(keys, rounds)]


def test_a_holder_stays_until_it_is_exceeded_by_the_margin() -> None:
    rounds = {"a": 1, "b": "0.9"}, {"a": 1, "b": "1.1"}, {"a": 1, "b": "1.100000001"}
    found = history("margin = 0.1", rounds)
    assert [kept(each) for each in found] == [
        ("a", "1", 0),
        ("a", "1", 1),
        ("b", "1100000001/1000000000", 0),
    ]
    assert found[1].nano("r") == {"a": NANO}
    # held · 1.1 + 0.5
    assert told("margin = 0.1, lead = 0.5", {"a": 1}, {"a": 1, "b": "1.6"}) == ["a", "a"]
    assert told("margin = 0.1, lead = 0.5", {"a": 1}, {"a": 1, "b": "1.61"}) == ["a", "b"]


@pytest.mark.parametrize(
    ("keys", "reign", "enough"),
    [
        # of a margin of 0.4 over 1: what is left of it after so many rounds
        ("margin = 0.4, shrink = 0.25", 0, "1.4"),
        ("margin = 0.4, shrink = 0.25", 1, "1.3"),
        ("margin = 0.4, shrink = 0.25", 3, "1.1"),
        ("margin = 0.4, shrink = 0.25", 9, "1"),
        ("margin = 0.4, shrink = 0.25, least = 0.5", 9, "1.2"),
        ("lead = 0.4, shrink = 0.25", 2, "1.2"),
        # near a ceiling: nothing at it, all of it from so far below on
        ("margin = 0.4, ceiling = 2", 0, "1.2"),
        ("margin = 0.4, ceiling = 2, near = 1", 0, "1.4"),
        ("margin = 0.4, ceiling = 1.5, near = 0.5", 0, "1.2"),
        ("margin = 0.4, ceiling = 1", 0, "1"),
        ("margin = 0.4, ceiling = 2, shrink = 0.5", 1, "1.1"),
    ],
)
def test_a_margin_shrinks(keys: str, reign: int, enough: str) -> None:
    quiet = [{"a": 1}] * (reign + 1)
    above = str(Fraction(enough) + Fraction(1, NANO))
    for value, holder in ((enough, "a"), (above, "b")):
        assert told(keys, *quiet, {"a": 1, "b": value})[-1] == holder


@pytest.mark.parametrize(
    ("keys", "second", "holder"),
    [
        ("margin = 0.1", {"a": {}, "b": "0.5"}, "a"),
        ('absent = "leaves", margin = 0.1', {"a": {}, "b": "0.5"}, "b"),
        ('absent = "leaves", margin = 0.1', {"a": {}}, ""),
        ("margin = 0.1", {"b": "0.5"}, "b"),  # a has lost its slot
        ("margin = 0.1", {"a": 0, "b": "0.5"}, "b"),
        ("margin = 0.1, floor = 0.7", {"a": "0.6", "b": "0.8"}, "b"),
        ("margin = 0.1, floor = 0.7", {"a": "0.6", "b": "0.5"}, ""),
        ("margin = 0.1, floor = 0.7", {"a": "0.7", "b": "0.8"}, "a"),
        ("margin = 0.1", {"a": "0.5", "b": "0.9"}, "a"),  # 1 is held still
        ('margin = 0.1, value = "own"', {"a": "0.5", "b": "0.54"}, "a"),
        ('margin = 0.1, value = "own"', {"a": "0.5", "b": "0.56"}, "b"),
        ('margin = 0.1, value = "own"', {"a": {}, "b": "1.05"}, "a"),
    ],
)
def test_what_ends_a_reign(keys: str, second: Cells, holder: str) -> None:
    assert told(keys, {"a": 1, "b": "0.5"}, second)[-1] == holder


def test_the_last_holders_are_remembered_in_order() -> None:
    rounds = {"a": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1, "c": 3}, {"a": 4, "b": 2, "c": 3}
    assert told("last = 3", *rounds) == ["a", "ba", "cba", "acb"]
    assert told("last = 2", *rounds) == ["a", "ba", "cb", "ac"]
    found = history("last = 3", rounds)[2]
    assert found.nano("y") == {"a": 333333333, "b": 666666667, "c": NANO}
    # who has lost its slot is forgotten, and who held before it does not hold again
    gone = history("last = 3, floor = 1", [*rounds[:3], {"a": "0.5", "b": "0.5"}])[-1]
    assert (holders(gone), gone.carry["y.held"]) == ("ba", {})


def test_equal_challengers_are_told_apart_by_then() -> None:
    rounds = [{"a": {"x": 1, "block": 7}, "b": {"x": 1, "block": 5}}]
    assert told('then = ["-miner.block"]', *rounds) == ["b"]
    assert told('then = ["miner.block"]', *rounds) == ["a"]


GROUPS = {"repositories": "0.5", "packages": "0.3", "mcp_servers": "0.1", "skills": "0.1"}


def test_each_group_has_a_holder_of_its_own() -> None:
    shares = ", ".join(f"{name} = {share}" for name, share in GROUPS.items())
    head = f'[allocation]\ngroup = "track"\ngroups = {{ {shares} }}'
    text = rules_with('{ name = "y", do = "hold", of = "x", margin = 0.1 }')
    text = text.replace("[allocation]", head)
    text = text.replace('do = "lift", of = "x", lowest = 1', 'do = "pools", of = "y"')
    rules = rules_from(text)

    def rows(track: str, **values: object) -> list[dict[str, object]]:
        return [{"hotkey": key, "track": track, "x": x} for key, x in values.items()]

    first = [*rows("packages", a=1), *rows("skills", a=1, b=2), *rows("repositories", c=1)]
    first += rows("mcp_servers", c=1)
    found = tallystick.allocate(rules, first)
    assert found.weights == {"a": 300_000_000, "b": 100_000_000, "c": 600_000_000}
    carry = weights_document(found)
    names = {f"y{part}:{group}" for part in ("", ".held", ".reign") for group in GROUPS}
    assert set(carry["carry"]) == names
    # a is exceeded among packages, and b is not among skills
    second = [*rows("packages", a=1, b="1.2"), *rows("skills", a="2.1", b=2), *first[-2:]]
    weights = tallystick.allocate(rules, second, carry=carry).weights
    assert weights == {"b": 400_000_000, "c": 600_000_000}


@pytest.mark.parametrize(
    ("keys", "told_of"),
    [
        ("shrink = 0.1", "a margin or a lead to shrink"),
        ("ceiling = 1", "a margin or a lead to shrink"),
        ("margin = 0.1, least = 0.5", "no such key without shrink"),
        ("margin = 0.1, near = 0.5", "no such key without ceiling"),
        ("margin = 0.1, ceiling = 0.5, near = 0.5", "a value below the ceiling"),
        ('then = ["speed"]', "the name of an earlier step"),
    ],
)
def test_keys_that_do_nothing_are_refused(keys: str, told_of: str) -> None:
    with pytest.raises(RuleSetError, match=told_of):
        history(keys, [])


def test_a_reign_is_of_a_holder() -> None:
    with pytest.raises(RuleSetError, match="expected a step hold"):
        rules_from(rules_with(REIGN.replace('"y"', '"x"')))


VALUES = st.dictionaries(
    st.sampled_from("abcdef"), st.integers(0, 40).map(lambda n: f"{n / 8}"), max_size=6
)


@examples(40)
@given(st.lists(VALUES, max_size=8), st.sampled_from(["0", "0.1", "0.5"]))
def test_a_place_changes_hands_by_the_margin_alone(rounds: list[Cells], margin: str) -> None:
    found = history(f"margin = {margin}, last = 3", rounds)
    held: tuple[str, Fraction] | None = None
    for cells, allocation in zip(rounds, found, strict=True):
        able = {key: Fraction(value) for key, value in cells.items() if Fraction(value) > 0}
        if held is not None and held[0] not in able:
            held = None
        others = [key for key in able if held is None or key != held[0]]
        best = min(others, key=lambda key: (-able[key], key), default=None)
        enough = 0 if held is None else held[1] * (1 + Fraction(margin))
        expected = held if best is None or able[best] <= enough else (best, able[best])
        shown = {key: Fraction(nano, NANO) for key, nano in allocation.carry["y.held"].items()}
        assert shown == ({} if expected is None else {expected[0]: expected[1]})
        held = expected
