"""Every check of the linter, by its code."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick_governance.lint import (
    allocation,
    claims,
    cliffs,
    consensus,
    emission,
    formulas,
    gates,
    groups,
    load_errors,
    reputation_dynamics,
    reputation_events,
    suppressions,
    tiers,
    weights,
    zeros,
)
from tallystick_governance.lint.check import Check

_MODULES = (
    load_errors,
    weights,
    formulas,
    gates,
    cliffs,
    zeros,
    tiers,
    emission,
    reputation_dynamics,
    reputation_events,
    groups,
    consensus,
    allocation,
    claims,
    suppressions,
)

CHECKS: Mapping[str, Check] = {
    each.code: each
    for module in _MODULES
    for each in vars(module).values()
    if isinstance(each, Check)
}
"""In the order in which they are documented; a code never changes its meaning."""
