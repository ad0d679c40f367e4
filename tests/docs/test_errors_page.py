"""``docs/errors.md`` has every exception and every code."""

import re
from collections.abc import Iterator

import pytest
from manual.page import Page
from packages import PACKAGES, sources

from tallystick import errors
from tallystick.lock.lock_file import CODES as OF_LOCKS
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES as OF_RECORDS
from tallystick_conformance.report import CODES as OF_KIT
from tallystick_consensus.group_record import CODES as OF_GROUPS
from tallystick_state.adoption import CODES as OF_ADOPTIONS
from tallystick_state.claims import REASONS
from tallystick_state.ingest import CODES as OF_FILES
from tallystick_state.ingest import LINE_CODES
from tallystick_state.miner_list import CODES as OF_LISTS
from tallystick_state.trust.errors import CODES as OF_SIGNATURES

OF_STATES = {**OF_FILES, **LINE_CODES, **REASONS, **OF_LISTS}
_PAGE = Page.of("docs/errors.md")
_SOURCES = [path.read_text("utf-8") for package in PACKAGES for path in sources(package)]
_CLASS = re.compile(r"^class ([A-Z]\w*)\(([A-Z]\w*Error)\):", re.MULTILINE)


def parents() -> dict[str, str]:
    """Every exception below the root, with its parent, as the sources have it."""
    every = dict(found for source in _SOURCES for found in _CLASS.findall(source))
    return {
        name: parent for name, parent in every.items() if "TallystickError" in line(name, every)
    }


def line(name: str, every: dict[str, str]) -> Iterator[str]:
    """An exception and those above it."""
    while name:
        yield name
        name = every.get(name, "")


def drawn(text: str) -> dict[str, str]:
    """The parent of each name of a tree that is drawn with lines."""
    found, above = dict[str, str](), list[str]()
    for row in re.findall(r"^ *[│├└─ ]*[A-Z]\w+Error\b", text, re.MULTILINE):
        name = row.strip("│├└─ ")
        depth = len(row) - len(row.lstrip("│├└─ "))
        above = [*above[: depth // 4], name]
        if len(above) > 1:
            found[name] = above[-2]
    return found


def test_every_exception_is_documented() -> None:
    expected = ["TallystickError", *parents()]
    assert _PAGE.section("Exceptions").differs_from(expected, ordered=False) == []


def test_the_tree_is_that_of_the_classes() -> None:
    tree = next(block.text for block in _PAGE.blocks() if block.language == "text")
    assert drawn(tree) == parents()


def test_the_tree_of_the_module_is_that_of_its_classes() -> None:
    tree = re.sub(r"^ {4}", "", errors.__doc__ or "", flags=re.MULTILINE)
    own = {name: parent for name, parent in parents().items() if hasattr(errors, name)}
    assert drawn(tree) == own


@pytest.mark.parametrize(
    ("section", "codes"),
    [
        ("Records", OF_RECORDS),
        ("Groups", OF_GROUPS),
        ("States", OF_STATES),
        ("Adoptions", OF_ADOPTIONS),
        ("Locks", OF_LOCKS),
        ("Signatures", OF_SIGNATURES),
        ("Plugins", OF_KIT),
    ],
    ids=["records", "groups", "states", "adoptions", "locks", "signatures", "plugins"],
)
def test_every_code_is_documented(section: str, codes: dict[str, str]) -> None:
    spans = _PAGE.section(section).spans()
    assert _PAGE.section(section).differs_from(codes, codes.keys() & {*spans}, ordered=False) == []


def test_every_code_that_is_raised_is_documented() -> None:
    raised = {code for source in _SOURCES for code in re.findall(r'code="([a-z-]+)"', source)}
    assert len(raised) > 20
    assert raised <= set(_PAGE.spans())


def test_every_code_of_a_shipped_requirement_is_documented() -> None:
    registry = installed()
    own = [r for kind in registry.skill_types.values() for r in kind.requirements]
    asked = {requirement.code for requirement in (*own, *registry.requirements.values())}
    assert asked <= set(_PAGE.section("Records").spans())


def test_a_code_means_on_the_page_what_the_engine_says() -> None:
    codes = OF_GROUPS | OF_STATES | OF_ADOPTIONS | OF_SIGNATURES
    assert _PAGE.lacking(f"| `{code}` | {meaning} | " for code, meaning in codes.items()) == []


def test_the_page_of_states_has_every_code_that_refuses_a_file() -> None:
    assert Page.of("docs/state.md").section("Late events").differs_from(sorted(OF_FILES)) == []
