"""The checks of the linter: those of this package, and those of every owner that is installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import attrs

from tallystick.plugins.entries import Extensions
from tallystick.scoring.lint import GROUP, Check, checks_in, load_lints
from tallystick_governance.lint import (
    answers,
    cliffs,
    deviations,
    emission,
    formulas,
    gates,
    load_errors,
    pay,
    settings,
    suppressions,
    tiers,
    weights,
    zeros,
)

tallystick_api = 1

LINTS = checks_in(
    load_errors, weights, formulas, gates, cliffs, zeros, tiers, emission, suppressions
) + checks_in(settings, answers, pay, deviations)
"""The checks of the rules that score a record, of silences, and of changes."""


@attrs.frozen
class Catalog:
    """The checks that the linter makes.

    Attributes:
        checks: by code, in the order of their owners; a code never changes its meaning.
        refused: why the checks of an owner are not made, by its name.
    """

    checks: Mapping[str, Check]
    refused: Mapping[str, str]


def catalog_of(lints: Extensions[tuple[Any, ...]]) -> Catalog:
    """Return the checks of some owners."""
    usable, refused = lints.loaded()
    return Catalog({check.code: check for owned in usable.values() for check in owned}, refused)


@cache
def installed_lints() -> Catalog:
    """Return the checks of the installed distributions that the environment allows."""
    return catalog_of(Extensions.installed(GROUP, load_lints))
