"""``docs/rule-sets.md`` has every section, key and word of the format."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual.keys import Schema, keys_of, words_in
from manual.page import Page, words_of

from tallystick.resources import schema_path
from tallystick.rules.model import BUILT_IN_COMPOSITES
from tallystick.rules.section import CORE

_PAGE = Page.of("docs/rule-sets.md")
_SCHEMA: Schema = json.loads(schema_path("rule-set-1").read_text(encoding="utf-8"))
_SECTIONS = list(_SCHEMA["properties"])
_CORE = [name for name in _SECTIONS if name in CORE]
"""Sections whose keys the page has; of the others it has the schema."""


def _documented(section: Page) -> Iterator[tuple[str, str]]:
    """Each key of a table, behind its owner: what stands beside a key may belong to that key."""
    for key in words_of(span for span in section.spans() if span.startswith("[")):
        yield "", key
    for first, *rest in section.rows():
        keys = words_of(first)
        for key in keys:
            yield "", key
            yield from ((key, word) for word in {w for cell in rest for w in words_of(cell)})


@pytest.mark.parametrize("section", _CORE)
def test_every_key_of_a_section_is_documented(section: str) -> None:
    documented = Counter(_documented(_PAGE.section(f"`[{section}]`")))
    owners: dict[str, list[str]] = {}
    for owner, key in keys_of(_SCHEMA["properties"][section], _SCHEMA):
        owners.setdefault(key, []).append(owner)
    for key, belongs in owners.items():
        beside = sum(bool(documented[owner, key]) for owner in belongs if owner)
        assert documented["", key] + beside >= len(belongs), key


@pytest.mark.parametrize("section", _CORE)
def test_every_word_of_a_section_is_documented(section: str) -> None:
    words = set(words_in(_SCHEMA["properties"][section], _SCHEMA))
    assert words - _PAGE.section(f"`[{section}]`").words() == set()


def test_the_sections_are_documented_in_the_order_of_the_format() -> None:
    headings = [line for line in _PAGE.prose.splitlines() if line.startswith("### `[")]
    assert headings == [f"### `[{section}]`" for section in _SECTIONS]


def test_every_composite_is_documented() -> None:
    cells = _PAGE.section("`[skill_types]`").first_cells()
    assert cells[-3:] == [*BUILT_IN_COMPOSITES, "namespace/name@version"]


def test_every_section_of_a_plugin_leads_to_its_schema() -> None:
    for section in (name for name in _SECTIONS if name not in CORE):
        (link,) = [
            each for each in _PAGE.section(f"`[{section}]`").links() if each.endswith(".json")
        ]
        assert Path(link).name == f"{section}-1.schema.json"
