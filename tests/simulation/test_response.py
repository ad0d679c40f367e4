"""A response has the gain of a strategy, and says whether the seeds agree about it."""

from __future__ import annotations

import attrs
import networks
import pytest

from tallystick.errors import InputError
from tallystick.numbers.nano import NANO
from tallystick_simulation.mixture import course
from tallystick_simulation.newcomer import newcomer
from tallystick_simulation.response import (
    Earnings,
    Response,
    Setting,
    Trial,
    deterring_detection,
    responses,
    trials,
)


@pytest.mark.parametrize(
    ("pay", "is_clear"),
    [((3, 4), True), ((1, 1), True), ((1, 4), False), ((4, 2), False)],
)
def test_a_response_is_clear_where_all_seeds_agree(pay: tuple[int, int], *, is_clear: bool) -> None:
    assert _response(pay, (2, 2)).is_clear is is_clear


def test_a_gain_is_after_the_cost_of_work() -> None:
    # half of the pay, and half of the work, of which each unit costs a fifth of honest pay
    assert _response((1, 1), (2, 2), work=(1, 1)).gain == -NANO * 4 // 10


def _response(
    pay: tuple[int, ...], honest: tuple[int, ...], work: tuple[int, ...] = (2, 2)
) -> Response:
    return Response(
        skill_type="python",
        strategy="rush",
        summary="rushes",
        is_honest=False,
        own=Earnings(pay=pay, work=work),
        honest=Earnings(pay=honest, work=(2, 2)),
        price=NANO // 5,
    )


@pytest.mark.parametrize(("pay", "work"), [((1, 2), (1, 1)), ((0, 0), (0, 1)), ((2, 1), (1, 0))])
def test_at_its_break_even_price_a_strategy_gains_nothing(
    pay: tuple[int, int], work: tuple[int, int]
) -> None:
    response = _response(pay, (2, 2), work=work)
    price = response.break_even
    assert price is not None
    assert abs(attrs.evolve(response, price=price).gain or 0) <= 1


def test_who_works_as_much_for_no_more_never_gains() -> None:
    assert _response((1, 2), (2, 2)).break_even is None
    assert _response((3, 2), (2, 2)).break_even == 0


def test_further_hotkeys_cost() -> None:
    response = attrs.evolve(_response((4, 4), (2, 2)), registration=3 * NANO)
    assert response.ratio == 2 * NANO
    assert response.gain == -2 * NANO


@pytest.fixture(scope="module")
def trial() -> Trial:
    """A trial of the first rules, under which doing nothing is paid (E49)."""
    setting = Setting(miners=8, epochs=4, seeds=2)
    (found,) = trials(networks.shipped("workflow@1.0.0"), setting)
    return found


def test_at_the_rate_that_deters_a_strategy_it_does_not_pay(trial: Trial) -> None:
    cheap = attrs.evolve(trial.strategies["honest"], name="half-work", cost=NANO // 2)
    dishonest = attrs.evolve(cheap, is_honest=False)
    rate = deterring_detection(trial, dishonest)
    assert rate is None or (trial.response(dishonest, rate).gain or 0) <= 0
    assert not rate or (trial.response(dishonest, rate - 1).gain or 0) > 0


def test_an_unknown_strategy_is_told_with_those_that_there_are(trial: Trial) -> None:
    with pytest.raises(InputError, match='found the strategy "rash", expected one of honest, rush'):
        responses((trial,), ["rash"])


def test_miners_who_follow_pay_keep_their_number(trial: Trial) -> None:
    mixed = course(trial, [trial.strategies[name] for name in ("idle", "rush")], steps=4)
    assert mixed.mixtures[0].counts == {"honest": 6, "idle": 1, "rush": 1}
    for mixture in mixed.mixtures:
        assert sum(mixture.counts.values()) == 8
        assert min(mixture.counts.values()) >= 1
    again = course(trial, [trial.strategies[name] for name in ("idle", "rush")], steps=4)
    assert again == mixed


def test_a_mixture_wants_two_miners_for_each_strategy(trial: Trial) -> None:
    with pytest.raises(InputError, match="found 8 miners, expected at least 10 for 5 strategies"):
        course(trial, [trial.strategies[n] for n in ("idle", "rush", "absent", "spray")])


def test_a_newcomer_is_measured_beside_its_equal(trial: Trial) -> None:
    joined = newcomer(trial)
    assert joined.tiers == {}
    assert len(joined.concentration) == trial.setting.epochs
    assert all(0 < share <= NANO for share in joined.concentration)
