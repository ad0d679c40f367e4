"""The checks, one after the other, and what the process that they run in answers.

Answers come one at a time, each as soon as it is known, so that it is kept when the process ends
before its time. What the plugin prints takes no part in it.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

from tallystick.canonical import digest as digest_of
from tallystick.diagnostics import Diagnostic
from tallystick.errors import TallystickError
from tallystick.formula.formula import Formula
from tallystick_conformance import (
    allocations,
    backend_equivalence,
    batches,
    formulas,
    judging,
    opaque,
    records,
    releases,
    rule_sets,
)
from tallystick_conformance.loading import Subject, check_import, load_subject
from tallystick_conformance.report import LOADING, finding
from tallystick_conformance.target import find
from tallystick_conformance.testing.samples import SEED, generated

Check = Callable[[Subject], Iterator[Diagnostic]]


Answers = Iterator[tuple[str, Any]]
"""Answers: a kind, and a JSON value or what was found."""

IMPORT, OPAQUE, EXAMPLES = "import", "opaque", "examples"
"""The checks of which a part needs another process."""
CHECKS: tuple[tuple[str, Check], ...] = (
    (IMPORT, check_import),
    ("schemas", records.check_schemas),
    ("facts", records.check_facts),
    (OPAQUE, opaque.check),
    ("rule-sets", rule_sets.check_rule_sets),
    ("proofs", rule_sets.check_proofs),
    ("allocation", allocations.check),
    ("parameters", formulas.check_parameters),
    ("text", formulas.check_text),
    ("releases", releases.check_releases),
    (EXAMPLES, records.check_examples),
    ("agreement", backend_equivalence.check),
    ("batches", batches.check),
    ("judging", judging.check),
)
"""Each check of a plugin that loads, under its name; code is tried before others rely on it."""
NAMES = (LOADING, *(name for name, _ in CHECKS))
"""The names of all checks, in order."""

_SHIFT_S = 34_567_890
"""Seconds by which the clock of the other process is ahead: a bit more than 400 days."""
_CLOCKS = ("time", "monotonic", "perf_counter")


def every(subject: Subject) -> Answers:
    """Yield the name of each check as it begins, and what it finds.

    A fact that is slow, or reaches out of the process, is the last: other checks would call it
    again.
    """
    for name, check in CHECKS:
        yield "begin", name
        problems = list[Diagnostic]()
        for problem in run(name, check, subject):
            problems.append(problem)
            yield "found", problem
        if any(map(opaque.is_not_to_be_called, problems)):
            return


def run(name: str, check: Check, subject: Subject) -> Iterator[Diagnostic]:
    """Yield the findings of a check; a check that fails itself is a finding too."""
    try:
        yield from check(subject)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # one check must not hide another
        message = f"found {type(error).__name__}: {error}, expected the check to end"
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename}:{frames[-1].lineno}"
        yield finding("check-failed", name, message, {"place": where})


def answers(target_name: str, before: Mapping[str, Any] | None) -> Answers:
    """Check one plugin, or compare what it gives with what it gave in another process.

    Args:
        target_name: the name of the plugin, or the folder of its project.
        before: what the other process answered; None to check.
    """
    target = find(target_name)
    # all of the engine is loaded, so that no module of the plugin's folders hides one of its own
    import numpy  # noqa: F401, ICN001  # which the engine loads late

    sys.path[:0] = map(str, target.paths)
    sys.dont_write_bytecode = True
    if before is not None:
        _shift_clocks()
    yield "begin", LOADING
    subject = load_subject(target)
    if isinstance(subject, Diagnostic):
        yield "found", subject
    else:
        yield "about", _about(subject)
        yield from _checked(subject) if before is None else _compared(subject, before)
    yield "end", None


def _checked(subject: Subject) -> Answers:
    """Yield what every check finds, and what another process is to compare."""
    faulty = set[str]()
    for kind, value in every(subject):
        yield kind, value
        if isinstance(value, Diagnostic):
            faulty.add(value.where)
    values = opaque.values_of(subject, faulty)
    yield "results", {"generated": _generated(subject), "values": values}
    yield "golden", opaque.golden_values(subject, faulty)


def _compared(subject: Subject, before: Mapping[str, Any]) -> Answers:
    """Yield differences from the first process: formulas, made-up records, opaque facts."""
    yield "begin", IMPORT
    for formula in subject.plugin.formulas:
        if before["formulas"].get(formula.name, {}).get("digest") != formula.digest:
            message = "found another formula in another process, expected the same"
            yield "found", finding("formula-unstable", formula.name, message)
    yield "begin", EXAMPLES
    made = _generated(subject)
    for name in made:
        if made[name] != before["generated"].get(name):
            message = "found other records in another process, expected the same"
            yield "found", finding("generator-unstable", name, message)
    # facts of other records differ, which says nothing
    if made == before["generated"]:
        yield "begin", OPAQUE
        for problem in run(OPAQUE, lambda s: opaque.compare(s, before["values"]), subject):
            yield "found", problem


def _about(subject: Subject) -> Mapping[str, Any]:
    return {
        "folder": str(subject.folder),
        "formulas": {formula.name: _recorded(formula) for formula in subject.plugin.formulas},
        "skill_types": len(subject.plugin.skill_types),
    }


def _recorded(formula: Formula) -> Mapping[str, Any]:
    """Return digest and text of a formula; of one that cannot be shown no text: its check tells."""
    with suppress(Exception):
        return {"digest": formula.digest, "text": releases.as_recorded(formula).text}
    return {"digest": formula.digest, "text": ()}


def _generated(subject: Subject) -> Mapping[str, str]:
    """The digest of what each generator of the plugin makes; why one fails is told by its check."""
    digests = {}
    for skill_type in subject.plugin.skill_types:
        with suppress(TallystickError):
            lines = generated(skill_type, SEED)
            digests[skill_type.name] = digest_of([line.decode() for line in lines])
    return digests


def _shift_clocks() -> None:
    """Let the clocks of Python be ahead, under the names that a plugin imports."""

    def shifted(read: Callable[[], Any], by: int) -> Callable[[], Any]:
        return lambda: read() + by

    for name in _CLOCKS:
        setattr(time, name, shifted(getattr(time, name), _SHIFT_S))
        setattr(time, f"{name}_ns", shifted(getattr(time, f"{name}_ns"), _SHIFT_S * 10**9))

    class Datetime(dt.datetime):
        """Reads the clock by the module ``time``, as ``today`` does."""

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return cls.fromtimestamp(time.time(), tz)

    vars(dt).update(datetime=Datetime)
