"""The entry point: the formulas that steps of any rule set may name."""

from collections.abc import Sequence

from tallystick.plugins.author import Formula, formulas_in, hookimpl
from tallystick_allocation import formulas

tallystick_api = 1


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The formulas of steps, in every version."""
    return formulas_in(formulas)
