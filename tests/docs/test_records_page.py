"""``docs/records.md`` has every field, code and name, and says of them what the engine does."""

import json
import re
from itertools import chain

import attrs
from manual.keys import keys_of, limits_in, resolved, words_in
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
    registry = installed()
    own = chain(*(kind.requirements for kind in registry.skill_types.values()))
    asked = {requirement.code for requirement in (*own, *registry.requirements.values())}
    expected = {*CODES, *asked} - {*OF_GROUPS}
    assert _PAGE.section("Codes").differs_from(sorted(expected), ordered=False) == []


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


def test_every_field_of_the_skill_types_is_documented() -> None:
    rows = _PAGE.section("The six skill types").rows()
    common, own, kind = set[str](), dict[str, set[str]](), ""
    for row in rows:
        if row[0] and row[0][0] in _SKILLS:
            kind = row[0][0]
        if len(row) == 3:
            own.setdefault(kind, set()).update(row[1])
        else:
            common.update(row[0])
    for skill_type in _SKILLS:
        paths = {f"{part}.{name}" for part in _PARTS for name in _fields(skill_type, part)}
        beside = {path for path in paths if path.partition(".")[2] not in common}
        assert beside == own.get(skill_type, set()), skill_type
    union = {name for kind in _SKILLS for part in _PARTS for name in _fields(kind, part)}
    assert common <= union


def test_every_field_of_a_reward_is_documented() -> None:
    cells = _PAGE.section("The type `reward`").first_cells()
    assert sorted(cells) == sorted(_fields(_REWARD, "checks"))


def test_every_field_of_a_workflow_is_documented() -> None:
    cells = _PAGE.section("The type `workflow`").first_cells()
    fields = chain(*(_fields(_WORKFLOW, part) for part in _PARTS))
    assert sorted(cells) == sorted(fields)


def test_every_key_and_word_of_a_record_is_documented() -> None:
    schemas = [_schema(skill_type) for skill_type in (*_SKILLS, _WORKFLOW, _REWARD)]
    names = {name for schema in schemas for _, name in keys_of(schema, schema)}
    names |= {word for schema in schemas for word in words_in(schema, schema)}
    assert sorted(names - _PAGE.words()) == []


def test_every_limit_of_a_record_is_documented() -> None:
    for limit in sorted(set(limits_in(_COMMON["$defs"]))):
        written = f"{limit:,}".replace(",", " ") if limit > 9999 else str(limit)
        assert re.search(rf"(?<![\d.]){written}(?![\d.]\d)", _PAGE.prose), limit


def test_every_required_field_of_the_skill_types_is_marked() -> None:
    marked = re.findall(r"`(?:\w+\.)?(\w+)` \*", _PAGE.section("The six skill types").text)
    required = {
        name for kind in _SKILLS for part in _PARTS for name in _part(kind, part)["required"]
    }
    assert set(marked) == required


def test_every_field_of_a_result_is_documented() -> None:
    cells = _PAGE.section("Results").first_cells()
    factors = tallystick.load("skills@1.1.0").layout.factors
    fields = ResultLayout(measures={"m": False}, has_group=True, factors=factors).fields
    assert cells[: len(fields)] == list(fields)
    assert sorted(cells[len(fields) :]) == sorted(f".{name}" for name in FORMATS)


def test_every_field_of_a_reject_is_documented() -> None:
    names = [field.name for field in attrs.fields(tallystick.Reject)]
    assert _PAGE.section("Rejects").first_cells()[: len(names)] == names


def test_every_field_of_a_receipt_is_documented() -> None:
    names = [field.name for field in attrs.fields(tallystick.Receipt)]
    assert _PAGE.section("The receipt").differs_from(["format", *names]) == []
