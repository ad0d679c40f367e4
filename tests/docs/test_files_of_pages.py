"""Files that pages show or name are those that there are, and targets of make."""

import re
from pathlib import Path

import pytest
from manual.page import ROOT, Page

from tallystick_validator.configuration import Configuration

REVIEWS = ROOT / "tests" / "third_party" / "tallystick-reviews"
NAMING = ("README.md", "CONTRIBUTING.md", "docs/contributing.md")
"""Pages for who works on the checkout."""
PATH = re.compile(r"(?:engine|plugins|rules|schemas|tests|docs|\.ci)/[\w./-]+")
TARGET = re.compile(r"make ([a-z-]+)")


def test_the_files_of_the_page_are_those_of_the_project() -> None:
    """The page shows the project that ``tests/third_party/test_reviews.py`` installs."""
    shown = {b.title: b.text for b in Page.of("docs/extending.md").blocks() if b.title}
    assert shown
    assert shown == {name: (REVIEWS / name).read_text() for name in shown}


def test_the_configuration_of_a_daemon_is_one(tmp_path: Path) -> None:
    blocks = Page.of("docs/validator.md").blocks()
    (shown,) = [block.text for block in blocks if block.title == "validator.toml"]
    (tmp_path / "validator.toml").write_text(shown, encoding="utf-8")
    assert Configuration.load(tmp_path / "validator.toml").serves


@pytest.mark.parametrize("name", NAMING)
def test_a_page_names_files_and_targets_of_make_that_are_there(name: str) -> None:
    page, makefile = Page.of(name), (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = [line for block in page.blocks() for line in block.text.splitlines()]
    named = {m[1] for text in (*page.spans(), *lines) if (m := TARGET.match(text))}
    assert named
    assert named <= {*re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}
    assert [p for p in page.spans() if PATH.fullmatch(p) and not (ROOT / p).exists()] == []
