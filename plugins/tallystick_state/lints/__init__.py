"""Lints of the sections that a state rests on, and of changes of them."""

from tallystick.scoring.lint import checks_in
from tallystick_state.lints import claims, collusion, epochs, groups, reputation, windows

tallystick_api = 1

LINTS = checks_in(reputation, collusion, groups, epochs, claims, windows)
"""The lints, in the order in which they are documented."""
