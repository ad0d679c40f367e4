"""A stranger's section, lint, commands and option of ``score``, installed from a wheel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from shutil import copytree, ignore_patterns

import attrs
import pytest

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).parent / "tallystick-reviews"
PACKAGE = "tallystick_reviews"
EXAMPLES = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
SECTION = """
[reviews]
salt = "spring"
share = 0.25

[reviews.types]
mcp_server = 0
"""
DRAWN = ["example-executable-script-4", "example-agent-composition-6"]


@attrs.frozen
class Site:
    """A folder in which wheels are installed, beside the engine of the tests."""

    folder: Path

    def run(self, *arguments: object, status: int = 0) -> str:
        """Return what ``tallystick`` prints, on both streams."""
        # in order, and no settings of who runs the tests
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TALLYSTICK_")}
        done = subprocess.run(
            [sys.executable, "-m", "tallystick", *map(str, arguments)],
            cwd=self.folder,
            env={**environment, "PYTHONPATH": str(self.folder), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def change(self, module: str, old: str, new: str) -> None:
        """Put another text in the place of one in a module of the package."""
        path = self.folder / PACKAGE / module
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, text
        path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("sources") / "project"
    copytree(PROJECT, project, ignore=ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (built,) = (project / "dist").glob("*.whl")
    return built


def installed(wheel: Path, folder: Path) -> Site:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    found = Site(folder)
    text = (ROOT / "rules" / "skills" / "1.1.0.toml").read_text(encoding="utf-8")
    text = re.sub(r'^name = "skills"', 'name = "reviewed"', text, flags=re.MULTILINE)
    found.write("plain.toml", text)
    found.write("mine.toml", text + SECTION)
    return found


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return installed(wheel, tmp_path_factory.mktemp("site"))


@pytest.fixture
def other(wheel: Path, tmp_path: Path) -> Site:
    """A site that a test may change."""
    return installed(wheel, tmp_path)


def test_it_is_imported_from_the_wheel(site: Site) -> None:
    assert "reviews  (tallystick-reviews 1.0.0)" in site.run("plugins", "list")
    assert (site.folder / PACKAGE / "schemas" / "reviews-1.schema.json").is_file()


def test_its_command_draws_tasks_by_the_section(site: Site) -> None:
    assert site.run("reviews", EXAMPLES, "--rules", "mine.toml").splitlines() == DRAWN


def test_its_command_below_a_group_of_the_core_shows_the_section(site: Site) -> None:
    shown = dict(map(str.split, site.run("rules", "reviews", "mine.toml").splitlines()))
    assert (shown["mcp_server"], shown["declarative"]) == ("0", "0.25")


def test_a_rule_set_without_the_section_is_told_so(site: Site) -> None:
    told = site.run("rules", "reviews", "plain.toml", status=2)
    assert told == "error: found no [reviews] in reviewed@1.1.0, expected the section: add it\n"


def test_its_option_scores_by_the_rule_set_that_a_file_pins(site: Site) -> None:
    digest = site.run("rules", "digest", "skills@1.1.0").strip()
    site.write("agreed", f"skills@1.1.0@{digest}\n")
    site.run("score", EXAMPLES, "--agreed", "agreed", "-o", "agreed.jsonl")
    site.run("score", EXAMPLES, "--rules", "skills@1.1.0", "-o", "named.jsonl")
    results = [(site.folder / name).read_bytes() for name in ("agreed.jsonl", "named.jsonl")]
    assert results[0] == results[1]
    site.write("open", "skills@1.1.0\n")
    told = site.run("score", EXAMPLES, "--agreed", "open", "-o", "x.jsonl", status=2)
    assert "found no pin, expected name@version@sha256:…: ask the reviewers" in told


def test_a_lock_holds_an_option_that_does_not_ask_it(other: Site) -> None:
    other.change("agreed.py", "    held.require(scorer)\n", "")
    digest = other.run("rules", "digest", "skills@1.0.0").strip()
    other.write("agreed", f"skills@1.0.0@{digest}\n")
    other.run("lock", "--rules", "skills@1.1.0", "--rules", "skills@1.0.0", "-o", "both.lock")
    other.run("lock", "--rules", "skills@1.1.0", "-o", "one.lock")
    score = ("score", EXAMPLES, "--agreed", "agreed", "-o", "agreed.jsonl", "--lock")
    other.run(*score, "both.lock")
    assert "skills@1.0.0" in other.run(*score, "one.lock", status=1)


def test_its_lint_finds_what_nobody_looks_at(site: Site) -> None:
    report = json.loads(site.run("rules", "lint", "mine.toml", "--json"))
    (found,) = (each for each in report["findings"] if each["code"] == "reviews/never-drawn")
    assert found["path"] == "reviews.types.mcp_server"
    assert found["message"] == "no task of mcp_server is drawn"
    line = (site.folder / "mine.toml").read_text().splitlines()[found["line"] - 1]
    assert line == "mcp_server = 0"
