"""A skill type extends another one: its records, its facts, its formulas, and a factor per task."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from installations import entry, module

import tallystick
from tallystick.errors import RecordError, SchemaError
from tallystick.plugins.author import (
    Generator,
    Node,
    SkillType,
    emission,
    factor,
    number,
    published,
    require,
)
from tallystick.plugins.registry import Registry, registry
from tallystick.records.schema import load_schema, schema_digest
from tallystick.resources import schema_path
from tallystick_conformance.testing.history import history_of
from tallystick_skills.plugin import SKILL_TYPES

BASE = SKILL_TYPES["mcp_server"]
EXAMPLES = [json.loads(line) for line in (BASE.examples or Path()).read_text().splitlines()]
EXAMPLE = next(each for each in EXAMPLES if each["skill_type"] == "mcp_server")
IMPORTANCE = {"type": "number", "minimum": 0, "maximum": 4}
ADDED: dict[str, Any] = {
    "$id": "weighted.schema.json",
    "properties": {"task": {"required": ["importance"], "properties": {"importance": IMPORTANCE}}},
}
importance = number("task.importance")
positive = require(importance > 0, "importance", path="task.importance", expected="more than 0")


@factor("acme/importance@1", within=(0, 4))
def per_task(_p: object) -> Node:
    """What the task is worth."""
    return importance


@emission("acme/emission@1", within=(0, 4))
def paid(_p: object) -> Node:
    """The quality, times what the task is worth."""
    return published("quality") * published("base_weight") * published("importance")


RULES = """
[rule_set]
name = "acme"
version = "1.0.0"
format = 1
[axes.policy]
formula = "skills/policy@1"
beta = 0.5
[axes.manifest_integrity]
formula = "skills/manifest-integrity@2"
[skill_types."acme/weighted"]
base_weight = 1
composite = "arithmetic"
weights = { policy = 0.5, manifest_integrity = 0.5 }
[emission]
formula = "acme/emission@1"
[emission.factors.importance]
formula = "acme/importance@1"
"""


def extension(folder: Path, added: object = ADDED, **more: Any) -> SkillType:  # noqa: ANN401  # fields of a type
    """A type that extends the shipped one, with its additions in a folder."""
    path = folder / "weighted.schema.json"
    path.write_text(json.dumps(added))
    return SkillType("acme/weighted", path, extends=BASE, **more)


def record(**task: object) -> dict[str, Any]:
    return {**EXAMPLE, "skill_type": "acme/weighted", "task": {**EXAMPLE["task"], **task}}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The shipped plugin, and one that extends one of its types."""

    def ask(_draw: object) -> dict[str, float]:
        return {"importance": 2.5}

    def nothing(*_parts: object) -> dict[str, float]:
        return {}

    kind = extension(tmp_path, requirements=(positive,), generator=Generator(ask, nothing, nothing))
    target = module("acme_weighted", monkeypatch, formulas=[per_task, paid], skill_types=(kind,))
    return registry(
        [entry("skills", "tallystick_skills.plugin", "tallystick"), entry("acme", target, "acme")]
    )


def test_records_of_the_type_are_those_of_the_base_with_the_field(
    tmp_path: Path, plugins: Registry
) -> None:
    assert plugins.refused == {}
    (tmp_path / "acme.toml").write_text(RULES)
    scorer = tallystick.load(tmp_path / "acme.toml", registry=plugins)
    one, two = (scorer.score(record(importance=value)) for value in (1, 2.5))
    assert one.quality == two.quality
    assert one.quality is not None
    assert one.emission == one.quality
    assert two.emission == (one.quality * Decimal("2.5")).quantize(Decimal("1e-9"))
    base = tallystick.load("skills@1.2.0").score(EXAMPLE)
    assert {name: base.axes[name] for name in one.axes} == dict(one.axes)

    for wrong, code in (
        (record(), "missing-field"),
        (record(importance=5), "out-of-range"),
        (record(importance=0), "importance"),
        (record(importance=1, t_min_s=90, deadline_s=3), "timing-window"),
        (record(importance=1, mood="good"), "unknown-field"),
    ):
        with pytest.raises(RecordError) as caught:
            scorer.score(wrong)
        assert caught.value.code == code


