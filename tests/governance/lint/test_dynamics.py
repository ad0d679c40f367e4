"""Where reputation rules lead: the figures of the linter against sums in fractions."""

from fractions import Fraction

from governance.revision import Change, bound, shipped

import tallystick
from tallystick.rules.findings import Finding
from tallystick.scoring.lint import Check
from tallystick.scoring.scorer import Scorer
from tallystick_state.lints import reputation

CHECKS = {each.code: each for each in vars(reputation).values() if isinstance(each, Check)}


def changed(version: str, *changes: Change) -> Scorer:
    """A shipped rule set with some text replaced."""
    return bound(shipped(f"skills@{version}", *changes))


def found(code: str, scorer: Scorer) -> list[Finding]:
    find = CHECKS[code].find
    return [] if find is None else list(find(scorer))


def codes(scorer: Scorer) -> set[str]:
    return {code for code in CHECKS if found(code, scorer)}


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
    (one,) = found("reputation-decays", tallystick.load("skills@1.0.0"))
    assert one.path == ("reputation", "damping")
    assert "at epoch 10 (0.187365652) and reaches the floor at epoch 27" in one.message
    expected = fall("0.5", "0.9", "0.1", "0.02", "0.05")
    best = one.evidence["best"]
    assert best["events"] == ["consensus_pass"]
    assert Fraction(best["reputation_then"]) == expected[10] == Fraction("0.187365652")
    assert expected[9] >= Fraction("0.2") > expected[10]
    assert (best["epochs_until_below_filter"], best["epochs_until_floor"]) == (10, 27)
    assert (len(expected) - 1, Fraction(best["rests_at"])) == (27, Fraction("0.05"))


def test_even_every_reward_at_once_leaves_no_pool() -> None:
    (one,) = found("pool-extinction", tallystick.load("skills@1.0.0"))
    expected = fall("0.5", "0.9", "0.1", "0.04", "0.05")
    rewarded = one.evidence["every_reward"]
    assert rewarded["events"] == ["consensus_pass", "rerun_pass"]
    assert Fraction(rewarded["reputation_then"]) == expected[11] < Fraction("0.2") <= expected[10]
    assert "from epoch 11 on" in one.message


def test_the_horizon_of_the_corrected_line() -> None:
    (one,) = found("reputation-horizon", tallystick.load("skills@1.1.0"))
    best, worst = one.evidence["best"], one.evidence["worst"]
    assert (best["rests_at"], best["epochs_to_rest"]) == ("1.000000000", 250)
    value, epochs = Fraction(1), 0
    while value >= Fraction("0.2"):
        value, epochs = rounded(value * Fraction("0.95")), epochs + 1
    assert (worst["epochs_until_below_filter"], epochs) == (32, 32)
    assert Fraction(worst["reputation_then"]) == value


def test_a_reward_that_holds_the_filter_is_no_decay() -> None:
    better = changed("1.0.0", ("add = 0.02 ", "add = 0.25 "))
    assert not {"reputation-decays", "pool-extinction"} & codes(better)
    assert "newcomers-outrank-veterans" in codes(better)
    weaker = changed("1.0.0", ("add = 0.02 ", "add = 0.12 "))
    assert "reputation-decays" in codes(weaker)
    assert "pool-extinction" not in codes(weaker)


def test_a_floor_at_the_filter_or_a_slot_for_those_below_is_no_trap() -> None:
    assert "floor-below-filter" in codes(changed("1.0.0", ("floor = 0.05", "floor = 0.19")))
    assert "floor-below-filter" not in codes(changed("1.0.0", ("floor = 0.05", "floor = 0.20")))
    off = ("enabled = true                          # E31", "enabled = false # E31")
    assert "floor-below-filter" in codes(changed("1.1.0", off))


def test_a_penalty_that_is_too_weak_is_seen() -> None:
    pairs = [(f"multiply = {value} ", "multiply = 1.0 ") for value in ("0.95", "0.5", "0.7", "0.6")]
    assert "bad-behaviour-stays" in codes(changed("1.1.0", *pairs))


def test_no_reward_and_a_gap_between_bands_are_seen() -> None:
    assert "nothing-rewards" in codes(changed("1.1.0", ("add = 0.02 ", "add = 0.0 ")))
    gap = changed("1.1.0", ("at_least = 0.4, below = 0.7", "at_least = 0.5, below = 0.7"))
    (one,) = found("bands-leave-a-gap", gap)
    assert one.evidence == {"from": "0.400000000", "to": "0.500000000"}
