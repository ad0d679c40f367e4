"""The source of a function that takes the facts of a decoded record, while it is written.

It is made from paths and options, which are names, and from texts written as literals. A value that
several facts read is read once.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tallystick.formula.schema_path import (
    PathStep,
    PathTarget,
    Schema,
    object_fields,
    steps,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node

_NUMBERS = (float, int)


def attribute_name(field: str) -> str:
    """The attribute that holds a field: its own name, or one made from it if Python has no such."""
    plain = field.isascii() and field.isidentifier() and not field.startswith("_")
    return field if plain and not keyword.iskeyword(field) else "_" + field.encode().hex()


class ExtractionCode:
    """The lines of the function, whose argument is ``r``.

    Attributes:
        schema: of the records.
        lines: what was written so far: assignments to variables.
    """

    def __init__(
        self,
        schema: Schema,
        objects: tuple[type, ...],
        opaque: Callable[[Node], Callable[[Any], int]],
    ) -> None:
        """Begin without lines.

        Args:
            schema: of the records.
            objects: the types of decoded objects and maps.
            opaque: the function of the decoded record for a fact that only Python code takes.
        """
        self.schema, self._opaque = schema, opaque
        self.lines: list[str] = []
        self._variables: dict[str, str] = {}
        self._constants: dict[str, object] = {
            "OBJECTS": objects,
            "NUMBERS": _NUMBERS,
            "NOTHING": frozenset(),
        }

    def compile(self, answer: str) -> Callable[[Any], Any]:
        """Return the function that gives the answer, an expression over the variables so far."""
        body = "".join(f"    {line}\n" for line in [*self.lines, f"return {answer}"])
        namespace: dict[str, Any] = dict(self._constants)
        exec(f"def facts_of(r):\n{body}", namespace)  # noqa: S102  # names and literals, see above
        function: Callable[[Any], Any] = namespace["facts_of"]
        return function

    def variable(self, expression: str) -> str:
        """Return a variable that holds an expression, computed once."""
        if expression not in self._variables:
            self._variables[expression] = f"v{len(self._variables)}"
            self.lines.append(f"{self._variables[expression]} = {expression}")
        return self._variables[expression]

    def constant(self, value: object) -> str:
        """Return a name for a value that the function uses; the same for the same value."""
        for name, constant in self._constants.items():
            if constant is value:
                return name
        name = f"C{len(self._constants)}"
        self._constants[name] = value
        return name

    def opaque(self, fact: Node) -> str:
        """Return an expression for a fact that only Python code takes."""
        return f"{self.constant(self._opaque(fact))}(r)"

    def target(self, path: str) -> PathTarget:
        """Return the schemas that a path leads to."""
        return target_of(path, self.schema)

    def read(self, path: str) -> str:
        """Return a variable with the value at a path; a list of values for a path of many."""
        current, target, walked = "r", PathTarget((self.schema,)), list[str]()
        chain = steps(path)
        for position, step in enumerate(chain):
            rest = chain[position + 1 :]
            if step.name == "*":
                values = f"({current} or {{}})" if target.optional else current
                return self._projected(f"{values}.values()", "", rest)
            current = self.variable(f"{self._object(current, target)}.{attribute_name(step.name)}")
            walked.append(step.name)
            target = self.target(".".join(walked))
            if step.many:
                values = f"({current} or ())" if target.optional else current
                return self._projected(values, _kept(step), rest)
        return current

    def listed(self, path: str) -> str:
        """Return a variable with a list; a list that is left out is empty."""
        value, target = self.read(path), self.target(path)
        return self.variable(f"{value} or ()") if target.optional and not target.many else value

    def items(self, path: str) -> str:
        """Return a variable with the set of the items of a list."""
        listed = self.read(path)
        fields = object_fields(self.target(path), self.schema)
        values = "".join(f"x.{attribute_name(field)}, " for field in fields)
        items = f"{{({values}) for x in {listed}}}" if fields else f"set({listed})"
        return self.variable(f"{items} if {listed} else NOTHING")

    def is_object(self, value: str) -> str:
        """Return a variable with whether a value is an object."""
        return self.variable(f"isinstance({value}, OBJECTS)")

    def is_number(self, path: str, value: str) -> str:
        """Return the condition that the value at a path is a number."""
        target = self.target(path)
        if len(target.of_type("number", "integer")) == len(target.alternatives):
            # a record that is valid has nothing else there, and this is the faster question
            return f"{value} is not None"
        return f"{value}.__class__ in NUMBERS"

    def _object(self, value: str, target: PathTarget) -> str:
        """The value where it is sure to be an object; else one whose fields may all be None."""
        if not target.optional and all(type_of(a) == "object" for a in target.alternatives):
            return value
        fields = {name for a in target.of_type("object") for name in a.get("properties", {})}
        absent = self.constant(_absent(frozenset(fields)))
        return self.variable(f"{value} if {self.is_object(value)} else {absent}")

    def _projected(self, items: str, keep: str, rest: Sequence[PathStep]) -> str:
        """The items that are kept, or what the rest of the path reads from each, without None."""
        value = "x"
        for position, step in enumerate(rest):
            name = attribute_name(step.name)
            value = f"getattr({value}, {name!r}, None)" if position else f"x.{name}"
        if not rest:
            return self.variable(f"[x for x in {items} if {keep or 'x is not None'}]")
        condition = f"{keep} and " if keep else ""
        return self.variable(f"[y for x in {items} if {condition}(y := {value}) is not None]")


def _kept(step: PathStep) -> str:
    """The condition that a filter keeps the item ``x``; nothing where every item is taken."""
    if step.each:
        return ""
    return f"x.{attribute_name(str(step.field))} == {step.value!r}"


@cache
def _absent(fields: frozenset[str]) -> object:
    """Return an object that has each field, and None in it."""
    return type("Absent", (), {attribute_name(name): None for name in fields})()
