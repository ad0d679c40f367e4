"""Facts and conditions that several formulas share."""

from tallystick.plugins.author import (
    Requirement,
    flag,
    given,
    integer,
    label,
    matches,
    number,
    require,
)

MICROSECONDS = 10**6
LAST = 4_102_444_800 * MICROSECONDS
"""The latest instant of the schemas."""
MOST = 8 * 10**9
"""The most compute units of one record."""

EXEMPT = "561e4875-254d-588f-a36f-57c9cdef8961"
"""The chute whose private calls count as public ones: chutes-audit 912a67c6, audit.py:102."""
REASONS = (
    "job has been terminated due to insufficient user balance",
    "user-defined/private chute instance has not been used since shutdown_after_seconds",
    r"user has zero/negative balance \(private chute\)",
    r"(?s:.*)has an old version(?s:.*)",
)
"""Why an instance ended whose time counts: chutes-audit 912a67c6, audit.py:245."""

# ---------------------------------------------------------------------------------- invocations

bounty = integer("task.bounty")
multiplier = number("task.compute_multiplier")
started = integer("submission.started_us", missing=0)
completed = integer("submission.completed_us", missing=0)
has_started, is_completed = given("submission.started_us"), given("submission.completed_us")
nc, steps, masps, it, ot, maspt = (
    number(f"submission.metrics.{name}", missing=0)
    for name in ("nc", "steps", "masps", "it", "ot", "maspt")
)
has_masps, has_maspt = (given(f"submission.metrics.{name}") for name in ("masps", "maspt"))

is_public = label("public", ~flag("submission.metrics.p") | matches("task.chute_id", EXEMPT))
is_paid = label("paid", is_completed & ~flag("submission.has_error") & is_public)

tokens = it + ot
elapsed = (completed - started) / MICROSECONDS

_BASES = {
    "nc": multiplier * nc,
    "steps": multiplier * steps * masps,
    "it": multiplier * tokens * maspt,
}


def _bounded() -> tuple[Requirement, ...]:
    most = f"at most {MOST} compute units in one call, and at least as many below 0"
    products = (
        require(
            (product <= MOST) & (product >= -MOST),
            "chutes/compute",
            path=f"submission.metrics.{name}",
            expected=most,
        )
        for name, product in _BASES.items()
    )
    spent = multiplier * (completed - started)
    time = require(
        ~is_completed
        | ~has_started
        | ((spent <= MOST * MICROSECONDS) & (spent >= -MOST * MICROSECONDS)),
        "chutes/compute",
        path="submission.completed_us",
        expected=most,
    )
    return (*products, time)


not_reported = require(
    ~flag("checks.reported"),
    "chutes/not-reported",
    path="checks.reported",
    expected="no confirmed report on the parent of the call: it is left out",
)
INVOCATION = (not_reported, *_bounded())

# ------------------------------------------------------------------------- private instances

now = integer("checks.now_us")
activated = integer("checks.activated_us", missing=0)
stopped = integer("checks.stop_billing_us", missing=LAST)
deleted = integer("checks.deleted_us", missing=LAST)
is_billed = (
    flag("checks.billed")
    & given("checks.activated_us")
    & matches("checks.deletion_reason", "|".join(REASONS))
)

# -------------------------------------------------------------------------------------- unique

gpus, hours = integer("checks.gpus"), integer("checks.hours")
