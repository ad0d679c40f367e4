"""Reports: what closing an epoch did, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import StateError
from tallystick_state.claims import DROPPED
from tallystick_state.miners import FLAG, pinned_reputation
from tallystick_state.sections.reputation import REPUTATION

if TYPE_CHECKING:
    from tallystick_state.ledger import Ledger
    from tallystick_state.model import State
    from tallystick_state.rules import EpochRules


@attrs.frozen
class ReputationMove:
    """A reputation that changed, in nano."""

    hotkey: str
    skill_type: str
    before: int
    after: int


@attrs.frozen
class ThresholdMove:
    """A tracked threshold that changed, in nano; None where it began or ended."""

    skill_type: str
    name: str
    before: int | None
    after: int | None


@attrs.frozen
class EpochReport:
    """The changes that closing an epoch made.

    Attributes:
        records: how many records it counted.
        miners: of how many miners.
        late: how many of the records are missed deadlines, late submissions among them.
        alone: how many events it counted that came alone.
        reputations: those that moved, the largest moves first.
        kept: how many reputations did not move.
        thresholds: those that moved.
        tracked: how many thresholds follow results.
        flagged: how many collusion flags the epoch counted, by hotkey.
        begins: the rule sets that begin with the next epoch, by line.
        waiting: how many claims are in quarantine, by reason.
    """

    records: int
    miners: int
    late: int
    alone: int
    reputations: tuple[ReputationMove, ...]
    kept: int
    thresholds: tuple[ThresholdMove, ...]
    tracked: int
    flagged: Mapping[str, int]
    begins: Mapping[str, str]
    waiting: Mapping[str, int]


def epoch_report(ledger: Ledger, epoch: int) -> EpochReport:
    """Return what closing an epoch did; the epoch is closed.

    Raises:
        StateError: it is not.
    """
    in_force = ledger.in_force
    records, flagged = Counter[str](), Counter[str]()
    late = alone = 0
    with ledger.store.reading() as transaction:
        for event in transaction.events(epoch):
            flagged[event.hotkey] += event.events.count(FLAG)
            late += event.missed
            if event.is_record:
                records[event.hotkey] += 1
            else:
                alone += 1
        before, after = transaction.state(epoch), transaction.state(epoch + 1)
        waiting = transaction.claims.reasons()
    if before is None or after is None:
        raise StateError(f"found the epoch {epoch}, expected one that is closed")
    moves = [*_reputations(before, after, in_force.at(epoch))]
    moved = [move for move in moves if move.before != move.after]
    moved.sort(key=lambda move: (-abs(move.after - move.before), move.hotkey, move.skill_type))
    return EpochReport(
        records=records.total(),
        miners=len(records),
        late=late,
        alone=alone,
        reputations=tuple(moved),
        kept=len(moves) - len(moved),
        thresholds=tuple(_thresholds(before, after)),
        tracked=sum(map(len, after.thresholds.values())),
        flagged={hotkey: many for hotkey, many in sorted(flagged.items()) if many},
        begins={
            line: rules.rule_set.reference for line, rules in in_force.beginning(epoch + 1).items()
        },
        waiting={reason: many for reason, many in waiting.items() if reason != DROPPED},
    )


def _reputations(before: State, after: State, rules: EpochRules) -> Iterator[ReputationMove]:
    """Yield each reputation; who registered while the epoch was open began with the initial one."""
    for hotkey, miner in after.miners.items():
        for skill_type, nano in miner.reputation.items():
            own = rules.type_rules.get(skill_type)
            if own is not None and own.rule_set.section(REPUTATION) is not None:
                base = pinned_reputation(before, own, hotkey, skill_type)
                yield ReputationMove(hotkey, skill_type, base, nano)


def _thresholds(before: State, after: State) -> Iterator[ThresholdMove]:
    for skill_type in sorted({*before.thresholds, *after.thresholds}):
        old, new = (state.thresholds.get(skill_type, {}) for state in (before, after))
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield ThresholdMove(skill_type, name, old.get(name), new.get(name))
