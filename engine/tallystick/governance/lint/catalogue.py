"""Every check of the linter, by its code."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.governance.lint import (
    arms,
    bands,
    base_weight,
    bounds,
    caps,
    cliffs,
    effects,
    emission,
    events,
    gates,
    groups,
    reputation_dynamics,
    suppressions,
    tiers,
    unused,
    weights,
    zeros,
)
from tallystick.governance.lint.check import Check

_FAMILIES = (
    bounds.CHECKS,
    weights.CHECKS,
    unused.CHECKS,
    effects.CHECKS,
    arms.CHECKS,
    gates.CHECKS,
    cliffs.CHECKS,
    zeros.CHECKS,
    tiers.CHECKS,
    emission.CHECKS,
    base_weight.CHECKS,
    caps.CHECKS,
    reputation_dynamics.CHECKS,
    events.CHECKS,
    bands.CHECKS,
    groups.CHECKS,
    suppressions.CHECKS,
)

CHECKS: Mapping[str, Check] = {check.code: check for family in _FAMILIES for check in family}
"""In the order in which they are documented; a code never changes its meaning."""
