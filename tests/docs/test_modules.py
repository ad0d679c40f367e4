"""The pages about the inside name the modules that there are."""

import re
from pathlib import Path

from manual.page import Page, pages

import tallystick
from tallystick.plugins.registry import installed

_ENGINE = Path(tallystick.__file__).parent
_DOTTED = re.compile(r"[a-z_]+(\.[a-z_]+)+")


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


def test_every_module_that_the_architecture_names_is_there() -> None:
    packages = _modules(_ENGINE)
    dotted = [span for span in Page.of("docs/architecture.md").spans() if _DOTTED.fullmatch(span)]
    named = [
        s for span in dotted if (s := span.removeprefix("tallystick.")).split(".")[0] in packages
    ]
    assert len(named) > 20
    for name in named:
        path = _ENGINE.joinpath(*name.split("."))
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_every_short_name_of_the_architecture_is_that_of_a_module() -> None:
    """Those after a dotted one, such as ``thresholds`` after ``state.epoch``, wherever it is."""
    modules = {path.stem for path in _ENGINE.rglob("*.py")}
    modules |= {path.parent.name for path in _ENGINE.rglob("__init__.py")}
    plugins = {f"tallystick_{name}" for name in installed().plugins}
    spans = Page.of("docs/architecture.md").spans()
    short = {span for span in spans if re.fullmatch(r"[a-z_]+", span)}
    assert len(short) > 50
    assert short - modules - plugins == {"json_text"}


def test_no_page_names_a_module_of_a_package_that_is_gone() -> None:
    for name in pages():
        for span in Page.of(name).spans():
            assert not span.startswith("kit."), (name, span)
