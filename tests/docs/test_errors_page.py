"""``docs/errors.md`` has every exception and every code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual.page import Page

import tallystick
import tallystick_state
from tallystick import errors
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES as OF_RECORDS
from tallystick_conformance.report import REMEDIES as OF_KIT
from tallystick_consensus.group_record import CODES as OF_GROUPS
from tallystick_state.claims import REASONS
from tallystick_state.ingest import CODES as OF_FILES
from tallystick_state.ingest import LINE_CODES
from tallystick_state.miner_list import CODES as OF_LISTS

OF_STATES = {**OF_FILES, **LINE_CODES, **REASONS, **OF_LISTS}
_PAGE = Page.of("docs/errors.md")
_OWN = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.TallystickError)
}


def test_every_exception_of_the_core_is_documented_below_its_parent() -> None:
    tree = next(block.text for block in _PAGE.blocks() if block.language == "text")
    found, above = dict[str, str](), list[str]()
    for row in re.findall(r"^ *[│├└─ ]*[A-Z]\w+Error\b", tree, re.MULTILINE):
        name = row.strip("│├└─ ")
        above = [*above[: (len(row) - len(row.lstrip("│├└─ "))) // 4], name]
        found[name] = above[-2] if len(above) > 1 else ""
    below = {
        name: kind.__base__ for name, kind in _OWN.items() if kind is not errors.TallystickError
    }
    assert {name: found[name] for name in below} == {n: k.__name__ for n, k in below.items() if k}
    assert {*_PAGE.section("Exceptions").first_cells()} == {*found}


@pytest.mark.parametrize(
    ("section", "codes"),
    [
        ("Records", OF_RECORDS),
        ("Groups", OF_GROUPS),
        ("States", OF_STATES),
        ("Plugins", OF_KIT),
    ],
    ids=["records", "groups", "states", "plugins"],
)
def test_every_code_is_documented(section: str, codes: dict[str, str]) -> None:
    spans = _PAGE.section(section).spans()
    assert _PAGE.section(section).differs_from(codes, codes.keys() & {*spans}, ordered=False) == []


def test_every_code_of_a_shipped_requirement_is_documented() -> None:
    registry = installed()
    own = [r for kind in registry.skill_types.values() for r in kind.requirements]
    asked = {requirement.code for requirement in (*own, *registry.requirements.values())}
    assert asked <= set(_PAGE.section("Records").spans())


def test_a_code_means_on_the_page_what_the_engine_says() -> None:
    codes = OF_GROUPS | OF_STATES
    assert _PAGE.lacking(f"| `{code}` | {meaning} | " for code, meaning in codes.items()) == []


def codes_of(source: str) -> Iterator[str]:
    """The codes that a module gives its errors of trust, where they are written out."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="TrustError"), keywords=keywords):
                for each in keywords:
                    if each.arg == "code" and isinstance(each.value, ast.Constant):
                        yield str(each.value.value)


@pytest.mark.nightly
def test_every_code_is_on_the_page_of_errors() -> None:
    packages = (Path(each.__file__).parent for each in (tallystick, tallystick_state))
    sources = (path for package in packages for path in package.rglob("*.py"))
    found = {code for path in sources for code in codes_of(path.read_text("utf-8"))}
    assert "threshold-not-met" in found
    assert found <= {*_PAGE.spans()}
