"""``docs/records.md`` has every field, code and name, and says of them what the engine does."""

import json
from itertools import chain

from manual.keys import resolved
from manual.page import Page

import tallystick
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES
from tallystick.records.schema import Schema, load_schema
from tallystick.resources import schema_path
from tallystick.scoring.result import FORMATS, ResultLayout
from tallystick_consensus.group_record import CODES as OF_GROUPS

_PAGE = Page.of("docs/records.md")
_COMMON = json.loads(schema_path("record-1").read_text(encoding="utf-8"))
_PARTS = ("task", "submission", "checks")
_WORKFLOW, _REWARD = "workflow", "reward"
_SKILLS = sorted(installed().skill_types.keys() - {_WORKFLOW, _REWARD})


def _schema(skill_type: str) -> Schema:
    return load_schema(installed().skill_types[skill_type].schema)


def _part(skill_type: str, part: str) -> Schema:
    schema = _schema(skill_type)
    return resolved(schema["properties"][part], schema)


def _fields(skill_type: str, part: str) -> set[str]:
    return set(_part(skill_type, part)["properties"])


def test_every_code_of_a_reject_is_documented() -> None:
    expected = {*CODES} - {*OF_GROUPS}
    assert _PAGE.section("Codes").differs_from(sorted(expected), ordered=False) == []


def test_every_code_of_a_requirement_is_documented() -> None:
    registry = installed()
    own = chain(*(kind.requirements for kind in registry.skill_types.values()))
    asked = {requirement.code for requirement in (*own, *registry.requirements.values())}
    assert asked <= {*_PAGE.section("Fields by type").spans()}


def test_every_type_is_documented_with_a_schema_that_is_there() -> None:
    section = _PAGE.section("Fields by type")
    assert {*installed().skill_types} <= {*section.first_cells()}


def test_a_code_means_on_the_page_what_the_engine_says() -> None:
    rows = (f"| `{code}` | {meaning}" for code, meaning in CODES.items())
    rows = (
        row.replace("more bytes than a record may have", "more than 1 048 576 bytes")
        for row in rows
    )
    rows = (row.replace("nested too deeply", "nested more than 32 deep") for row in rows)
    assert _PAGE.section("Codes").lacking(rows) == []


def test_every_field_of_every_record_is_documented() -> None:
    cells = _PAGE.section("Fields of every record").first_cells()
    known = _COMMON["properties"]
    head = [name for name in known if name not in ("consensus", "events")]
    assert cells == [*head, *_PARTS, "consensus", "events"]


def test_every_field_of_a_result_is_documented() -> None:
    cells = _PAGE.section("Results").first_cells()
    factors = tallystick.load("skills@1.1.0").layout.factors
    fields = ResultLayout(measures={"m": False}, has_group=True, factors=factors).fields
    assert cells[: len(fields)] == list(fields)
    assert sorted(cells[len(fields) :]) == sorted(f".{name}" for name in FORMATS)
