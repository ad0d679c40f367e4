import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from examples import fast_rows
from jsonschema import Draft202012Validator, ValidationError
from records.making import SCHEMAS, make, spoil

from tallystick.errors import RecordError
from tallystick.records.messages import path_text
from tallystick.records.rejects import MOST_PROBLEMS
from tallystick.records.validator import RecordValidator

BASE = {"type": "object", "properties": {}, "additionalProperties": False}


def complaint(record: object, skill_type: str = "mcp_server") -> tuple[str, str, str, str]:
    return said(SCHEMAS[skill_type], record)


def said(schema: dict, record: object) -> tuple[str, str, str, str]:
    with pytest.raises(RecordError) as caught:
        RecordValidator(schema).validate(record)
    error = caught.value
    return error.code, error.path, error.value, error.expected


def spoilt(path: str, value: object, skill_type: str = "mcp_server") -> dict:
    record = copy.deepcopy(make(skill_type, seed=3))
    *outer, last = path.split(".")
    target: Any = record
    for name in outer:
        target = target[int(name)] if name.isdigit() else target[name]
    target[last] = value
    return record


def test_an_unknown_field_has_its_own_path_and_the_nearest_name() -> None:
    assert complaint(spoilt("submission.risk_scor", 0.5)) == (
        "unknown-field",
        "submission.risk_scor",
        "0.5",
        "risk_score, or the field left out",
    )
    assert complaint(spoilt("miner.zzz", 1))[3] == "the field left out"


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({"A": -1}, "out-of-range", "checks.actual_retries.A"),
        ({"a.b": 1.5}, "wrong-type", 'checks.actual_retries["a.b"]'),
        ({"": 1}, "too-short", 'checks.actual_retries[""]'),
        ({str(i): 0 for i in range(1001)}, "too-many", "checks.actual_retries"),
        (-1, "out-of-range", "checks.actual_retries"),
        (None, "wrong-type", "checks.actual_retries"),
    ],
)
def test_maps_by_step_are_explained(value: object, code: str, path: str) -> None:
    record = spoilt("checks.actual_retries", value, "workflow")
    assert complaint(record, "workflow")[:2] == (code, path)


def test_the_wrong_type_is_told_before_the_range() -> None:
    assert complaint(spoilt("submission.latency_ms", -0.5))[0] == "wrong-type"


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"pattern": "^a"}, "b", 'what the schema demands: pattern "^a"'),
        ({"multipleOf": 3}, 4, "what the schema demands: multipleOf 3"),
        ({"minItems": 1, "type": "array"}, [], "what the schema demands: minItems 1"),
        ({"uniqueItems": True}, [1, 1], "what the schema demands: uniqueItems true"),
        ({"not": {"const": 1}}, 1, 'what the schema demands: not {"const": 1}'),
        (False, 1, "what the schema demands: x false"),
        (
            {"anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            'what the schema demands: anyOf [{"minimum": 5}, {"maximum": 1}]',
        ),
    ],
)
def test_other_rules_are_told_as_they_are(schema: object, value: object, expected: str) -> None:
    found = said({**BASE, "properties": {"x": schema}}, {"x": value})
    assert found[:2] == ("invalid-record", "x")
    assert found[3] == expected


NUMERALS = ("0", "8", "08", "+8", "-1", "1e3", "1_0", "٣", "0" * 400 + "1", "9" * 5000, "")


@pytest.mark.parametrize("key", NUMERALS)
@pytest.mark.parametrize("field", ["submission.error_handling", "checks.actual_retries"])
def test_a_key_of_a_map_stays_text_whatever_it_looks_like(field: str, key: str) -> None:
    good = {"retry_count": 0} if "submission" in field else 0
    record = spoilt(field, {"0008": good, key: "x"}, "workflow")
    place = path_text((*field.split("."), key))
    assert complaint(record, "workflow")[:3] == ("wrong-type", place, '"x"')


@pytest.mark.parametrize("key", NUMERALS[:-1])
def test_a_key_stays_text_where_another_rule_is_told(key: str) -> None:
    texts = {"type": "array", "items": {"const": "x"}}
    maps = {"type": "object", "patternProperties": {".": texts}}
    schema = {**BASE, "properties": {"x": {"type": "array", "items": maps}}}
    found = said(schema, {"x": [{}, {"+07": ["x"], key: ["x", 2]}]})
    assert found == ("not-allowed", path_text(("x", 1, key, 1)), "2", '"x"')


def told_by_oracle(errors: Sequence[ValidationError]) -> Iterator[tuple[str | int, ...]]:
    """Where an unrelated library finds errors, but for what is in lists that are too long."""
    crowded = [
        tuple(e.absolute_path) for e in errors if e.validator in {"maxItems", "maxProperties"}
    ]
    for error in errors:
        path = tuple(error.absolute_path)
        if any(path[: len(each)] == each != path for each in crowded):
            continue
        if error.validator == "required":
            yield from (
                (*path, name) for name in error.validator_value if name not in error.instance
            )
        elif error.validator == "additionalProperties":
            yield (*path, min(error.instance.keys() - error.schema["properties"].keys()))
        elif error.validator == "propertyNames" or "propertyNames" in error.absolute_schema_path:
            yield (*path, error.instance)
        else:
            yield path


@pytest.mark.parametrize("skill_type", fast_rows(SCHEMAS, -1, 0))
def test_every_error_of_the_schema_is_told_where_it_is(skill_type: str) -> None:
    schema, several = SCHEMAS[skill_type], 0
    validator = RecordValidator(schema)
    for seed in range(120):
        record = spoil(spoil(make(skill_type, seed), seed), seed + 1)
        errors = list(Draft202012Validator(schema).iter_errors(record))
        expected = set(told_by_oracle(errors))
        try:
            validator.validate(record)
        except RecordError as error:
            paths = {each.path for each in error.problems}
            assert expected, record
            # of alternatives the one that was meant is told, deeper than where they are
            if len(expected) < MOST_PROBLEMS and not any(e.validator == "anyOf" for e in errors):
                assert paths == {path_text(path) for path in expected}, record
            several += len(paths) > 1
        else:
            assert not expected
    assert several > 10
