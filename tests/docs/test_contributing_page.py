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


def test_every_command_of_the_makefile_is_listed() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.* ## ", text, re.MULTILINE)
    expected = [f"make {target}" for target in targets if target != "help"]
    assert _PAGE.section("Set-up").differs_from(expected, ordered=False) == []


def test_every_file_that_is_named_is_there() -> None:
    assert [path for path in _paths() if not (ROOT / path).exists()] == []


def test_the_start_names_tests_and_targets_that_are_there() -> None:
    text, makefile = _START.text, (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all((ROOT / path).is_file() for path in re.findall(r"tests/\S+\.py", text))
    targets = {*re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)}
    assert targets == {"format", "check", "test", "test-process"}
    assert targets <= {*re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}
