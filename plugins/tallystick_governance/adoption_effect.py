"""The effect of an adoption: what a state would be the moment it goes by other rules of a line.

Reputations, flags and thresholds are carried by the function that every state uses. Scores are not
made again: tiers move as the qualities stand that the last epoch with records has published. What
records would have come to is for a back-test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import attrs

from tallystick.errors import StateError
from tallystick.json_values import json_fields
from tallystick.numbers.nano import from_text
from tallystick_state.adoption import adopt
from tallystick_state.carry import carried_names
from tallystick_state.event import StateEvent
from tallystick_state.groups import is_ejected, is_selectable
from tallystick_state.model import State
from tallystick_state.queries import StateQueries
from tallystick_state.rules import StateRules
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION


@attrs.frozen
class PoolChange:
    """The hotkeys that enter and leave the candidate pool of a skill type."""

    skill_type: str
    enter: tuple[str, ...]
    leave: tuple[str, ...]


@json_fields(nano=("before", "after"))
@attrs.frozen
class ThresholdChange:
    """A threshold of a skill type in nano; None where the rules have none of the name."""

    skill_type: str
    name: str
    before: int | None
    after: int | None


@attrs.frozen
class TierMove:
    """The number of records of a miner whose quality reaches another tier."""

    hotkey: str
    skill_type: str
    before: str
    after: str
    records: int


@json_fields(nano=("moved",))
@attrs.frozen
class MovedWeight:
    """The share of weight that changes hands.

    Attributes:
        moved: half of what all weights move by, in nano of the whole.
        basis: what it was computed on, as a sentence.
        not_exercised: the switches of the rule sets that made no difference there.
    """

    moved: int
    basis: str
    not_exercised: tuple[str, ...]


# most rules carry nothing from epoch to epoch
@json_fields(empty=("dropped", "begun"), hidden=("bounds",), none=("weight",))
@attrs.frozen
class AdoptionEffect:
    """The effect of an adoption on a state as it is.

    Attributes:
        epoch: the open epoch of the state.
        judged: the last epoch that counted records, whose qualities are compared; None without.
        pools: by skill type, those that change.
        ejected: the hotkeys that flags eject from then on.
        lifted: the hotkeys that they eject no more.
        thresholds: those that change.
        tiers: by skill type and hotkey.
        dropped: the carried columns that go, each with how many miners have a value in it.
        begun: the carried columns that begin empty.
        bounds: by skill type that both have with tiers, every threshold before and after.
        weight: the share of weight that changes hands; None where it was not computed.
    """

    epoch: int
    judged: int | None
    pools: tuple[PoolChange, ...]
    ejected: tuple[str, ...]
    lifted: tuple[str, ...]
    thresholds: tuple[ThresholdChange, ...]
    tiers: tuple[TierMove, ...]
    dropped: tuple[tuple[str, int], ...] = ()
    begun: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[Mapping[str, int], Mapping[str, int]]] = attrs.field(factory=dict)
    weight: MovedWeight | None = None


@attrs.frozen(eq=False, slots=False)
class _Side:
    """A state and the rules that it goes by."""

    state: State
    rules: StateRules

    @cached_property
    def thresholds(self) -> Mapping[str, Mapping[str, int]]:
        """Every threshold in nano, by skill type with tiers."""
        tracked = self.state.thresholds
        return {name: tiers.thresholds(tracked[name]) for name, tiers in self.rules.tiers.items()}

    def carried(self) -> set[str]:
        return {*carried_names(self.rules)}

    def ejected(self) -> set[str]:
        if self.rules.rule_set.section(REPUTATION) is None:
            return set()
        miners = self.state.miners.values()
        return {miner.hotkey for miner in miners if is_ejected(self.rules, miner)}

    def pool(self, skill_type: str) -> set[str]:
        rules = self.rules.rule_set
        if rules.section(GROUPS) is None or rules.section(REPUTATION) is None:
            return set()
        miners = self.state.miners.values()
        return {miner.hotkey for miner in miners if is_selectable(self.rules, miner, skill_type)}

    def tier(self, skill_type: str, quality: int) -> str | None:
        tiers = self.rules.tiers.get(skill_type)
        if tiers is None:
            return None
        return tiers.levels[tiers.level(quality, self.thresholds[skill_type])]


def effect_on(queries: StateQueries, old: str, new: StateRules) -> AdoptionEffect:
    """Return the effect of other rules on a state, for one of its lines.

    Args:
        queries: of the state.
        old: the digest of the rule set that the line follows in the open epoch.
        new: the rules that are adopted.

    Raises:
        StateError: the state goes by other rules, or the new ones are of another line.
    """
    in_force = {rules.digest: rules for rules in queries.rules.lines}
    if old not in in_force or in_force[old].line != new.line:
        names = ", ".join(f"{r.rule_set.reference} {d}" for d, r in in_force.items())
        raise StateError(
            f"found {old} and a rule set of the line {new.line}, expected OLD to be what the state "
            f"goes by in epoch {queries.state.epoch}, which is {names}, and NEW to be of its line"
        )
    transaction = queries.transaction
    judged = max(transaction.counted_events(), default=None)
    events = () if judged is None else transaction.events(judged)
    quorums = (rules.quorum for rules in queries.rules.lines if rules.digest != old)
    state = queries.state
    after = adopt(
        state,
        in_force[old],
        new,
        flagged_by=transaction.claims.flags_by(),
        quorum_elsewhere=max(quorums, default=1),
    )
    return _effect(_Side(state, in_force[old]), _Side(after, new), judged, events)


def _effect(
    before: _Side, after: _Side, judged: int | None, events: Iterable[StateEvent]
) -> AdoptionEffect:
    types = {**before.rules.rule_set.skill_types, **after.rules.rule_set.skill_types}
    pools = ((name, before.pool(name), after.pool(name)) for name in sorted(types))
    ejected, left = before.ejected(), after.ejected()
    return AdoptionEffect(
        epoch=before.state.epoch,
        judged=judged,
        pools=tuple(
            PoolChange(name, tuple(sorted(new - old)), tuple(sorted(old - new)))
            for name, old, new in pools
            if old != new
        ),
        ejected=tuple(sorted(left - ejected)),
        lifted=tuple(sorted(ejected - left)),
        thresholds=tuple(
            change for name in sorted(types) for change in _changed(before, after, name)
        ),
        tiers=tuple(_moved(before, after, events)),
        dropped=tuple(
            (name, len(before.state.carry.get(before.rules.line, {}).get(name, {})))
            for name in sorted(before.carried() - after.carried())
        ),
        begun=tuple(sorted(after.carried() - before.carried())),
        bounds={
            name: (thresholds, after.thresholds[name])
            for name, thresholds in before.thresholds.items()
            if name in after.thresholds
        },
    )


def _changed(before: _Side, after: _Side, skill_type: str) -> Iterator[ThresholdChange]:
    old, new = (side.thresholds.get(skill_type, {}) for side in (before, after))
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield ThresholdChange(skill_type, name, old.get(name), new.get(name))


def _moved(before: _Side, after: _Side, events: Iterable[StateEvent]) -> Iterator[TierMove]:
    counts = Counter[tuple[str, str, str, str]]()
    for event in events:
        if event.quality is not None:
            name, quality = event.skill_type, from_text(event.quality)
            old, new = (side.tier(name, quality) for side in (before, after))
            if old is not None and new is not None and old != new:
                counts[name, event.hotkey, old, new] += 1
    for (name, hotkey, old, new), records in sorted(counts.items()):
        yield TierMove(hotkey, name, old, new, records)
