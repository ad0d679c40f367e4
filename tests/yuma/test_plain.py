"""Random subnets against plain integers, and what must hold of every subnet."""

import copy
import random
from typing import Any

import pytest
from oracle.yuma import steps_of
from yuma.nets import large_net, odd_net

import tallystick

KINDS = {
    "classic": {"yuma3": False},
    "yuma3": {"yuma3": True, "liquid_alpha": False},
    "liquid": {"yuma3": True, "liquid_alpha": True},
}


def of_kind(seed: int, kind: str) -> dict[str, Any]:
    case = odd_net(seed)
    case["params"] |= KINDS[kind]
    return case


@pytest.mark.parametrize("nets", [20, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", KINDS)
def test_random_nets_come_to_the_same(kind: str, nets: int) -> None:
    """Of 1 to 20 uids, three steps each; none pays more than there is."""
    for seed in range(nets):
        case = of_kind(seed, kind)
        outputs = tallystick.yuma(case)["steps"]
        assert outputs == steps_of(case), seed
        for step, output in zip(case["steps"], outputs, strict=True):
            assert sum(output["emission"]) <= step["input"]["emission"]
            parts = sum(output["server_emission"]) + sum(output["validator_emission"])
            assert parts <= step["input"]["emission"]


@pytest.mark.nightly
def test_random_nets_have_everything_odd() -> None:
    """The nets reach what they are for, or they would show nothing."""
    cases = [odd_net(seed) for seed in range(100)]
    inputs = [step["input"] for case in cases for step in case["steps"]]
    rows = [row for given in inputs for row in given.get("weights", [])]
    assert any(row != sorted(row) for row in rows)
    assert any(value == 0 for row in rows for _, value in row)
    assert any(0 < len(given.get("permits", [])) < given["n"] for given in inputs)
    assert any(given.get("permits") == [] for given in inputs)
    assert any(len(given["last_update"]) > given["n"] for given in inputs)
    assert any(0 < len(given["last_update"]) < given["n"] for given in inputs)
    assert any(given["last_update"] == [] for given in inputs)
    assert any("tao" in given for given in inputs)
    assert any("commit_blocks" in given for given in inputs)
    outputs = [step for case in cases for step in tallystick.yuma(case)["steps"]]
    assert sum(any(step["incentive"]) for step in outputs) > 100
    assert sum(any(map(any, step["bonds"])) for step in outputs) > 100
    assert any(not all(step["active"]) for step in outputs)
    assert sum(any(step["dividends"]) for step in outputs) > 100


@pytest.mark.parametrize("liquid", [False, True])
def test_a_large_net_comes_to_the_same(liquid: bool) -> None:
    case = large_net(16, 64, liquid=liquid)
    assert tallystick.yuma(case)["steps"] == steps_of(case)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_uids_matters_nowhere(kind: str) -> None:
    """Without ties of stake, other uids of the same neurons change nothing.

    The sums that every division goes by are the same, so it holds to the last bit.
    """
    case = large_net(6, 9, liquid=False)
    case["params"] |= KINDS[kind]
    step = case["steps"][0]["input"]
    n = step["n"]
    order = random.Random(1).sample(range(n), n)
    place = {old: new for new, old in enumerate(order)}
    moved = copy.deepcopy(case)
    given = moved["steps"][0]["input"]
    for key in ("alpha", "registered", "last_update", "permits"):
        given[key] = [step[key][old] for old in order]
    for key in ("weights", "bonds"):
        given[key] = [sorted([place[uid], x] for uid, x in step[key][old]) for old in order]
    before, after = (tallystick.yuma(each)["steps"][0] for each in (case, moved))
    for key in ("consensus", "incentive", "dividends", "validator_trust", "emission", "permits"):
        assert after[key] == [before[key][old] for old in order], key
    for old, row in enumerate(before["bonds"]):
        assert sorted([place[uid], x] for uid, x in row) == after["bonds"][place[old]]


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_stake_of_everyone_changes_nothing(kind: str) -> None:
    case = large_net(6, 9, liquid=False)
    case["params"] |= KINDS[kind]
    doubled = copy.deepcopy(case)
    given = doubled["steps"][0]["input"]
    given["alpha"] = [2 * stake for stake in given["alpha"]]
    assert tallystick.yuma(doubled) == tallystick.yuma(case)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_zero_is_as_none(kind: str) -> None:
    """Listed or not, it changes no output of a first epoch."""
    case = large_net(6, 9, liquid=False)
    case["params"] |= KINDS[kind]
    given = case["steps"][0]["input"]
    given["bonds"] = [[] for _ in range(given["n"])]
    listed = copy.deepcopy(case)
    for row in listed["steps"][0]["input"]["weights"][:6]:
        row.insert(0, [0, 0])
    assert tallystick.yuma(listed) == tallystick.yuma(case)


def test_who_is_beyond_the_list_of_updates_has_set_none() -> None:
    """The two vote and earn no more; of an empty list nobody is inactive, but no weight counts."""
    case = large_net(4, 5, liquid=False)
    given = case["steps"][0]["input"]
    given["last_update"] = given["last_update"][:2]
    short = tallystick.yuma(case)["steps"][0]
    assert short["active"] == [True, True, *[False] * 7]
    given["last_update"] = [9_900] * 9
    given["alpha"][2:4] = given["last_update"][2:4] = [0, 0]
    for key in ("consensus", "incentive", "validator_trust", "dividends"):
        assert short[key] == tallystick.yuma(case)["steps"][0][key]
    given["last_update"] = []
    none = tallystick.yuma(case)["steps"][0]
    assert (none["active"], none["incentive"]) == ([False] * 9, [0] * 9)
    assert [bool(stake) for stake in none["raw"]["active_stake"]] == [True, True, *[False] * 7]
