"""Each step by hand: nobody, one miner, all 0, ties, and what it refuses.

What lists of steps pay is in `test_mechanisms`.
"""

from __future__ import annotations

from typing import Any

import pytest
from allocation.subnets import rules_from
from allocation.tables import HEAD, applied, column, rules_with
from governance.revision import bound, shipped

import tallystick
from tallystick.errors import AllocationError, RuleSetError
from tallystick.numbers.nano import from_text
from tallystick_allocation.proofs import proved_allocation

Cells = dict[str, Any]
THREE: Cells = {"a": 1, "b": 2, "c": 5}
ZEROS: Cells = {"a": 0, "b": 0}


def step(do: str, keys: str = "") -> str:
    return f'{{ name = "y", do = "{do}", of = "x"{keys and ", "}{keys} }}'


SHARE, CAP = 'do = "share", of = "x"', 'do = "cap", of = "s"'
PARTS = '{ name = "s", do = "share", of = "x" },\n'

CASES = [
    ("filter", "above = 1", THREE, {"b": "2", "c": "5"}),
    ("filter", "at_least = 2", THREE, {"b": "2", "c": "5"}),
    ("filter", 'above = 1, at_least = 3, others = "zero"', THREE, {"a": "0", "b": "0", "c": "5"}),
    ("filter", "above = 0", ZEROS, {}),
    ("top", "k = 2", THREE, {"b": "2", "c": "5"}),
    ("top", "k = 1", {"b": 1, "a": 1, "c": 0}, {"a": "1"}),
    ("top", "k = 9", THREE, {"a": "1", "b": "2", "c": "5"}),
    ("by_rank", "parts = [0.5, 0.3, 0.2]", THREE, {"a": "0.2", "b": "0.3", "c": "0.5"}),
    ("by_rank", "parts = [0.5, 0.3, 0.2]", {"a": 7}, {"a": "1"}),
    ("by_rank", "parts = [0.5, 0.3, 0.2]", {"a": 7, "b": 8}, {"a": "0.375", "b": "0.625"}),
    ("by_rank", 'parts = [0.5, 0.3], short = "leave"', THREE, {"a": "0", "b": "0.3", "c": "0.5"}),
    ("by_rank", 'parts = [0.5, 0.3, 0.2], short = "leave"', {"a": 7}, {"a": "0.5"}),
    ("by_rank", 'parts = [0.6, 0.4], ties = "pooled"', {"a": 1, "b": 1, "c": 2},
     {"a": "0.2", "b": "0.2", "c": "0.6"}),
    ("by_rank", "parts = [1]", {"b": 1, "a": 1}, {"a": "1", "b": "0"}),
    ("share", "", THREE, {"a": "0.125", "b": "0.25", "c": "0.625"}),
    ("share", "", {"a": 3}, {"a": "1"}),
    ("share", 'zero = "zero"', ZEROS, {"a": "0", "b": "0"}),
    ("share", 'zero = "equal"', ZEROS, {"a": "0.5", "b": "0.5"}),
    ("share", "drop_zero = true", {"a": 0, "b": 2}, {"b": "1"}),
    ("share", 'below = "keep"', {"a": -1, "b": 3}, {"a": "-0.5", "b": "1.5"}),
    ("share", 'below = "keep"', {"a": 1, "b": -3}, {"a": "-0.5", "b": "1.5"}),
    ("share", 'below = "keep"', {"a": -1, "b": -3}, {"a": "0.25", "b": "0.75"}),
    ("share", 'below = "keep", zero = "zero"', {"a": 1, "b": -1}, {"a": "0", "b": "0"}),
    ("share", 'below = "keep", zero = "equal"', {"a": 1, "b": -1}, {"a": "0.5", "b": "0.5"}),
    ("share", 'below = "keep", drop_zero = true', {"a": -1, "b": 0, "c": 3},
     {"a": "-0.5", "c": "1.5"}),
    ("equal", "", THREE, dict.fromkeys(THREE, "0.3333333333333333333333333…")),
    ("lift", "lowest = 0.5", THREE, {"a": "0.5", "b": "1.5", "c": "4.5"}),
    ("lift", "lowest = 0.5", {"a": -7}, {"a": "0.5"}),
    ("z_score", 'deviation = "population"', {"a": 1, "b": 3}, {"a": "-1", "b": "1"}),
    ("z_score", 'deviation = "sample"', {"a": 1, "b": 3},
     {"a": "-0.7071067811865475244008444…", "b": "0.7071067811865475244008444…"}),
    ("z_score", 'deviation = "population", flat = 1', {"a": 4, "b": 4}, {"a": "1", "b": "1"}),
    ("z_score", 'deviation = "population"', {"a": 4}, {"a": "0"}),
    ("average", 'new = 0.5, leaver = "drop", normalise = false', THREE,
     {"a": "0.5", "b": "1", "c": "2.5"}),
    ("average", 'new = 0.5, leaver = "drop", normalise = true', THREE,
     {"a": "0.125", "b": "0.25", "c": "0.625"}),
    ("average", 'new = 0.5, leaver = "drop", newcomer = "new", normalise = false', THREE,
     {"a": "1", "b": "2", "c": "5"}),
    ("average", 'new = 0.5, leaver = "drop", drop_up_to = 1, normalise = false', THREE,
     {"c": "2.5"}),
    ("statistic", 'as = "median"', THREE, {"": "2"}),
    ("statistic", 'as = "median"', {"a": 1, "b": 4}, {"": "2.5"}),
    ("statistic", 'as = "median", above = 1', THREE, {"": "3.5"}),
    ("statistic", 'as = "mean"', {"a": 1, "b": 2}, {"": "1.5"}),
    ("statistic", 'as = "max"', THREE, {"": "5"}),
    ("statistic", 'as = "min"', THREE, {"": "1"}),
    ("statistic", 'as = "sum"', THREE, {"": "8"}),
    ("statistic", 'as = "sum", above = 9, empty = 0', THREE, {"": "0"}),
    ("statistic", 'as = "kth_best", k = 2', THREE, {"": "2"}),
    ("statistic", 'as = "kth_best", k = 4, empty = 7', THREE, {"": "7"}),
    # of four values one at each end: 1 becomes 2, and 9 becomes 5
    ("statistic", 'as = "winsorised_mean", cut = 0.25', {**THREE, "d": 9}, {"": "3.5"}),
    ("statistic", 'as = "winsorised_mean", cut = 0.2', {**THREE, "d": 7}, {"": "3.75"}),
    ("gate", 'by = "x", above = 1, at_least = 3', THREE, {"c": "5"}),
    ("gate", 'by = "x", above = 1, others = "zero"', THREE, {"a": "0", "b": "2", "c": "5"}),
    ("gate", 'by = "miner.able", above = 0', {"a": {"x": 1, "able": True}, "b": 2}, {"a": "1"}),
    ("gate", 'by = "miner.able", at_least = 0.5', {"a": {"x": 1, "able": "0.4"},
     "b": {"x": 2, "able": "0.5"}}, {"b": "2"}),
    ("by_rank", 'ladder = "linear"', THREE, {"a": "0.1666666666666666666666667…",
     "b": "0.3333333333333333333333333…", "c": "0.5"}),
    # log 2, log 3 and log 4 are of log 24
    ("by_rank", 'ladder = "logarithmic"', THREE, {"a": "0.2181042919855315592293378…",
     "b": "0.3456871240434053223119866…", "c": "0.4362085839710631184586756…"}),
    ("by_rank", 'ratio = 0.5, first = 2, tail = 0.1, short = "leave"', {**THREE, "d": 0},
     {"a": "0.1", "b": "0.5", "c": "1", "d": "0.1"}),
    ("by_rank", "parts = [0.6], tail = 0.2", THREE, {"a": "0.2", "b": "0.2", "c": "0.6"}),
    ("by_rank", 'parts = [0.6, 0.4], then = ["-miner.cost"]', {"a": {"x": 1, "cost": 3},
     "b": {"x": 1, "cost": 2}}, {"a": "0.4", "b": "0.6"}),
    ("by_rank", 'parts = [0.6, 0.4], ties = "pooled", then = ["miner.cost"]',
     {"a": {"x": 1, "cost": 3}, "b": {"x": 1, "cost": 2}}, {"a": "0.6", "b": "0.4"}),
    ("top", 'k = 1, then = ["-miner.block"]', {"a": {"x": 1, "block": 9},
     "b": {"x": 1, "block": 7}}, {"b": "1"}),
    ("top", 'k = 1, then = ["miner.block"]', {"a": {"x": 1, "block": 7},
     "b": {"x": 1, "block": 9}}, {"b": "1"}),
    ("burn", 'parts = { owner = 0.5, "uid:7@41" = 0.2 }', {"a": "0.25", "b": "0.75"},
     {"a": "0.075", "b": "0.225", "owner": "0.5", "uid:7@41": "0.2"}),
    ("burn", "parts = { owner = 0.5 }", {}, {"owner": "1"}),
    ("burn", "parts = { b = 0.5 }", {"a": "0.25", "b": "0.75"}, {"a": "0.125", "b": "0.875"}),
    ("rest", 'burn = "owner"', {"a": "0.1", "b": "0.3"}, {"a": "0.1", "b": "0.3", "owner": "0.6"}),
    ("rest", 'burn = "owner"', {"a": 1, "b": 3}, {"a": "0.25", "b": "0.75"}),
    ("rest", 'burn = "owner"', {"a": 1}, {"a": "1"}),
    ("rest", "burn = 3", {}, {"uid:3": "1"}),
    ("average", 'new = 0.5, down = 0.25, leaver = "drop", newcomer = "new", normalise = false',
     THREE, {"a": "1", "b": "2", "c": "5"}),
]  # fmt: skip


