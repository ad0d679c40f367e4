"""Lints of the sections that a state rests on, and of changes of them."""

from tallystick.scoring.lint import checks_in
from tallystick_state.lints import (
    behaviour,
    claims,
    collusion,
    epochs,
    groups,
    reputation,
    selection,
    windows,
)

tallystick_api = 1

LINTS = checks_in(reputation, behaviour, collusion, groups, selection, epochs, claims, windows)
"""The lints, in the order in which they are documented."""
