"""Reputation: the events of a consensus; what events come to is told by the oracle of epochs."""

from decimal import Decimal
from fractions import Fraction

from state.random_epochs import changed

from tallystick_state import reputation as module
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import Band, ReputationEvent

NANO = 10**9


def test_a_consensus_outside_every_band_is_no_event(rules: StateRules) -> None:
    only = {"agreed": ReputationEvent(consensus=Band(at_least=Decimal("0.7")))}
    narrow = changed(rules, "reputation", events=only)
    assert module.consensus_event(narrow, 700_000_000) == "agreed"
    assert module.consensus_event(narrow, 699_999_999) is None


def test_a_million_events_are_no_burden(rules: StateRules) -> None:
    found = module.effect(rules, ["collusion_flag"] * 10_000 + ["rerun_pass"] * 1_000_000)
    assert found.added == 20_000
    assert found.factor == Fraction(3, 5) ** 10_000
