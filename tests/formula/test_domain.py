from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from formula.schemas import (
    DECIMAL,
    NULL,
    OPTIONS,
    TEXT,
    TRUTH,
    WHOLE,
    Schema,
    either,
    listed,
    mapped,
    nested,
    record,
)

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts import (
    choice,
    count,
    distinct,
    domain_of,
    equal,
    excess,
    flag,
    given,
    integer,
    itemised,
    matches,
    number,
    opaque,
    overlap,
    relations,
    total,
)
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO

BOOL = Domain(0, 1)
TAGGED = nested(kind=TEXT, size=WHOLE)
NULLABLE = {**DECIMAL, "type": ["number", "null"]}
WHOLES = mapped(WHOLE)
HALF = Fraction(1, 2)


@opaque("o", low=-3, high=7)
def opaque_fact(record: Mapping[str, Any]) -> int:
    return len(record)


RANGES: list[tuple[Node, Schema, Domain]] = [
    (number("x"), record(x=DECIMAL), Domain(0, 9 * NANO)),
    (number("x"), record(x={**DECIMAL, "maximum": 0.25}), Domain(0, NANO // 4)),
    (number("x"), record(x={**DECIMAL, "minimum": -1}), Domain(-NANO, 9 * NANO)),
    (number("x"), record(x=WHOLE), Domain(0, 9 * NANO)),
    (number("x", missing=0), record([], x={**DECIMAL, "minimum": 1}), Domain(0, 9 * NANO)),
    (number("x", missing=12), record([], x=DECIMAL), Domain(0, 12 * NANO)),
    (number("x", missing=HALF), record(x=either(DECIMAL, NULL)), Domain(0, 9 * NANO)),
    (number("x", missing=HALF), record(x=either(DECIMAL, TEXT)), Domain(0, 9 * NANO)),
    (number("x", missing=1), record(x=NULLABLE), Domain(0, 9 * NANO)),
    (number("x.y", missing=0), record([], x=nested(y=DECIMAL)), Domain(0, 9 * NANO)),
    (integer("x"), record(x={**WHOLE, "minimum": -4}), Domain(-4, 9)),
    (integer("x"), record(x=either({**WHOLE, "maximum": 3}, WHOLE)), Domain(0, 9)),
    (integer("x", missing=-1), record([], x=WHOLE), Domain(-1, 9)),
    (count("x"), record(x=listed(TEXT)), Domain(0, 5)),
    (count("x"), record([], x=listed({})), Domain(0, 5)),
    (count("x"), record(x={**listed(TEXT), "minItems": 2}), Domain(2, 5)),
    (count("x"), record(x=either(listed(TEXT), {**listed(TEXT), "minItems": 2})), Domain(0, 5)),
    (count("x"), record([], x={**listed(TEXT), "minItems": 2}), Domain(0, 5)),
    (count("x[].size"), record(x={**listed(TAGGED), "minItems": 2}), Domain(0, 5)),
    (distinct("x"), record(x={**listed(TEXT), "minItems": 2}), Domain(1, 5)),
    (count("x[kind=a]"), record(x=listed(TAGGED, 7)), Domain(0, 7)),
    (count("x.*"), record(x=mapped(WHOLE, 6)), Domain(0, 6)),
    (distinct("x[kind=a].size"), record(x=listed(TAGGED, 7)), Domain(0, 7)),
    (distinct("x.*.size"), record(x=mapped(TAGGED, 6)), Domain(0, 6)),
    (overlap("x", "y"), record(x=listed(TEXT, 5), y=listed(TEXT, 3)), Domain(0, 3)),
    (overlap("x[kind=a].kind", "y"), record(x=listed(TAGGED, 2), y=listed(TEXT)), Domain(0, 2)),
    (total("x"), record(x=WHOLE), Domain(0, 9)),
    (total("x"), record(x=listed(WHOLE)), Domain(0, 45)),
    (total("x"), record(x=mapped(WHOLE, 6)), Domain(0, 54)),
    (total("x"), record([], x=either(WHOLE, mapped(WHOLE, 6))), Domain(0, 54)),
    (total("x.*.size"), record(x=mapped(TAGGED, 6)), Domain(0, 54)),
    (total("x[kind=a].size"), record(x=listed(TAGGED, 7)), Domain(0, 63)),
    (excess("x", "y.*"), record(x=mapped(WHOLE), y=mapped(WHOLE)), Domain(0, 45)),
    (excess("x", "y.*.size"), record(x=either(TEXT, WHOLES), y=mapped(TAGGED)), Domain(0, 45)),
    (flag("x"), record([], x=TRUTH), BOOL),
    (given("x"), record([], x=TEXT), BOOL),
    (itemised("x"), record(x=either(DECIMAL, TAGGED)), BOOL),
    (equal("x", "y"), record([], x=TEXT, y=TEXT), BOOL),
    (matches("x", "a+"), record([], x=TEXT), BOOL),
    (choice("x", "x", "y"), record(x=OPTIONS), BOOL),
    (choice("x", "a", "x", "y", "z"), record(x=OPTIONS), Domain(0, 3)),
    (choice("x", "a", "b"), record(x={"const": "a"}), BOOL),
    (opaque_fact, record(), Domain(-3, 7)),
    (count("x"), record(x={"type": "array", "items": True, "maxItems": 5}), Domain(0, 5)),
    (given("x"), {"type": "object", "properties": {"x": True}}, BOOL),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "schema", "wanted"), RANGES)
def test_the_range_of_a_fact_comes_from_the_schema(
    fact: Node, schema: Schema, wanted: Domain
) -> None:
    assert domain_of(fact, schema) == wanted


def test_references_are_followed() -> None:
    schema = record(x={"$ref": "#/$defs/size"}, y=listed({"$ref": "#/$defs/tagged"}))
    schema["$defs"] = {"size": either(WHOLE, NULL), "tagged": TAGGED}
    assert domain_of(integer("x", missing=0), schema) == Domain(0, 9)
    assert domain_of(total("y[kind=a].size"), schema) == Domain(0, 45)
    with pytest.raises(FormulaError, match="missing="):
        domain_of(integer("x"), schema)


UNLIMITED = {"type": "object", "additionalProperties": TEXT}
ENDLESS = {"type": "array", "items": TAGGED}
CONDITIONAL = {
    "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
    "then": {"required": ["size"]},
}
OPEN_RANGE = {"type": "number", "minimum": 0}
ERRORS: list[tuple[Node, Schema, str]] = [
    (number("y"), record(x=DECIMAL), "the record schema has no 'y' there"),
    (number("speeed"), record(speed=DECIMAL), "no 'speeed' there; did you mean 'speed'\\?$"),
    (number("x"), record([], x=DECIMAL), "can be left out or be something else, expected number"),
    (number("x"), record(x=either(DECIMAL, NULL)), "expected number.…, missing=…."),
    (number("x"), record(x=TEXT), "found no number or integer at 'x', which number.. reads"),
    (
        number("x"),
        record(x=OPEN_RANGE),
        "found no maximum at 'x', expected one: facts need a range",
    ),
    (integer("x"), record([], x=WHOLE), "expected integer"),
    (integer("x"), record(x={"type": "integer", "maximum": 9}), "found no minimum"),
    (count("x"), record(x=TEXT), "found count.. of 'x', expected a list"),
    (count("x"), record(x={"type": "array", "items": TEXT}), "found no maxItems at 'x'"),
    (count("x[].kind"), record(x=listed(TEXT)), "expected a list of objects$"),
    (count("x[].kind"), record(x=either(listed(TAGGED), TEXT)), "expected a list of objects$"),
    (
        total("x.size"),
        record(x=listed(TAGGED)),
        "no 'size' there, but a list: write \\[\\] after its name, for each of its items",
    ),
    (total("x[].kind"), record(x=listed(TAGGED)), "expected whole numbers to add up"),
    (count("x[kind=a]"), record(x=listed(TEXT)), "expected a list of objects with a text 'kind'"),
    (count("x[kind=a].other"), record(x=listed(TAGGED)), "the record schema has no 'other' there"),
    (count("x.*"), record(x={"type": "object", "additionalProperties": TEXT}), "no maxProperties"),
    (count("x.*"), record(x=TAGGED), "expected a map before"),
    (overlap("x", "y"), record(x=listed(TEXT), y=TEXT), "expected items of one kind"),
    (total("x"), record(x=TEXT), "expected whole numbers to add up"),
    (total("x"), record(x=TAGGED), "found no maxItems|expected whole numbers"),
    (total("x"), record(x={"type": "integer", "minimum": 0}), "found no maximum"),
    (excess("x", "y.*"), record(x=mapped(WHOLE), y=mapped(TEXT)), "expected maps of whole numbers"),
    (
        excess("x", "y.*"),
        record(x=either({**WHOLE, "minimum": -3}, WHOLES), y=WHOLES),
        "expected numbers that are at least 0",
    ),
    (
        excess("x", "y.*"),
        record(x=either(listed({**WHOLE, "minimum": -3}), WHOLES), y=WHOLES),
        "expected numbers that are at least 0",
    ),
    (flag("x"), record(x=WHOLE), "found no boolean at 'x', which flag.. reads"),
    (matches("x", "a"), record(x=WHOLE), "found no string at 'x'"),
    (given("x.*"), record(x=mapped(TRUTH)), "found many values"),
    (equal("x", "y.*"), record(x=TEXT, y=mapped(TEXT)), r"found equal.. of 'y\.\*', expected one"),
    (equal("x", "y"), record(x=TEXT), "no 'y' there"),
    (choice("x", "x", "z"), record(x=OPTIONS), r"options are those of the schema: \['x', 'y'\]"),
    (choice("x", "x", "y"), record([], x=OPTIONS), "expected a required value"),
    (choice("x", "x", "y"), record(x=TEXT), "expected a required value"),
    # what has two readings has none
    (given("x"), record([], x=listed(TEXT)), "left out is empty: use count"),
    (given("x"), record([], x=mapped(WHOLE)), "left out is empty: use count"),
    (itemised("x"), record([], x=mapped(WHOLE)), "left out is empty: use count"),
    (equal("x", "y"), record([], x=listed(TEXT), y=TEXT), "expected one text, number or truth"),
    (equal("x", "y"), record(x=TRUTH, y=WHOLE), "of different types"),
    (count("x"), record(x=either(listed(TEXT), TEXT)), "of 'x', expected a list"),
    (count("x"), record([], x=either(listed(TEXT), WHOLE)), "of 'x', expected a list"),
    (count("x[size=3]"), record(x=listed(TAGGED)), "a list of objects with a text 'size'"),
    (count("x[kind=a]"), record(x=listed(either(TAGGED, NULL))), "objects with a text 'kind'"),
    (count("x.*"), record([], x=either(WHOLE, mapped(WHOLE))), "expected a map before"),
    (count("x.*"), record(x={**WHOLES, "properties": {"a": WHOLE}}), "expected a map before"),
    (distinct("x"), record(x=listed(either(TRUTH, WHOLE))), "items of one kind"),
    (distinct("x"), record(x=listed(either(TEXT, TAGGED))), "items of one kind"),
    (distinct("x"), record(x=listed(either(TAGGED, NULL))), "items of one kind"),
    (distinct("x"), record(x=listed(nested(a=listed(TEXT)))), "or objects of these"),
    (distinct("x"), record(x=listed(nested(a=TAGGED))), "or objects of these"),
    (distinct("x"), record(x=listed(listed(TEXT))), "or objects of these"),
    (overlap("x", "y"), record(x=listed(TAGGED), y=listed(nested(b=TEXT))), "the same items as in"),
    (integer("x.a"), record(x=either(nested(a=WHOLE), nested(a=WHOLE, b=TEXT))), "several objects"),
    (total("x"), record(x=mapped(either(WHOLE, NULL))), "expected values that cannot be null"),
    (total("x"), record(x=either(WHOLE, TEXT)), "expected whole numbers to add up"),
    (excess("x", "y.*"), record(x=mapped(either(WHOLE, NULL)), y=WHOLES), "that cannot be null"),
    (choice("x", "x", "y"), record(x=either(OPTIONS, WHOLE)), "expected a required value"),
    # every alternative needs a limit
    (count("x.*"), record(x=either(mapped(WHOLE, 2), UNLIMITED)), "found no maxProperties"),
    (count("x[kind=a]"), record(x=either(listed(TAGGED, 2), ENDLESS)), "expected a list of"),
    # only whole numbers are added up
    (total("x"), record(x=listed(DECIMAL)), "expected whole numbers"),
    (excess("x", "y.*"), record(x=mapped(DECIMAL), y=mapped(WHOLE)), "expected whole numbers"),
    # a field that is required on a condition can be left out
    (integer("size"), {**record([], kind=TEXT, size=WHOLE), **CONDITIONAL}, "missing="),
    (integer("x.size"), record(x={**nested([], kind=TEXT, size=WHOLE), **CONDITIONAL}), "missing="),
]


@pytest.mark.parametrize(("fact", "schema", "message"), ERRORS)
def test_a_fact_that_the_schema_cannot_give_is_refused(
    fact: Node, schema: Schema, message: str
) -> None:
    with pytest.raises(FormulaError, match=message):
        domain_of(fact, schema)


def test_what_is_counted_is_related_by_what_it_counts() -> None:
    shared, mine, theirs = overlap("l", "k"), distinct("l"), distinct("k")
    facts = [
        shared, mine, theirs, count("l"), count("other"), flag("f"), given("f"), equal("f", "g"),
        given("g"), matches("f", "a"), excess("m", "n.*"), total("m"), integer("f"),
    ]  # fmt: skip
    names = {fact.digest: position for position, fact in enumerate(facts)}
    found = {(names[small.digest], names[large.digest]) for small, large in relations(facts)}
    assert found == {
        (0, 1), (0, 2), (0, 3), (1, 3), (5, 6), (7, 6), (7, 8), (9, 6), (10, 11),
    }  # fmt: skip


def test_what_is_read_of_each_item_is_at_most_as_often_there_as_items_are() -> None:
    chosen, named = count("l[kind=a]"), count("l[kind=a].name")
    other, every, read = count("l[kind=b]"), count("l"), count("l[].name")
    facts = [chosen, named, other, every, read]
    names = {fact.digest: position for position, fact in enumerate(facts)}
    found = {(names[small.digest], names[large.digest]) for small, large in relations(facts)}
    assert found == {(1, 0), (4, 3)}