@pytest.mark.parametrize(("do", "keys", "cells", "wanted"), CASES)
def test_a_step_by_hand(do: str, keys: str, cells: Cells, wanted: dict[str, str]) -> None:
    assert column(step(do, keys), cells) == wanted


def test_a_gate_is_of_who_is_in_a_column_or_of_who_is_not() -> None:
    best = '{ name = "best", do = "top", of = "x", k = 1 },\n'
    for keys, wanted in (
        ('by = "best"', {"c": "5"}),
        ('by = "best", absent = true', {"a": "1", "b": "2"}),
        ('by = "best", absent = true, others = "zero"', {"a": "1", "b": "2", "c": "0"}),
    ):
        assert column(best + step("gate", keys), THREE) == wanted
    with pytest.raises(RuleSetError, match="no such key beside above and at_least"):
        column(best + step("gate", 'by = "best", absent = true, above = 0'), THREE)


FORMULAS = [
    ("power", "exponent = 1.5", "4", "8"),
    ("power", "exponent = 0.5", "-4", "0"),
    ("clip", "low = -1, high = 2", "5", "2"),
    ("clip", "low = -1, high = 2", "-5", "-1"),
    ("logistic", "middle = 3, width = 0.5", "3", "0.5"),
    ("logistic", "middle = 0, width = 1", "1000000000", "1"),
    ("decline", "rate = 0.25, least = 0.1", "3", "0.25"),
    ("decline", "rate = 0.25, least = 0.1", "30", "0.1"),
]


