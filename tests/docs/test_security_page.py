"""``docs/security.md`` names for each promise tests that there are."""

import re

from manual.page import ROOT, Page

_PROMISES = Page.of("docs/security.md").section("What is promised")


def test_each_promise_names_tests_that_are_there() -> None:
    rows = [line for line in _PROMISES.text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        paths = re.findall("`(tests/[^`]+)`", row)
        assert paths, row
        assert [path for path in paths if not (ROOT / path).is_file()] == []
