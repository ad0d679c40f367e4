"""Tracked thresholds: the baseline and the novel threshold of a type."""

import random
from decimal import Decimal
from fractions import Fraction

import attrs
import pytest
from examples import fast_rows
from oracle.reputation import RULES, Report, next_baseline, next_novel
from oracle.tiers import BASELINES
from rules.documents import with_section
from state.subnet import under

from tallystick.numbers import nano
from tallystick_state.epoch import next_baselines, next_threshold
from tallystick_state.event import StateEvent
from tallystick_state.rules import StateRules
from tallystick_state.samples import EventRecords
from tallystick_state.sections.epochs import EPOCHS

NANO = 10**9
TYPE = "executable_python"


def scored(
    quality: int | None, role: str | None = "primary", hotkey: str = "a", task: int = 0
) -> StateEvent:
    text = None if quality is None else nano.to_text(quality)
    return StateEvent("v", hotkey, TYPE, f"t{task}", 1, 0, role=role, quality=text)


def each_of(*qualities: str) -> list[StateEvent]:
    """A primary each."""
    texts = enumerate(qualities)
    return [scored(nano.from_text(text), hotkey=f"m{place}") for place, text in texts]


def tracked(baseline: str, novel: str) -> dict[str, int]:
    return {"baseline": nano.from_text(baseline), "novel": nano.from_text(novel)}


def records_of(events: list[StateEvent]) -> EventRecords:
    return EventRecords(tuple(events))


def novel_after(rules: StateRules, old: dict[str, int], events: list[StateEvent]) -> str:
    return nano.to_text(next_threshold(rules, TYPE, "novel", old, records_of(events)))


def baseline_after(rules: StateRules, old: dict[str, int], events: list[StateEvent]) -> str:
    found = next_baselines(rules, TYPE, old, records_of(events))
    assert list(found) == ["baseline"]
    return nano.to_text(found["baseline"])


@pytest.mark.parametrize("name", fast_rows(RULES, 0, -1))
def test_thresholds_are_those_of_the_oracle(all_rules: dict[str, StateRules], name: str) -> None:
    rng, rules, their_rules = random.Random(4), all_rules[name], RULES[name]
    for _ in range(1_000):
        events = [drawn(rng, place) for place in range(rng.randrange(14))]
        reports = [
            report(each) for each in events if each.quality is not None and each.role is not None
        ]
        old = {"baseline": rng.randint(0, NANO), "novel": rng.randint(0, NANO)}
        was = {key: Fraction(value, NANO) for key, value in old.items()}
        baseline = next_baselines(rules, TYPE, old, records_of(events))
        expected = next_baseline(TYPE, was["baseline"], reports, their_rules)
        assert {key: Fraction(n, NANO) for key, n in baseline.items()} == {"baseline": expected}
        novel = next_threshold(rules, TYPE, "novel", {**old, **baseline}, records_of(events))
        assert Fraction(novel, NANO) == next_novel(was["novel"], expected, reports, their_rules)


