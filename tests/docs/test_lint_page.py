"""``docs/lint.md`` says what the tools say of the shipped rule sets."""

import re

from governance.mutants import REFUSED, UNNOTICED
from governance.promised import PROMISES
from manual.page import Page
from manual.table import rows_of

_PAGE = Page.of("docs/lint.md")
_NUMBERS = {8: "eight"}
_SPAN = re.compile(r"`([^`]+)`")


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


def test_what_nothing_notices_is_listed_with_a_reason() -> None:
    section = _PAGE.section("What neither tool notices")
    rows = rows_of(section)
    assert [name for name, _ in rows] == [mutant.name for mutant in UNNOTICED]
    assert all(reason for _, reason in rows)
    said = " ".join(section.prose.split())
    assert f"Another {_NUMBERS[len(REFUSED)]} do not load" in said
