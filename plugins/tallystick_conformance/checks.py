"""The checks, one after the other, and the process that they run in.

They answer one line at a time, each as soon as it is known, so that it is kept when the process
ends before its time. What the plugin prints takes no part in it.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import attrs

from tallystick.canonical import digest as digest_of
from tallystick.diagnostics import Diagnostic
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
from tallystick_conformance.audit_events import CODE, AuditHook
from tallystick_conformance.loading import Subject, check_import, load_subject, names_of_modules
from tallystick_conformance.purity import RefusedError
from tallystick_conformance.report import LOADING, finding
from tallystick_conformance.target import Target, find
from tallystick_conformance.testing.samples import SEED, generated

Check = Callable[[Subject], Iterator[Diagnostic]]

IMPORT, OPAQUE, EXAMPLES = "import", "opaque", "examples"
"""The checks of which a part needs another process."""
COMPARED = (LOADING, IMPORT, EXAMPLES, OPAQUE)
"""The checks of that other process, in order."""
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

_NO_MORE = object()
_SHOWN = 5
_SHIFT_S = 34_567_890
"""Seconds by which the clock of the other process is ahead: a bit more than 400 days."""
_CLOCKS = ("time", "monotonic", "perf_counter")


def every(subject: Subject) -> Iterator[str | Diagnostic | None]:
    """Yield the name of each check as it begins, what it finds, and None as it ends.

    A fact that does not come to its end is the last: no check behind it would come to one.
    """
    for name, check in CHECKS:
        yield name
        problems = list[Diagnostic]()
        for problem in run(name, check, subject):
            problems.append(problem)
            yield problem
        yield None
        if any(map(opaque.is_without_end, problems)):
            return


def run(name: str, check: Check, subject: Subject) -> Iterator[Diagnostic]:
    """Yield the findings of a check; a check that fails itself is a finding too."""
    try:
        yield from check(subject)
    except RefusedError:
        return  # told when it was refused
    except (Exception, SystemExit) as error:  # noqa: BLE001  # one check must not hide another
        message = f"found {type(error).__name__}: {error}, expected the check to end"
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename}:{frames[-1].lineno}"
        yield finding("check-failed", name, message, {"place": where})


def check(target_name: str, say: Callable[..., None], before: Mapping[str, Any] | None) -> None:
    """Check one plugin, or compare what it gives with what it gave in another process.

    Args:
        target_name: the name of the plugin, or the folder of its project.
        say: writes one line of answers from keywords.
        before: what the other process answered; None to check.
    """
    target = find(target_name)
    # all of the engine is loaded, so that no module of the plugin's folders hides one of its own
    import ctypes.util  # noqa: F401  # whose import alone is no finding

    import numpy  # noqa: F401, ICN001  # which the engine loads late

    sys.path[:0] = map(str, target.paths)
    sys.dont_write_bytecode = True
    if before is not None:
        _shift_clocks()
    hook = AuditHook(lambda problem: say(found=attrs.asdict(problem)), target.code)
    # looked up now: an import may replace it
    imports, names_of, replaced = check_import, names_of_modules, _replaced
    say(begin=LOADING)
    sys.addaudithook(hook)
    subject = load_subject(target, hook.others)
    names_before = names_of()
    answer = _Answer(say, hook)
    if isinstance(subject, Diagnostic):
        answer.found(subject)
        say(done=LOADING)
    else:
        # what it offers may be asked for late, and be refused then
        with suppress(RefusedError):
            say(about=_about(subject))
            say(done=LOADING)
            answer.check(subject) if before is None else answer.compare(subject, before)
        for problem in (*imports(subject), *replaced(target, names_before, names_of())):
            say(found=attrs.asdict(problem))
    say(end=True)


@attrs.frozen
class _Answer:
    """The answers of one process, each written as soon as it is known.

    Attributes:
        say: writes one line.
        hook: tells what the plugin asks of the system.
    """

    say: Callable[..., None]
    hook: AuditHook

    def found(self, found: Diagnostic) -> None:
        """Tell of a finding, unless the hook did."""
        if found.code != CODE:
            self.say(found=attrs.asdict(found))

    def check(self, subject: Subject) -> None:
        """Every check, and what another process is to compare."""
        faulty, name = set[str](), ""
        steps = every(subject)
        while True:
            # facts are watched by their own check
            with self.hook.watched() if name == OPAQUE else nullcontext():
                problem = next(steps, _NO_MORE)
            if problem is _NO_MORE:
                break
            if problem is None:
                self.say(done=name)
            elif isinstance(problem, Diagnostic):
                self.found(problem)
                faulty.add(problem.where)
                # the facts are called again by other checks, and refused
                self.hook.is_known |= name == OPAQUE
            else:
                name = str(problem)
                self.say(begin=name)
        with self.hook.watched():
            values = opaque.values_of(subject, faulty)
            golden = opaque.golden_values(subject, faulty)
        self.say(generated=_generated(subject), values=values, golden=golden)

    def compare(self, subject: Subject, before: Mapping[str, Any]) -> None:
        """Report differences from the first process: formulas, made-up records, opaque facts."""
        self.say(begin=IMPORT)
        for name, digest in _digests(subject).items():
            if before["formulas"].get(name) != digest:
                message = "found another formula in another process, expected the same"
                self.found(finding("formula-unstable", name, message))
        self.say(done=IMPORT)
        self.say(begin=EXAMPLES)
        made = _generated(subject)
        for name in made:
            if made[name] != before["generated"].get(name):
                message = "found other records in another process, expected the same"
                self.found(finding("generator-unstable", name, message))
        self.say(done=EXAMPLES)
        self.say(begin=OPAQUE)
        # facts of other records differ, which says nothing
        if made == before["generated"]:
            with self.hook.watched():
                for problem in run(OPAQUE, lambda s: opaque.compare(s, before["values"]), subject):
                    self.found(problem)
        self.say(done=OPAQUE)


def _replaced(
    target: Target, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[Diagnostic]:
    """Yield the finding about names of the engine and of Python that were changed by the checks."""
    names = [name for name, value in before.items() if after.get(name) is not value]
    if names:
        what = ", ".join(names[:_SHOWN])
        message = f"found that it changes {what} while it is checked, expected it to change nothing"
        yield finding("import-side-effect", target.name, message)


def _about(subject: Subject) -> Mapping[str, Any]:
    return {
        "folder": str(subject.folder),
        "formulas": _digests(subject),
        "texts": _texts(subject),
        "skill_types": len(subject.plugin.skill_types),
    }


def _digests(subject: Subject) -> Mapping[str, str]:
    return {formula.name: formula.digest for formula in subject.plugin.formulas}


def _texts(subject: Subject) -> Mapping[str, Sequence[str]]:
    """Return the text of each formula; one that cannot be shown is reported by its check."""
    texts = {}
    for formula in subject.plugin.formulas:
        with suppress(Exception):
            texts[formula.name] = releases.as_recorded(formula).text
    return texts


def _generated(subject: Subject) -> Mapping[str, str]:
    """The digest of what each generator of the plugin makes; why one fails is told by its check."""
    digests = {}
    for skill_type in subject.plugin.skill_types:
        with suppress(Exception):
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
