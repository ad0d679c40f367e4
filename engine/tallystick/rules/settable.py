"""The paths of a rule set whose values can be set: value, range and meaning of each.

Ranges and meanings are those of the schema, and for a parameter those of its formula. The paths are
what `rules.edit` takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.rules.edit import current, named_paths, shared_weights
from tallystick.rules.findings import shown
from tallystick.rules.schema import child
from tallystick.rules.section import document_schema
from tallystick.rules.toml import KeyPath

if TYPE_CHECKING:
    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.reading import LoadedRuleSet

Schema = Mapping[str, Any]

_LARGEST = 10**6
"""Larger numbers are those that the format allows, which tell nobody a range."""


@attrs.frozen
class SettablePath:
    """A value of a rule set that can be set.

    Attributes:
        path: as ``rules set`` and ``--sweep`` take it.
        value: the value as text; None where types have several.
        kind: a number, a text, or true or false.
        at_least: the smallest number; None without one.
        at_most: the largest number; None without one.
        choices: the texts that it can be; empty where any of its form can.
        meaning: what it decides.
    """

    path: str
    value: str | None
    kind: str
    at_least: str | None
    at_most: str | None
    choices: tuple[str, ...]
    meaning: str

    @property
    def can_be_swept(self) -> bool:
        """True where ``--sweep`` takes it: a number."""
        return self.kind == "number"

    @property
    def range(self) -> str:
        """Return what it can be, as text."""
        if self.kind != "number":
            return ", ".join(self.choices) or self.kind
        low, high = self.at_least, self.at_most
        if low is not None and high is not None:
            return low if low == high else f"{low} to {high}"
        if low is not None:
            return f"{low} or more"
        return f"{high} or less" if high is not None else "any number"

    def names(self, word: str) -> bool:
        """Return whether a word is in the path or the meaning, whatever its case."""
        return word.casefold() in f"{self.path}\n{self.meaning}".casefold()


def settable_paths(loaded: LoadedRuleSet, registry: Registry) -> tuple[SettablePath, ...]:
    """Return every value of a rule set's file that can be set, in the order of the file.

    Args:
        loaded: the rule set.
        registry: the plugins, for the ranges of parameters.
    """
    data = loaded.document.data
    schema = document_schema(loaded.rule_set).document
    paths = [
        _settable(name, value, *_place_of(data, path, schema, registry))
        for name, path, value in named_paths(data)
    ]
    return (*paths, *_shared_weights(data))


def _shared_weights(data: Mapping[str, Any]) -> Iterator[SettablePath]:
    """Yield the weight of each axis in all types that weigh it."""
    for path, places in shared_weights(data).items():
        types = ", ".join(str(skill_type) for _, skill_type, *_ in places)
        meaning = f"the weight of {places[0][-1]} in {types}; the others are scaled"
        value = current(data, path)
        text = None if value is None else shown(value)
        yield SettablePath(path, text, "number", "0", "1", (), meaning)


def _settable(path: str, value: object, schema: Schema, meaning: str) -> SettablePath:
    if isinstance(value, str):
        choices = tuple(map(str, schema.get("enum", ())))
        return SettablePath(path, value, "text", None, None, choices, meaning)
    if isinstance(value, bool):
        return SettablePath(path, shown(value), "true or false", None, None, (), meaning)
    fixed = schema.get("const")
    low, high = schema.get("minimum", fixed), schema.get("maximum", fixed)
    return SettablePath(path, shown(value), "number", _end(low), _end(high), (), meaning)


def _end(number: Decimal | None) -> str | None:
    return None if number is None or abs(number) > _LARGEST else shown(number)


def _place_of(
    data: Mapping[str, Any], path: KeyPath, schema: Schema, registry: Registry
) -> tuple[Schema, str]:
    """Return the schema of the value at a path, or the range of its formula, and its meaning."""
    value: Any = data
    formula: Formula | None = None
    meaning = ""
    for key in path:
        if isinstance(value, Mapping):
            # the parameters of a composite stand in a table of their own
            name = value.get("composite" if key == "parameters" else "formula")
            formula = registry.formulas.get(name, formula) if isinstance(name, str) else formula
        schema = child(schema, key, value if isinstance(value, Mapping) else None)
        meaning = schema.get("description") or meaning
        value = value[key]
    parameter = str(path[-1])
    if formula is None or parameter not in formula.parameters:
        return schema, meaning
    low, high = (Decimal(end.numerator) / end.denominator for end in formula.parameters[parameter])
    return {"minimum": low, "maximum": high}, f"{parameter} of {formula.name}: {formula.summary}"
