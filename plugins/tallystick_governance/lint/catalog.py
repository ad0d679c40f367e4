"""The checks of the linter: those of this package, and those of every owner that is installed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import attrs

from tallystick.diagnostics import SEVERITIES
from tallystick.plugins.entries import NAME_TAKEN, Extensions, RefusedPluginError, is_own
from tallystick.scoring.lint import GROUP, Check, checks_in
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

_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEXTS = ("summary", "documentation", "remedy")


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
    checks = {check.code: check for _, owned in lints.usable() for check in owned}
    return Catalog(checks, lints.refused())


@cache
def installed_lints() -> Catalog:
    """Return the checks of the installed distributions that the environment allows."""
    return catalog_of(Extensions.installed(GROUP, tuple, refuse_unsound))


def refuse_unsound(entry: EntryPoint, checks: tuple[Any, ...]) -> None:
    """Refuse what cannot be the checks of an owner.

    Raises:
        RefusedPluginError: one of them is no check, or lacks a text, or has a code of another
            owner or a severity that there is not.
    """
    head = "" if is_own(entry) else f"{entry.name}/"
    codes = set[object]()
    for check in checks:
        if not isinstance(check, Check):
            raise RefusedPluginError(
                "wrong-kind", f"found {check!r} at {entry.value}, expected checks: see @check"
            )
        code = check.code
        if not _is_code(code, head):
            expected = "after the name of its entry point" if head else "alone"
            raise RefusedPluginError(
                "foreign-name",
                f"found the code {code!r}, expected one such as {head}some-code: small letters, "
                f"digits and hyphens {expected}",
            )
        if code in codes:
            raise RefusedPluginError(NAME_TAKEN, f"found two checks {code}: rename one")
        codes.add(code)
        if check.severity not in SEVERITIES:
            raise RefusedPluginError(
                "wrong-kind",
                f"found the severity {check.severity!r} of {code}, expected one of "
                f"{', '.join(SEVERITIES)}",
            )
        for name in _TEXTS:
            text = getattr(check, name)
            if not isinstance(text, str) or not text.strip():
                raise RefusedPluginError(
                    "wrong-kind", f"found the {name} {text!r} of {code}, expected a sentence"
                )


def _is_code(code: object, head: str) -> bool:
    """Return whether a code is one of an owner, with the head of its name if it has one."""
    if not isinstance(code, str) or not code.startswith(head):
        return False
    return _CODE.fullmatch(code.removeprefix(head)) is not None
