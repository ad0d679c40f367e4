"""Every block of code on a page does what the page says."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual.page import Page, pages
from manual.reader import SLOW, Reader, forget, prepare

_WITH_BLOCKS = {
    "docs/adoption.md",
    "docs/allocation.md",
    "docs/canonical.md",
    "docs/chain.md",
    "docs/conformance.md",
    "docs/consensus.md",
    "docs/errata.md",
    "docs/evidence.md",
    "docs/extending.md",
    "docs/formulas.md",
    "docs/governance.md",
    "docs/numbers.md",
    "docs/operations.md",
    "docs/plugins.md",
    "docs/quick-start-author.md",
    "docs/quick-start-governance.md",
    "docs/quick-start-validator.md",
    "docs/records.md",
    "docs/releasing.md",
    "docs/rule-sets.md",
    "docs/state.md",
    "docs/trust.md",
    "docs/tutorial.md",
    "docs/versioning.md",
    "docs/yuma.md",
}
_SLOW = [name for name in pages() if any(f"\n{slow}" in Page.of(name).text for slow in SLOW)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    prepare(tmp_path, monkeypatch)
    before = list(sys.path)
    yield tmp_path
    forget(tmp_path)
    sys.path[:] = before


@pytest.mark.parametrize("name", [name for name in pages() if any(Page.of(name).blocks())])
def test_every_block_of_a_page_runs(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = Reader(Page.of(name), folder, capsys, SLOW).read()
    assert done or name not in _WITH_BLOCKS


def test_pages_with_blocks_have_blocks() -> None:
    assert [name for name in sorted(_WITH_BLOCKS) if not any(Page.of(name).blocks())] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", _SLOW)
def test_every_block_of_a_page_runs_whole(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Reader(Page.of(name), folder, capsys).read()


def test_the_tutorial_is_run_whole() -> None:
    assert "docs/tutorial.md" in _SLOW


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


def test_every_link_to_a_section_leads_to_one() -> None:
    dead = []
    for page in map(Page.of, (*pages(), "README.md")):
        for link in page.links():
            target, _, anchor = link.partition("#")
            path = page.path.parent / target if target else page.path
            if anchor and anchor not in Page(path, path.read_text(encoding="utf-8")).anchors():
                dead.append(f"{page.name}: {link}")
    assert dead == []
