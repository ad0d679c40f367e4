"""Every entry of the corpus loads and differs from its base, and every section has its share."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import pytest
from governance.corpus.corpus import Entry, bad, harmless
from governance.corpus.measure import found, found_of_all

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
    assert found(entry)


@pytest.mark.parametrize("entry", of_sections(harmless(), {"composite", "aggregation"}))
def test_a_harmless_change_of_each_section_gives_no_alarm(entry: Entry) -> None:
    assert not found(entry)


@pytest.mark.nightly
def test_mistakes_are_found_to_the_point_and_harmless_changes_are_quiet() -> None:
    missed = [entry.id for entry, remarks in found_of_all(bad()) if not remarks]
    assert len(missed) <= len(bad()) * (1 - PART), missed
    alarms = [(entry.id, remarks) for entry, remarks in found_of_all(harmless()) if remarks]
    assert len(alarms) <= MOST_ALARMS, alarms
