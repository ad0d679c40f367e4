"""The pages about the inside name the modules that there are."""

from pathlib import Path

from manual.page import Page

import tallystick

_ENGINE = Path(tallystick.__file__).parent


def _modules(folder: Path) -> set[str]:
    """The modules and packages of a folder, those for its own use left out."""
    names = {path.stem for path in folder.glob("*.py")}
    names |= {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name for name in names if not name.startswith("_")}


def test_every_package_of_the_engine_is_in_the_architecture() -> None:
    cells = Page.of("docs/architecture.md").prose.partition("## ")[0]
    found = Page(_ENGINE, cells).first_cells()
    assert sorted(found) == sorted(f"tallystick.{name}" for name in _modules(_ENGINE))


def test_every_reader_of_a_formula_that_is_named_is_there() -> None:
    cells = Page.of("docs/architecture.md").section("A formula").first_cells()
    assert cells
    assert set(cells) <= _modules(_ENGINE / "formula")


def test_every_kernel_is_on_the_page_of_numbers() -> None:
    linked = {Path(link).name for link in Page.of("docs/numbers.md").links()}
    assert {f"{name}.py" for name in _modules(_ENGINE / "numbers")} <= linked
