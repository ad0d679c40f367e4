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
REPUTATIONS = st.integers(50_000_000, NANO)


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


def test_a_newcomer_has_half(all_rules: dict[str, StateRules]) -> None:
    assert all_rules["skills@1.0.0"].initial_reputation == 500_000_000
    assert all_rules["skills@1.1.0"].initial_reputation == 500_000_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [(-1, 50_000_000), (50_000_000, 50_000_000), (50_000_001, 50_000_001), (NANO + 1, NANO)],
)
def test_a_reputation_is_kept_within_floor_and_ceiling(
    rules: StateRules, given: int, expected: int
) -> None:
    assert module.clamped(rules, given) == expected


@pytest.mark.parametrize("name", fast_rows(RULES, 0, -1))
def test_a_record_has_the_delta_of_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng, rules = random.Random(1), all_rules[name]
    for _ in range(1_000):
        reputation, events = drawn(rng)
        expected = delta(Fraction(reputation, NANO), events, RULES[name])
        takes_part = module.effect(rules, events).takes_part
        assert takes_part is (expected is not None)
        assert module.record_delta(rules, reputation, events) == (expected or 0)


@given(REPUTATIONS, st.lists(st.sampled_from(EVENTS), max_size=8), st.randoms())
def test_the_order_of_events_does_not_matter(
    all_rules: dict[str, StateRules], reputation: int, events: list[str], rng: random.Random
) -> None:
    rules, shuffled = all_rules["skills@1.1.0"], events.copy()
    rng.shuffle(shuffled)
    assert module.effect(rules, shuffled) == module.effect(rules, events)
    exact = module.record_delta(rules, reputation, events)
    assert module.record_delta(rules, reputation, shuffled) == exact


@given(REPUTATIONS, st.lists(st.sampled_from(EVENTS), max_size=8))
def test_an_unlisted_event_changes_nothing(
    all_rules: dict[str, StateRules], reputation: int, events: list[str]
) -> None:
    rules, more = all_rules["skills@1.0.0"], [*events, "parse_failure", "listed_nowhere"]
    assert module.effect(rules, more) == module.effect(rules, events)
    assert module.record_delta(rules, reputation, more) == module.record_delta(
        rules, reputation, events
    )


def test_an_event_that_comes_twice_counts_twice(rules: StateRules) -> None:
    assert module.record_delta(rules, 800_000_000, ["rerun_fail"] * 2) == Fraction("-0.408")
    assert module.record_delta(rules, 800_000_000, ["rerun_pass"] * 3) == Fraction("0.06")


def test_a_million_events_are_no_burden(rules: StateRules) -> None:
    found = module.effect(rules, ["collusion_flag"] * 10_000 + ["rerun_pass"] * 1_000_000)
    assert found.added == 20_000
    assert found.factor == Fraction(3, 5) ** 10_000


@pytest.mark.parametrize(
    ("events", "takes_part"),
    [
        ((), True),
        (("listed_nowhere",), True),
        (("consensus_weak",), True),
        (("missed_deadline",), False),
        (("missed_deadline", "missed_deadline"), False),
        (("missed_deadline", "listed_nowhere"), False),
        (("missed_deadline", "collusion_flag"), True),
        (("missed_deadline", "consensus_weak"), True),
    ],
)
def test_a_missed_deadline_alone_takes_no_part(
    rules: StateRules, events: tuple[str, ...], takes_part: bool
) -> None:
    assert module.effect(rules, events).takes_part is takes_part


@pytest.mark.parametrize("name", RULES)
def test_the_mean_is_that_of_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng = random.Random(2)
    for _ in range(2_000):
        unit = rng.choice([NANO, 10 * NANO, 7])
        counts = {str(v): rng.choices(range(-99, 99), k=rng.randrange(4)) for v in range(5)}
        exact = {v: [Fraction(n, unit) for n in each] for v, each in counts.items()}
        sums = [(sum(each, Fraction()), len(each)) for each in exact.values()]
        assert module.mean_delta(all_rules[name], sums) == mean(exact, RULES[name])


def test_the_two_means_differ(all_rules: dict[str, StateRules]) -> None:
    sums = [(Fraction(3), 3), (Fraction(), 1)]
    assert module.mean_delta(all_rules["skills@1.0.0"], sums) == Fraction(3, 4)
    assert module.mean_delta(all_rules["skills@1.1.0"], sums) == Fraction(1, 2)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("sums", [[], [(Fraction(), 0)]])
def test_no_records_have_no_mean(
    all_rules: dict[str, StateRules], name: str, sums: list[tuple[Fraction, int]]
) -> None:
    assert module.mean_delta(all_rules[name], sums) is None
    assert module.damped(all_rules[name], 123_456_789, None) == 123_456_789


@pytest.mark.parametrize("name", fast_rows(RULES, 0, -1))
def test_a_reputation_moves_as_in_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng = random.Random(3)
    for _ in range(5_000):
        before = rng.randint(50_000_000, NANO)
        by = Fraction(rng.randint(-NANO, NANO), rng.choice([NANO, 3 * NANO, 10 * NANO]))
        expected = moved(Fraction(before, NANO), by, RULES[name])
        assert Fraction(module.damped(all_rules[name], before, by), NANO) == expected


@given(REPUTATIONS, st.fractions(-3, 3))
def test_a_moved_reputation_is_within_floor_and_ceiling(
    all_rules: dict[str, StateRules], before: int, by: Fraction
) -> None:
    for name in RULES:
        assert 50_000_000 <= module.damped(all_rules[name], before, by) <= NANO


@given(REPUTATIONS, st.fractions(-1, 1), st.fractions(0, 1))
def test_a_better_mean_never_leads_lower(
    all_rules: dict[str, StateRules], before: int, by: Fraction, more: Fraction
) -> None:
    for name in RULES:
        rules = all_rules[name]
        assert module.damped(rules, before, by) <= module.damped(rules, before, by + more)


@pytest.mark.parametrize(
    ("before", "expected"),
    [(500_000_005, 450_000_004), (500_000_015, 450_000_014)],
)
def test_a_tie_is_published_even(rules: StateRules, before: int, expected: int) -> None:
    assert module.damped(rules, before, Fraction(0)) == expected