@pytest.mark.parametrize(("name", "parameters", "value", "wanted"), FORMULAS)
def test_a_formula_of_one_column(name: str, parameters: str, value: str, wanted: str) -> None:
    keys = f'formula = "allocation/{name}@1", of = "x", {parameters}, publish = true'
    assert column(f'{{ name = "y", do = "formula", {keys} }}', {"a": value}) == {"a": wanted}


WINDOW = '{{ name = "y", do = "collect", value = "w", within = [0, 9], {} }}'
VALUES = [
    {"value": 8, "round": 1, "epoch": 0},
    {"value": 4, "round": 5, "epoch": 1},
    {"value": 2, "round": 6, "epoch": 1},
    {"value": 1, "round": 9, "epoch": 3},
]


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ('as = "mean", within_rounds = 4', "1.5"),
        ('as = "mean", within_rounds = 5', "2.3333333333333333333333333…"),
        ('as = "sum", within_epochs = 3', "7"),
        ('as = "sum", within_epochs = 2', "1"),
        ('as = "rounds"', "4"),
        ('as = "count", within_rounds = 1', "1"),
        ('as = "median"', "3"),
        ('as = "kth_best", k = 3', "2"),
        ('as = "kth_best", k = 5, empty = 0.5', "0.5"),
        ('as = "winsorised_mean", cut = 0.25', "3"),
        # of ages 8, 4, 3 and 0: 8/4 + 4/2 + 2/2^(3/4) + 1, over 1/4 + 1/2 + 1/2^(3/4) + 1
        ('as = "mean", half_life = 4, publish = true', "2.639767007"),
        ('as = "sum", tasks = "mean", half_life = 4, publish = true', "6.189207115"),
        ('as = "sum", tasks = "mean", half_life = 1, last = 2', "1.25"),
    ],
)
def test_a_window_in_time_and_an_order(keys: str, wanted: str) -> None:
    cells = {"a": {"x": 1, "w": VALUES}}
    assert column(WINDOW.format(keys), cells) == {"a": wanted}


