"""``docs/plugins.md`` has every fact, operator, hook and name that an author can use."""

import inspect
import re
from typing import get_args

import attrs
from manual.page import Page

from tallystick.formula import tree
from tallystick.formula.facts import READERS
from tallystick.formula.formula import FormulaKind
from tallystick.plugins import author, spec
from tallystick.plugins.registry import ALLOWED
from tallystick.plugins.skill_type import SkillType

_PAGE = Page.of("docs/plugins.md")
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
    assert [cell.partition("(")[0] for cell in cells] == list(READERS)


def test_every_argument_of_a_fact_is_documented() -> None:
    for cell in _PAGE.section("Facts").first_cells():
        arguments = inspect.signature(getattr(author, cell.partition("(")[0])).parameters
        assert re.findall(r"[(*, ](\w+)(?=[,=)])", cell) == list(arguments), cell


def test_every_operator_is_documented() -> None:
    assert _PAGE.section("Operators").first_cells() == _operators()


def test_every_limit_of_a_formula_is_documented() -> None:
    prose = _PAGE.section("Operators").text
    for limit in (f"{tree.MAX_NODES} nodes", f"{tree.MAX_DEPTH} deep", f"`x**{tree.MAX_POWER}`"):
        assert limit in prose


def test_every_kind_of_formula_is_documented() -> None:
    assert _PAGE.section("Kinds of formulas").first_cells() == [f"@{kind}" for kind in _KINDS]


def test_every_option_of_a_decorator_is_documented() -> None:
    options = {o for kind in _KINDS for o in inspect.signature(getattr(author, kind)).parameters}
    assert options - {"name", "parameters"} <= _PAGE.section("Kinds of formulas").words()


def test_every_hook_is_documented() -> None:
    hooks = [f"{name}()" for name in vars(spec) if name.startswith("tallystick_")]
    assert _PAGE.section("Hooks").first_cells() == hooks


def test_everything_an_author_imports_is_documented() -> None:
    cells = _PAGE.section("Everything an author imports").first_cells()
    assert sorted(cells) == sorted(author.__all__)


def test_every_attribute_of_a_skill_type_is_documented() -> None:
    names = {field.name for field in attrs.fields(SkillType)}
    assert names <= _PAGE.section("Everything an author imports").words()


def test_the_variable_that_names_plugins_is_documented() -> None:
    assert ALLOWED in _PAGE.section("Discovery and refusal").words()
