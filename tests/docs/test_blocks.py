"""Every block of code on a page does what the page says."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual.page import ROOT, Page, pages
from manual.reader import Reader, forget, prepare

_DEAR = {
    "docs/backtest.md",
    "docs/command-line.md",
    "docs/conformance.md",
    "docs/extending.md",
    "docs/gate.md",
    "docs/governance.md",
    "docs/lint.md",
    "docs/operations.md",
    "docs/prove.md",
    "docs/quick-start-validator.md",
    "docs/records.md",
    "docs/releasing.md",
    "docs/simulation.md",
    "docs/tutorial.md",
}
"""Pages whose blocks start processes, or take more than a second."""
_PAGES = [
    pytest.param(name, marks=pytest.mark.nightly if name in _DEAR else ())
    for name in pages()
    if any(Page.of(name).blocks())
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    prepare(tmp_path, monkeypatch)
    before = list(sys.path)
    yield tmp_path
    forget(tmp_path)
    sys.path[:] = before


@pytest.mark.parametrize("name", _PAGES)
def test_every_block_of_a_page_runs(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Reader(Page.of(name), folder, capsys).read()


def test_a_line_that_is_passed_over_is_not_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Page(Path("page.md"), "```sh\ntallystick no-such\n```\n\n```text\n2\n```\n")
    assert Reader(page, folder, capsys, ("tallystick no",)).read() == 1
    with pytest.raises(AssertionError, match=r"page\.md:1: tallystick no-such"):
        Reader(page, folder, capsys).read()


def test_a_wrong_output_is_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(Path("page.md"), "```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:5: the output is"):
        Reader(page, folder, capsys).read()


def test_a_wrong_exit_status_is_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(Path("page.md"), "```sh\ntallystick rules digest nothing@1.0.0\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:1: tallystick rules digest"):
        Reader(page, folder, capsys).read()


def test_every_link_leads_to_a_file_or_a_section() -> None:
    folders = (".", "docs", "docs/examples/*", "tests/**")
    paths = (path for folder in folders for path in ROOT.glob(f"{folder}/*.md"))
    dead = []
    for page in (Page.of(str(path.relative_to(ROOT))) for path in paths):
        for link in page.links():
            target, _, anchor = link.partition("#")
            path = page.path.parent / target if target else page.path
            is_there = path.exists() and not target.startswith("/")
            if not is_there or (anchor and anchor not in Page.of(str(path)).anchors()):
                dead.append(f"{page.name}: {link}")
    assert dead == []
