"""Every entry of the corpus loads and differs from its base, and every section has its share."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from governance.corpus.corpus import BASE, Entry, bad, build, harmless
from governance.corpus.measure import COLUMNS, counts, measure, measure_all, missed

import tallystick
from tallystick.rules.edit import named_paths
from tallystick.rules.toml import parse
from tallystick_governance.diff.change import changes

HEADER = "rule_set."
PART = Fraction(9, 10)
"""Least part of the mistakes that is found to the point."""
MOST_ALARMS = 1
"""Maximum number of harmless changes that give a false alarm."""
PARTS = 25
"""Entries for each one that the slow tests take."""
SAMPLES = {"skills": 60, "workflow": 4}
"""Entries for each one that is measured by default, by series: skills take ten times as long."""


def test_names_are_unique() -> None:
    names = Counter(entry.id for entry in (*bad(), *harmless()))
    assert [name for name, number in names.items() if number > 1] == []


def test_every_mistake_says_where() -> None:
    assert [entry.id for entry in bad() if not entry.where] == []


def test_there_are_enough() -> None:
    assert len(bad()) >= 150
    assert len(harmless()) >= 50


def test_sections_have_mistakes_in_proportion_to_their_keys() -> None:
    # a section of rules has a mistake for every five of its keys at least
    rules = tallystick.load(BASE)
    sections = {"skill_types": "composite"}
    keys = Counter(
        sections.get(name, name)
        for path, _, _ in named_paths(parse(rules.loaded.text, "").data)
        if (name := path.partition(".")[0]) not in {"rule_set", "lint", "windows"}
    )
    entries = Counter(entry.section for entry in bad() if entry.base == BASE)
    assert {name for name in keys if entries[name] * 5 < keys[name]} == set()


def _check(entry: Entry) -> None:
    pair = build(entry)
    old, new = pair.old.rule_set, pair.new.rule_set
    assert new.reference != old.reference
    assert pair.new.digest != pair.old.digest
    differing = [c.path for c in changes(old, new) if not c.path.startswith(HEADER)]
    assert differing or entry in harmless()


def test_a_sample_of_the_corpus_is_told_apart() -> None:
    mistakes, others = (list(map(measure, sample(entries))) for entries in (bad(), harmless()))
    assert sum(bool(o.to_the_point) for o in mistakes) >= len(mistakes) * PART
    assert len(list(filter(None, map(missed, others)))) <= MOST_ALARMS


def sample(entries: Sequence[Entry]) -> Iterator[Entry]:
    for series, step in SAMPLES.items():
        yield from [entry for entry in entries if entry.base.startswith(series)][::step]


@pytest.mark.slow
def test_mistakes_are_found_to_the_point_and_harmless_changes_are_quiet() -> None:
    # a part of each; `python -m governance.corpus.measure` measures all
    outcomes = list(measure_all((*bad()[::PARTS], *harmless()[::PARTS]), measure))
    numbers = dict(zip(COLUMNS, counts(outcomes), strict=True))
    assert numbers["found"] >= numbers["bad"] * PART, "\n".join(map(missed, outcomes))
    assert numbers["false"] <= MOST_ALARMS, "\n".join(map(missed, outcomes))


@pytest.mark.slow
@pytest.mark.parametrize("entry", [*bad(), *harmless()][::PARTS], ids=lambda e: e.id)
def test_an_entry_loads_and_differs(entry: Entry) -> None:
    _check(entry)
