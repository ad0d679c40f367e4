"""What steps collect of a state, where its records cannot say what they ask for."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tallystick.errors import StateError
from tallystick_allocation.rules import AllocationRules
from tallystick_allocation.steps.collect import Collect
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules
from tallystick_state.samples import samples_of


class NoRecords:
    """The records of a line without any."""

    def newest(self, hotkey: str) -> Iterable[StateEvent]:
        del hotkey
        return ()

    def reputation(self, event: StateEvent) -> int:
        raise AssertionError(event)

    def rules_of(self, event: StateEvent) -> StateRules:
        raise AssertionError(event)


def mean(*over: str) -> AllocationRules:
    step = Collect(
        name="x", do="collect", value="quality", statistic="weighted_mean", over=over, times=over
    )
    return AllocationRules((step,))


def test_a_mean_of_a_state_is_weighed_by_what_a_state_knows() -> None:
    known = samples_of(mean("base_weight", "reputation"), NoRecords(), ["a"], ())
    assert not known.hotkeys
    with pytest.raises(StateError, match="weighed by stake, expected base_weight or reputation"):
        samples_of(mean("reputation", "stake"), NoRecords(), ["a"], ())