def test_its_made_up_records_have_the_fields_of_both(plugins: Registry, tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(RULES)
    kind = plugins.skill_types["acme/weighted"]
    history = history_of(3, [kind], miners=9, validators=2, epochs=1, rounds=3)
    results = list(
        tallystick.load(tmp_path / "acme.toml", registry=plugins).score_many(history.lines(60))
    )
    assert [each for each in results if isinstance(each, tallystick.Reject)] == []


def test_a_type_has_what_it_extends_before_its_own(tmp_path: Path) -> None:
    kind = extension(tmp_path, requirements=(positive,))
    assert kind.requirements == (*BASE.requirements, positive)
    assert (kind.directions, kind.properties) == (BASE.directions, BASE.properties)
    assert (kind.generator, kind.examples) == (BASE.generator, None)
    copy = attrs.evolve(kind, summary="another")
    assert (copy.schema, copy.requirements) == (kind.schema, kind.requirements)
    twice = SkillType("acme/twice", _nothing(tmp_path), extends=kind)
    schema = load_schema(twice.schema)
    assert schema["properties"]["skill_type"] == {"const": "acme/twice"}
    assert "importance" in schema["properties"]["task"]["required"]


def test_the_digest_is_that_of_the_whole_schema_written_out(tmp_path: Path) -> None:
    """A type that is extended means what a copy with the field would."""
    copied = json.loads(BASE.schema.read_text()) if isinstance(BASE.schema, Path) else {}
    copied["properties"]["skill_type"] = {"const": "acme/weighted"}
    copied["properties"]["task"]["required"].append("importance")
    copied["properties"]["task"]["properties"]["importance"] = IMPORTANCE
    path = tmp_path / "copied.schema.json"
    path.write_text(json.dumps(copied))
    extended = load_schema(extension(tmp_path).schema)
    assert schema_digest(extended) == schema_digest(load_schema(path))
    assert schema_digest(load_schema(BASE.schema)) != schema_digest(extended)


def _nothing(folder: Path) -> Path:
    path = folder / "nothing.schema.json"
    path.write_text("{}")
    return path


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"properties": {"task": {"properties": {"deadline_s": IMPORTANCE}}}}, "'task.deadline_s'"),
        ({"properties": {"role": {"enum": ["primary"]}}}, "the field 'role'"),
        ({"properties": {"task": True}}, "the field 'task'"),
        ({"additionalProperties": True}, "'additionalProperties' at the top"),
        ({"properties": {"task": {"maxProperties": 2}}}, "'maxProperties' at task"),
        ({"if": True}, "'if' at the top"),
        ({"properties": {"x": {"$ref": "#/$defs/gone"}}}, "cannot be used"),
        ([], "expected a JSON object"),
    ],
)
def test_additions_that_change_what_is_there_are_refused(
    added: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError) as caught:
        load_schema(extension(tmp_path, added).schema)
    assert message in str(caught.value)
    assert "weighted.schema.json" in str(caught.value)


def test_a_definition_of_the_same_name_is_refused_unless_it_is_the_same(tmp_path: Path) -> None:
    common = json.loads(schema_path("record-1").read_bytes())["$defs"]
    assert "unit" in common
    path = tmp_path / "one.schema.json"
    path.write_text(json.dumps({"$defs": {"part": IMPORTANCE}}))
    first = SkillType("acme/one", path, extends=BASE)
    for definition, fails in ((IMPORTANCE, False), ({"type": "null"}, True)):
        other = tmp_path / f"{fails}.schema.json"
        other.write_text(json.dumps({"$defs": {"part": definition}}))
        second = SkillType("acme/two", other, extends=first)
        if fails:
            with pytest.raises(SchemaError, match="the definition 'part'"):
                load_schema(second.schema)
        else:
            assert load_schema(second.schema)["$defs"]["part"] == IMPORTANCE
