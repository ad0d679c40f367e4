"""The pages make a site without a warning, and a broken link is one."""

import os
import subprocess
import sys
from pathlib import Path

from manual.page import ROOT, pages

_OPTIONS = ("--fail-on-warning", "--keep-going", "--fresh-env", "--quiet")
"""Those of ``make docs``."""


def build(pages: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *_OPTIONS, "-d", f"{site}.trees", pages, site],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )


def faulty(folder: Path, **others: str) -> Path:
    """A folder of pages with the configuration of the true ones; the first links to the others."""
    (folder / "docs").mkdir()
    (folder / "docs" / "conf.py").write_bytes((ROOT / "docs" / "conf.py").read_bytes())
    listed = "".join(f"- [{name}]({name}.md)\n" for name in others if name != "lost")
    for name, text in {"index": listed, **others}.items():
        (folder / "docs" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    return folder / "docs"


def test_the_pages_make_a_site_without_a_warning(tmp_path: Path) -> None:
    done = build(ROOT / "docs", tmp_path / "site")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    made = {path.stem for path in (tmp_path / "site").glob("*.html")}
    assert {Path(name).stem for name in pages()} <= made
    text = (tmp_path / "site" / "tutorial.html").read_text(encoding="utf-8")
    assert '<span class="caption-text">acme_translation/axes.py</span>' in text


def test_what_is_broken_in_a_page_fails_the_site(tmp_path: Path) -> None:
    broken = {
        "page": "[x](no-such-page.md)",
        "anchor": "[x](#no-such-section)",
        "far": "[x](page.md#no-such-section)",
        "file": "[x](../no-such-file.py)",
        "fence": "```{no-such-directive}\n```",
        "lost": "no other page leads here",
    }
    done = build(faulty(tmp_path, **broken), tmp_path / "site")
    assert done.returncode == 1
    told = {Path(line.partition(".md")[0]).name for line in done.stderr.splitlines()}
    assert told >= broken.keys()


def test_the_command_builds_as_the_tests_do() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndocs:")[2]
    assert all(option in recipe.partition("\n\n")[0] for option in _OPTIONS)
