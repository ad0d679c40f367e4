"""``docs/plugins.md`` has every hook and every name that an author can use."""

import inspect
import re
from importlib.metadata import entry_points

import attrs
from manual.page import Page

from tallystick.plugins import author, spec
from tallystick.plugins import property as promises
from tallystick.plugins.entries import ALLOWED
from tallystick.plugins.skill_type import SkillType

_PAGE = Page.of("docs/plugins.md")


def test_every_hook_is_documented() -> None:
    hooks = [f"{name}()" for name in vars(spec) if name.startswith("tallystick_")]
    assert _PAGE.section("Hooks").differs_from(hooks) == []


def test_every_group_of_entry_points_is_documented() -> None:
    groups = {name for name in entry_points().groups if name.startswith("tallystick.")}
    assert groups <= {*_PAGE.section("More entry points").first_cells()}


def test_everything_an_author_imports_is_documented() -> None:
    cells = _PAGE.section("Everything an author imports").first_cells()
    assert sorted(cells) == sorted(author.__all__)


def test_every_attribute_of_a_skill_type_is_documented() -> None:
    names = [field.name for field in attrs.fields(SkillType)]
    assert _PAGE.section("Skill types").differs_from(names) == []


def test_every_promise_is_documented_with_its_arguments() -> None:
    declared = {
        name: list(inspect.signature(function).parameters)
        for name, function in inspect.getmembers(promises, inspect.isfunction)
        if name in author.__all__
    }
    cells = _PAGE.section("Promises").first_cells()
    found = {cell.partition("(")[0]: re.findall(r"[(, ](\w+)(?=[,=)])", cell) for cell in cells}
    assert found == declared


def test_every_argument_of_a_requirement_is_documented() -> None:
    arguments = inspect.signature(author.require).parameters
    assert set(arguments) <= _PAGE.section("Requirements").words()


def test_the_variable_that_names_plugins_is_documented() -> None:
    assert ALLOWED in _PAGE.section("Discovery and refusal").words()
