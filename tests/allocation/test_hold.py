"""Who holds the first place, round by round, by hand.

What rule sets pay over made-up histories is in `test_mechanisms`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import pytest
from allocation.subnets import rules_from
from allocation.tables import Cells, rows_of, rules_with

import tallystick
from tallystick.errors import RuleSetError
from tallystick.numbers.nano import NANO
from tallystick_allocation.allocate import Allocation
from tallystick_allocation.files import weights_document

REIGN = '{ name = "r", do = "reign", of = "y" }'


def history(keys: str, rounds: Iterable[Cells]) -> list[Allocation]:
    """The allocations of some rounds by a step hold over the column x, each after the other."""
    rules = rules_from(rules_with(f'{{ name = "y", do = "hold", of = "x", {keys} }}', REIGN))
    found: list[Allocation] = []
    for cells in rounds:
        carry = weights_document(found[-1]) if found else None
        found.append(tallystick.allocate(rules, rows_of(cells), carry=carry))
    return found


def holders(found: Allocation) -> str:
    """The holders that are remembered, the present one first."""
    carried = found.carry["y"]
    return "".join(sorted(carried, key=carried.__getitem__, reverse=True))


def told(keys: str, *rounds: Cells) -> list[str]:
    return [holders(found) for found in history(keys, rounds)]


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
        ("margin = 0.1, lead = 0.5", 0, "1.6"),
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
