"""``docs/formulas.md`` has every fact, operator and kind of formula."""

import inspect
import re
from typing import get_args

from manual.page import Page

from tallystick.formula import tree
from tallystick.formula.facts import READERS
from tallystick.formula.formula import FormulaKind
from tallystick.formula.summed import SummedOver
from tallystick.plugins import author

_PAGE = Page.of("docs/formulas.md")
_KINDS = get_args(FormulaKind)


def _operators() -> list[str]:
    """The first column of the table in the docstring of ``tree``."""
    lines = (tree.__doc__ or "").splitlines()
    head, start, end = (place for place, line in enumerate(lines) if line.startswith("=="))
    width = lines[head].index(" ")
    cells = ", ".join(line[:width].strip() for line in lines[start + 1 : end])
    return cells.replace("add … div", "add, sub, mul, div").split(", ")


def test_every_fact_is_documented() -> None:
    cells = _PAGE.section("Facts").first_cells()
    assert {cell.partition("(")[0] for cell in cells} == {*READERS, SummedOver.name}


def test_every_argument_of_a_fact_is_documented() -> None:
    for cell in _PAGE.section("Facts").first_cells():
        arguments = inspect.signature(getattr(author, cell.partition("(")[0])).parameters
        assert re.findall(r"[(*, ](\w+)(?=[,=)])", cell) == list(arguments), cell


def test_every_operator_is_documented() -> None:
    assert _PAGE.section("Operators").differs_from(_operators()) == []


def test_every_operator_has_a_meaning() -> None:
    lines = _PAGE.section("Operators").text.splitlines()
    meanings = [line.rstrip("| ").rpartition("|")[2].strip() for line in lines if line[:3] == "| `"]
    assert len(meanings) == len(_operators())
    assert all(len(meaning) > 5 for meaning in meanings)


def test_every_limit_of_a_formula_is_documented() -> None:
    prose = _PAGE.section("Operators").text
    limits = f"{tree.MAX_NODES} nodes", f"{tree.MAX_DEPTH} deep", f"{tree.MAX_DIGITS} digits"
    for limit in (*limits, f"`x**{tree.MAX_POWER}`"):
        assert limit in prose


def test_every_kind_of_formula_is_documented() -> None:
    assert _PAGE.section("Kinds of formulas").differs_from([f"@{kind}" for kind in _KINDS]) == []


def test_every_option_of_a_decorator_is_documented() -> None:
    options = {o for kind in _KINDS for o in inspect.signature(getattr(author, kind)).parameters}
    assert options - {"name", "parameters"} <= _PAGE.section("Kinds of formulas").words()
