"""A skill type: the shape of its records, and what must hold for each of them."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
from attrs.validators import optional

from tallystick.formula.formula import Requirement
from tallystick.plugins.generator import Generator
from tallystick.plugins.property import Direction, Property
from tallystick.plugins.values import of_type, tuple_of

_NAME = re.compile(r"([a-z0-9][a-z0-9-]{0,63}/)?[a-z][a-z0-9_]{0,63}")


def _check_name(_owner: object, _field: attrs.Attribute[str], name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"found the skill type {name!r}, expected lower-case letters, digits and underscores "
            "that begin with a letter, such as translation or acme/translation"
        )


@attrs.frozen(eq=False)
class SkillType:
    """A skill type: its record schema, requirements and examples.

    A value of another type, which nothing else may have checked, raises `TypeError`, and a name
    that no rule set could have `ValueError`.

    Attributes:
        name: the value of ``skill_type`` in a record.
        schema: the JSON Schema file of its records, closed; it may refer to the common
            definitions as ``record-1.schema.json#/$defs/…``.
        summary: one line for people.
        requirements: conditions that every record meets; one that does not is rejected.
        examples: a JSONL file of example records, or None.
        generator: what makes up realistic records; without one they are made from the schema.
        directions: which way facts are better, for what proves rule sets.
        properties: what the author promises of the scores, for what proves rule sets.
        factors: the names of the emission factors that results show, in the order of their
            columns, also of those that a rule set has not; None for those of the rule set, by name.
    """

    name: str = attrs.field(validator=[of_type(str), _check_name])
    schema: Path = attrs.field(validator=of_type(Path))
    summary: str = attrs.field(default="", validator=of_type(str))
    requirements: tuple[Requirement, ...] = attrs.field(default=(), validator=tuple_of(Requirement))
    examples: Path | None = attrs.field(default=None, validator=optional(of_type(Path)))
    generator: Generator | None = attrs.field(default=None, validator=optional(of_type(Generator)))
    directions: tuple[Direction, ...] = attrs.field(default=(), validator=tuple_of(Direction))
    properties: tuple[Property, ...] = attrs.field(default=(), validator=tuple_of(Property))
    factors: tuple[str, ...] | None = attrs.field(default=None, validator=optional(tuple_of(str)))
