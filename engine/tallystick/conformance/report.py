"""The report of a check: what was looked at, and everything that was found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic

LOADING = "loading"
"""The check that comes first: whether the plugin can be used at all."""
OPAQUE = "opaque"
"""The check of facts that are code, a part of which needs a second process."""


@attrs.frozen
class Checked:
    """One check that was begun, and what it found."""

    name: str
    findings: tuple[Diagnostic, ...] = ()


@attrs.frozen
class Report:
    """What the kit says of one plugin.

    Attributes:
        plugin: its name.
        version: of its project; empty where the project does not say it.
        formulas: how many it offers.
        skill_types: how many it offers.
        checked: the checks that were begun, in order; the last one may not have ended.
        recorded: the formulas that were added to released.json.
    """

    plugin: str
    version: str
    formulas: int = 0
    skill_types: int = 0
    checked: tuple[Checked, ...] = ()
    recorded: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Everything that was found, in the order of the checks."""
        return tuple(found for each in self.checked for found in each.findings)

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "plugin": self.plugin,
            "version": self.version,
            "passed": self.passed,
            "checks": [each.name for each in self.checked],
            "findings": [
                {
                    "code": found.code,
                    "where": found.where,
                    "message": found.message,
                    "remedy": found.remedy,
                    "evidence": found.evidence,
                }
                for found in self.findings
            ],
        }


def lines_of(found: Diagnostic, longest: int | None = None) -> Iterator[str]:
    """A finding as a block of text; of an example that is longer, only its length."""
    yield f"{found.code}: {found.where}"
    yield f"    {found.message}"
    for name, value in found.evidence.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = longest is None or len(text) <= longest
        yield f"    {name}: {text if shown else f'{len(text)} characters, which --json shows'}"
    yield f"    to do: {found.remedy}"
