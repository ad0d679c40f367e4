"""Lints of allocations: of their steps, and of what a change of them does to miners."""

from tallystick.scoring.lint import checks_in
from tallystick_allocation.lints import effects, steps

tallystick_api = 1

LINTS = checks_in(steps, effects)
"""The lints, in the order in which they are documented."""