PARETO = (
    '{{ name = "z", do = "collect", value = "z", as = "last", within = [0, 9] }},\n'
    '{{ name = "y", do = "pareto", of = ["x", "z"], then = ["-miner.block"]{} }}'
)


def test_so_many_are_not_compared_each_with_each() -> None:
    cells = {f"{number}": {"x": number, "z": 1} for number in range(4097)}
    with pytest.raises(AllocationError, match="expected at most 4096") as caught:
        column(PARETO.format(""), cells)
    assert caught.value.code == "too-many"


def test_a_share_of_new_values_by_direction_or_by_miner() -> None:
    keys = 'leaver = "keep", normalise = false'
    up = step("average", f"new = 0.5, down = 0.1, {keys}")
    before = {"allocation": applied(up, {}).bound.digest, "carry": {"y": {"a": "2", "b": "2"}}}
    after = applied(up, {"a": 4, "b": 1}, carry=before)
    assert after.carry["y"] == {"a": 3_000_000_000, "b": 1_900_000_000}
    rate = '{ name = "r", do = "collect", value = "r", as = "last", within = [0, 2] },\n'
    own = rate + step("average", f'new = "r", {keys}')
    carry = {"y": dict.fromkeys("abcd", "2")}
    before = {"allocation": applied(own, {}).bound.digest, "carry": carry}
    cells = {"a": {"x": 4, "r": "0.25"}, "b": {"x": 4}, "c": {"r": 1}, "d": {"x": 4, "r": 1},
             "e": {"x": 4, "r": "0.25"}}  # fmt: skip
    after = applied(own, cells, carry=before)
    shown = {"a": "2.5", "b": "2", "c": "2", "d": "4", "e": "1"}
    assert after.carry["y"] == {key: int(float(value) * 10**9) for key, value in shown.items()}
    with pytest.raises(AllocationError, match="found 2 of r of a, expected a share from 0 to 1"):
        applied(own, {"a": {"x": 1, "r": 2}})


@pytest.mark.parametrize(
    ("do", "keys"),
    [
        ("filter", "above = 0"),
        ("gate", 'by = "x"'),
        ("hold", "margin = 0.1"),
        ("top", "k = 1"),
        ("by_rank", "parts = [1]"),
        ("share", ""),
        ("equal", ""),
        ("lift", "lowest = 1"),
        ("z_score", 'deviation = "sample"'),
        ("average", 'new = 0.5, leaver = "keep", normalise = true'),
    ],
)
def test_of_nobody_a_step_makes_nobody(do: str, keys: str) -> None:
    found = applied(step(do, keys), {})
    assert (found.weights, found.without) == ({}, {})


