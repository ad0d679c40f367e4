"""What events are worth against each other, and what groups and rounds do for nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from examples import examples
from governance.lint.linted import found_by
from governance.revision import shipped
from hypothesis import given
from hypothesis import strategies as st

WEAK = "add = 0.0 "
FAIL = "multiply = 0.95"


def effect(add: int, multiply: int, reputation: Fraction) -> Fraction:
    """What a band changes: hundredths that it adds, and by which it multiplies."""
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
    (found,) = found_by(
        shipped("skills@1.1.0", (FAIL, "multiply = 1.05")), "band-rewards-less-work"
    )
    assert found.severity == "error"
    assert found.evidence == {
        "reputation": "1.000000000",
        "changes": {"consensus_fail": "0.050000000", "consensus_weak": "0.000000000"},
    }


@pytest.mark.parametrize(("factor", "told"), [("0.99", False), ("1", False), ("1.01", True)])
def test_an_event_compounds_above_one_and_not_at_it(factor: str, told: bool) -> None:
    text = shipped("skills@1.1.0", ("multiply = 0.6 ", f"multiply = {factor} "))
    found = found_by(text, "event-compounds")
    assert [each.path for each in found] == ["reputation.events.collusion_flag"] * told
    assert [(e.evidence["at_floor"], e.evidence["at_ceiling"]) for e in found] == [
        ("0.000500000", "0.010000000")
    ] * told


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        (("per_round = 4096", "per_round = 16383"), []),
        (("per_round = 4096", "per_round = 16384"), ["claims.per_round"]),
        (("rounds_per_epoch = 100", "rounds_per_epoch = 16384"), ["claims.rounds_per_epoch"]),
        (("quorum = 2", "quorum = 3"), []),
        (("quorum = 2", "quorum = 4"), ["reputation.collusion.eject_at"]),
    ],
)
def test_a_limit_binds_below_the_other_alone(change: tuple[str, str], paths: list[str]) -> None:
    found = found_by(shipped("skills@1.2.0", change), "limit-never-binds")
    assert [each.path for each in found] == paths


@pytest.mark.parametrize(
    ("value", "told"), [("0", True), ("0.05", True), ("0.050000001", False), ("0.20", False)]
)
def test_a_filter_binds_above_the_floor_alone(value: str, told: bool) -> None:
    text = shipped("skills@1.1.0", ("minimum_reputation = 0.20", f"minimum_reputation = {value}"))
    assert bool(found_by(text, "filter-never-binds")) is told


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("empty = 0,", "empty = 0.000000001,"), "idle-round-pays"),
        (("minimum_members = 3", "minimum_members = 6"), "groups-too-small"),
        (("minimum_submissions = 3", "minimum_submissions = 6"), "groups-too-small"),
        (("new = 0.30", "new = 0\n#"), "threshold-never-moves"),
        (("base_weight = 2.0", "base_weight = 5.000000001"), "base-weight-dominates"),
    ],
)
def test_what_does_nothing_or_pays_for_nothing_is_told(change: tuple[str, str], code: str) -> None:
    beside = {"new": ("old = 0.70", "old = 1"), "minimum_submissions": ("valid = 3", "valid = 6")}
    changes = (change, *filter(None, [beside.get(change[0].partition(" ")[0])]))
    assert found_by(shipped("skills@1.1.0"), code) == []
    assert len(found_by(shipped("skills@1.1.0", *changes), code)) == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("minimum_members = 3", "minimum_members = 5"), "groups-too-small"),
        (("base_weight = 2.0", "base_weight = 5"), "base-weight-dominates"),
    ],
)
def test_what_still_holds_is_not_told(change: tuple[str, str], code: str) -> None:
    assert found_by(shipped("skills@1.1.0", change), code) == []
