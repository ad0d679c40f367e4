"""``docs/lint.md`` has every code, and says what the tools say of the shipped rule sets."""

import re
from functools import cache

import pytest
from governance.mutants import REFUSED, UNNOTICED
from governance.promised import PROMISES
from manual.page import Page
from manual.table import rows_of

import tallystick
from tallystick_governance.lint.catalog import installed_lints
from tallystick_governance.lint.linting import report

CHECKS = installed_lints().checks

_PAGE = Page.of("docs/lint.md")
_CORRECTED = ("skills@1.1.0", "workflow@1.1.0")
_NUMBERS = {8: "eight"}
_SPAN = re.compile(r"`([^`]+)`")


@cache
def _types(reference: str) -> tuple[str, ...]:
    return tuple(tallystick.load(reference).rule_set.skill_types)


def _of_every_type(reference: str, path: str) -> str:
    """A path in which ``*`` stands for the skill type, if the rule set has several."""
    types = _types(reference)
    names = "|".join(map(re.escape, types))
    return re.sub(rf"^skill_types\.({names})\.", "skill_types.*.", path) if len(types) > 1 else path


def test_every_check_is_documented_in_its_order_with_its_own_words() -> None:
    expected = [(f"`{c.code}`", c.severity, c.summary) for c in CHECKS.values()]
    assert rows_of(_PAGE.section("Codes")) == expected


def test_every_published_defect_is_documented_with_its_figures() -> None:
    rows = rows_of(_PAGE.section("What is wrong with the published rules"))
    found = [(*row[:4], tuple(_SPAN.findall(row[4])), row[5]) for row in rows]
    assert found == [
        (
            each.erratum,
            f"`{each.reference}`",
            each.tool,
            f"`{each.name}`",
            tuple(each.figures.values()),
            "corrected" if each.corrected else "kept",
        )
        for each in PROMISES
    ]


@pytest.mark.nightly
def test_what_remains_is_exactly_what_is_silenced_with_the_reasons_of_the_files() -> None:
    rows = rows_of(_PAGE.section("What remains in the corrected rules"))
    found = {
        (
            f"`{reference}`",
            f"`{each.finding.code}`",
            f"`{_of_every_type(reference, each.finding.path)}`",
            each.reason,
        )
        for reference in _CORRECTED
        for each in report(reference).silenced
    }
    assert set(rows) == found
    assert len(rows) == len(found)
    assert all(report(reference).findings == () for reference in _CORRECTED)


def test_what_nothing_notices_is_listed_with_a_reason() -> None:
    section = _PAGE.section("What neither tool notices")
    rows = rows_of(section)
    assert [name for name, _ in rows] == [mutant.name for mutant in UNNOTICED]
    assert all(reason for _, reason in rows)
    said = " ".join(section.prose.split())
    assert f"Another {_NUMBERS[len(REFUSED)]} do not load" in said