def capped(keys: str, cells: Cells) -> dict[str, str]:
    return column(f'{PARTS}{{ name = "y", {CAP}, {keys} }}', cells)


def test_an_excess_goes_once_to_who_is_not_above_the_cap() -> None:
    cells = {"a": 6, "b": 3, "c": 1}
    found = capped('share = 0.5, excess = "once"', cells)
    assert found == {"a": "0.5", "b": "0.375", "c": "0.125"}
    # b is above the cap afterwards, as once is once
    above = capped('share = 0.35, excess = "once"', cells)
    assert above == {"a": "0.35", "b": "0.4875", "c": "0.1625"}
    assert capped('share = 0.4, excess = "once"', {"a": 1, "b": 1}) == {"a": "0.5", "b": "0.5"}
    assert capped('share = 0.15, excess = "once"', {"a": 7}) == {"a": "1"}


KEPT = f'{{ name = "s", {SHARE}, below = "keep" }},\n'
REFUSED = [
    (step("share"), ZEROS, "share-undefined"),
    (step("share"), {"a": -1, "b": 2}, "negative"),
    (step("share", 'below = "keep"'), {"a": -2, "b": 2}, "share-undefined"),
    (KEPT + '{ name = "y", do = "share", of = "s" }', {"a": -1, "b": 2}, "negative"),
    (step("statistic", 'as = "max"'), {}, "statistic-of-none"),
    (step("statistic", 'as = "max", above = 9'), THREE, "statistic-of-none"),
    (step("z_score", 'deviation = "sample"'), {"a": 1}, "z-score-of-one"),
    (f'{PARTS}{{ name = "y", {CAP}, share = 0.3, excess = "water_filling" }}', THREE,
     "cap-cannot-hold"),
    (f'{PARTS}{{ name = "y", {CAP}, share = 0.3, excess = "once" }}', {"a": 1, "b": 0},
     "cap-cannot-hold"),
    (step("one_per", 'key = "miner.coldkey"'), THREE, "attribute-missing"),
    (step("top", 'k = 1, ties = "digest", salt = "round.salt"'), {"a": 1, "b": 1},
     "attribute-missing"),
    (step("reserve", 'key = "round.key", share = "round.share"'), THREE, "attribute-missing"),
    (step("filter", "above = 0"), {"a": 2_000_000_000}, "out-of-range"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "cells", "code"), REFUSED)
def test_what_a_step_refuses_sets_no_weights(steps: str, cells: Cells, code: str) -> None:
    with pytest.raises(AllocationError) as caught:
        applied(steps, cells)
    assert caught.value.code == code


def test_who_has_no_weight_is_told_the_step_that_stopped() -> None:
    found = applied(step("z_score", 'deviation = "population", zero = "stop"'), ZEROS)
    assert found.without == dict.fromkeys(ZEROS, "y: all values are 0")


def test_a_sum_that_no_published_values_have_makes_no_shares() -> None:
    steps = (
        '{ name = "zero", do = "filter", of = "x", above = 9, others = "zero" },\n'
        '{ name = "m", do = "mix", of = { x = 0.000000001, zero = 0.999999999 } },\n'
        '{ name = "y", do = "share", of = "m", below = "keep" }'
    )
    assert column(steps, {"a": 3, "b": -2}) == {"a": "3", "b": "-2"}
    for cells in ({"a": "1.5", "b": "-1"}, {"a": "-1.5", "b": "1"}):
        with pytest.raises(AllocationError, match="found a sum of") as caught:
            column(steps, cells)
        assert caught.value.code == "share-undefined"
    # of one sign it is as good as any
    assert column(steps, {"a": "0.3", "b": "0.1"}) == {"a": "0.75", "b": "0.25"}


