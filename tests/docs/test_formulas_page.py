"""``docs/formulas.md`` has every fact with its arguments."""

import inspect
import re

from manual.page import Page

from tallystick.formula.facts import READERS
from tallystick.formula.summed import SummedOver
from tallystick.plugins import author

_PAGE = Page.of("docs/formulas.md")


def test_every_fact_is_documented() -> None:
    cells = _PAGE.section("Facts").first_cells()
    assert {cell.partition("(")[0] for cell in cells} == {*READERS, SummedOver.name}


def test_every_argument_of_a_fact_is_documented() -> None:
    for cell in _PAGE.section("Facts").first_cells():
        arguments = inspect.signature(getattr(author, cell.partition("(")[0])).parameters
        assert re.findall(r"[(*, ](\w+)(?=[,=)])", cell) == list(arguments), cell
