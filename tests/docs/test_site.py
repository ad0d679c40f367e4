"""The pages make a site without a warning, and a broken link is one."""

import html
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from browser import Opened, browser
from cli.command import walk
from manual.page import ROOT, pages
from playwright.sync_api import Browser

import tallystick
from tallystick import errors
from tallystick.cli.main import cli
from tallystick.plugins import author
from tallystick.plugins.registry import installed
from tallystick.rules.digest import used_formulas
from tallystick.rules.loading import load, shipped

__all__ = ["browser"]
_LINES = re.MULTILINE | re.DOTALL

pytestmark = pytest.mark.nightly
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
    for name in ("conf.py", "commands.py", "shipped_rules.py"):
        (folder / "docs" / name).write_bytes((ROOT / "docs" / name).read_bytes())
    for name in ("_static", "_templates"):
        (folder / "docs" / name).symlink_to(ROOT / "docs" / name)
    listed = "".join(f"- [{name}]({name}.md)\n" for name in others if name != "lost")
    for name, text in {"index": listed, **others}.items():
        (folder / "docs" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    return folder / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the true pages."""
    found = tmp_path_factory.mktemp("docs") / "site"
    done = build(ROOT / "docs", found)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return found


def shown(site: Path, page: str) -> str:
    return (site / f"{page}.html").read_text(encoding="utf-8")


def test_the_pages_make_a_site_without_a_warning(site: Path) -> None:
    made = {path.stem for path in site.glob("*.html")}
    assert {Path(name).stem for name in pages()} <= made
    text = shown(site, "tutorial")
    assert '<span class="caption-text">acme_translation/axes.py</span>' in text


def test_a_page_loads_nothing_from_the_network(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|link|iframe)[^>]* (?:src|href)=\"(?:https?:)?//[^\"]*")
    imported = re.compile(r"(?:url\(|@import )[\"']?(?:https?:)?//[^\"')]*")
    for path in site.rglob("*.html"):
        assert loaded.findall(path.read_text(encoding="utf-8")) == [], path.name
    for path in site.rglob("*.css"):
        assert imported.findall(path.read_text(encoding="utf-8")) == [], path.name


def test_every_page_says_its_version(site: Path) -> None:
    for name in pages():
        assert f"Tallystick {version('tallystick')}</p>" in shown(site, Path(name).stem)


def test_every_command_is_in_the_reference_with_its_options(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", shown(site, "cli"))
    sections = dict(
        re.findall(r"^(tallystick[\w -]*)¶$(.*?)(?=^tallystick[\w -]*¶$|\Z)", text, _LINES)
    )
    for path, command in walk(cli):
        section = html.unescape(sections[" ".join(("tallystick", *path))])
        said = [name for param in command.params for name in param.opts if name.startswith("--")]
        for name in {*said} - {"--json", "--log-json", "--verbose", "--help", "--version"}:
            assert name in section, (path, name)


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    anchors = set(re.findall(r'id="(tallystick[\w.]*)"', shown(site, "api")))
    for module in (tallystick, author, errors):
        names = getattr(module, "__all__", None) or [
            name
            for name, found in vars(module).items()
            if getattr(found, "__module__", "") == module.__name__ and isinstance(found, type)
        ]
        known = {anchor.rpartition(".")[2] for anchor in anchors}
        assert set(names) - known == set(), module.__name__


def test_every_formula_of_the_shipped_rule_sets_is_on_their_page(site: Path) -> None:
    text, registry = html.unescape(shown(site, "shipped-rules")), installed()
    for reference in shipped(registry):
        for name in used_formulas(load(reference, registry).rule_set):
            assert f"{name}<" in text
            assert registry.formulas[name].digest in text


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
@pytest.mark.parametrize("page", ["index", "operations"])
def test_a_page_can_be_used_by_everyone(  # what is looked at
    browser: Browser, site: Path, page: str, width: int, scheme: str
) -> None:
    """With diagrams, blocks and wide tables; what is around the text is the theme's."""
    opened = Opened(browser, (site / f"{page}.html").as_uri(), width, scheme)
    assert opened.too_wide() == 0
    assert opened.complaints == []
    assert [each for each in opened.requests if not each.startswith(("file:", "data:"))] == []
    # axe-core asks for style sheets itself, which a file may not
    assert opened.violations(include=["article"]) == []
    opened.page.close()


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
