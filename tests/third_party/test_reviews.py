"""A stranger's section, lint, commands and option of ``score``, installed from a wheel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
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

    def entry(self, group: str, line: str) -> None:
        """Offer something else in one group."""
        (path,) = self.folder.glob(f"{PACKAGE}-*.dist-info/entry_points.txt")
        pattern = rf"(\[tallystick\.{group}\]\n).*"
        text, count = re.subn(pattern, rf"\1{line}", path.read_text(encoding="utf-8"))
        assert count == 1
        path.write_text(text, encoding="utf-8")


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


def test_help_shows_its_commands_and_its_option(site: Site) -> None:
    assert re.search(
        r"^  reviews +The tasks that people look at\.$", site.run("--help"), re.MULTILINE
    )
    assert "  reviews  The share of each skill type" in site.run("rules", "--help")
    assert "--agreed FILE" in site.run("score", "--help")


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@contextmanager\n", "", "expected a context manager"),
        ("    yield scorer", "    yield 5", "found 5 from"),
    ],
)
def test_a_source_of_another_kind_is_told_by_name(
    other: Site, old: str, new: str, message: str
) -> None:
    other.change("agreed.py", old, new)
    digest = other.run("rules", "digest", "skills@1.1.0").strip()
    other.write("agreed", f"skills@1.1.0@{digest}\n")
    told = other.run("score", EXAMPLES, "--agreed", "agreed", "-o", "x.jsonl", status=2)
    assert told.startswith("error: plugin 'reviews': ")
    assert message in told


def test_its_lint_finds_what_nobody_looks_at(site: Site) -> None:
    report = json.loads(site.run("rules", "lint", "mine.toml", "--json"))
    (found,) = (each for each in report["findings"] if each["code"] == "reviews/never-drawn")
    assert found["path"] == "reviews.types.mcp_server"
    assert found["message"] == "no task of mcp_server is drawn"
    line = (site.folder / "mine.toml").read_text().splitlines()[found["line"] - 1]
    assert line == "mcp_server = 0"


def test_the_digest_covers_its_values_and_no_spelling(site: Site) -> None:
    digest = site.run("rules", "digest", "mine.toml")
    text = (site.folder / "mine.toml").read_text()
    spelled = site.write("spelled.toml", text.replace("share = 0.25", "share = 0.250 # a quarter"))
    changed = site.write("changed.toml", text.replace("share = 0.25", "share = 0.26"))
    assert site.run("rules", "digest", spelled) == digest
    assert site.run("rules", "digest", changed) != digest
    assert site.run("rules", "digest", "plain.toml") != digest


def test_digests_of_rule_sets_without_the_section_do_not_depend_on_it(
    site: Site, tmp_path: Path
) -> None:
    empty = Site(tmp_path)
    for reference in ("skills@1.1.0", "workflow@1.1.0", site.folder / "plain.toml"):
        assert site.run("rules", "digest", reference) == empty.run("rules", "digest", reference)


def test_a_section_whose_plugin_is_not_installed_is_refused_by_name(
    site: Site, tmp_path: Path
) -> None:
    told = Site(tmp_path).run("rules", "check", site.folder / "mine.toml", status=1)
    assert "reviews: found a table, expected a key of the format" in told


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("share = 0.25", "share = 1.5", "reviews.share: found 1.5, expected"),
        ("share = 0.25\n", "", "reviews.share: expected"),
        ("share = 0.25", "shore = 0.25", "reviews.shore: found"),
        ("mcp_server = 0", "mpc_server = 0", "reviews.types.mpc_server: found mpc_server"),
    ],
)
def test_a_mistake_in_the_section_has_its_line(
    site: Site, old: str, new: str, problem: str
) -> None:
    text = (site.folder / "mine.toml").read_text()
    assert text.count(old) == 1
    told = site.run("rules", "check", site.write("wrong.toml", text.replace(old, new)), status=1)
    assert problem in told
    assert re.search(r"wrong\.toml:\d+: ", told)


def a_command(name: str, *words: str) -> Callable[[Site], None]:
    return lambda site: site.change("rows.py", 'path=("reviews",)', f"path={(name, *words)}")


def a_section(old: str, new: str) -> Callable[[Site], None]:
    return lambda site: site.change("section.py", old, new)


def a_lint(old: str, new: str) -> Callable[[Site], None]:
    return lambda site: site.change("lints.py", old, new)


LIST, CHECK, LINT = (
    ("plugins", "list"),
    ("rules", "check", "mine.toml"),
    ("rules", "lint", "mine.toml"),
)


@pytest.mark.parametrize(
    ("spoil", "command", "status", "message"),
    [
        (a_command("score"), LIST, 1, "the command 'score', and only that of 'tallystick' is used"),
        (
            a_command("a", "b", "c"),
            LIST,
            1,
            "found the path ('a', 'b', 'c'), expected one word, or one below",
        ),
        (
            lambda site: site.change("rows.py", "tallystick_api = 1", "tallystick_api = 2"),
            ("reviews", "x"),
            2,
            "found tallystick_api = 2 in tallystick_reviews.rows, expected 1",
        ),
        (
            lambda site: site.change("rows.py", "command:reviews", "nowhere:reviews"),
            ("reviews", "x"),
            2,
            "the import of tallystick_reviews.nowhere:reviews failed",
        ),
        (
            lambda site: site.entry("commands", "reviews = tallystick_reviews.rows:NOTHING"),
            ("reviews", "x"),
            2,
            "plugin 'reviews': its import failed: AttributeError",
        ),
        (a_section("tallystick_api = 1", ""), CHECK, 1, "found tallystick_api = None in"),
        (
            lambda site: site.entry("sections", "review = tallystick_reviews.section:SECTION"),
            CHECK,
            1,
            "reviews: found a table, expected",
        ),
        (
            a_section("reviews-1.schema.json", "nowhere.json"),
            CHECK,
            1,
            "its schema cannot be read",
        ),
        (a_section("kind=REVIEWS,", "kind=REVIEWS, check=1 / 0,"), CHECK, 1, "its import failed"),
        (
            lambda site: site.change("plugin.py", "tallystick_api = 1", "tallystick_api = 3"),
            LIST,
            1,
            "reviews  refused: found tallystick_api = 3",
        ),
        (
            lambda site: site.change("rows.py", '"--agreed"', '"--rules"'),
            LIST,
            1,
            "found the option --rules of score itself, which is used: rename yours",
        ),
        (
            lambda site: site.change("rows.py", '("score",)', '("weights",)'),
            LIST,
            1,
            "found the option --agreed of weights, which takes no options of plugins",
        ),
        (
            lambda site: site.change("rows.py", '("score",)', '("scores",)'),
            LIST,
            1,
            "found the option --agreed of scores, expected one of a command that exists",
        ),
        (
            a_lint('"reviews/never-drawn"', '"never-drawn"'),
            LINT,
            0,
            "'never-drawn', expected one such as reviews/",
        ),
        (a_lint("LINTS = (never_drawn,)", "LINTS = 1"), LINT, 0, "expected a tuple"),
    ],
)
def test_a_wrong_registration_is_told(
    other: Site,
    spoil: Callable[[Site], None],
    command: tuple[str, ...],
    status: int,
    message: str,
) -> None:
    spoil(other)
    assert message in other.run(*command, status=status)


def test_beside_wrong_registrations_the_rest_works(other: Site) -> None:
    other.entry("commands", "reviews = tallystick_reviews.rows:NOTHING")
    a_section("reviews-1.schema.json", "nowhere.json")(other)
    a_lint("LINTS = (never_drawn,)", "LINTS = 1")(other)
    assert "refused" in other.run("plugins", "list", status=1)
    other.run("score", EXAMPLES, "--rules", "skills@1.1.0", "-o", "out.jsonl")


@pytest.mark.parametrize(
    ("group", "command", "status", "message"),
    [
        ("commands", ("reviews", "x"), 2, "both offer"),
        ("sections", CHECK, 1, "both offer"),
        ("lints", LINT, 0, "both offer"),
    ],
)
def test_a_name_that_two_strangers_offer_is_that_of_neither(
    other: Site, group: str, command: tuple[str, ...], status: int, message: str
) -> None:
    target = {"commands": "rows:COMMANDS", "sections": "section:SECTION", "lints": "lints:LINTS"}
    info = other.folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    entry = f"[tallystick.{group}]\nreviews = {PACKAGE}.{target[group]}\n"
    (info / "entry_points.txt").write_text(entry)
    told = other.run(*command, status=status)
    assert message in told
    assert "'acme' and 'tallystick-reviews'" in told
    other.run("score", EXAMPLES, "--rules", "skills@1.1.0", "-o", "out.jsonl")
