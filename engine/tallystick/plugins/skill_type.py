"""A skill type: the shape of its records, and what must hold for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import UnionType

import attrs

from tallystick.formula.formula import Requirement
from tallystick.plugins.generator import Generator
from tallystick.plugins.property import Direction, Property

_TYPES: Mapping[str, type | UnionType] = {
    "name": str,
    "schema": Path,
    "summary": str,
    "examples": Path | None,
    "generator": Generator | None,
}
_ITEMS: Mapping[str, type] = {
    "requirements": Requirement,
    "directions": Direction,
    "properties": Property,
}


@attrs.frozen(eq=False)
class SkillType:
    """A skill type: its record schema, requirements and examples.

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

    name: str
    schema: Path
    summary: str = ""
    requirements: tuple[Requirement, ...] = ()
    examples: Path | None = None
    generator: Generator | None = None
    directions: tuple[Direction, ...] = ()
    properties: tuple[Property, ...] = ()
    factors: tuple[str, ...] | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse values of other types, which a plugin may give.

        Raises:
            TypeError: one has another type.
        """
        values = [(name, getattr(self, name), kind) for name, kind in _TYPES.items()]
        values += [(n, item, kind) for n, kind in _ITEMS.items() for item in getattr(self, n)]
        for name, value, kind in values:
            if not isinstance(value, kind):
                expected = getattr(kind, "__name__", str(kind))
                raise TypeError(f"found {value!r} in {name} of a skill type, expected {expected}")
