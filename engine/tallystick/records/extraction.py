"""From a decoded record to its facts: one generated function for the facts of a skill type.

The source is made from paths and options, which are names, and from texts written as literals; a
value that several facts read is read once.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from tallystick.errors import RecordError
from tallystick.formula.collection_ranges import object_fields
from tallystick.formula.facts import arguments_of, path_of, reader_of, scale_of
from tallystick.formula.schema_path import PathTarget, Schema, Step, steps, target_of, type_of
from tallystick.formula.tree import Node
from tallystick.records.messages import shown
from tallystick.records.struct_builder import Record, attribute_name

FactsOf = Callable[[Record], tuple[int, ...]]
"""Takes the facts of one record, in the order in which they were asked for."""
PackedFactsOf = Callable[[Record], bytes]
"""The same in 8 bytes of this machine each: ``number`` facts as the doubles that the record has,
not yet nano, the others as integers."""

FAILURES = (-(1 << 63), 1 - (1 << 63))
"""What stands for a failed opaque fact: its function raised, or gave no integer of its range."""

_TRUTH = re.compile(r"\(1 if (v\d+ is True) else 0\)")
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_OBJECTS = (msgspec.Struct, dict)
_NUMBERS = (float, int)


def compile_extraction(facts: Sequence[Node], schema: Schema) -> FactsOf:
    """The function for some facts of records of one schema.

    The function raises RecordError with the code ``fact-failed`` when an opaque fact fails.
    """
    source = _Source(schema)
    values = [source.value(fact) for fact in facts]
    function: FactsOf = source.compile(f"({', '.join(values)}{',' if values else ''})")
    return function


def compile_packed(
    facts: Sequence[Node],
    schema: Schema,
    *,
    zero: Collection[str] = (),
    may_fail: Collection[str] = (),
) -> PackedFactsOf:
    """As ``compile_extraction``, with the facts packed; each must fit 64 bits.

    Args:
        facts: what to take.
        schema: of the records.
        zero: digests of facts that are 0 whatever the record.
        may_fail: digests of opaque facts that are one of ``FAILURES`` when they fail.
    """
    source = _Source(schema, may_fail)
    values = ["0" if fact.digest in zero else source.packed(fact) for fact in facts]
    layout = "".join("d" if is_double(fact) else "q" for fact in facts)
    pack = source.constant(struct.Struct(f"={layout}").pack)
    function: PackedFactsOf = source.compile(f"{pack}({', '.join(values)})")
    return function


def is_double(fact: Node) -> bool:
    """Whether a fact is packed as a double, which becomes nano by ``rint(x * 1e9)``."""
    return reader_of(fact) == "number" and all(
        round(missing / 1e9 * 1e9) == missing for missing in arguments_of(fact)
    )


class _Source:
    def __init__(self, schema: Schema, may_fail: Collection[str] = ()) -> None:
        self.schema, self.may_fail = schema, may_fail
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}
        self.constants: dict[str, object] = {
            "OBJECTS": _OBJECTS,
            "NUMBERS": _NUMBERS,
            "excess": _excess,
            "fold": _fold,
        }

    def value(self, fact: Node) -> str:
        """An expression for the integer of a fact."""
        expression: str = getattr(self, f"_{reader_of(fact)}")(fact)
        return expression

    def packed(self, fact: Node) -> str:
        """An expression for what is packed of a fact: a double, or an integer or a truth."""
        if is_double(fact):
            return self.double(fact)
        truth = _TRUTH.fullmatch(value := self.value(fact))
        return f"({truth[1]})" if truth else value

    def double(self, fact: Node) -> str:
        """An expression for the double of a ``number`` fact."""
        value = self.read(path_of(fact))
        missing = [nano / 1e9 for nano in arguments_of(fact)]
        return (
            f"({value} if {self._is_number(fact, value)} else {missing[0]})" if missing else value
        )

    def compile(self, answer: str) -> Callable[[Record], Any]:
        """The function that gives the answer, an expression over the variables so far."""
        body = "".join(f"    {line}\n" for line in [*self.lines, f"return {answer}"])
        namespace: dict[str, Any] = dict(self.constants)
        exec(f"def facts_of(r):\n{body}", namespace)  # noqa: S102  # names and literals, see above
        function: Callable[[Record], Any] = namespace["facts_of"]
        return function

    def variable(self, expression: str) -> str:
        """A variable that holds an expression, computed once."""
        if expression not in self.variables:
            self.variables[expression] = f"v{len(self.variables)}"
            self.lines.append(f"{self.variables[expression]} = {expression}")
        return self.variables[expression]

    def constant(self, value: object) -> str:
        """A name for a value that the function uses; the same for the same value."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = f"C{len(self.constants)}"
        self.constants[name] = value
        return name

    def read(self, path: str) -> str:
        """A variable with the value at a path; a list of values for a path of many."""
        current, target, walked = "r", PathTarget((self.schema,)), list[str]()
        chain = steps(path)
        for position, step in enumerate(chain):
            rest = chain[position + 1 :]
            if step.name == "*":
                values = f"({current} or {{}})" if target.optional else current
                return self._projected(f"{values}.values()", "", rest)
            current = self.variable(f"{self._object(current, target)}.{attribute_name(step.name)}")
            walked.append(step.name)
            target = target_of(".".join(walked), self.schema)
            if step.field is not None:
                keep = f"x.{attribute_name(step.field)} == {step.value!r}"
                values = f"({current} or ())" if target.optional else current
                return self._projected(values, keep, rest)
        return current

    def _object(self, value: str, target: PathTarget) -> str:
        """The value where it is sure to be an object; else one whose fields may all be None."""
        if not target.optional and all(type_of(a) == "object" for a in target.alternatives):
            return value
        fields = {name for a in target.of_type("object") for name in a.get("properties", {})}
        absent = self.constant(_absent(frozenset(fields)))
        return self.variable(f"{value} if {self.is_object(value)} else {absent}")

    def is_object(self, value: str) -> str:
        """A variable with whether a value is an object."""
        return self.variable(f"isinstance({value}, OBJECTS)")

    def _projected(self, items: str, keep: str, rest: Sequence[Step]) -> str:
        """The items that are kept, or what the rest of the path reads from each, without None."""
        value = "x"
        for position, step in enumerate(rest):
            name = attribute_name(step.name)
            value = f"getattr({value}, {name!r}, None)" if position else f"x.{name}"
        if not rest:
            return self.variable(f"[x for x in {items} if {keep or 'x is not None'}]")
        kept = f"{keep} and " if keep else ""
        return self.variable(f"[y for x in {items} if {kept}(y := {value}) is not None]")

    def listed(self, path: str) -> str:
        """A variable with a list; a list that is left out is empty."""
        value, target = self.read(path), target_of(path, self.schema)
        return self.variable(f"{value} or ()") if target.optional and not target.many else value

    def items(self, path: str) -> str:
        """A variable with the set of the items of a list."""
        listed = self.listed(path)
        fields = object_fields(target_of(path, self.schema), self.schema)
        if not fields:
            return self.variable(f"set({listed})")
        # without a frame of its own, as a comprehension has before Python 3.12
        read = self.constant(_fields_reader(tuple(map(attribute_name, fields))))
        return self.variable(f"set(map({read}, {listed}))")

    def _is_number(self, fact: Node, value: str) -> str:
        """The condition that a value is a number."""
        found = target_of(path_of(fact), self.schema).of_type("number", "integer")
        plain = [type_of(a) == "number" and "enum" not in a and "const" not in a for a in found]
        return f"{value}.__class__ is float" if plain == [True] else f"{value}.__class__ in NUMBERS"

    def _number(self, fact: Node) -> str:
        value = self.read(path_of(fact))
        return _or_missing(fact, f"round({value} * 1e9)", self._is_number(fact, value))

    def _integer(self, fact: Node) -> str:
        value = self.read(path_of(fact))
        return _or_missing(fact, value, f"{value}.__class__ is int")

    def _count(self, fact: Node) -> str:
        return f"len({self.listed(path_of(fact))})"

    def _distinct(self, fact: Node) -> str:
        return f"len({self.items(path_of(fact))})"

    def _overlap(self, fact: Node) -> str:
        return f"len({self.items(path_of(fact))} & {self.items(arguments_of(fact)[0])})"

    def _total(self, fact: Node) -> str:
        value = self.read(path_of(fact))
        if target_of(path_of(fact), self.schema).many:
            return f"sum({value})"
        whole, mapped = f"{value}.__class__ is int", f"{value}.__class__ is dict"
        return f"({value} if {whole} else sum({value}.values() if {mapped} else {value} or ()))"

    def _excess(self, fact: Node) -> str:
        allowance = arguments_of(fact)[0]
        base, _, field = allowance.partition(".*")
        name = field.removeprefix(".")
        reader = self.constant(_field_reader(attribute_name(name)) if name else _whole)
        return f"excess({self.read(path_of(fact))}, {self.read(base)}, {reader})"

    def _flag(self, fact: Node) -> str:
        return f"(1 if {self.read(path_of(fact))} is True else 0)"

    def _given(self, fact: Node) -> str:
        return f"(0 if {self.read(path_of(fact))} is None else 1)"

    def _itemised(self, fact: Node) -> str:
        return f"(1 if {self.is_object(self.read(path_of(fact)))} else 0)"

    def _equal(self, fact: Node) -> str:
        other, *options = arguments_of(fact)
        first, second = self.read(path_of(fact)), self.read(other)
        same = f"fold({first}) == fold({second})" if options else f"{first} == {second}"
        return f"(1 if {first} is not None and {second} is not None and {same} else 0)"

    def _matches(self, fact: Node) -> str:
        value = self.read(path_of(fact))
        pattern = self.constant(re.compile(arguments_of(fact)[0], re.ASCII).fullmatch)
        return f"(1 if {value}.__class__ is str and {pattern}({value}) else 0)"

    def _choice(self, fact: Node) -> str:
        options = self.constant({o: i for i, o in enumerate(arguments_of(fact))})
        return f"{options}[{self.read(path_of(fact))}]"

    def _opaque(self, fact: Node) -> str:
        guard = _marked if fact.digest in self.may_fail else _guarded
        return f"{self.constant(guard(fact))}(r)"


