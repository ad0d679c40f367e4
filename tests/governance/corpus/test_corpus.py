"""Every entry of the corpus loads and differs from its base, and every section has its share."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import pytest
from governance.corpus.corpus import Entry, bad, build, harmless
from governance.corpus.measure import measure, measure_all

from tallystick_governance.diff.change import changes

HEADER = "rule_set."
PART = Fraction(9, 10)
"""Least part of the mistakes that is found to the point."""
MOST_ALARMS = 1
"""Maximum number of harmless changes that give a false alarm."""
FAST = {"composite", "aggregation", "claims"}
"""Sections of which a mistake is tried in every run."""


def of_sections(entries: Sequence[Entry], fast: Collection[str]) -> list[Any]:
    """One entry of each section, a quick one; those of dear sections run at night."""
    sections = {entry.section: entry for entry in reversed(entries)}
    sections |= {e.section: e for e in reversed(entries) if e.base.startswith("workflow")}
    return [
        pytest.param(entry, id=name, marks=[] if name in fast else [pytest.mark.nightly])
        for name, entry in sections.items()
    ]


@pytest.mark.parametrize("entry", of_sections(bad(), FAST))
def test_a_mistake_of_each_section_is_found_to_the_point(entry: Entry) -> None:
    assert measure(entry).to_the_point


@pytest.mark.parametrize("entry", of_sections(harmless(), {"composite", "aggregation"}))
def test_a_harmless_change_of_each_section_gives_no_alarm(entry: Entry) -> None:
    assert not measure(entry).to_the_point


@pytest.mark.nightly
def test_mistakes_are_found_to_the_point_and_harmless_changes_are_quiet() -> None:
    missed, alarms = (
        [outcome for outcome in measure_all(entries) if outcome.is_missed]
        for entries in (bad(), harmless())
    )
    assert len(missed) <= len(bad()) * (1 - PART), "\n".join(map(str, missed))
    assert len(alarms) <= MOST_ALARMS, "\n".join(map(str, alarms))


@pytest.mark.nightly
@pytest.mark.parametrize("entry", [*bad(), *harmless()], ids=lambda e: e.id)
def test_an_entry_loads_and_differs(entry: Entry) -> None:
    pair = build(entry)
    old, new = pair.old.rule_set, pair.new.rule_set
    assert new.reference != old.reference
    assert pair.new.digest != pair.old.digest
    differing = [c.path for c in changes(old, new) if not c.path.startswith(HEADER)]
    assert differing or entry in harmless()
