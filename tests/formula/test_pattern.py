"""Patterns: what is of the dialect, and that JavaScript reads it as Python does."""

import re

import pytest
from portable.javascript import node

from tallystick.errors import FormulaError
from tallystick.plugins.author import matches

TEXTS = (
    "",
    "a",
    "ab",
    "aab",
    "b",
    "a\nb",
    "a:b",
    ":",
    "é",
    "É",
    "😀",
    "\u2028",
    "٣",
    "3",
    "A",
    "-",
)

ACCEPTED = (
    *("", "a", "a+", "a*b?", "[^:]+:(?s:.*)", "(?:a|b)*", "(a|ab)b{0,1}", "[a-z]{1,3}", "a{2,}b"),
    *(r"\d", r"\D", r"\w+", r"\W", r"[\d\D]*", r"[\-a]", "[^a]", "é|É", "(?s:.)"),
    *(r"(?s:.\n.)", r"[\n]|a", "[a.]", r"\/|a", "(?s:(?:.|b){2})"),
)
REFUSED = (
    *("a.b", ".", "^a", "a$", r"\s", r"\bx", "a*?", "a++", "a**", "(a", "a)", "[]a]", "[a", "{1}"),
    *(
        "a{2,1}",
        "a{1001}",
        "(?i:a)",
        "(?=a)",
        "(?<n>a)",
        "(?P<n>a)",
        r"(a)\1",
        "[a&&b]",
        "*a",
        "a|*",
    ),
    *(r"\p{L}", r"\Z", "[z-a]", "[[:alpha:]]", "\ud800", r"\-", "(?#x)", "(?s).", "a{,2}"),
)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_languages_read_in_different_ways_is_refused(pattern: str) -> None:
    with pytest.raises(FormulaError, match="expected a regular expression that every language"):
        matches("a.b", pattern)


def test_the_place_is_told() -> None:
    with pytest.raises(FormulaError, match=r"found the pattern 'ab\.c', .* from character 3 on"):
        matches("a.b", "ab.c")


@pytest.mark.process
def test_javascript_reads_the_dialect_as_python_does() -> None:
    for pattern in ACCEPTED:
        matches("a.b", pattern)
    found = node("patterns.js", {"patterns": ACCEPTED, "texts": TEXTS})
    wanted = [[bool(re.fullmatch(p, t, re.ASCII)) for t in TEXTS] for p in ACCEPTED]
    assert found == wanted
    assert any(map(any, wanted))