@cache
def _fields_reader(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """What tells the items of a set apart: the values of these attributes."""
    return attrgetter(*names)


def _or_missing(fact: Node, read: str, present: str) -> str:
    missing = arguments_of(fact)
    return f"({read} if {present} else {missing[0]})" if missing else read


@cache
def _absent(fields: frozenset[str]) -> object:
    """An object that has each field, and None in it."""
    return type("Absent", (), {attribute_name(name): None for name in fields})()


def _guarded(fact: Node) -> Callable[[Record], int]:
    """An opaque fact that answers with an integer of its range, or raises RecordError."""
    function, (_, low, high) = fact.function, arguments_of(fact)

    def guarded(record: Record) -> int:
        plain: Mapping[str, Any] = msgspec.to_builtins(record)
        try:
            value = function(plain) if function else None
        except Exception as error:
            found = shown(f"{type(error).__name__}: {error}")
            raise failed(fact, FAILURES[0], found) from error
        if type(value) is not int or not low <= value <= high:
            raise failed(fact, FAILURES[1], shown(repr(value)))
        return value

    return guarded


def failed(fact: Node, failure: int, found: str) -> RecordError:
    """What is said of a record whose opaque fact fails; ``failure`` is one of ``FAILURES``."""
    _, low, high = arguments_of(fact)
    expected = f"an integer from {low} to {high}, over {scale_of(fact)}"
    return RecordError(
        "fact-failed", path_of(fact), found, "an integer" if failure == FAILURES[0] else expected
    )


def _marked(fact: Node) -> Callable[[Record], int]:
    """An opaque fact that answers with one of ``FAILURES`` when it fails."""
    guarded = _guarded(fact)

    def marked(record: Record) -> int:
        try:
            return guarded(record)
        except RecordError as error:
            return FAILURES[0] if error.expected == "an integer" else FAILURES[1]

    return marked


def _excess(values: object, allowed: object, allowance: Callable[[Any], int | None]) -> int:
    if not isinstance(values, dict):
        return 0
    limits = allowed if isinstance(allowed, dict) else {}
    return sum(
        max(0, value - ((allowance(limits[key]) or 0) if key in limits else 0))
        for key, value in values.items()
    )


def _field_reader(name: str) -> Callable[[Any], int | None]:
    return lambda item: getattr(item, name, None)


def _whole(item: int | None) -> int | None:
    return item


def _fold(text: object) -> object:
    return text.translate(_LOWER) if isinstance(text, str) else text
