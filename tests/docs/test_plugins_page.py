"""``docs/plugins.md`` has every hook and every group of entry points."""

import inspect
from importlib.metadata import entry_points

from manual.page import Page

from tallystick.plugins import author, spec
from tallystick.plugins.entries import ALLOWED

_PAGE = Page.of("docs/plugins.md")


def test_every_hook_is_documented() -> None:
    hooks = [f"{name}()" for name in vars(spec) if name.startswith("tallystick_")]
    assert _PAGE.section("Hooks").differs_from(hooks) == []


def test_every_group_of_entry_points_is_documented() -> None:
    groups = {name for name in entry_points().groups if name.startswith("tallystick.")}
    assert groups <= {*_PAGE.section("More entry points").first_cells()}


def test_every_argument_of_a_requirement_is_documented() -> None:
    arguments = inspect.signature(author.require).parameters
    assert set(arguments) <= _PAGE.section("Requirements").words()


def test_the_variable_that_names_plugins_is_documented() -> None:
    assert ALLOWED in _PAGE.section("Discovery and refusal").words()
