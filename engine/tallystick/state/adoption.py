"""Adoption: what a state becomes as an epoch begins under other rules.

It is a pure function, a list of named steps, as the closing of an epoch is. It runs after the epoch
before is closed under the old rules, and before the snapshot that the new epoch pins.

=================  =================================================================================
reputations        carried, clamped to the new floor and ceiling; of types that the new rules lack,
                   kept as they are, out of every pool, and resumed if the type returns; of types
                   that a miner declares and has none for, initial
collusion flags    carried, with whom they came from where the new rules ask for a quorum
thresholds         carried where both rules track them, else the new seeds; of types that the new
                   rules lack, dropped; then at least what their own formulas give
=================  =================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from tallystick.state.model import Miner, State
from tallystick.state.reputation import clamped, initial_reputation
from tallystick.state.rules import StateRules

FlaggedBy = Mapping[str, Mapping[str, int]]
"""By hotkey, how many collusion flags each validator gave since they were last cleared."""


@attrs.frozen
class Change:
    """What the steps of an adoption read.

    Attributes:
        old: the rules of the epoch before.
        new: the rules of the epoch that begins.
        flagged_by: who flagged each miner, read only where the new rules ask for a quorum and the
            old ones do not.
    """

    old: StateRules
    new: StateRules
    flagged_by: FlaggedBy


def adopt(
    state: State, old: StateRules, new: StateRules, *, flagged_by: FlaggedBy | None = None
) -> State:
    """The state as an epoch begins under other rules of its line.

    Args:
        state: after the epoch before was closed; ``state.epoch`` is the first under the new rules.
        old: the rules of the epoch before.
        new: the rules from now on.
        flagged_by: by hotkey, the collusion flags of each validator since the last clearing, as if
            a quorum had always been asked for. Old rules without a quorum do not keep them, so that
            new rules with one need them; by default there are none.

    Returns:
        The state with everything carried that both rules have a place for. Types of other lines are
        left as they are.
    """
    change = Change(old, new, flagged_by or {})
    for step in STEPS:
        state = step(state, change)
    return state


def carry_reputations(state: State, change: Change) -> State:
    """Reputations within the new floor and ceiling, and those that the new rules begin."""
    if change.new.rule_set.reputation is None:
        return state
    miners = {
        hotkey: attrs.evolve(miner, reputation=_reputation(miner, change.new))
        for hotkey, miner in state.miners.items()
    }
    return attrs.evolve(state, miners=miners)


def carry_flags(state: State, change: Change) -> State:
    """Whom collusion flags came from, which a state keeps only where a quorum is asked for."""
    if (change.old.quorum > 1) == (change.new.quorum > 1):
        return state
    flagged_by = change.flagged_by if change.new.quorum > 1 else {}
    miners = {
        hotkey: attrs.evolve(miner, flagged_by=dict(sorted(flagged_by.get(hotkey, {}).items())))
        for hotkey, miner in state.miners.items()
    }
    return attrs.evolve(state, miners=miners)


def carry_thresholds(state: State, change: Change) -> State:
    """Thresholds that both rules track, and the new seeds of the others."""
    old, new = change.old, change.new
    gone = old.seeds.keys() - new.seeds.keys()
    thresholds = {name: each for name, each in state.thresholds.items() if name not in gone}
    for name, seeds in new.seeds.items():
        both = tracked(old, name) & tracked(new, name)
        carried = {
            each: nano for each, nano in state.thresholds.get(name, {}).items() if each in both
        }
        thresholds[name] = {**seeds, **carried}
    return attrs.evolve(state, thresholds=thresholds)


def apply_floors(state: State, change: Change) -> State:
    """Each tracked threshold at least what its formula gives at the baseline of its type."""
    new, thresholds = change.new, dict(state.thresholds)
    epochs = new.rule_set.epochs
    for name in new.seeds if epochs is not None else ():
        found, tiers = thresholds[name], new.tiers[name]
        floors = tiers.thresholds({baseline: found[baseline] for baseline in tiers.tracked})
        raised = {each: max(found[each], floors[each]) for each in new.epochs.thresholds}
        thresholds[name] = {**found, **raised}
    return attrs.evolve(state, thresholds=thresholds)


STEPS: tuple[Callable[[State, Change], State], ...] = (
    carry_reputations,
    carry_flags,
    carry_thresholds,
    apply_floors,
)
"""What an adoption does, in this order."""


def tracked(rules: StateRules, skill_type: str) -> frozenset[str]:
    """The names of the thresholds of a type that follow its results, epoch by epoch.

    A baseline that is the published constant follows nothing, and is carried nowhere.
    """
    epochs, tiers = rules.rule_set.epochs, rules.tiers.get(skill_type)
    if epochs is None or tiers is None:
        return frozenset()
    baseline = epochs.baseline
    median = baseline is not None and baseline.mode == "median_quality"
    return frozenset({*(tiers.tracked if median else ()), *epochs.thresholds})


def _reputation(miner: Miner, rules: StateRules) -> Mapping[str, int]:
    known = rules.rule_set.skill_types
    kept = {
        name: clamped(rules, nano) if name in known else nano
        for name, nano in miner.reputation.items()
    }
    begun = {name for name in miner.types if name in known and name not in kept}
    return {**kept, **dict.fromkeys(sorted(begun), initial_reputation(rules))}
