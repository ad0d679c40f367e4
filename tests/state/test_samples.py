"""What steps collect of a state, where its records cannot say what they ask for."""

from __future__ import annotations

import pytest

from tallystick.errors import StateError
from tallystick_allocation.rules import AllocationRules
from tallystick_allocation.steps.collect import Collect
from tallystick_state.rules import StateRules
from tallystick_state.samples import EventRecords, Pins


def no_rules(epoch: int) -> StateRules:
    raise AssertionError(epoch)


NO_PINS = Pins(lambda _: None, no_rules)
"""The pins of a line without records."""


def mean(*over: str) -> AllocationRules:
    step = Collect(
        name="x", do="collect", value="quality", statistic="weighted_mean", over=over, times=over
    )
    return AllocationRules((step,))


def test_a_mean_of_a_state_is_weighed_by_what_a_state_knows() -> None:
    records = EventRecords(())
    assert not records.samples(NO_PINS, mean("base_weight", "reputation"), ["a"], 0).hotkeys
    with pytest.raises(StateError, match="weighed by stake, expected base_weight or reputation"):
        records.samples(NO_PINS, mean("reputation", "stake"), ["a"], 0)
