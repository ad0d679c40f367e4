"""Lints of the sections that a state rests on: reputation, groups, claims."""

from tallystick.scoring.lint import checks_in
from tallystick_state.lints import claims, groups, reputation

tallystick_api = 1

LINTS = checks_in(reputation, groups, claims)
"""The lints, in the order in which they are documented."""
