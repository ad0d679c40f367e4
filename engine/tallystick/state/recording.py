"""Recording: a whole file of signals into the journal, or nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import attrs

from tallystick.errors import RefusedError
from tallystick.records.rejects import Reject
from tallystick.scoring.scorer import Scorer
from tallystick.state.admission import admit, other_epoch, other_round
from tallystick.state.event import StateEvent
from tallystick.state.event_log import EventLog
from tallystick.state.intake import events_of

Line = tuple[int, StateEvent]
"""A signal and the number of its line."""


@attrs.frozen
class Recorded:
    """What became of a file of signals.

    Attributes:
        signals: how many were new.
        duplicates: how many were known already.
    """

    signals: int
    duplicates: int


@attrs.define
class Rounds:
    """The rounds that a file closes, each pinned to one epoch (E40 of docs/errata.md).

    Attributes:
        only: the one round that all records are of; None for whichever they are of.
        epochs: the epoch of each round so far.
    """

    only: int | None = None
    epochs: dict[int, int] = attrs.field(factory=dict)

    def refusal(self, line: int, signal: StateEvent) -> Reject | None:
        """Why a record does not belong to the rounds, if so; a late event closes no round."""
        if not signal.is_record:
            return None
        if self.only is not None and signal.round != self.only:
            return other_round(line, signal, self.only)
        pinned = self.epochs.setdefault(signal.round, signal.epoch)
        return other_epoch(line, signal, pinned) if signal.epoch != pinned else None


def record(
    journal: EventLog, source: Path, scorer: Scorer, rounds: Rounds | None = None
) -> Recorded:
    """Record the signals of a file that are not known yet.

    Args:
        journal: where they go.
        source: records and late events, JSONL, or records as Parquet.
        scorer: the rule set with the snapshots of the state.
        rounds: given, the rounds that the file closes.

    Raises:
        InputError: the file cannot be read.
        RefusedError: a line is bad; the transaction has to be given up.
    """
    refused, signals, duplicates = list[Reject](), 0, 0
    for batch in events_of(source, scorer):
        refused += batch.rejects
        lines = batch.signals
        if rounds is not None:
            lines, others = _sorted_out(lines, rounds.refusal)
            refused += others
        known = journal.transaction.known([signal for _, signal in lines])
        admitted = admit(journal.state, journal.law, lines, known)
        refused += admitted.refused
        duplicates += admitted.duplicates
        signals += len(admitted.signals)
        if not refused:
            journal.record(admitted.signals)
    if refused:
        raise RefusedError(str(source), sorted(refused, key=lambda each: each.line))
    return Recorded(signals, duplicates)


def _sorted_out(
    lines: Iterable[Line], refusal: Callable[[int, StateEvent], Reject | None]
) -> tuple[list[Line], list[Reject]]:
    kept, refused = list[Line](), list[Reject]()
    for line, signal in lines:
        reject = refusal(line, signal)
        if reject is None:
            kept.append((line, signal))
        else:
            refused.append(reject)
    return kept, refused
