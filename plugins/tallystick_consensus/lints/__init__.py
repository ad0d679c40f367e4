"""Lints of a consensus: of its section, and of what a change of it pays to members."""

from tallystick.scoring.lint import checks_in
from tallystick_consensus.lints import conduct, section

tallystick_api = 1

LINTS = checks_in(section, conduct)
"""The lints, in the order in which they are documented."""