def drawn(rng: random.Random, place: int) -> StateEvent:
    quality = rng.choice([None, rng.randint(0, NANO), rng.randint(0, 4) * NANO // 4])
    role = rng.choice(["primary", "primary", "auditor"]) if quality is not None else None
    return scored(quality, role, hotkey=rng.choice("abcdef"), task=place)


def report(event: StateEvent) -> Report:
    about = (event.validator, event.hotkey, event.skill_type, event.task_id)
    quality = Fraction(event.value("quality") or 0, NANO)
    return Report(*about, event.round, event.epoch, (), event.role, quality)


def test_the_baseline_is_the_median_of_both_roles(rules: StateRules) -> None:
    old, events = tracked("0.5", "0.75"), [*each_of("0.2", "0.4"), scored(NANO, "auditor")]
    assert baseline_after(rules, old, events) == "0.400000000"


def test_the_median_of_the_baseline_is_published_even(rules: StateRules) -> None:
    old = tracked("0.5", "0.75")
    assert baseline_after(rules, old, [scored(1), scored(2)]) == "0.000000002"
    assert baseline_after(rules, old, [scored(2), scored(3)]) == "0.000000002"


@pytest.mark.parametrize("events", [[], [scored(None, None)], [scored(None, "primary")]])
def test_an_epoch_without_results_keeps_everything(
    rules: StateRules, events: list[StateEvent]
) -> None:
    old = tracked("0.123456789", "0.234567891")
    assert baseline_after(rules, old, events) == "0.123456789"
    assert novel_after(rules, old, events) == "0.234567891"


def test_a_quality_of_zero_is_a_result(rules: StateRules) -> None:
    assert baseline_after(rules, tracked("0.5", "0.75"), [scored(0)]) == "0.000000000"


def test_the_published_baseline_never_moves(all_rules: dict[str, StateRules]) -> None:
    rules = all_rules["skills@1.1.0"]
    for old in ("0.9", "0.1"):
        found = baseline_after(rules, tracked(old, "0.75"), each_of("0.3", "0.3", "0.3"))
        assert Fraction(found) == BASELINES[TYPE]


def test_a_baseline_that_nothing_tracks_stays(rules: StateRules) -> None:
    epochs = attrs.evolve(rules.epochs, baseline=None)
    untracked = under(rules, with_section(rules.rule_set, EPOCHS, epochs))
    assert baseline_after(untracked, tracked("0.2", "0.75"), each_of("0.3")) == "0.200000000"


def test_auditors_do_not_raise_the_novel_threshold(rules: StateRules) -> None:
    old, low = tracked("0.2", "0.5"), each_of("0.4", "0.4", "0.4")
    high = [scored(NANO, "auditor", hotkey=f"x{n}") for n in range(5)]
    assert novel_after(rules, old, [*low, *high]) == novel_after(rules, old, low) == "0.470000000"


def test_one_miner_counts_once_where_the_rule_set_says_so(all_rules: dict[str, StateRules]) -> None:
    old = tracked("0.2", "0.5")
    one = [scored(NANO, task=place) for place in range(5)]
    assert novel_after(all_rules["skills@1.0.0"], old, one) == "0.650000000"
    assert novel_after(all_rules["skills@1.1.0"], old, one) == "0.500000000"
    worse = [scored(NANO // 2, hotkey=hotkey, task=9) for hotkey in "abc"]
    others = [scored(NANO * 4 // 5, hotkey=hotkey) for hotkey in "bc"]
    assert novel_after(all_rules["skills@1.1.0"], old, [*one, *worse, *others]) == "0.590000000"


def test_the_floor_is_the_formula_at_the_new_baseline(all_rules: dict[str, StateRules]) -> None:
    events = each_of("0.1", "0.1", "0.1")
    assert novel_after(all_rules["skills@1.0.0"], tracked("0.8", "0.5"), events) == "1.200000000"
    assert novel_after(all_rules["skills@1.1.0"], tracked("0.8", "0.5"), events) == "0.900000000"


def test_the_median_inside_is_not_rounded(rules: StateRules) -> None:
    shares = {"new": Decimal("0.6"), "old": Decimal("0.4")}
    novel = attrs.evolve(rules.epochs.thresholds["novel"], **shares)
    epochs = attrs.evolve(rules.epochs, thresholds={"novel": novel})
    changed = under(rules, with_section(rules.rule_set, EPOCHS, epochs))
    events = [scored(each, hotkey=f"m{each}") for each in (0, 2, 3, 9)]
    # 0.6 · 2.5 = 1.5 is published as 2; from a median rounded to 2, 1.2 would be published as 1
    assert next_threshold(changed, TYPE, "novel", tracked("0", "0"), records_of(events)) == 2


@pytest.mark.parametrize(("count", "expected"), [(2, "0.400000000"), (3, "0.310000000")])
def test_fewer_than_the_minimum_keep_the_old(rules: StateRules, count: int, expected: str) -> None:
    old = tracked("0.1", "0.4")
    assert novel_after(rules, old, each_of(*["0.1"] * count)) == expected


def test_only_the_best_five_count(rules: StateRules) -> None:
    old, best = tracked("0.1", "0.5"), ["0.9", "0.8", "0.7", "0.6", "0.5"]
    expected = novel_after(rules, old, each_of(*best))
    assert novel_after(rules, old, each_of("0.4", *best, "0.3", "0.2", "0.1")) == expected
    assert expected == "0.560000000"
