"""The checks: everything that the kit looks at, one after the other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator

from tallystick.conformance import (
    backend_equivalence,
    batches,
    formulas,
    opaque,
    records,
    rule_sets,
)
from tallystick.conformance.loading import Subject, check_import
from tallystick.conformance.report import LOADING, OPAQUE, finding
from tallystick.diagnostics import Diagnostic

Check = Callable[[Subject], Iterator[Diagnostic]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("import", check_import),
    ("schemas", records.check_schemas),
    ("facts", records.check_facts),
    (OPAQUE, opaque.check),
    ("rule-sets", rule_sets.check_rule_sets),
    ("proofs", rule_sets.check_proofs),
    ("parameters", formulas.check_parameters),
    ("text", formulas.check_text),
    ("releases", formulas.check_releases),
    ("examples", records.check_examples),
    ("agreement", backend_equivalence.check),
    ("batches", batches.check),
)
"""Each check of a plugin that loads, under its name; code is tried before others rely on it."""
NAMES = (LOADING, *(name for name, _ in CHECKS))
"""The names of all checks, in order."""


def every(subject: Subject) -> Iterator[str | Diagnostic]:
    """The name of each check as it begins, and what it finds.

    A fact that does not come to its end is the last: no check behind it would come to one.
    """
    for name, check in CHECKS:
        yield name
        found = list[Diagnostic]()
        for each in run(name, check, subject):
            found.append(each)
            yield each
        if any(map(opaque.is_without_end, found)):
            return


def run(name: str, check: Check, subject: Subject) -> Iterator[Diagnostic]:
    """What a check finds; if it fails itself, that is a finding too."""
    try:
        yield from check(subject)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # one check must not hide another
        message = f"found {type(error).__name__}: {error}, expected the check to end"
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}"
        yield finding("check-failed", name, message, {"place": place})
