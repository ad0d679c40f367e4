"""The text of the project speaks of the project alone, and its links lead somewhere."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THIS = Path(__file__).resolve()

MACHINE = re.compile(
    r"(?<![\w.~/])(?<!fs:)/(?:home|mnt|opt|private|root|scratch|tmp|Users|work)/[\w.]"
)
"""An absolute path, which is right on one machine alone. A record may name a resource, ``fs:…``."""
MAKING = re.compile(
    r"language model|chat ?bot|co-authored-by"
    r"|(?:written|generated|made) (?:by|with) an? (?:ai|model)\b"
    r"|\bprototypes?\b|\bprompted\b|\bissue #?\d|\bTODO\b|\bFIXME\b|\bXXX\b",
    re.IGNORECASE,
)
"""How the text came to be, and what is left to do: neither is for a reader of the project."""
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def ignored(path: Path) -> bool:
    """Whether ``.gitignore`` keeps a file or folder out of the project."""
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return path.name == ".git" or any(fnmatch(path.name, p.rstrip("/")) for p in patterns)


def project_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if ignored(path):
            continue
        if path.is_dir():
            yield from project_files(path)
        else:
            yield path


def text_of(path: Path) -> str:
    """The text of a file; of one that is not text, what can be read."""
    return path.read_text(encoding="utf-8", errors="replace")


def hits(pattern: re.Pattern[str], text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


VENDORED = ROOT / "plugins" / "tallystick_service" / "static" / "htmx.min.js"
"""The words of others: its licence and its digest stand beside it."""
FILES = [
    path
    for path in project_files(ROOT)
    if path not in {THIS, VENDORED} and path.suffix != ".png"
]
PAGES = [path for path in FILES if path.suffix == ".md"]


@pytest.mark.parametrize("pattern", [MACHINE, MAKING], ids=["machine", "making"])
def test_the_text_speaks_of_the_project_alone(pattern: re.Pattern[str]) -> None:
    found = {str(path.relative_to(ROOT)): hits(pattern, text_of(path)) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_link_to_a_file_leads_to_one() -> None:
    dead = []
    for page in PAGES:
        targets = [link.partition("#")[0] for link in LINK.findall(CODE.sub("", text_of(page)))]
        files = [target for target in targets if target and "://" not in target]
        wrong = (file for file in files if file[0] == "/" or not (page.parent / file).exists())
        dead += [f"{page.relative_to(ROOT)}: {file}" for file in wrong]
    assert dead == []


def test_the_changelog_tells_of_the_current_version() -> None:
    version = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["version"]
    headings = re.findall(r"^## \[?([\w.]+)", text_of(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert headings
    assert headings[0] in {"Unreleased", version}


def test_the_files_of_the_project_are_looked_at() -> None:
    names = {str(path.relative_to(ROOT)) for path in FILES}
    assert {"README.md", "Makefile", ".ci/run", "engine/tallystick/errors.py"} <= names
    assert not any(name.startswith((".venv", ".git/")) for name in names)


@pytest.mark.parametrize(
    ("pattern", "planted"),
    [
        (MACHINE, "see /home/someone/notes"),
        (MACHINE, "cd '/tmp/build'"),
        (MACHINE, "open(/root/.netrc)"),
        (MAKING, "Learnt from the prototype."),
        (MAKING, "# TODO: later"),
        (MAKING, "Made with an AI assistant"),
        (MAKING, "Fixes issue 12"),
    ],
)
def test_planted_text_is_found(pattern: re.Pattern[str], planted: str) -> None:
    assert hits(pattern, planted) == [planted]


@pytest.mark.parametrize(
    "harmless", ["https://example.org/home/x", "tests/work/a", "~/tmp/x", "fs:/home/user"]
)
def test_harmless_text_is_left_alone(harmless: str) -> None:
    assert hits(MACHINE, harmless) == []
