"""Adoption: the change of a state as an epoch begins under other rules.

It is a pure function, a list of named steps, as the closing of an epoch is. It runs after the epoch
before is closed under the old rules, and before the snapshot that the new epoch pins.

=================  =================================================================================
reputations        carried, clamped to the new floor and ceiling; of types that the new rules lack,
                   kept as they are, out of every pool, and resumed if the type returns; of types
                   that a miner declares and has none for, initial
collusion flags    carried, with whom they came from where the new rules ask for a quorum
thresholds         carried where both rules track them, else the new seeds; of types that the new
                   rules lack, dropped; then at least what their own formulas give
carried columns    kept of a step that both allocations carry under one name; others begin empty
=================  =================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from tallystick_state.carry import with_columns
from tallystick_state.model import MinerEntry, State
from tallystick_state.reputation import clamped
from tallystick_state.rules import StateRules
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.sections.reputation import REPUTATION

LAST_EPOCH = 2**31 - 1
"""Maximum number of an epoch that a record names."""

FlaggedBy = Mapping[str, Mapping[str, int]]
"""Collusion flags since a miner was last cleared: by hotkey, their number by validator."""


@attrs.frozen
class Change:
    """The inputs of the steps of an adoption.

    Attributes:
        old: the rules of the epoch before.
        new: the rules of the epoch that begins.
        flagged_by: who flagged each miner, read only where the new rules ask for a quorum and the
            old ones do not.
        quorum_elsewhere: the greatest quorum of the other lines of the state.
    """

    old: StateRules
    new: StateRules
    flagged_by: FlaggedBy
    quorum_elsewhere: int = 1

    def quorums(self) -> tuple[int, int]:
        """Return the quorums of validators for collusion flags, before and after."""
        return (
            max(self.old.quorum, self.quorum_elsewhere),
            max(self.new.quorum, self.quorum_elsewhere),
        )


def adopt(
    state: State,
    old: StateRules,
    new: StateRules,
    *,
    flagged_by: FlaggedBy | None = None,
    quorum_elsewhere: int = 1,
) -> State:
    """Return the state as an epoch begins under other rules of its line.

    Args:
        state: after the epoch before was closed; ``state.epoch`` is the first under the new rules.
        old: the rules of the epoch before.
        new: the rules from now on.
        flagged_by: by hotkey, the collusion flags of each validator since the last clearing, as if
            a quorum had always been asked for. Old rules without a quorum do not keep them, so that
            new rules with one need them; by default there are none.
        quorum_elsewhere: the greatest quorum of the other lines of the state, of those that adopt
            at the same epoch and come after this one as it was.

    Returns:
        The state with everything carried that both rules have a place for. Types of other lines are
        left as they are.
    """
    change = Change(old, new, flagged_by or {}, quorum_elsewhere)
    for step in STEPS:
        state = step(state, change)
    return state


def carry_reputations(state: State, change: Change) -> State:
    """Clamp reputations to the new floor and ceiling, and begin those of new types."""
    if change.new.rule_set.section(REPUTATION) is None:
        return state
    miners = {
        hotkey: attrs.evolve(miner, reputation=_reputation(miner, change.new))
        for hotkey, miner in state.miners.items()
    }
    return attrs.evolve(state, miners=miners)


def carry_flags(state: State, change: Change) -> State:
    """Keep the validators of collusion flags where the new rules have a quorum, else drop them."""
    before, after = change.quorums()
    if (before > 1) == (after > 1):
        return state
    flagged_by = change.flagged_by if after > 1 else {}
    miners = {
        hotkey: attrs.evolve(miner, flagged_by=dict(sorted(flagged_by.get(hotkey, {}).items())))
        for hotkey, miner in state.miners.items()
    }
    return attrs.evolve(state, miners=miners)


def carry_thresholds(state: State, change: Change) -> State:
    """Carry the thresholds that both rules track, and seed the others."""
    old, new = change.old, change.new
    gone = old.seeds.keys() - new.seeds.keys()
    thresholds = {
        name: threshold for name, threshold in state.thresholds.items() if name not in gone
    }
    for name, seeds in new.seeds.items():
        both = tracked(old, name) & tracked(new, name)
        carried = {
            threshold: nano
            for threshold, nano in state.thresholds.get(name, {}).items()
            if threshold in both
        }
        thresholds[name] = {**seeds, **carried}
    return attrs.evolve(state, thresholds=thresholds)


def apply_floors(state: State, change: Change) -> State:
    """Return each tracked threshold at least what its formula gives at the baseline of its type."""
    new, thresholds = change.new, dict(state.thresholds)
    epochs = new.rule_set.section(EPOCHS)
    for name in new.seeds if epochs is not None else ():
        tracked, tiers = thresholds[name], new.tiers[name]
        floors = tiers.thresholds({baseline: tracked[baseline] for baseline in tiers.tracked})
        raised = {
            threshold: max(tracked[threshold], floors[threshold])
            for threshold in new.epochs.thresholds
        }
        thresholds[name] = {**tracked, **raised}
    return attrs.evolve(state, thresholds=thresholds)


def carry_columns(state: State, change: Change) -> State:
    """Return the columns that steps of one name and one kind carry in both allocations."""
    old, new = (
        () if rules.allocation is None else rules.allocation.carried
        for rules in (change.old, change.new)
    )
    kinds = {step.name: step.kind for step in old}
    alike = [step for step in new if kinds.get(step.name) == step.kind]
    names, line = [name for step in alike for name, _, _ in step.memory], change.new.line
    before = state.carry.get(line, {})
    return with_columns(state, line, {name: before[name] for name in names if name in before})


STEPS: tuple[Callable[[State, Change], State], ...] = (
    carry_reputations,
    carry_flags,
    carry_thresholds,
    apply_floors,
    carry_columns,
)
"""The steps of an adoption, in this order."""


def tracked(rules: StateRules, skill_type: str) -> frozenset[str]:
    """Return the names of the thresholds of a type that follow its results, epoch by epoch.

    A baseline that is the published constant follows nothing, and is carried nowhere.
    """
    epochs, tiers = rules.rule_set.section(EPOCHS), rules.tiers.get(skill_type)
    if epochs is None or tiers is None:
        return frozenset()
    baseline = epochs.baseline
    median = baseline is not None and baseline.mode == "median_quality"
    return frozenset({*(tiers.tracked if median else ()), *epochs.thresholds})


def _reputation(miner: MinerEntry, rules: StateRules) -> Mapping[str, int]:
    types = rules.rule_set.skill_types
    carried = {
        name: clamped(rules, nano) if name in types else nano
        for name, nano in miner.reputation.items()
    }
    begun = {name for name in miner.types if name in types and name not in carried}
    return {**carried, **dict.fromkeys(sorted(begun), rules.initial_reputation)}
