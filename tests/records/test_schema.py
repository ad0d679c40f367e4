import copy
import json
from pathlib import Path

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator
from records.making import FILES, SCHEMAS

from tallystick.errors import SchemaError
from tallystick.formula.schema_path import resolve
from tallystick.records.schema import load_schema, schema_digest, skill_type_of
from tallystick.resources import schema_path

COMMON = json.loads(schema_path("record-1").read_bytes())


def parts(schema: object, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], dict]]:
    """Every schema in a schema, by what the keywords of the shipped ones hold."""
    if not isinstance(schema, dict):
        return []
    found = [(path, schema)]
    for word in ("properties", "$defs"):
        for name, inner in schema.get(word, {}).items():
            found += parts(inner, (*path, word, name))
    for word in ("items", "additionalProperties", "propertyNames"):
        found += parts(schema.get(word), (*path, word))
    for inner in schema.get("anyOf", []):
        found += parts(inner, (*path, "anyOf"))
    return found


def document(skill_type: str = "mcp_server") -> dict:
    return json.loads(FILES[skill_type].read_bytes())


def load(folder: Path, content: object) -> object:
    path = folder / "type.schema.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return load_schema(path)


@pytest.mark.parametrize("file", [schema_path("record-1"), *FILES.values()], ids=lambda f: f.name)
def test_a_shipped_schema_is_valid_closed_and_described(file: Path) -> None:
    schema = json.loads(file.read_bytes())
    Draft202012Validator.check_schema(schema)
    for path, part in parts(schema):
        if part.get("type") == "object" and path:
            assert part.get("additionalProperties") is False or (
                isinstance(part["additionalProperties"], dict)
                and part["maxProperties"] == 1000
                and "propertyNames" in part
            ), path
        if part.get("type") == "array":
            assert part["maxItems"] == 1000, path
        if part.get("type") == "string" and "enum" not in part and path[-1] != "skill_type":
            assert part["maxLength"] <= 4096, path
        if part.get("type") in ("number", "integer"):
            assert part["minimum"] == 0, path
            assert part["maximum"] > 0, path
        if len(path) > 1 and path[-2] == "properties":
            reference = part.get("$ref", "").rsplit("/", 1)[-1]
            assert "description" in part or "description" in COMMON["$defs"][reference], path


@pytest.mark.parametrize("skill_type", SCHEMAS)
def test_a_loaded_schema_is_self_contained(skill_type: str) -> None:
    schema = SCHEMAS[skill_type]
    jsonschema_rs.Draft202012Validator(dict(schema), offline=True)
    references = [part["$ref"] for _, part in parts(schema) if "$ref" in part]
    assert references
    for reference in references:
        assert isinstance(resolve(schema, reference), dict)
    assert skill_type_of(schema) == skill_type


def test_only_what_is_referred_to_is_copied() -> None:
    assert "record-1.finding" in SCHEMAS["mcp_server"]["$defs"]
    assert "record-1.finding" not in SCHEMAS["workflow"]["$defs"]


def test_a_third_party_may_refer_to_common_and_own_definitions(tmp_path: Path) -> None:
    changed = document()
    changed["$defs"] = {"level": {"type": "integer", "minimum": 0, "maximum": 9}}
    changed["properties"]["task"]["properties"]["level"] = {"$ref": "#/$defs/level"}
    changed["properties"]["task"]["properties"]["spent"] = {
        "$ref": "record-1.schema.json#/$defs/tao"
    }
    schema = load(tmp_path, changed)
    assert resolve(schema, "#/$defs/level")["maximum"] == 9
    assert resolve(schema, "#/$defs/record-1.tao")["maximum"] == 10**9


