"""Closing an epoch: its steps and its errors."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs
import pytest
from msgspec.structs import replace
from rules.documents import with_section
from state.random_epochs import (
    EPOCH,
    NANO,
    TYPES,
    Events,
    changed,
)
from state.subnet import under
from state.weighing import close_epoch

from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick_state import reputation
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION, Band, ReputationEvent


def one_miner(rules: StateRules, nano: int) -> State:
    return State(EPOCH, {"a": MinerEntry("a", 0, TYPES, dict.fromkeys(TYPES, nano))}, rules.seeds)


def after_one(rules: StateRules, events: Events) -> str:
    """The reputation that 0.8 becomes."""
    state = one_miner(rules, 800_000_000)
    after = close_epoch(state, events, rules, {EPOCH: state})
    return to_text(after.miners["a"].reputation[TYPES[0]])


def said(*events: str) -> StateEvent:
    return StateEvent("v", "a", TYPES[0], "t", 1, EPOCH, events)


def levels_after(rules: StateRules, old: Mapping[str, int], *qualities: int) -> Mapping[str, int]:
    """The thresholds of a type after a result of each quality, in nano."""
    state = attrs.evolve(one_miner(rules, NANO), thresholds={**rules.seeds, TYPES[0]: old})
    scored = [
        replace(said(), task_id=f"t{place}", role="primary", quality=to_text(nano))
        for place, nano in enumerate(qualities)
    ]
    return close_epoch(state, scored, rules, {EPOCH: state}).thresholds[TYPES[0]]


# ---------------------------------------------------------------------------------------- steps


def test_a_baseline_that_nothing_tracks_stays(rules: StateRules) -> None:
    old = {"baseline": NANO // 5, "novel": NANO}
    assert levels_after(changed(rules, "epochs", baseline=None), old, NANO // 3) == old


def test_the_median_inside_is_not_rounded(rules: StateRules) -> None:
    shares = {"new": Decimal("0.6"), "old": Decimal("0.4")}
    novel = attrs.evolve(rules.epochs.thresholds["novel"], **shares)
    steps = ("recompute_thresholds", "persist")
    other = changed(rules, "epochs", steps=steps, thresholds={"novel": novel})
    # 0.6 · 2.5 = 1.5 is published as 2; from a median rounded to 2, 1.2 would be published as 1
    assert levels_after(other, {"baseline": 0, "novel": 0}, 0, 2, 3, 9)["novel"] == 2


def test_the_steps_of_the_rule_set_are_run_in_its_order(rules: StateRules) -> None:
    state = one_miner(rules, NANO)
    best = replace(said(), role="primary", quality="1.000000000")
    passed = [replace(best, task_id=str(n)) for n in range(3)]
    novel = {}
    for steps in (
        ("recompute_baselines", "recompute_thresholds"),
        ("recompute_thresholds", "recompute_baselines"),
    ):
        other = changed(rules, "epochs", steps=steps)
        after = close_epoch(state, passed, other, {})
        assert after.miners == state.miners
        assert after.thresholds[TYPES[0]]["baseline"] == NANO
        novel[steps[0]] = to_text(after.thresholds[TYPES[0]]["novel"])
    assert novel == {"recompute_baselines": "1.500000000", "recompute_thresholds": "0.825000000"}


def test_a_mean_without_its_update_changes_nothing(rules: StateRules) -> None:
    alone = changed(rules, "epochs", steps=("aggregate_deltas", "persist"))
    assert after_one(alone, [said("collusion_flag")]) == "0.800000000"


def test_a_rule_set_without_reputation_still_tracks_its_thresholds(rules: StateRules) -> None:
    without = under(rules, with_section(rules.rule_set, REPUTATION, None))
    state = State(EPOCH, {"a": MinerEntry("a", 0, TYPES, {})}, rules.seeds)
    audited = replace(said(), role="auditor", quality="0.000000001")
    after = close_epoch(state, [audited], without, {})
    assert after.miners == state.miners
    assert after.thresholds[TYPES[0]]["baseline"] == 1


def test_a_state_without_thresholds_begins_with_the_seeds(rules: StateRules) -> None:
    state = attrs.evolve(one_miner(rules, NANO), thresholds={})
    assert close_epoch(state, [], rules, {}).thresholds == rules.seeds


def test_a_consensus_outside_every_band_is_no_event(rules: StateRules) -> None:
    only = {"agreed": ReputationEvent(consensus=Band(at_least=Decimal("0.7")))}
    narrow = changed(rules, "reputation", events=only)
    assert reputation.consensus_event(narrow, 700_000_000) == "agreed"
    assert reputation.consensus_event(narrow, 699_999_999) is None


def test_a_million_events_are_no_burden(rules: StateRules) -> None:
    found = reputation.effect(rules, ["collusion_flag"] * 10_000 + ["rerun_pass"] * 1_000_000)
    assert found.added == 20_000
    assert found.factor == Fraction(3, 5) ** 10_000


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("events", [("missed_deadline",), ("rerun_pass",)])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"hotkey": "zoe"}, 'of the hotkey "zoe", expected a registered miner'),
        ({"skill_type": "declarative"}, 'type "declarative", expected one that the miner declared'),
        ({"epoch": 3}, "pinned to epoch 3, expected one whose state is kept"),
    ],
)
def test_an_event_that_the_state_cannot_hold_is_refused(
    rules: StateRules, events: tuple[str, ...], other: dict[str, Any], message: str
) -> None:
    with pytest.raises(StateError, match=message):
        after_one(rules, [replace(said(*events), **other)])
