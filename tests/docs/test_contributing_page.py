"""``docs/contributing.md`` names the commands and the files that there are."""

import re

import pytest
from manual.page import ROOT, Page

_PAGE = Page.of("docs/contributing.md")
_SPAN = re.compile(r"`([^`\s]+)`")
_FOLDERS = ("engine/", "plugins/", "rules/", "schemas/", "tests/", "docs/", ".ci/")


def _paths() -> list[str]:
    spans = dict.fromkeys(_SPAN.findall(_PAGE.text))
    return [span for span in spans if span.startswith(_FOLDERS)]


def test_every_command_of_the_makefile_is_listed() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.* ## ", text, re.MULTILINE)
    assert sorted(_PAGE.section("Set-up").first_cells()) == sorted(
        f"make {target}" for target in targets if target != "help"
    )


@pytest.mark.parametrize("path", _paths())
def test_every_file_that_is_named_is_there(path: str) -> None:
    assert (ROOT / path).exists()
