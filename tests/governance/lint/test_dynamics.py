"""Where reputation rules lead: the figures of the linter against sums in fractions."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from examples import examples
from governance.lint.linted import Placed, found_by
from governance.revision import Change, shipped
from hypothesis import given
from hypothesis import strategies as st


def found(code: str, version: str, *changes: Change) -> list[Placed]:
    """The findings of a shipped rule set with some text replaced."""
    return found_by(shipped(f"skills@{version}", *changes), code)


def rounded(value: Fraction) -> Fraction:
    """To nine places, half to even, without the engine."""
    return Fraction(round(value * 10**9), 10**9)


def fall(start: str, keep: str, apply: str, delta: str, floor: str) -> list[Fraction]:
    """The reputations of a miner whose every record adds the same, epoch by epoch."""
    values = [Fraction(start)]
    while True:
        moved = Fraction(keep) * values[-1] + Fraction(apply) * Fraction(delta)
        following = max(Fraction(floor), min(Fraction(1), rounded(moved)))
        if following == values[-1]:
            return values
        values.append(following)


def test_the_best_miner_falls_below_the_filter_at_epoch_10_and_to_the_floor_at_27() -> None:
    (one,) = found("reputation-decays", "1.0.0")
    assert one.path == "reputation.damping"
    assert "at epoch 10 (0.187365652) and reaches the floor at epoch 27" in one.message
    expected = fall("0.5", "0.9", "0.1", "0.02", "0.05")
    best = one.evidence["best"]
    assert best["events"] == ["consensus_pass"]
    assert Fraction(best["reputation_then"]) == expected[10] == Fraction("0.187365652")
    assert expected[9] >= Fraction("0.2") > expected[10]
    assert (best["epochs_until_below_filter"], best["epochs_until_floor"]) == (10, 27)
    assert (len(expected) - 1, Fraction(best["rests_at"])) == (27, Fraction("0.05"))


def test_even_every_reward_at_once_leaves_no_pool() -> None:
    (one,) = found("pool-extinction", "1.0.0")
    expected = fall("0.5", "0.9", "0.1", "0.04", "0.05")
    rewarded = one.evidence["every_reward"]
    assert rewarded["events"] == ["consensus_pass", "rerun_pass"]
    assert Fraction(rewarded["reputation_then"]) == expected[11] < Fraction("0.2") <= expected[10]
    assert "from epoch 11 on" in one.message


def test_the_horizon_of_the_corrected_line() -> None:
    (one,) = found("reputation-horizon", "1.1.0")
    best, worst = one.evidence["best"], one.evidence["worst"]
    assert (best["rests_at"], best["epochs_to_rest"]) == ("1.000000000", 250)
    value, epochs = Fraction(1), 0
    while value >= Fraction("0.2"):
        value, epochs = rounded(value * Fraction("0.95")), epochs + 1
    assert (worst["epochs_until_below_filter"], epochs) == (32, 32)
    assert Fraction(worst["reputation_then"]) == value


def test_a_reward_that_holds_the_filter_is_no_decay() -> None:
    for add, told in (("0.25", []), ("0.12", ["reputation-decays"])):
        change = ("add = 0.02 ", f"add = {add} ")
        codes = ("reputation-decays", "pool-extinction")
        assert [code for code in codes if found(code, "1.0.0", change)] == told
    assert found("newcomers-outrank-veterans", "1.0.0", ("add = 0.02 ", "add = 0.25 "))


def test_a_floor_at_the_filter_or_a_slot_for_those_below_is_no_trap() -> None:
    off = ("enabled = true                          # E31", "enabled = false # E31")
    for version, change, told in (
        ("1.0.0", ("floor = 0.05", "floor = 0.19"), True),
        ("1.0.0", ("floor = 0.05", "floor = 0.20"), False),
        ("1.1.0", off, True),
    ):
        assert bool(found("floor-below-filter", version, change)) is told


def test_a_penalty_that_is_too_weak_no_reward_and_a_gap_between_bands_are_seen() -> None:
    pairs = [(f"multiply = {value} ", "multiply = 1.0 ") for value in ("0.95", "0.5", "0.7", "0.6")]
    assert found("bad-behaviour-stays", "1.1.0", *pairs)
    assert found("nothing-rewards", "1.1.0", ("add = 0.02 ", "add = 0.0 "))
    gap = ("at_least = 0.4, below = 0.7", "at_least = 0.5, below = 0.7")
    (one,) = found("bands-leave-a-gap", "1.1.0", gap)
    assert one.evidence == {"from": "0.400000000", "to": "0.500000000"}


WEAK = "add = 0.0 "
FAIL = "multiply = 0.95"


def effect(add: int, multiply: int, reputation: Fraction) -> Fraction:
    """The change by a band: hundredths that it adds, and by which it multiplies."""
    return reputation * (Fraction(multiply, 100) - 1) + Fraction(add, 100)


@examples(15)
@given(st.integers(-5, 5), st.integers(90, 110), st.integers(90, 110))
def test_bands_are_in_order_exactly_when_no_reputation_gains_more_in_the_lower_one(
    add: int, multiply: int, lower: int
) -> None:
    text = shipped(
        "skills@1.1.0",
        (FAIL, f"multiply = {Decimal(lower) / 100}"),
        (WEAK, f"multiply = {Decimal(multiply) / 100}\nadd = {Decimal(add) / 100} "),
    )
    floor, ceiling = Fraction(1, 20), Fraction(1)
    tried = [floor + (ceiling - floor) * step / 20 for step in range(21)]
    bands = {"consensus_fail": (0, lower), "consensus_weak": (add, multiply)}
    bands |= {"consensus_pass": (2, 100)}
    names = list(bands)
    expected = {
        f"reputation.events.{high}"
        for low, high in pairwise(names)
        if any(effect(*bands[low], r) > effect(*bands[high], r) for r in tried)
    }
    assert {each.path for each in found_by(text, "band-rewards-less-work")} == expected


def test_a_band_is_told_with_the_reputation_where_it_pays_most_to_fail() -> None:
    (one,) = found("band-rewards-less-work", "1.1.0", (FAIL, "multiply = 1.05"))
    assert one.severity == "error"
    assert one.evidence == {
        "reputation": "1.000000000",
        "changes": {"consensus_fail": "0.050000000", "consensus_weak": "0.000000000"},
    }
