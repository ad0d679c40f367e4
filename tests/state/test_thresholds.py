"""Tracked thresholds: the baseline and the novel threshold of a type."""

import random
from decimal import Decimal
from fractions import Fraction

import attrs
import pytest
from examples import fast_rows
from oracle.reputation import RULES, Report, next_baseline, next_novel
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


def test_a_baseline_that_nothing_tracks_stays(rules: StateRules) -> None:
    epochs = attrs.evolve(rules.epochs, baseline=None)
    untracked = under(rules, with_section(rules.rule_set, EPOCHS, epochs))
    assert baseline_after(untracked, tracked("0.2", "0.75"), each_of("0.3")) == "0.200000000"


def test_the_median_inside_is_not_rounded(rules: StateRules) -> None:
    shares = {"new": Decimal("0.6"), "old": Decimal("0.4")}
    novel = attrs.evolve(rules.epochs.thresholds["novel"], **shares)
    epochs = attrs.evolve(rules.epochs, thresholds={"novel": novel})
    changed = under(rules, with_section(rules.rule_set, EPOCHS, epochs))
    events = [scored(each, hotkey=f"m{each}") for each in (0, 2, 3, 9)]
    # 0.6 · 2.5 = 1.5 is published as 2; from a median rounded to 2, 1.2 would be published as 1
    assert next_threshold(changed, TYPE, "novel", tracked("0", "0"), records_of(events)) == 2
