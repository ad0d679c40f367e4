"""Promises of a workflow's scores: which way facts are better, and that idleness earns nothing."""

from tallystick.plugins.author import (
    Direction,
    Property,
    always_below,
    excess,
    integer,
    less_is_better,
    more_is_better,
    never_above,
    total,
)
from tallystick_workflow.axes import completed, planned, quality, seconds, spent

_RETRIES, _ALLOWED = "checks.actual_retries", "submission.error_handling.*.retry_count"

DIRECTIONS: tuple[Direction, ...] = (
    more_is_better(quality),
    more_is_better(completed),
    less_is_better(spent),
    less_is_better(seconds),
    less_is_better(total(_RETRIES)),
    less_is_better(excess(_RETRIES, _ALLOWED)),
    less_is_better(integer("checks.timeouts")),
    less_is_better(integer("checks.hard_failures")),
)


def _half_done(name: str, saved: str, value: str) -> Property:
    """Return a plan that is half done is no saving: the print asks for more of a success (E47)."""
    summary = f"A plan of which half was done at most earns nothing for {saved} (E47)"
    return never_above(name, summary, value, 0, where=2 * completed <= planned)


PROPERTIES: tuple[Property, ...] = (
    never_above(
        "workflow/idle-earns-nothing",
        "Where no step was completed the score is 0 (E49)",
        "quality",
        0,
        where=completed == 0,
    ),
    always_below(
        "workflow/short-plan",
        "Fewer steps than the task needs never earn full marks (E45)",
        "success",
        1,
        where=completed < integer("task.min_steps", missing=0),
    ),
    _half_done("workflow/half-done-cost", "what it has not spent", "cost"),
    _half_done("workflow/half-done-latency", "the time it has not used", "latency"),
)
