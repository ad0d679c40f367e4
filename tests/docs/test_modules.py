"""The pages about the inside name the modules that there are."""

import re
import tomllib
from pathlib import Path

from manual.page import Page, pages
from packages import CORE, FLOORS, PACKAGES, ROOT, SKILL_TYPES, folder_of, sources

_ENGINE = folder_of(CORE)
_COMMANDS = ("score", "facts", "explain", "audit")
"""Words that the page has for commands."""
_TEN_MINUTES = 2500
"""Words, at a slow reader's pace."""
_DOTTED = re.compile(r"[a-z_]+(\.[a-z_]+)+")


def _modules(folder: Path) -> set[str]:
    """The modules and packages of a folder, those for its own use left out."""
    names = {path.stem for path in folder.glob("*.py")}
    names |= {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name for name in names if not name.startswith("_")}


def test_every_package_of_the_core_is_in_the_architecture() -> None:
    found = Page.of("docs/architecture.md").section("The core").first_cells()
    assert sorted(found) == sorted(f"tallystick.{name}" for name in _modules(_ENGINE))


def test_every_plugin_that_ships_is_in_the_architecture_from_the_lowest() -> None:
    found = Page.of("docs/architecture.md").section("The plugins that ship").first_cells()
    assert found == [*FLOORS, *SKILL_TYPES]


def test_every_group_of_entry_points_is_in_the_architecture() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {name for name in declared["entry-points"] if name.startswith("tallystick.")}
    found = Page.of("docs/architecture.md").section("Hooks").first_cells()
    assert groups <= {*found}


def test_every_reader_of_a_formula_that_is_named_is_there() -> None:
    cells = Page.of("docs/architecture.md").section("A formula").first_cells()
    assert cells
    assert set(cells) <= _modules(_ENGINE / "formula")


def test_every_kernel_is_on_the_page_of_numbers() -> None:
    linked = {Path(link).name for link in Page.of("docs/numbers.md").links()}
    assert {f"{name}.py" for name in _modules(_ENGINE / "numbers")} <= linked


def test_every_module_that_the_architecture_names_is_there() -> None:
    packages = _modules(_ENGINE)
    dotted = [span for span in Page.of("docs/architecture.md").spans() if _DOTTED.fullmatch(span)]
    full = [s if s.split(".")[0] not in packages else f"tallystick.{s}" for s in dotted]
    named = [name for name in full if name.split(".")[0] in PACKAGES]
    groups = set(Page.of("docs/architecture.md").section("Hooks").first_cells())
    assert len(named) > 20
    for name in {*named} - groups:
        folder = folder_of(name.split(".")[0]).parent
        path = folder.joinpath(*name.split("."))
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_every_short_name_of_the_architecture_is_that_of_a_module() -> None:
    """Those after a dotted one, such as ``thresholds`` after the package, wherever it is."""
    paths = [path for package in PACKAGES for path in sources(package)]
    modules = {path.stem for path in paths} | {path.parent.name for path in paths}
    short = {s for s in Page.of("docs/architecture.md").spans() if re.fullmatch(r"[a-z_]+", s)}
    assert len(short) > 50
    assert short - modules - {*_COMMANDS} == {"json_text"}


def test_the_architecture_is_read_in_ten_minutes() -> None:
    words = [word for word in Page.of("docs/architecture.md").text.split() if word.strip("|-")]
    assert len(words) <= _TEN_MINUTES


def test_no_page_names_a_module_of_a_package_that_is_gone() -> None:
    for name in pages():
        for span in Page.of(name).spans():
            assert not span.startswith("kit."), (name, span)
