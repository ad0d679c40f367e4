"""Closing an epoch gives what the oracle gives."""

from decimal import Decimal
from fractions import Fraction

import pytest
from examples import fast_rows
from oracle import reputation as oracle
from state.agreement import fractions_of, levels_of
from state.random_epochs import EPOCH, changed, random_epoch
from state.subnet import rules_of
from state.weighing import close_epoch

from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import Damping

DAMPING = {
    "replace": Damping("replace", Decimal("0.1"), Decimal("0.9")),
    "drift": Damping("drift", Decimal("0.1")),
}
MODES = [
    (name, damping, mean)
    for name in oracle.RULES
    for damping in DAMPING
    for mean in ("records", "validators")
]

SEEDS = [range(40), pytest.param(range(40, 600), marks=pytest.mark.nightly)]


def report(event: StateEvent) -> oracle.Report:
    about = (event.validator, event.hotkey, event.skill_type, event.task_id)
    quality = None if event.quality is None else Fraction(event.quality)
    return oracle.Report(*about, event.round, event.epoch, event.events, event.role, quality)


def agrees(rules: StateRules, their_rules: oracle.Rules, seed: int) -> bool:
    """Whether a random epoch ends as the oracle says."""
    state, events, pinned = random_epoch(seed, rules)
    after = close_epoch(state, events, rules, pinned)
    reports = [report(each) for each in events]
    before = {epoch: fractions_of(each) for epoch, each in pinned.items()}
    expected = oracle.reputations(fractions_of(state), reports, before, their_rules)
    same = fractions_of(after) == expected and after.epoch == EPOCH + 1
    return same and levels_of(after) == oracle.levels(levels_of(state), reports, their_rules)


def in_mode(rules: StateRules, damping: str, mean: str) -> StateRules:
    return changed(rules, "reputation", damping=DAMPING[damping], mean=mean)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
@pytest.mark.parametrize(("name", "damping", "mean"), fast_rows(MODES, 0, 7, 10))
def test_an_epoch_ends_as_in_the_oracle(name: str, damping: str, mean: str, seeds: range) -> None:
    rules = in_mode(rules_of(name), damping, mean)
    corrected = oracle.RULES[name].corrected
    their_rules = oracle.Rules(corrected, damping == "drift", mean == "validators")
    assert [seed for seed in seeds if not agrees(rules, their_rules, seed)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", oracle.RULES)
def test_many_epochs_end_as_in_the_oracle(name: str) -> None:
    rules, their_rules = rules_of(name), oracle.RULES[name]
    assert [seed for seed in range(500, 6_000) if not agrees(rules, their_rules, seed)] == []
