"""Random records of a skill type, made from its schema alone: every one is valid under it.

Values follow the schema, and what was made is validated: where the schema has a keyword that
the values do not follow, another record is tried. `generator_of` meets requirements likewise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import jsonschema_rs

from tallystick.errors import SchemaError
from tallystick.formula.schema_path import ANSWER
from tallystick.plugins.generator import Draw, Generator
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import MISSED, Schema, skill_type_of
from tallystick.resources import schema_path
from tallystick_conformance.testing.random_values import DEPTH, Make, value_maker
from tallystick_conformance.testing.record_checker import RecordChecker

_TRIES = 200
_MISSED_OF_100 = 5
_EVENTS = "events"

Check = Callable[[object], bool]


@attrs.frozen
class RandomRecords:
    """Makes records of one skill type.

    Attributes:
        schema: the self-contained schema of the type.
    """

    schema: Schema
    _make: Make = attrs.field(init=False)
    _is_valid: Check = attrs.field(init=False)

    @_make.default
    def _compile(self) -> Make:
        return value_maker(self.schema, {**self.schema, "required": self._always()})

    @_is_valid.default
    def _compile_check(self) -> Check:
        return _check_of(self.schema)

    def record(self, draw: Draw, edges: int = 0) -> dict[str, Any]:
        """Return a valid record.

        Args:
            draw: the choices; equal ones give equal records.
            edges: how many of 100 numbers, texts and lists are as small or as large as they may be.

        Raises:
            SchemaError: none was found to be valid.
        """
        made: dict[str, Any] = _valid(self._make, self._is_valid, draw, edges, self._what())
        if draw.chance(_MISSED_OF_100):
            missed = self._missed(made, draw)
            return missed if self._is_valid(missed) else made
        return made

    def _missed(self, made: dict[str, Any], draw: Draw) -> dict[str, Any]:
        gone = draw.one((ANSWER, *((name,) for name in ANSWER)))
        fields = {name: value for name, value in made.items() if name not in gone}
        return fields | {_EVENTS: [*made.get(_EVENTS, ())[:3], MISSED]}

    def _always(self) -> list[str]:
        """Return the fields of every record that answers; a condition may require them."""
        answer = (name for name in ANSWER if name in self.schema.get("properties", {}))
        return list(dict.fromkeys((*self.schema.get("required", ()), *answer)))

    def _what(self) -> str:
        return f"record of the skill type {skill_type_of(self.schema)!r}"


def generator_of(skill_type: SkillType, schema: Schema) -> Generator:
    """Return the generator of a type; one that has none gets each part made from its schema.

    With requirements, such a part is drawn again until the parts before it, with some behind it,
    make a valid record that meets them all. Without any, what a condition of the schema asks of
    several parts together is not followed.

    Args:
        skill_type: the type; where its requirements are of fields besides the parts, they are met
            as they are in a record that has none that may be left out.
        schema: the self-contained schema of the type.
    """
    if skill_type.generator is not None:
        return skill_type.generator.of(skill_type.name)
    makers = {name: _part(schema, name) for name in ("task", *ANSWER)}
    own = {name: _part(schema, name) for name in _own_fields(schema)}

    def fields(draw: Draw, _task: object) -> dict[str, Any]:
        return {name: make(draw) for name, make in own.items()}

    if skill_type.requirements:
        drawn = _Drawn(schema, makers, RecordChecker(schema, skill_type.requirements))
        return Generator(drawn.next, drawn.next, drawn.next, fields=fields)
    task, submission, checks = makers.values()
    return Generator(
        task=task,
        submission=lambda draw, _task: submission(draw),
        checks=lambda draw, _task, _submission: checks(draw),
        fields=fields,
    )


def _own_fields(schema: Schema) -> tuple[str, ...]:
    """Return the required fields at the top of a record that are those of the type alone."""
    common = json.loads(schema_path("record-1").read_bytes())["properties"]
    others = {*common, "task", *ANSWER}
    return tuple(name for name in schema.get("required", ()) if name not in others)


@attrs.frozen(eq=False)
class _Drawn:
    """The parts of records that meet requirements, one after the other.

    Attributes:
        schema: the self-contained schema of the type.
        makers: by name, what makes each part, in their order.
        checker: tells whether a whole record will do.
    """

    schema: Schema
    makers: Mapping[str, Callable[[Draw], Any]]
    checker: RecordChecker

    def next(self, draw: Draw, *given: Any) -> Any:  # noqa: ANN401  # JSON values
        """Return the part behind those that are given."""
        names = list(self.makers)
        for _ in range(_TRIES):
            rest = [self.makers[name](draw) for name in names[len(given) :]]
            parts = dict(zip(names, (*given, *rest), strict=True))
            declared = {n: p for n, p in parts.items() if n in self.schema["properties"]}
            if self.checker.unmet({**self._head(draw), **declared}) == []:
                return rest[0]
        asked = ", ".join(requirement.name for requirement in self.checker.requirements)
        raise SchemaError(
            f"found no {names[len(given)]} of the skill type {skill_type_of(self.schema)!r} in "
            f"{_TRIES} with which a record meets its requirements ({asked}), expected one: give "
            "the skill type a generator"
        )

    def _head(self, draw: Draw) -> dict[str, Any]:
        """Return the other fields that a record must have."""
        properties = self.schema.get("properties", {})
        names = [name for name in self.schema.get("required", ()) if name not in self.makers]
        return {
            name: value_maker(self.schema, properties.get(name, {}))(draw, 0, DEPTH)
            for name in names
        }


def _part(schema: Schema, name: str) -> Callable[[Draw], Any]:
    part = schema.get("properties", {}).get(name, {"type": "object"})
    make = value_maker(schema, part)
    is_valid = _check_of({"$defs": schema.get("$defs", {}), "allOf": [part]})
    what = f"{name} of the skill type {skill_type_of(schema)!r}"
    return lambda draw: _valid(make, is_valid, draw, 0, what)


def _valid(make: Make, is_valid: Check, draw: Draw, edges: int, what: str) -> Any:  # noqa: ANN401  # a JSON value
    for _ in range(_TRIES):
        made = make(draw, edges, DEPTH)
        if is_valid(made):
            return made
    raise SchemaError(
        f"found no valid {what} in {_TRIES} that follow its schema, expected one: "
        "give the skill type a generator"
    )


def _check_of(schema: Schema) -> Check:
    validator = jsonschema_rs.Draft202012Validator(
        dict(schema), validate_formats=False, offline=True
    )
    return validator.is_valid
