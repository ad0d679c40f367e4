"""A change of weights counts once validators with more than kappa of the stake make it."""

from typing import Any

import pytest

import tallystick

STAKES = (34, 33, 20, 13)
OLD, NEW = [[4, 40000], [5, 20000]], [[4, 20000], [5, 40000]]


def outcome(adopting: tuple[int, ...], kappa: int = 32767) -> dict[str, Any]:
    """Four validators and two miners; those named set the new weights."""
    given = {
        "n": 6,
        "block": 1000,
        "emission": 1000,
        "last_update": [900] * 6,
        "registered": [0] * 6,
        "alpha": [*STAKES, 0, 0],
        "permits": [True] * 4 + [False] * 2,
        "weights": [NEW if uid in adopting else OLD for uid in range(4)] + [[], []],
        "bonds": [[]] * 6,
    }
    case = {"params": {"kappa": kappa, "yuma3": True}, "steps": [{"input": given}]}
    found: dict[str, Any] = tallystick.yuma(case)["steps"][0]
    return found


def raw(adopting: tuple[int, ...], key: str) -> list[int]:
    found: list[int] = outcome(adopting)["raw"][key]
    return found


@pytest.mark.parametrize(
    "adopting",
    [(), (0,), (1,), (0, 3), (1, 3), (2, 3), (1, 2, 3), (0, 2), (1, 2), (0, 1), (0, 1, 2)],
)
def test_consensus_is_with_the_majority_of_stake(adopting: tuple[int, ...]) -> None:
    stake = sum(STAKES[uid] for uid in adopting)
    old, new = raw((), "consensus"), raw((0, 1, 2, 3), "consensus")
    assert old == [0, 0, 0, 0, *sorted(new[4:], reverse=True)]
    assert raw(adopting, "consensus") == (new if stake > 50 else old)


def test_who_adopts_alone_loses_trust_and_dividends() -> None:
    alone, before = outcome((0,)), outcome(())
    assert alone["incentive"][4] > alone["incentive"][5]
    assert alone["validator_trust"][0] < 45000
    assert alone["validator_trust"][1] > 65530
    assert alone["dividends"][0] < before["dividends"][0]


def test_who_stays_behind_a_majority_loses_them() -> None:
    most, all_ = outcome((0, 1)), outcome((0, 1, 2, 3))
    assert most["validator_trust"][3] < 45000
    assert most["validator_trust"][0] > 65530
    assert most["dividends"][3] < all_["dividends"][3]


def test_a_higher_kappa_needs_more_of_them() -> None:
    """0.67 of the stake is a majority for kappa 0.6, and none for 0.7; then both lose something."""
    old, new = outcome((), 45875)["consensus"], outcome((0, 1, 2, 3), 45875)["consensus"]
    assert outcome((0, 1), 39321)["consensus"] == new
    assert outcome((0, 1), 45875)["consensus"] == [min(x) for x in zip(old, new, strict=True)]
