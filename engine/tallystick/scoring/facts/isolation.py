"""Isolation: work on rows of facts, without those rows on which it fails.

Columns are computed for all rows at once. Where that fails, the rows that do it are found by
halves, told as defects of the engine, and the work is done again without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from tallystick.errors import RecordError
from tallystick.records.defects import attempt
from tallystick.records.rejects import Identity, Reject
from tallystick.scoring.facts.batch import FactRows

_Made = TypeVar("_Made")
Who = Callable[[FactRows, int], Identity]
"""Says who a row is of, by its position."""


def isolated(
    work: Callable[[FactRows], _Made], rows: FactRows, who: Who
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
    rejects = [Reject.of(error, int(row.record[0]), who(row, 0)) for row, error in failing]
    remaining = rows.select(~np.isin(rows.record, [reject.line for reject in rejects]))
    return work(remaining), remaining, rejects


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