def test_shares_that_can_be_below_0_are_told_from_weights() -> None:
    lifted = '{ name = "l", do = "lift", of = "x", lowest = 0 }'
    unit = '{ name = "u", do = "share", of = "l", below = "keep" }'
    bound = proved_allocation(rules_from(rules_with(KEPT.rstrip(",\n"), lifted, unit)))
    assert bound is not None
    # a share is largest where the greatest value is over the least sum
    assert bound.ranges["s"] == (-(10**18), 10**18)
    assert bound.ranges["u"] == (0, 1)
    last = rules_with().replace('of = "lift"', 'of = "x", below = "keep"')
    with pytest.raises(RuleSetError, match='"refuse" in the last step: no weight is below 0'):
        rules_from(last)


def test_what_no_precision_decides_sets_no_weights() -> None:
    text = '{ name = "y", do = "formula", formula = "subnets/undecided@1" }'
    assert column(text, {"a": 2, "b": 4}) == {"a": "0", "b": "1"}
    with pytest.raises(AllocationError, match="8192 bits") as caught:
        applied(text, {"a": 2, "b": 3})
    assert caught.value.code == "undecided"


def test_a_digest_of_a_salt_breaks_ties_otherwise_than_hotkeys() -> None:
    keys = 'k = 1, ties = "digest", salt = "round.salt"'
    first = {
        salt: tuple(
            column(
                step("top", keys),
                dict.fromkeys("abcdefgh", 1),
                held={"format": 1, "round": {"salt": salt}},
            )
        )
        for salt in "0123456789"
    }
    assert len(set(first.values())) > 2


def test_a_reserved_share_comes_off_the_top() -> None:
    keys = 'of = "s", key = "round.key", share = "round.part"'
    steps = f'{PARTS}{{ name = "y", do = "reserve", {keys} }}'
    held = {"format": 1, "round": {"key": "treasury", "part": "0.5"}}
    found = column(steps, {"a": 1, "b": 3}, held=held)
    assert found == {"a": "0.125", "b": "0.375", "treasury": "0.5"}
    own = {"format": 1, "round": {"key": "b", "part": "0.5"}}
    assert column(steps, {"a": 1, "b": 3}, held=own) == {"a": "0.125", "b": "0.875"}
    for part in ("1", "-0.1", "2"):
        with pytest.raises(AllocationError, match="at least 0 and less than 1"):
            column(steps, {"a": 1}, held={"format": 1, "round": {"key": "b", "part": part}})


def test_an_average_of_what_may_not_sum_to_1_says_whether_it_is_scaled() -> None:
    keys = 'new = 0.5, leaver = "drop"'
    with pytest.raises(RuleSetError, match="x is not known to sum to 1"):
        rules_from(rules_with(step("average", keys)))
    shares = '{ name = "s", do = "share", of = "x", zero = "zero", publish = true }'
    average = step("average", keys).replace('"x"', '"s"')
    assert column(f"{shares},\n{average}", {"a": 1, "b": 3}) == {"a": "0.25", "b": "0.75"}


@pytest.mark.parametrize(("missed", "wanted"), [("zero", "0.25"), ("left_out", "0.5")])
def test_a_result_without_a_submission_is_a_missed_deadline(missed: str, wanted: str) -> None:
    change = ('as = "mean",', f'as = "mean", missed = "{missed}",')
    rules = bound(shipped("workflow@1.2.0", change))
    result = {"miner_hotkey": "a", "task_id": "1", "axes": {"success": "0.5"}, "quality": "0.5"}
    none = {"miner_hotkey": "a", "task_id": "2", "axes": {}, "quality": None}
    flat = {"miner_hotkey": "a", "task_id": "2", "axes.success": None, "quality": None}
    for late in (none, flat, {**none, "axes": {"success": None}}):
        found = tallystick.allocate(rules, [result, late], columns=["mean"])
        assert found.nano("mean") == {"a": from_text(wanted)}


