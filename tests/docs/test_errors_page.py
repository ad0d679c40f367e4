"""``docs/errors.md`` has every code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual.page import Page

import tallystick
import tallystick_state
from tallystick_consensus.group_record import CODES as OF_GROUPS
from tallystick_state.claims import REASONS
from tallystick_state.ingest import CODES as OF_FILES
from tallystick_state.ingest import LINE_CODES
from tallystick_state.miner_list import CODES as OF_LISTS

OF_STATES = {**OF_FILES, **LINE_CODES, **REASONS, **OF_LISTS}
_PAGE = Page.of("docs/errors.md")


def test_a_code_means_on_the_page_what_the_engine_says() -> None:
    codes = OF_GROUPS | OF_STATES
    assert _PAGE.lacking(f"| `{code}` | {meaning}" for code, meaning in codes.items()) == []


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
