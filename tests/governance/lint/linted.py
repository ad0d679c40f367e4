"""Findings of the linter in a text, and a small rule set without any."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
from governance.revision import Change, bound, shipped

import tallystick
from tallystick.diagnostics import Diagnostic
from tallystick.formula.formula import Formula
from tallystick.plugins.registry import Registry, installed
from tallystick.rules.findings import Finding
from tallystick.rules.toml import dotted
from tallystick_governance.lint.catalog import installed_lints
from tallystick_governance.lint.linting import Report, report

CHECKS = installed_lints().checks

SOUND = """\
[rule_set]
name = "sound"
version = "1.0.0"
format = 1

[axes.success]
formula = "workflow/success@2"

[axes.reliability]
formula = "workflow/reliability@2"
unplanned_retry = 0.1
timeout = 0.2
hard_failure = 0.5

[skill_types.workflow]
composite = "arithmetic"
weights = { success = 0.6, reliability = 0.4 }
"""
"""A rule set of which nothing is found."""


@attrs.frozen
class Placed:
    """What a check finds, with its code, its severity and the path as the linter writes it."""

    code: str
    severity: str
    path: str
    found: Finding

    @property
    def evidence(self) -> Mapping[str, Any]:
        return self.found.evidence

    @property
    def message(self) -> str:
        return self.found.message


def registry_with(*formulas: Formula) -> Registry:
    """The installed plugins and some formulas beside them."""
    known: Mapping[str, Formula] = {formula.name: formula for formula in formulas}
    return attrs.evolve(installed(), formulas={**installed().formulas, **known})


def written(folder: Path, text: str) -> Path:
    """Write a rule set."""
    path = folder / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def report_on(text: str, registry: Registry | None = None) -> Report:
    with TemporaryDirectory() as folder:
        return report(written(Path(folder), text), registry)


def found_in(text: str, code: str, registry: Registry | None = None) -> list[Diagnostic]:
    return [each for each in report_on(text, registry).findings if each.code == code]


def found_by(text: str, code: str, registry: Registry | None = None) -> list[Placed]:
    """What one check finds in a rule set that loads: faster than a whole report."""
    check = CHECKS[code]
    assert check.find is not None
    scorer = bound(text, registry)
    return [
        Placed(code, each.severity or check.severity, dotted(each.path), each)
        for each in check.find(scorer)
    ]


@cache
def _bound(text: str) -> tallystick.Scorer:
    return bound(text)


def between(code: str, old: str, new: str) -> list[Placed]:
    """Return the findings of a comparison of two texts."""
    check = CHECKS[code]
    assert check.compare is not None
    return [
        Placed(code, each.severity or check.severity, dotted(each.path), each)
        for each in check.compare(_bound(old), _bound(new))
    ]


def compared(reference: str, code: str, *changes: Change) -> list[Placed]:
    """Return the findings of a comparison between a changed rule set and the shipped one."""
    return between(code, shipped(reference), shipped(reference, *changes))


@cache
def loaded(reference: str) -> tallystick.Scorer:
    """A shipped rule set."""
    return tallystick.load(reference)
