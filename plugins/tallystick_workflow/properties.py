"""What a workflow's scores promise: which way facts are better, and that idleness earns nothing."""

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
from tallystick_workflow.axes import completed, quality, seconds, spent

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
)
