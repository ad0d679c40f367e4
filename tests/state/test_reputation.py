"""Reputation: events, deltas, their mean, and the damped update."""

import random
from decimal import Decimal
from fractions import Fraction

import attrs
import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st
from oracle.consensus import band
from oracle.reputation import RULES, delta, mean, moved
from rules.documents import with_section
from state.subnet import under

from tallystick.errors import StateError
from tallystick_state import reputation as module
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION, Band, ReputationEvent

NANO = 10**9
EVENTS = (
    *("consensus_pass", "consensus_weak", "consensus_fail", "rerun_pass", "rerun_fail"),
    *("digest_mismatch", "validity_violation", "probe_fail", "missed_deadline", "collusion_flag"),
    *("parse_failure", "early_arrival", "listed_nowhere"),
)


def drawn(rng: random.Random) -> tuple[int, list[str]]:
    return rng.randint(50_000_000, NANO), rng.choices(EVENTS, k=rng.randrange(7))


def with_reputation(rules: StateRules, **changes: object) -> StateRules:
    rule_set = rules.rule_set
    changed = attrs.evolve(rules.reputation, **changes)
    return under(rules, with_section(rule_set, REPUTATION, changed))


@given(st.integers(0, NANO))
def test_every_consensus_is_one_event(all_rules: dict[str, StateRules], consensus: int) -> None:
    expected = f"consensus_{band(Fraction(consensus, NANO))}"
    assert module.consensus_event(all_rules["skills@1.1.0"], consensus) == expected


def test_a_consensus_outside_every_band_is_no_event(rules: StateRules) -> None:
    only = {"agreed": ReputationEvent(consensus=Band(at_least=Decimal("0.7")))}
    narrow = with_reputation(rules, events=only)
    assert module.consensus_event(narrow, 700_000_000) == "agreed"
    assert module.consensus_event(narrow, 699_999_999) is None


def test_a_rule_set_without_reputation_has_no_events(all_rules: dict[str, StateRules]) -> None:
    workflow = all_rules["workflow@1.0.0"]
    assert module.consensus_event(workflow, NANO) is None
    with pytest.raises(StateError, match=r"found no \[reputation\] in workflow@1.0.0"):
        module.clamped(workflow, NANO)


@pytest.mark.parametrize("name", fast_rows(RULES, 0, -1))
def test_a_record_has_the_delta_of_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng, rules = random.Random(1), all_rules[name]
    for _ in range(1_000):
        reputation, events = drawn(rng)
        expected = delta(Fraction(reputation, NANO), events, RULES[name])
        takes_part = module.effect(rules, events).takes_part
        assert takes_part is (expected is not None)
        assert module.record_delta(rules, reputation, events) == (expected or 0)


def test_a_million_events_are_no_burden(rules: StateRules) -> None:
    found = module.effect(rules, ["collusion_flag"] * 10_000 + ["rerun_pass"] * 1_000_000)
    assert found.added == 20_000
    assert found.factor == Fraction(3, 5) ** 10_000


@pytest.mark.parametrize("name", RULES)
def test_the_mean_is_that_of_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng = random.Random(2)
    for _ in range(2_000):
        unit = rng.choice([NANO, 10 * NANO, 7])
        counts = {str(v): rng.choices(range(-99, 99), k=rng.randrange(4)) for v in range(5)}
        exact = {v: [Fraction(n, unit) for n in each] for v, each in counts.items()}
        sums = [(sum(each, Fraction()), len(each)) for each in exact.values()]
        assert module.mean_delta(all_rules[name], sums) == mean(exact, RULES[name])


@pytest.mark.parametrize("name", fast_rows(RULES, 0, -1))
def test_a_reputation_moves_as_in_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng = random.Random(3)
    for _ in range(5_000):
        before = rng.randint(50_000_000, NANO)
        by = Fraction(rng.randint(-NANO, NANO), rng.choice([NANO, 3 * NANO, 10 * NANO]))
        expected = moved(Fraction(before, NANO), by, RULES[name])
        assert Fraction(module.damped(all_rules[name], before, by), NANO) == expected
