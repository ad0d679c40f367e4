"""``docs/contributing.md`` and ``CONTRIBUTING.md`` name the commands and files that there are."""

import re

from manual.page import ROOT, Page

_PAGE = Page.of("docs/contributing.md")
_SPAN = re.compile(r"`([^`\s]+)`")
_START = Page.of("CONTRIBUTING.md")
_FOLDERS = ("engine/", "plugins/", "rules/", "schemas/", "tests/", "docs/", ".ci/")


def _paths() -> list[str]:
    spans = dict.fromkeys(_SPAN.findall(_PAGE.text + _START.text))
    return [span for span in spans if span.startswith(_FOLDERS)]


def test_every_file_that_is_named_is_there() -> None:
    paths = [*_paths(), *re.findall(r"tests/\S+\.py", _START.text)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_target_of_make_that_is_named_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {*re.findall(r"(?:^|`)make ([a-z-]+)", _PAGE.text + _START.text, re.MULTILINE)}
    assert "format" in targets
    assert targets <= {*re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}
