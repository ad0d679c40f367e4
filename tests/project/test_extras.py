"""Extras: libraries that not every command needs; each that is missing says what installs it."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tallystick.extras import EXTRAS, missing

ROOT = Path(__file__).resolve().parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OF_DEVELOPERS = {"all", "docs", "test"}
APART = {"bittensor"}
"""Extras of users that are too large for `all`."""
MODULES = {
    "attrs": {"attr", "attrs"},
    "cattrs": {"cattr", "cattrs"},
    "jinja2": {"jinja2", "markupsafe"},
    "msgspec": {"msgspec"},
    "jsonschema": {"jsonschema", "referencing"},
}
"""The modules of a package, where they are not its name."""


def imported() -> Iterator[tuple[str, str]]:
    """The modules that the engine and the plugins import, and where."""
    for folder in ("engine", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Import(names=names):
                        yield from ((each.name.partition(".")[0], str(path)) for each in names)
                    case ast.ImportFrom(module=str(module), level=0):
                        yield module.partition(".")[0], str(path)


@pytest.mark.nightly
def test_every_library_is_needed_always_or_of_an_extra() -> None:
    always = {Requirement(each).name for each in DECLARED["dependencies"]}
    known = {*EXTRAS, *(m for name in always for m in MODULES.get(name, {name.replace("-", "_")}))}
    # pytest is there where its plugin is loaded, and a part of the SDK where that is
    known |= {*sys.stdlib_module_names, "pytest", "_pytest", "bittensor_core"}
    others = {(name, path) for name, path in imported() if name not in known}
    assert {name for name, _ in others if not name.startswith("tallystick")} == set()


def test_all_is_every_extra_of_a_user() -> None:
    extras = DECLARED["optional-dependencies"]
    own = [each for name in extras.keys() - OF_DEVELOPERS - APART for each in extras[name]]
    assert sorted(extras["all"]) == sorted(own)
    assert {extra for extra, _ in EXTRAS.values()} == extras.keys() - OF_DEVELOPERS


@pytest.mark.parametrize("module", EXTRAS)
def test_a_missing_library_says_what_installs_it(module: str) -> None:
    assert missing(module).endswith(f"run pip install 'tallystick[{EXTRAS[module][0]}]'")
