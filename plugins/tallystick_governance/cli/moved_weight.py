"""The weight that a change of rules moves among made-up miners, as commands tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.cli.log import complain
from tallystick.errors import TallystickError

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer
    from tallystick_governance.adoption_effect import MovedWeight
    from tallystick_state.model import State


def moved_weight(old: Scorer, new: Scorer, state: State | None = None) -> MovedWeight | None:
    """Return the share of weight that a change moves.

    Args:
        old: the rules in force.
        new: the changed ones.
        state: what the network is in the beginning; by default a new one.

    Returns:
        None, with a complaint, where the rules read of records what a simulation cannot put in.
    """
    from tallystick_governance.adoption_effect import MovedWeight
    from tallystick_simulation.comparison import EPOCHS, MINERS, compare  # takes long to load

    try:
        comparison = compare(old, new, state=state)
    except TallystickError as error:
        complain(f"weights are not compared: {error}")
        return None
    basis = f"of {MINERS} made-up miners over {EPOCHS} epochs"
    if state is not None:
        basis += f", by the thresholds of epoch {state.epoch}"
    return MovedWeight(comparison.moved_overall, basis, comparison.not_exercised)
