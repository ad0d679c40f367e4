"""The checks, one after the other, and the process that they run in.

``python -m tallystick.conformance TARGET --answer FILE`` writes one JSON value a line, each as soon
as it is known, so that it is kept when the process ends before its time. What the plugin prints
takes no part in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import attrs

from tallystick.canonical import digest as digest_of
from tallystick.conformance import (
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
from tallystick.conformance.loading import Subject, check_import, load_subject
from tallystick.conformance.report import LOADING, finding
from tallystick.conformance.target import find
from tallystick.diagnostics import Diagnostic
from tallystick.testing.samples import SEED, generated

Check = Callable[[Subject], Iterator[Diagnostic]]

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
"""How far the clock of the other process is ahead: a bit more than 400 days."""
_CLOCKS = ("time", "monotonic", "perf_counter")


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


def main() -> None:
    """Check one plugin, or compare what it gives with what it gave in another process."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.conformance")
    parser.add_argument("target")
    parser.add_argument("--answer", type=Path, required=True)
    parser.add_argument("--compare", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    target = find(chosen.target)
    # all of the engine is loaded, so that no module of the plugin's folders hides one of its own
    import numpy  # noqa: F401, ICN001, PLC0415  # which the engine loads late

    sys.path[:0] = map(str, target.paths)
    if chosen.compare is not None:
        _shift_clocks()
    with chosen.answer.open("a", encoding="utf-8") as file:
        answer = _Answer(file)
        answer.say(begin=LOADING)
        subject = load_subject(target)
        if isinstance(subject, Diagnostic):
            answer.say(found=attrs.asdict(subject))
        elif chosen.compare is None:
            answer.check(subject)
        else:
            answer.compare(subject, json.loads(chosen.compare.read_bytes()))
        answer.say(end=True)


@attrs.frozen
class _Answer:
    """What one process writes down as it learns it."""

    file: IO[str]

    def say(self, **value: Any) -> None:  # noqa: ANN401  # JSON values
        """Write one line at once."""
        print(json.dumps(value, default=repr), file=self.file, flush=True)

    def check(self, subject: Subject) -> None:
        """Every check, and what another process is to compare."""
        plugin, faulty = subject.plugin, set[str]()
        self.say(
            about={
                "folder": str(subject.folder),
                "formulas": _digests(subject),
                "texts": _texts(subject),
                "skill_types": len(plugin.skill_types),
            }
        )
        for each in every(subject):
            if isinstance(each, str):
                self.say(begin=each)
            else:
                self.say(found=attrs.asdict(each))
                faulty.add(each.where)
        self.say(generated=_generated(subject), values=opaque.values_of(subject, faulty))

    def compare(self, subject: Subject, before: Mapping[str, Any]) -> None:
        """What differs from the first process: formulas, made-up records, opaque facts."""
        self.say(begin=IMPORT)
        for name, digest in _digests(subject).items():
            if before["formulas"].get(name) != digest:
                message = "found another formula in another process, expected the same"
                self.say(found=attrs.asdict(finding("formula-unstable", name, message)))
        self.say(begin=EXAMPLES)
        if (made := _generated(subject)) != before["generated"]:
            for name in made:
                if made[name] != before["generated"].get(name):
                    message = "found other records in another process, expected the same"
                    self.say(found=attrs.asdict(finding("generator-unstable", name, message)))
            return  # facts of other records differ, which says nothing
        self.say(begin=OPAQUE)
        for each in run(OPAQUE, lambda s: opaque.compare(s, before["values"]), subject):
            self.say(found=attrs.asdict(each))


def _digests(subject: Subject) -> Mapping[str, str]:
    return {formula.name: formula.digest for formula in subject.plugin.formulas}


def _texts(subject: Subject) -> Mapping[str, Sequence[str]]:
    """What each formula says; one that cannot be shown is told by its check."""
    found = {}
    for formula in subject.plugin.formulas:
        with suppress(Exception):
            found[formula.name] = releases.as_recorded(formula).text
    return found


def _generated(subject: Subject) -> Mapping[str, str]:
    """The digest of what each generator of the plugin makes; why one fails is told by its check."""
    found = {}
    for skill_type in subject.plugin.skill_types:
        with suppress(Exception):
            lines = generated(skill_type, SEED)
            found[skill_type.name] = digest_of([line.decode() for line in lines])
    return found


def _shift_clocks() -> None:
    """Let the clocks of Python be ahead, under the names that a plugin imports."""

    def shifted(read: Callable[[], Any], by: int) -> Callable[[], Any]:
        return lambda: read() + by

    for name in _CLOCKS:
        setattr(time, name, shifted(getattr(time, name), _SHIFT_S))
        setattr(time, f"{name}_ns", shifted(getattr(time, f"{name}_ns"), _SHIFT_S * 10**9))
