"""A formula that is released never changes: a change is a new version.

``released.json`` of each shipped plugin holds the digest of each of its formulas, as anyone can
compute it. A new formula is added there once; no line there ever changes or goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from packages import PACKAGES, folder_of

from tallystick.formula.formula import Formula
from tallystick.formula.tree import const
from tallystick.plugins.registry import installed

FILES = [file for package in PACKAGES if (file := folder_of(package) / "released.json").is_file()]


def listed(file: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))["formulas"]
    return found


RELEASED = {name: digest for file in FILES for name, digest in listed(file).items()}


def shipped() -> dict[str, Formula]:
    plugins = installed().plugins.values()
    return {formula.name: formula for plugin in plugins for formula in plugin.formulas}


def differences(formulas: Mapping[str, Formula]) -> dict[str, str]:
    """What stands between some formulas and the list, by name."""
    found = {name: formula.digest for name, formula in formulas.items()}
    gone = dict.fromkeys(RELEASED.keys() - found.keys(), "is gone")
    new = {
        name: f"is not in released.json: {found[name]}" for name in found.keys() - RELEASED.keys()
    }
    changed = {
        name: "has changed: give it a new version"
        for name in found.keys() & RELEASED.keys()
        if found[name] != RELEASED[name]
    }
    return gone | new | changed


def test_released_formulas_are_as_they_were_and_all_there() -> None:
    assert differences(shipped()) == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_the_list_is_in_name_order(file: Path) -> None:
    assert list(listed(file)) == sorted(listed(file))


@pytest.mark.parametrize("name", sorted(RELEASED))
def test_a_formula_that_changed_is_seen(name: str) -> None:
    formulas = shipped()
    changed = formulas | {name: attrs.evolve(formulas[name], tree=const(0), applies=None)}
    assert list(differences(changed)) == [name]


def test_a_formula_that_went_or_came_is_seen() -> None:
    formulas = shipped()
    moved = formulas.pop("skills/policy@1")
    assert differences(formulas) == {"skills/policy@1": "is gone"}
    formulas["skills/policy@1"] = moved
    assert list(differences(formulas | {"skills/policy@2": moved})) == ["skills/policy@2"]


@pytest.mark.parametrize("field", ["symbol", "summary"])
def test_what_is_documentation_may_change(field: str) -> None:
    formulas = shipped()
    moved = attrs.evolve(formulas["skills/policy@1"], **{field: "other"})
    assert differences(formulas | {moved.name: moved}) == {}
