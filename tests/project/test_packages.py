"""Each list of the project's packages has those that there are."""

import re
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from packages import CORE, ENGINE, FLOORS, PACKAGES, PLUGINS, ROOT, SKILL_TYPES, folder_of

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TOOLS = PROJECT["tool"]


def wheel() -> list[str]:
    """The packages of the wheel, each of which is in its folder."""
    folders = TOOLS["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert all((ROOT / folder).is_dir() for folder in folders)
    return [folder.rpartition("/")[2] for folder in folders]


@pytest.mark.parametrize(
    "listed",
    [
        wheel,
        lambda: TOOLS["check-wheel-contents"]["toplevel"],
        lambda: TOOLS["mypy"]["packages"],
        lambda: TOOLS["ruff"]["lint"]["isort"]["known-first-party"],
    ],
    ids=["wheel", "contents of the wheel", "types", "order of imports"],
)
def test_a_list_of_packages_is_that_of_the_folders(listed: Callable[[], list[str]]) -> None:
    assert listed() == list(PACKAGES)


def test_the_table_has_every_folder_once() -> None:
    folders = [path for root in (ENGINE, PLUGINS) for path in root.iterdir() if path.is_dir()]
    found = [path.name for path in folders if not path.name.startswith((".", "__"))]
    assert sorted(found) == sorted([CORE, *FLOORS, *SKILL_TYPES])


def test_every_package_is_typed() -> None:
    assert [name for name in PACKAGES if not (folder_of(name) / "py.typed").is_file()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_of_a_package_is_installed(package: str) -> None:
    """The tests may run against the wheel, which then carries every file."""
    installed = Path(str(files(package)))
    paths = (path for path in folder_of(package).rglob("*") if path.is_file())
    names = [path.relative_to(folder_of(package)) for path in paths if path.suffix != ".pyc"]
    assert [name for name in names if not (installed / name).is_file()] == []


def test_an_entry_point_leads_into_a_package_of_the_project() -> None:
    groups = PROJECT["project"]["entry-points"].values()
    assert {value.partition(".")[0] for group in groups for value in group.values()} <= {*PACKAGES}


def test_the_changelog_tells_of_the_current_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[?([\w.]+)", text, re.MULTILINE)
    assert headings[0] in {"Unreleased", PROJECT["project"]["version"]}
