"""Every public name is on the page of the Python API, under its short name."""

import importlib
import re
from typing import Any

import pytest
from manual.page import Page

import tallystick

_NAMES = re.findall(r"^\.\. auto(?!module)\w+:: (\S+)$", Page.of("docs/api.md").text, re.MULTILINE)


def resolved(name: str) -> Any:  # noqa: ANN401  # whatever the page names
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_every_short_name_is_on_the_page_and_the_other_way_round() -> None:
    own = {f"tallystick.{name}" for name in tallystick.__all__}
    errors = {name for name in own if name.endswith("Error")}
    assert {name for name in _NAMES if re.fullmatch(r"tallystick\.\w+", name)} == own - errors
    assert {name.rpartition(".")[2] for name in errors} <= vars(tallystick.errors).keys()


def test_what_has_a_short_name_stands_under_it() -> None:
    short = {id(getattr(tallystick, name)): f"tallystick.{name}" for name in tallystick.__all__}
    for name in _NAMES:
        assert short.get(id(resolved(name)), name) == name


def test_dir_lists_the_public_names() -> None:
    assert dir(tallystick) == sorted(tallystick.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", tallystick.__version__)
    for name in dir(tallystick):
        assert getattr(tallystick, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tallystick.nothing
