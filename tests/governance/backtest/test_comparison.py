"""A candidate against the baseline: the miners and amounts that are compared, and who gains."""

import attrs
import pytest
from governance.backtest.made_up import NANO, PLAIN, TIERS, TYPES, flips, outcome

from tallystick.errors import TallystickError
from tallystick_governance.backtest.comparison import (
    EDGES,
    CandidateComparison,
    FlipDistances,
    compare,
)
from tallystick_governance.backtest.distribution import (
    MinerChange,
    losers,
    relative_losers,
    relative_winners,
    winners,
)
from tallystick_governance.backtest.outcome import MinerTotals, Outcome, TypeOutcome


@pytest.fixture(scope="module")
def found() -> Outcome:
    return outcome(candidates=2, many=60, replayed=True)


@pytest.fixture(scope="module")
def second(found: Outcome) -> CandidateComparison:
    return compare(found, 2, {})


def test_a_type_is_compared_among_its_own_miners(
    found: Outcome, second: CandidateComparison
) -> None:
    for name in (*TYPES, PLAIN):
        records = found.candidates[2].types[name].records
        members = [miner for miner in found.miners if records[miner.hotkey]]
        assert list(second.types[name].distribution.miners) == members
        assert len(members) < len(found.miners)


def test_a_type_without_emission_is_compared_by_quality(
    found: Outcome, second: CandidateComparison
) -> None:
    plain = second.types[PLAIN].distribution
    assert plain.measure == "quality"
    assert plain.total_after == found.candidates[2].types[PLAIN].quality.total()
    assert second.types[TYPES[0]].distribution.measure == "emission"


def test_a_type_that_only_the_baseline_has_is_lost(found: Outcome) -> None:
    kept = {n: t for n, t in found.candidates[1].types.items() if n != TYPES[0]}
    candidate = attrs.evolve(found.candidates[1], types=kept)
    lost = compare(attrs.evolve(found, candidates=(found.baseline, candidate)), 1, {}).types[
        TYPES[0]
    ]
    assert (lost.after, lost.compared, lost.distribution.total_after) == (None, None, 0)
    assert lost.distribution.measure == "emission"
    assert lost.distribution.moved is None
    assert lost.distribution.concentration_after.gini is None


def test_without_any_emission_all_types_are_compared_by_quality(found: Outcome) -> None:
    candidates = tuple(
        attrs.evolve(each, types={PLAIN: each.types[PLAIN]}, state=None)
        for each in found.candidates
    )
    overall = compare(attrs.evolve(found, candidates=candidates), 1, {}).overall
    assert overall.measure == "quality"
    assert overall.total_after == found.candidates[1].types[PLAIN].quality.total()


def change(name: str, before: int, after: int) -> MinerChange:
    return MinerChange(MinerTotals(name, 0), 0, 0, before, after, 1, 1)


def test_who_gains_and_loses_most_absolutely_and_relatively() -> None:
    changes = [
        change("b", 10, 30),
        change("a", 10, 30),
        change("large", 1000, 1050),
        change("new", 0, 5),
        change("same", 7, 7),
        change("gone", 4, 0),
        change("half", 100, 50),
    ]
    assert [e.miner.hotkey for e in winners(changes, 3)] == ["large", "a", "b"]
    assert [e.miner.hotkey for e in losers(changes, 9)] == ["half", "gone"]
    assert [e.miner.hotkey for e in relative_winners(changes, 9)] == ["a", "b", "large"]
    assert [e.miner.hotkey for e in relative_losers(changes, 9)] == ["gone", "half"]
    assert changes[5].relative == -NANO
    assert changes[3].relative is None


def test_distances_are_counted_by_kind_over_all_parts(found: Outcome) -> None:
    parts = [flips(found, 1, many=30), flips(found, 1, many=45)]
    counted = sum(map(FlipDistances.of, parts), FlipDistances())
    tiers = [d for part in parts for d in part.tier_distance.to_pylist() if d is not None]
    gates = [d for part in parts for d in part.gate_distance.to_pylist() if d is not None]
    for distances, expected in ((counted.tier, tiers), (counted.gate, gates)):
        assert distances.known == len(expected)
        assert distances.rose == sum(each >= 0 for each in expected)
        assert distances.fell == sum(each < 0 for each in expected)
        assert distances.nearest == min(map(abs, expected))
        assert distances.total == sum(map(abs, expected))
        assert distances.within == tuple(sum(abs(e) <= edge for e in expected) for edge in EDGES)
    assert counted.emission == sum(
        int(part.candidate_emission.sum() - part.baseline_emission.sum())  # type: ignore[union-attr]
        for part in parts
    )
    other = compare(found, 1, {(1, "alpha"): counted}).types["beta"]
    assert other.distances.tier.nearest is None
    assert compare(found, 1, {(1, "alpha"): counted}).distances == counted


def test_with_state_round_scores_are_compared(found: Outcome, second: CandidateComparison) -> None:
    replay = found.candidates[2].state
    assert replay is not None
    assert replay.round_scores is not None
    assert second.round_scores is not None
    assert second.round_scores.after == tuple(replay.round_scores.values())


def test_parts_under_other_tiers_do_not_add_up() -> None:
    part, other = (
        TypeOutcome((tiers, TIERS), has_quality=True, has_emission=True)
        for tiers in (TIERS, TIERS[:2])
    )
    with pytest.raises(TallystickError, match="compare the rule sets without an adoption"):
        part.add(other)