GROUPED = HEAD + (
    '[allocation]\ngroup = "track"\n'
    "groups = {{ repositories = 0.4, packages = 0.3, mcp_servers = 0.2, skills = 0.1 }}\n"
    "steps = [\n"
    ' {{ name = "x", do = "collect", value = "x", as = "last", within = [0, 9] }},\n'
    ' {{ name = "s", do = "share", of = "x", zero = "zero" }},\n'
    ' {{ name = "weight", do = "pools", of = "s", {}, publish = true }},\n]\n'
)
ROWS = [
    {"hotkey": "a", "track": "repositories", "x": 1},
    {"hotkey": "b", "track": "repositories", "x": 3},
    {"hotkey": "a", "track": "packages", "x": 2},
]


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        # a is a quarter of the first group and all of the second
        ('idle = "equal"', {"a": 587_500_000, "b": 412_500_000}),
        ('idle = "proportional"', {"a": 571_428_571, "b": 428_571_429}),
        ('idle = "packages"', {"a": 700_000_000, "b": 300_000_000}),
        ('idle = "burn", burn = 0', {"a": 400_000_000, "b": 300_000_000, "uid:0": 300_000_000}),
        ('idle = "burn", burn = "b"', {"a": 400_000_000, "b": 600_000_000}),
    ],
)
def test_the_share_of_an_idle_group(keys: str, wanted: dict[str, int]) -> None:
    found = tallystick.allocate(rules_from(GROUPED.format(keys)), ROWS)
    assert found.weights == wanted


def test_an_average_of_groups_has_a_memory_in_each() -> None:
    average = '{ name = "m", do = "average", of = "s", new = 0.5, leaver = "keep" }'
    text = GROUPED.format('idle = "equal"').replace(
        'do = "pools", of = "s"', 'do = "pools", of = "m"'
    )
    rules = rules_from(text.replace(' { name = "weight"', f' {average},\n {{ name = "weight"'))
    first = tallystick.allocate(rules, ROWS)
    assert first.carry["m:repositories"] == {"a": 250_000_000, "b": 750_000_000}
    assert first.carry["m:packages"] == {"a": 10**9}
    second = tallystick.allocate(rules, [{**ROWS[0], "x": 3}, *ROWS[1:2]], carry=first)
    # of repositories a half of 1/4 and 1/2, and of packages what it was: shares of each
    assert second.carry["m:repositories"] == {"a": 375_000_000, "b": 625_000_000}
    assert second.carry["m:packages"] == {"a": 10**9}


@pytest.mark.parametrize(("keys", "wanted"), [("", {}), (", burn = 7", {"uid:7": 10**9})])
def test_pools_that_are_all_idle_are_burnt_or_nobodys(keys: str, wanted: dict[str, int]) -> None:
    rules = rules_from(GROUPED.format('idle = "equal"' + keys))
    assert tallystick.allocate(rules, []).weights == wanted


MIX = (
    '{{ name = "k", do = "filter", of = "x", above = 3 }},\n'
    '{{ name = "p", do = "share", of = "x" }},\n'
    '{{ name = "q", do = "equal", of = "k" }},\n'
    '{{ name = "y", do = "mix", of = {{ p = 0.75, q = 0.25 }}, {} }}'
)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ('empty = "leave"', {"a": "0.25", "b": "0.5"}),
        (
            'empty = "fold"',
            {"a": "0.3333333333333333333333333…", "b": "0.6666666666666666666666667…"},
        ),
        ('empty = "burn", burn = 3', {"a": "0.25", "b": "0.5", "uid:3": "0.25"}),
    ],
)  # fmt: skip
def test_the_part_of_an_empty_column(keys: str, wanted: dict[str, str]) -> None:
    assert column(MIX.format(keys), {"a": 1, "b": 2}) == wanted


def test_a_miner_may_not_be_called_like_a_slot_that_burns() -> None:
    with pytest.raises(AllocationError) as caught:
        column(MIX.format('empty = "burn", burn = 3'), {"uid:3": 1})
    assert caught.value.code == "hotkey-of-slot"
