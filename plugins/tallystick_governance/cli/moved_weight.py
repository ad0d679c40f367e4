"""The weight that a change of rules moves among made-up miners, as commands tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.cli.log import complain
from tallystick.errors import TallystickError

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.model import State


def moved_weight(old: Scorer, new: Scorer, state: State | None = None) -> int | None:
    """Return the share of weight that a change moves, in nano.

    Args:
        old: the rules in force.
        new: the changed ones.
        state: what the network is in the beginning; by default a new one.

    Returns:
        None, with a complaint, where the rules read of records what a simulation cannot put in.
    """
    from tallystick_simulation.comparison import compare  # takes long to load

    try:
        return compare(old, new, state=state).moved_overall
    except TallystickError as error:
        complain(f"weights are not compared: {error}")
        return None
