"""``docs/shipped-rules.md`` is what the trees and the files of the rule sets make of it."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from manual.page import ROOT

from tallystick.plugins.registry import installed
from tallystick.rules.digest import used_formulas
from tallystick.rules.loading import load, shipped

PAGE = ROOT / "docs" / "shipped-rules.md"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = ROOT / "docs" / "shipped_rules.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker: ModuleType) -> None:
    assert PAGE.read_text(encoding="utf-8") == maker.page(), (
        "the shipped rules changed: run .venv/bin/python docs/shipped_rules.py"
    )


def test_it_has_every_formula_and_rule_set() -> None:
    text, registry = PAGE.read_text(encoding="utf-8"), installed()
    for name in shipped(registry):
        loaded = load(name, registry)
        assert f"\n### {name}\n" in text
        assert f"`{loaded.digest}`" in text
        for formula in used_formulas(loaded.rule_set, loaded.registry):
            assert f"\n### {formula}\n" in text
            assert f"`{registry.formulas[formula].digest}`" in text


def test_every_number_has_a_source() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Rule sets")[2]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) > 500
    assert [row for row in rows if len(row) != 3 or not row[2]] == []


def test_the_page_says_how_it_is_made(maker: ModuleType) -> None:
    assert Path(maker.PAGE) == PAGE
    assert "docs/shipped_rules.py" in PAGE.read_text(encoding="utf-8")
