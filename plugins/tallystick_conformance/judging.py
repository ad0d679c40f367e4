"""Judging: what a line of a skill type costs, whatever a stranger puts into it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tallystick.diagnostics import Diagnostic
from tallystick.formula.schema_path import ANSWER
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.extraction import every_fact
from tallystick_conformance.cpu_time import MOST_PER_BYTE, cost
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding
from tallystick_conformance.testing.fillings import fillings
from tallystick_conformance.testing.samples import line, of_type

_GOOD = 24
"""Number of good records that a byte of others is compared with."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The line of each skill type of which a byte costs most, where that is too much.

    Raises:
        SchemaError: no record of a skill type was found that meets its requirements.
    """
    own = subject.plugin.skill_types
    if any(skill_type.name not in subject.schemas for skill_type in own):
        return  # told by the check of schemas
    judge = every_fact(catalog_of(subject.registry)).facts
    for skill_type in own:
        schema = subject.schemas[skill_type.name]
        good = [record for record in of_type(skill_type) if all(name in record for name in ANSWER)]
        costs = cost(judge, list(map(line, good[:_GOOD])), fillings(good[0], schema))
        worst, times = costs.worst
        if times > MOST_PER_BYTE:
            many = "more than can be waited for" if times == math.inf else f"{times:.0f} times"
            message = (
                f"found {many}, for each byte of a line with {worst.content}, expected at most "
                f"{MOST_PER_BYTE} times the CPU time of a good record"
            )
            where = f"{skill_type.name}: {worst.place or 'the record'}"
            yield finding("line-costly", where, message, {"bytes": len(worst.line)})