def test_words_of_json_schema_as_field_names_and_constants_are_left_alone(tmp_path: Path) -> None:
    changed = document()
    fields = changed["properties"]["task"]["properties"]
    fields["$ref"] = {"const": {"$ref": "elsewhere", "title": "t"}}
    fields["title"] = {"type": "string", "title": "not part of the meaning"}
    schema = load(tmp_path, changed)
    assert schema["properties"]["task"]["properties"]["$ref"] == fields["$ref"]
    other = copy.deepcopy(schema)
    del other["properties"]["task"]["properties"]["title"]["title"]
    assert schema_digest(other) == schema_digest(schema)
    del other["properties"]["task"]["properties"]["title"]
    assert schema_digest(other) != schema_digest(schema)


@pytest.mark.parametrize("skill_type", SCHEMAS)
def test_the_digest_covers_what_is_demanded_and_nothing_else(skill_type: str) -> None:
    first = schema_digest(SCHEMAS[skill_type])
    assert first.startswith("sha256:")
    reworded = copy.deepcopy(SCHEMAS[skill_type])
    reworded["$defs"]["record-1.unit"]["description"] = "reworded"
    reworded["title"] = "reworded"
    assert schema_digest(reworded) == first
    loosened = copy.deepcopy(SCHEMAS[skill_type])
    loosened["$defs"]["record-1.unit"]["maximum"] = 2
    assert schema_digest(loosened) != first


def test_a_number_without_canonical_form_has_no_digest() -> None:
    with pytest.raises(SchemaError, match="without canonical form"):
        schema_digest({"maximum": 2**60})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"the schema cannot be read \(.*expected a file of JSON in UTF-8"),
        (" " * 262_145, r"\(more than 262144 bytes\), expected a file of JSON in UTF-8"),
        *((text, "expected a file of JSON") for text in ("{", '{"minimum": NaN}', "[" * 100_000)),
        ("[]", "found list, expected a JSON object"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(
    tmp_path: Path, content: str | None, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        load_schema(tmp_path) if content is None else load(tmp_path, content)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "objekt"}, "found what no JSON Schema 2020-12 may hold at type"),
        ({"properties": []}, "found what no JSON Schema 2020-12 may hold at properties"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "expected 'https://json-schema"),
        ({"$ref": "record-1.schema.json#/$defs/none"}, "with one of checks, consensus, "),
        ({"$ref": "other.schema.json"}, "expected #/.defs/NAME, or record-1.schema.json"),
        ({"$ref": "https://example.org/x"}, "found the reference 'https://example.org/x'"),
        (
            {"$ref": "#/$defs/none"},
            "the schema cannot be used: Pointer '/.defs/none' does not exist",
        ),
        ({"$anchor": "here"}, "found '.anchor', expected .ref and .defs alone"),
        ({"required": ["skill_type"]}, "found 'task_id' not required"),
        ({"$defs": {"record-1.unit": {}}}, "found the definition 'record-1.unit'"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(
    tmp_path: Path, changes: dict, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        load(tmp_path, document() | changes)


@pytest.mark.parametrize(
    ("name", "declared", "message"),
    [
        ("miner", {"type": "object"}, "found another definition of the field 'miner', or none"),
        ("events", None, 'expected {"\\$ref": "record-1.schema.json#/\\$defs/events"}'),
        ("skill_type", {"type": "string"}, "found no skill type"),
        ("skill_type", True, "found no skill type"),
        ("skill_type", {"const": ""}, "found no skill type"),
    ],
)
def test_the_common_fields_are_the_engines_own(
    tmp_path: Path, name: str, declared: object, message: str
) -> None:
    changed = document()
    del changed["properties"][name]
    if declared is not None:
        changed["properties"][name] = declared
    with pytest.raises(SchemaError, match=message):
        load(tmp_path, changed)


@pytest.mark.parametrize("reference", ["#/none", "#/required/9", "#/required/x", "#/title/x"])
def test_a_reference_that_leads_nowhere_is_refused(reference: str) -> None:
    with pytest.raises(SchemaError, match="leads nowhere"):
        resolve(SCHEMAS["workflow"], reference)


def test_references_may_escape_names() -> None:
    assert resolve({"a/b": {"c~d e": 5}}, "#/a~1b/c~0d%20e") == 5
