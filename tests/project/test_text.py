"""Links of the pages lead somewhere, and the changelog tells of the current version."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

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
    return path.read_text(encoding="utf-8")


PAGES = [path for path in project_files(ROOT) if path.suffix == ".md"]


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
