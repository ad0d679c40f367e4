"""Random subnets against plain integers."""

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


@pytest.mark.parametrize("liquid", [False, True])
def test_a_large_net_comes_to_the_same(liquid: bool) -> None:
    case = large_net(16, 64, liquid=liquid)
    assert tallystick.yuma(case)["steps"] == steps_of(case)


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
