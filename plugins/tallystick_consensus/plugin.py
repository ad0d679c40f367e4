"""The entry point: what this plugin offers."""

from collections.abc import Sequence

from tallystick.plugins.author import Formula, formulas_in, hookimpl
from tallystick_consensus import components

tallystick_api = 1


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """Return the components of a consensus, in every version."""
    return formulas_in(components)
