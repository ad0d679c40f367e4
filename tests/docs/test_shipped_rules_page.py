"""``docs/shipped-rules.md`` is what the trees of the rule sets make of it."""

import importlib.util
from types import ModuleType

import pytest
from manual.page import ROOT

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
