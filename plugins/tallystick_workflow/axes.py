"""The four dimensions of the composite S (docs/sources.md, Sub-Dimensions)."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    axis,
    cases,
    clip,
    excess,
    flag,
    integer,
    itemised,
    label,
    maximum,
    number,
    published,
    require,
    total,
)

completed, planned = integer("checks.steps_completed"), integer("checks.total_steps")
quality = number("checks.output_quality")
budget, spent = number("task.max_budget_tao"), number("checks.actual_tao")
limit, seconds = number("task.max_latency_seconds"), number("checks.actual_seconds")

_RETRIES, _ALLOWED = "checks.actual_retries", "submission.error_handling.*.retry_count"

completed_within_total = require(
    completed <= planned,
    "completed-exceeds-total",
    path="checks.steps_completed",
    expected="at most total_steps",
)
"""E55 of docs/errata.md: no more steps are completed than planned."""

budget_positive = require(
    budget > 0,
    "workflow/budget-positive",
    path="task.max_budget_tao",
    expected="a budget above 0",
)
"""E46 of docs/errata.md: without a budget there is nothing to save."""

latency_limit_positive = require(
    limit > 0,
    "workflow/latency-limit-positive",
    path="task.max_latency_seconds",
    expected="a limit above 0",
)
"""E46 of docs/errata.md: without a time limit there is nothing to save."""


@axis("workflow/success@1")
def success(_p: Parameters) -> Node:
    """Output quality times the share of the plan's steps; an empty plan → 0 (E45)."""
    ratio = label("completion ratio", completed / planned)
    return cases((planned == 0, 0), otherwise=quality * ratio)


@axis("workflow/success@2")
def success_of_task(_p: Parameters) -> Node:
    """The success over the plan or the task's minimum, whichever is more (E45)."""
    least = integer("task.min_steps", missing=0)
    return cases(
        (least > planned, quality * completed / least),
        (planned == 0, 0),
        otherwise=quality * completed / planned,
    )


def _saved(used: Node, most: Node, gate: Node, *first: tuple[Node, Node]) -> Node:
    """The part that is left, when the published success is above the gate (E47); no most → 0."""
    return cases(
        *first,
        (published("success") <= gate, 0),
        (most == 0, 0),
        otherwise=maximum(0, 1 - used / most),
    )


@axis("workflow/cost@1", gate=UNIT)
def cost(p: Parameters) -> Node:
    """The part of the budget that was not spent."""
    return _saved(spent, budget, p.gate)


@axis("workflow/cost@2", gate=UNIT, budget_abort_enabled=UNIT, budget_abort_cost=UNIT)
def cost_or_aborted(p: Parameters) -> Node:
    """The cost; a run that was aborted over its budget has the cost of the option.

    docs/errata.md, Terms that live on other pages.
    """
    aborted = (p.budget_abort_enabled == 1) & flag("checks.budget_aborted")
    return _saved(spent, budget, p.gate, (aborted, p.budget_abort_cost))


@axis("workflow/latency@1", gate=UNIT)
def latency(p: Parameters) -> Node:
    """The part of the time that was not used."""
    return _saved(seconds, limit, p.gate)


def _reliability(p: Parameters, unplanned: Node) -> Node:
    lost = (
        p.unplanned_retry * label("unplanned retries", unplanned)
        + p.timeout * integer("checks.timeouts")
        + p.hard_failure * integer("checks.hard_failures")
    )
    return clip(1 - lost)


_BEYOND_PLAN = maximum(0, total(_RETRIES) - total(_ALLOWED))


@axis("workflow/reliability@1", unplanned_retry=UNIT, timeout=UNIT, hard_failure=UNIT)
def reliability(p: Parameters) -> Node:
    """1 less for each unplanned retry, timeout and hard failure; retries over the whole plan."""
    return _reliability(p, _BEYOND_PLAN)


@axis("workflow/reliability@2", unplanned_retry=UNIT, timeout=UNIT, hard_failure=UNIT)
def reliability_by_step(p: Parameters) -> Node:
    """The reliability with retries step by step where given (E48); nothing done → 0 (E49)."""
    unplanned = cases((itemised(_RETRIES), excess(_RETRIES, _ALLOWED)), otherwise=_BEYOND_PLAN)
    return cases((completed == 0, 0), otherwise=_reliability(p, unplanned))
