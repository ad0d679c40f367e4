"""Which candidates a report shows in full: all of a few, the best and the worst of many."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tallystick_governance.backtest.comparison import CandidateComparison, ranked

_ALL = 12
"""So many candidates, and no more, are all shown in full."""
_ENDS = 4
"""Of more, so many of the best and so many of the worst are."""


@attrs.frozen
class Selection:
    """The candidates of a report.

    Attributes:
        every: all of them, in their order.
        full: those that have sections of their own: all, or the best and then the worst.
        best_by: of ``BEST_BY``, by what they are better or worse.
    """

    every: tuple[CandidateComparison, ...]
    full: tuple[CandidateComparison, ...]
    best_by: str

    @classmethod
    def of(cls, found: Sequence[CandidateComparison], best_by: str) -> Selection:
        """The selection of the candidates of a back-test."""
        every = tuple(found)
        if len(every) <= _ALL:
            return cls(every, every, best_by)
        order = ranked(every, best_by)
        return cls(every, (*order[:_ENDS], *order[-_ENDS:]), best_by)

    @property
    def best(self) -> int:
        """How many of those in full are there as the best; 0 where all are in full."""
        return 0 if len(self.full) == len(self.every) else _ENDS
