"""A skill type: the shape of its records, and what must hold for each of them."""

from __future__ import annotations

from pathlib import Path

import attrs

from tallystick.formula.formula import Requirement
from tallystick.plugins.generator import Generator, extended
from tallystick.plugins.property import Direction, Property


@attrs.frozen
class ExtendedSchema:
    """The schema of another skill type, with more fields.

    Attributes:
        base: the schema that is extended.
        additions: the JSON Schema file of the fields that come to it.
        skill_type: the name of the type that has them.
    """

    base: SchemaSource
    additions: Path
    skill_type: str

    def __str__(self) -> str:
        return str(self.additions)


SchemaSource = Path | ExtendedSchema
"""The source of a skill type's schema."""


@attrs.frozen(eq=False)
class SkillType:
    """A skill type: its record schema, requirements and examples.

    A type that extends another one has its fields, requirements, directions and properties, before
    its own, and its factors, unless it names others; its facts and formulas read records of both.
    The schema then holds what comes to it.

    Attributes:
        name: the value of ``skill_type`` in a record.
        schema: the JSON Schema file of its records, closed; it may refer to the common
            definitions as ``record-1.schema.json#/$defs/…``.
        summary: one line for people.
        requirements: conditions that every record meets; one that does not is rejected.
        examples: a JSONL file of example records, or None.
        generator: what makes up realistic records; without one they are made from the schema. Of a
            type that extends another one, what makes up the fields that come to it.
        directions: which way facts are better, for what proves rule sets.
        properties: what the author promises of the scores, for what proves rule sets.
        extends: the skill type whose records it extends.
        factors: the names of the emission factors that results show, in the order of their
            columns, also of those that a rule set has not; None for those of the rule set, by name.
    """

    name: str
    schema: SchemaSource
    summary: str = ""
    requirements: tuple[Requirement, ...] = ()
    examples: Path | None = None
    generator: Generator | None = None
    directions: tuple[Direction, ...] = ()
    properties: tuple[Property, ...] = ()
    extends: SkillType | None = None
    factors: tuple[str, ...] | None = None

    def __attrs_post_init__(self) -> None:
        base = self.extends
        # a copy has what it extends already
        if base is None or not isinstance(self.schema, Path):
            return
        for name, value in (
            ("schema", ExtendedSchema(base.schema, self.schema, self.name)),
            ("requirements", (*base.requirements, *self.requirements)),
            ("generator", extended(base.generator, self.generator)),
            ("directions", (*base.directions, *self.directions)),
            ("properties", (*base.properties, *self.properties)),
            ("factors", base.factors if self.factors is None else self.factors),
        ):
            object.__setattr__(self, name, value)
