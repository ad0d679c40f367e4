"""Shipped rule sets, broken in many ways: a proof notices each but those that are listed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from examples import fast_rows
from governance.lint.linted import written
from governance.mutants import NOTICED, REFUSED, UNNOTICED, Mutant
from governance.revision import shipped

import tallystick
from tallystick_governance.lint.catalog import installed_lints
from tallystick_governance.lint.linting import Report, report
from tallystick_governance.lint.suppressions import IDLE
from tallystick_governance.prove.proving import prove

CHECKS = installed_lints().checks

Found = set[tuple[str, ...]]
"""Codes of the linter with path and severity, or properties with what they are about."""

_PROVED_UNBOUND = ("out-of-range", "division-by-zero")
"""Codes of what binding finds: such a rule set does not load, and the linter says why."""


def named(mutants: Sequence[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("mutant", mutants, ids=lambda mutant: mutant.name)


def said(found: Report) -> Found:
    """What is said of the rules, not that a mutant no longer needs what silences its base."""
    return {
        (finding.code, finding.path, finding.severity)
        for finding in found.findings
        if finding.code != IDLE
    }


@cache
def said_of_shipped(reference: str) -> Found:
    found = report(reference)
    return said(attrs.evolve(found, findings=found.every))


def new_in(mutant: Mutant, folder: Path) -> Found:
    """What the linter says of a mutant and not of the rule set that it was made of."""
    return said(report(written(folder, mutant.text))) - said_of_shipped(mutant.base)


def refuted(mutant: Mutant, folder: Path, only: str | None = None) -> Found:
    """What a proof finds broken, of the skill type that a mutant is about if it has one."""
    scorer = tallystick.load(str(written(folder, mutant.text)))
    if mutant.skill_type in scorer.types:
        # to ask about the other types, too, takes six times as long
        kept = {mutant.skill_type: scorer.types[mutant.skill_type]}
        scorer = attrs.evolve(scorer, types=kept)
    found = prove(scorer, only=only)
    return {(each.property, each.axis) for each in found if each.status == "counterexample"}


@named(fast_rows(NOTICED, *range(9), 13))
def test_a_broken_rule_set_is_noticed(mutant: Mutant, tmp_path: Path) -> None:
    assert mutant.by in {each[0] for each in refuted(mutant, tmp_path, mutant.by)}


@named(REFUSED)
def test_what_does_not_load_is_told_and_not_counted(mutant: Mutant, tmp_path: Path) -> None:
    path = written(tmp_path, mutant.text)
    with pytest.raises(tallystick.RuleSetError):
        tallystick.load(str(path))
    found = report(path)
    assert found.scorer is None
    assert {finding.code for finding in found.findings} <= CHECKS.keys() - {*_PROVED_UNBOUND}


@pytest.mark.nightly
@named(UNNOTICED)
def test_nothing_notices_what_is_listed_as_unnoticed(mutant: Mutant, tmp_path: Path) -> None:
    assert mutant.text != shipped(mutant.base)
    assert report(written(tmp_path, mutant.text)).scorer is not None
    assert new_in(mutant, tmp_path) == set()
    assert refuted(mutant, tmp_path) == set()
