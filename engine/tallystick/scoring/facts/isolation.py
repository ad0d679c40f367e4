"""Isolation: work on rows of facts, without those rows that break a rule or on which it fails.

Columns are computed for all rows at once. Where that fails, the rows that do it are found by
halves, told as defects of the engine, and the work is done again without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from tallystick.errors import RecordError
from tallystick.formula.columns import Truths
from tallystick.records.defects import attempt
from tallystick.records.rejects import Reject
from tallystick.scoring.bound import joined
from tallystick.scoring.facts.batch import FactRows

_Made = TypeVar("_Made")
Check = tuple[Truths, Callable[[int], RecordError]]
"""The rows that break a rule, and the error of one of them by its position."""


def isolated(
    work: Callable[[FactRows], _Made], rows: FactRows
) -> tuple[_Made, FactRows, list[Reject]]:
    """Return the result of work on rows, the rows that it can be done on, and rejects of others.

    Raises:
        TallystickError: as the work.
        Exception: the work fails, but on no row alone.
    """
    outcome = attempt(partial(work, rows))
    if not isinstance(outcome, RecordError):
        return outcome, rows, []
    failing = _failing(work, rows, outcome)
    rejects = [Reject.of(error, int(row.record[0]), row.identity(0)) for row, error in failing]
    remaining = rows.select(~np.isin(rows.record, [reject.line for reject in rejects]))
    return work(remaining), remaining, rejects


def judged(
    checks: Callable[[FactRows], Iterable[Check]], rows: FactRows
) -> tuple[Truths, list[Reject]]:
    """Return which rows break no rule, and rejects of the others.

    Args:
        checks: the rules.
        rows: of one type.
    """
    errors, valid = defaultdict[int, list[RecordError]](list), np.ones(len(rows), np.bool_)
    for broken, error_of in checks(rows):
        for row in np.flatnonzero(broken).tolist():
            errors[row].append(error_of(row))
        valid &= ~broken
    return valid, [
        Reject.of(joined(of_row), int(rows.record[row]), rows.identity(row))
        for row, of_row in errors.items()
    ]


def accepted(
    checks: Callable[[FactRows], Iterable[Check]], rows: FactRows
) -> tuple[FactRows, list[Reject]]:
    """Return the rows that `judged` accepts and does not fail on, and rejects of the others."""
    (valid, rejects), rows, failed = isolated(partial(judged, checks), rows)
    return rows.select(valid), [*rejects, *failed]


def _failing(
    work: Callable[[FactRows], object], rows: FactRows, error: RecordError
) -> Iterator[tuple[FactRows, RecordError]]:
    """Yield each of some rows on which the work fails, which it does on all of them together."""
    if len(rows) == 1:
        yield rows, error
        return
    half = np.arange(len(rows)) < len(rows) // 2
    for part in (rows.select(half), rows.select(~half)):
        outcome = attempt(partial(work, part))
        if isinstance(outcome, RecordError):
            yield from _failing(work, part, outcome)
