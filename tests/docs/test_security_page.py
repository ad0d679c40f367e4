"""``docs/security.md`` names for each promise tests that there are."""

import re

from manual.page import ROOT, Page

_PAGE = Page.of("docs/security.md")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_PROMISES = _PAGE.text.partition("\n## What is promised\n")[2].partition("\n## ")[0]
_ROWS = [line for line in _PROMISES.splitlines() if line.startswith("| ")][1:]


def test_each_promise_names_a_test() -> None:
    assert len(_ROWS) > 10
    assert [row for row in _ROWS if not _TEST.search(row.rpartition(" | ")[2])] == []


def test_each_test_that_is_named_is_there() -> None:
    named = _TEST.findall(_PAGE.text)
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path, _ in named}
    lacking = [
        name
        for path, name in named
        if not re.search(rf"^(async )?def {name}\(", sources[path], re.MULTILINE)
    ]
    assert lacking == []
