"""The facts of decoded records, for every reader and every shape that a schema allows."""

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
    fact_of,
    facts_of,
    listed,
    mapped,
    nested,
    record,
)

from tallystick.errors import RecordError
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
    total,
)
from tallystick.formula.tree import Node

HALF = Fraction(1, 2)
TAGGED = nested(["kind"], kind=TEXT, size=WHOLE, tool=either(TEXT, NULL))
TOOLS = [{"kind": "a", "tool": tool} for tool in ("t", "t", "u", None)] + [{"kind": "a"}]
SIZED = {"kind": "a", "size": 1}
SIZES = [{"size": 2, "tool": "t"}, {"tool": "t"}, {"size": 3}, {}]
USED = {"a": 5, "b": 1, "c": 3, "d": 2}
ALLOWED = {"a": {"free": 2}, "b": {"free": 9}, "c": {}, "e": {"free": 9}}
PLACED = nested(["kind"], kind=TEXT, place=nested([], file=TEXT))
PLACES = [{"kind": "a"}, {"kind": "a", "place": {"file": "f"}}]
LARGE = {**DECIMAL, "maximum": 10_000_000}
ODD = 'it\'s "so" \\ {x}'

OPTIONAL = record([], x=either(DECIMAL, TEXT, NULL))
BELOW = record([], x=nested(y=DECIMAL))
UNION = record([], x=either(DECIMAL, nested(y=DECIMAL), NULL))
LISTS = record([], x=listed(TAGGED), y=listed(TEXT), z=listed(TEXT), w=listed(TAGGED))
ITEMS = record([], x=listed(nested([], size=WHOLE, tool=TEXT)), y=listed(TEXT))
TOTALS = record([], x=either(WHOLE, mapped(WHOLE), NULL), y=listed(WHOLE), z=mapped(TAGGED))
EXCESS = record(
    [],
    x=either(WHOLE, mapped(WHOLE), NULL),
    y=mapped(nested([], free=either(WHOLE, NULL))),
    z=mapped(WHOLE),
)
TRUTHS = record([], x=either(TRUTH, NULL), y=nested(z=TRUTH))
ITEMISED = record([], x=either(WHOLE, mapped(WHOLE), NULL), y=either(DECIMAL, TAGGED))

CASES: list[tuple[Schema, Mapping[str, Any], list[tuple[Node, int]]]] = [
    (OPTIONAL, {}, [(number("x", missing=HALF), 500_000_000)]),
    (OPTIONAL, {"x": None}, [(number("x", missing=HALF), 500_000_000)]),
    (OPTIONAL, {"x": "?"}, [(number("x", missing=HALF), 500_000_000)]),
    (OPTIONAL, {"x": 0}, [(number("x", missing=HALF), 0)]),
    (BELOW, {}, [(number("x.y", missing=HALF), 500_000_000)]),
    (BELOW, {"x": {"y": 2}}, [(number("x.y", missing=HALF), 2_000_000_000)]),
    (UNION, {}, [(number("x", missing=1), 10**9), (number("x.y", missing=0), 0)]),
    (UNION, {"x": 3}, [(number("x", missing=1), 3 * 10**9), (number("x.y", missing=0), 0)]),
    (UNION, {"x": {"y": 3}}, [(number("x", missing=1), 10**9)]),
    (UNION, {"x": {"y": 3}}, [(number("x.y", missing=0), 3 * 10**9)]),
    (record(x=WHOLE), {"x": 5}, [(integer("x"), 5)]),
    (record(x=WHOLE), {"x": 5.0}, [(integer("x"), 5)]),
    (record([], x=WHOLE), {"x": 5.0}, [(integer("x", missing=0), 5)]),
    (record([], x=either(WHOLE, TRUTH, NULL)), {}, [(integer("x", missing=-1), -1)]),
    (record([], x=either(WHOLE, TRUTH, NULL)), {"x": None}, [(integer("x", missing=-1), -1)]),
    (record([], x=either(WHOLE, TRUTH, NULL)), {"x": True}, [(integer("x", missing=-1), -1)]),
    (LISTS, {}, [(count("y"), 0), (distinct("y"), 0), (count("x[kind=a].tool"), 0)]),
    (LISTS, {"y": ["a", "b", "a"]}, [(count("y"), 3), (distinct("y"), 2)]),
    # objects are different if a field is
    (LISTS, {"x": [*TOOLS[3:], SIZED, {"kind": "b"}]}, [(count("x"), 4), (distinct("x"), 3)]),
    # a filter keeps items, and a projection drops nulls
    (LISTS, {"x": TOOLS}, [(count("x[kind=a]"), 5), (count("x[kind=b]"), 0)]),
    (LISTS, {"x": TOOLS}, [(count("x[kind=a].tool"), 3), (distinct("x[kind=a].tool"), 2)]),
    (LISTS, {"x": [{"kind": ODD}, {"kind": "a"}]}, [(count(f"x[kind={ODD}]"), 1)]),
    (LISTS, {"x": TOOLS, "y": ["t", "t", "v"]}, [(overlap("y", "x[kind=a].tool"), 1)]),
    (LISTS, {"x": TOOLS, "y": ["t", "t", "v"]}, [(overlap("x[kind=a].tool", "y"), 1)]),
    (LISTS, {"y": ["t", "t", "v"]}, [(overlap("y", "y"), 2), (overlap("y", "z"), 0)]),
    (LISTS, {"x": [SIZED, TOOLS[0]], "w": [TOOLS[4], TOOLS[0]]}, [(overlap("x", "w"), 1)]),
    (ITEMS, {"x": SIZES}, [(total("x[].size"), 5), (count("x[].size"), 2)]),
    (ITEMS, {"x": SIZES, "y": ["t", "u"]}, [(overlap("x[].tool", "y"), 1)]),
    (ITEMS, {"x": SIZES}, [(distinct("x[].tool"), 1)]),
    (TOTALS, {}, [(total("x"), 0), (total("y"), 0), (total("z.*.size"), 0)]),
    (TOTALS, {"x": 4, "y": [1, 2, 3]}, [(total("x"), 4), (total("y"), 6)]),
    (TOTALS, {"x": {"a": 4, "b": 5}}, [(total("x"), 9)]),
    (TOTALS, {"x": None}, [(total("x"), 0)]),
    (EXCESS, {"x": USED, "y": ALLOWED}, [(excess("x", "y.*.free"), 8)]),
    (EXCESS, {"x": USED, "z": {"a": 1}}, [(excess("x", "z.*"), 10)]),
    (EXCESS, {"x": USED}, [(excess("x", "y.*.free"), 11)]),
    (EXCESS, {"x": 7, "y": ALLOWED}, [(excess("x", "y.*.free"), 0)]),
    (EXCESS, {"x": None}, [(excess("x", "y.*.free"), 0)]),
    (TRUTHS, {}, [(flag("x"), 0), (flag("y.z"), 0)]),
    (TRUTHS, {"x": True, "y": {"z": True}}, [(flag("x"), 1), (flag("y.z"), 1)]),
    (TRUTHS, {"x": False, "y": {"z": False}}, [(flag("x"), 0), (flag("y.z"), 0)]),
    (TRUTHS, {"x": None}, [(flag("x"), 0)]),
    (ITEMISED, {}, [(itemised("x"), 0)]),
    (ITEMISED, {"x": 1, "y": 1}, [(itemised("x"), 0), (itemised("y"), 0)]),
    (ITEMISED, {"x": {}, "y": {"kind": "a"}}, [(itemised("x"), 1), (itemised("y"), 1)]),
    (ITEMISED, {"x": None}, [(itemised("x"), 0)]),
    (record(x=OPTIONS), {"x": "x"}, [(choice("x", "w", "x", "y"), 1)]),
    (record(x=OPTIONS), {"x": "y"}, [(choice("x", "w", "x", "y"), 2)]),
    # patterns are read as ASCII
    (record(x=TEXT), {"x": "٣"}, [(matches("x", r"\d+"), 0)]),
    (record(x=TEXT), {"x": "é"}, [(matches("x", r"\w+"), 0)]),
    (record(x=TEXT), {"x": "'\\"}, [(matches("x", "'\\\\"), 1)]),
    (record([], x=TEXT), {}, [(matches("x", "a+"), 0)]),
    # what is missing is exact in columns too
    (record([], x=LARGE), {}, [(number("x", missing=Fraction(2**53 + 1, 10**9)), 2**53 + 1)]),
    # numbers that are written as whole ones
    (record([], x=WHOLE), {"x": 5}, [(number("x", missing=0), 5 * 10**9)]),
    (record([], x={**DECIMAL, "enum": [0, 0.5, 1]}), {"x": 1}, [(number("x", missing=0), 10**9)]),
    (record(x={**WHOLE, "minimum": -5}), {"x": -5}, [(total("x"), -5)]),
    (record(x=either(listed(TEXT, 2), listed(WHOLE, 5))), {"x": [*range(5)]}, [(count("x"), 5)]),
    # what is of another type, or below what is left out, is not there
    (record([], x=either(TEXT, DECIMAL, WHOLE)), {"x": 5}, [(number("x", missing=0), 5 * 10**9)]),
    (record([], x=either(TRUTH, WHOLE)), {"x": 7}, [(flag("x"), 0)]),
    (record([], x=either(TRUTH, TEXT)), {"x": "false"}, [(flag("x"), 0)]),
    (record([], x=either(listed(TEXT), NULL)), {"x": None}, [(count("x"), 0)]),
    (record([], x=either(listed(TAGGED), NULL)), {"x": None}, [(count("x[kind=a]"), 0)]),
    (record([], x=nested(y=listed(TAGGED))), {}, [(count("x.y[kind=a]"), 0)]),
    (record([], x=nested(y=mapped(WHOLE))), {}, [(count("x.y.*"), 0)]),
    (record(x=listed(PLACED)), {"x": PLACES}, [(count("x[kind=a].place.file"), 1)]),
    (record(x=either(TEXT, WHOLE)), {"x": 7}, [(matches("x", "a+"), 0)]),
]  # fmt: skip


def check(fact: Node, schema: Schema, wanted: int, fields: Mapping[str, Any]) -> None:
    """The fact of the record, which is in the range that the schema gives."""
    found = fact_of(fact, schema, **fields)
    domain = domain_of(fact, schema)
    assert type(found) is int
    assert found == wanted
    assert domain.low <= found <= domain.high


@pytest.mark.parametrize(("schema", "fields", "wanted"), CASES)
def test_facts_are_taken_of_every_shape_that_a_schema_allows(
    schema: Schema, fields: Mapping[str, Any], wanted: list[tuple[Node, int]]
) -> None:
    for fact, value in wanted:
        check(fact, schema, value, fields)


@pytest.mark.parametrize(
    ("value", "nano"),
    [
        (0.25, 250_000_000),
        (9, 9_000_000_000),
        (9.0, 9_000_000_000),
        (0.1234567894, 123_456_789),
        (0.0000000005, 0),
        (0.0000000015, 2),
        (0.1 + 0.2, 300_000_000),
        (-0.0, 0),
    ],
)
def test_a_number_is_read_as_nano(value: float, nano: int) -> None:
    check(number("x"), record(x=DECIMAL), nano, {"x": value})


@pytest.mark.parametrize(
    ("bounds", "value"),
    [
        ({"minimum": 0, "maximum": 0.1234567896}, 0.1234567896),
        ({"minimum": -0.1234567896, "maximum": 0}, -0.1234567896),
        ({"minimum": 0, "maximum": 9223372035}, 9223372035.0),
    ],
)
def test_the_extremes_of_a_decimal_are_in_its_range(bounds: Schema, value: float) -> None:
    check(number("x"), record(x={"type": "number", **bounds}), round(value * 1e9), {"x": value})


@pytest.mark.parametrize(
    ("inner", "value"),
    [(TRUTH, False), (WHOLE, 0), (TEXT, ""), (DECIMAL, 0.0), (nested(z=WHOLE), {"z": 0})],
)
def test_given_asks_whether_there_is_a_value_that_is_not_null(inner: Schema, value: object) -> None:
    schema = record([], x=either(inner, NULL), y=nested([], x=inner))
    check(given("x"), schema, 1, {"x": value})
    check(given("x"), schema, 0, {"x": None})
    check(given("x"), schema, 0, {})
    check(given("y.x"), schema, 1, {"y": {"x": value}})
    check(given("y.x"), schema, 0, {"y": {}})
    check(given("y.x"), schema, 0, {})


@pytest.mark.parametrize(
    ("first", "second", "same", "folded"),
    [
        ("aB", "aB", 1, 1),
        ("aB", "Ab", 0, 1),
        ("É", "é", 0, 0),
        ("\N{KELVIN SIGN}", "k", 0, 0),
        ("ß", "SS", 0, 0),
        ("İ", "i", 0, 0),
        ("@[`{", "@[`{", 1, 1),
        ("@", "`", 0, 0),
        ("", "", 1, 1),
        ("", None, 0, 0),
        (None, None, 0, 0),
    ],
)
def test_equal_means_both_are_there_and_only_ascii_letters_fold(
    first: str | None, second: str | None, same: int, folded: int
) -> None:
    schema = record([], x=either(TEXT, NULL), y=nested([], z=TEXT))
    fields = {"x": first, "y": {} if second is None else {"z": second}}
    check(equal("x", "y.z"), schema, same, fields)
    check(equal("x", "y.z", ignore_case=True), schema, folded, fields)
    check(equal("x", "y.z"), schema, 0, {"x": first})


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("aaa", 1), ("aab", 0), ("baa", 0), ("", 0), ("aa\n", 0), (None, 0), ("A", 0)],
)
def test_a_pattern_fits_the_whole_text(value: str | None, wanted: int) -> None:
    check(matches("x", "a+"), record([], x=either(TEXT, NULL)), wanted, {"x": value})


def test_fields_of_any_name_are_read() -> None:
    names = ("class", "None", "_x", "__class__", "items", "values", "r", "v0", "C0", "x")
    schema = record(**dict.fromkeys(names, WHOLE))
    fields = {name: position for position, name in enumerate(names[:9])} | {"x": 9}
    assert facts_of([integer(name) for name in names], schema, **fields) == tuple(range(10))


def opaque_of(answer: object) -> Node:
    @opaque("odd", low=-2, high=9)
    def odd(_record: Mapping[str, Any]) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return odd


def test_an_opaque_fact_reads_plain_values() -> None:
    seen: list[Mapping[str, Any]] = []

    @opaque("seen", low=0, high=9)
    def look(record: Mapping[str, Any]) -> int:
        seen.append(record)
        return len(record["x"])

    schema = record(x=listed(TAGGED), y=TEXT)
    check(look, schema, 1, {"x": [{"kind": "a"}], "y": "é"})
    assert seen == [{"skill_type": "sample", "x": [{"kind": "a"}], "y": "é"}]


@pytest.mark.parametrize("answer", [-2, 0, 9])
def test_an_opaque_fact_answers_within_its_range(answer: int) -> None:
    check(opaque_of(answer), record(x=TEXT), answer, {"x": ""})


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (10, "10"),
        (-3, "-3"),
        (1.0, "1.0"),
        (True, "True"),
        (None, "None"),
        (KeyError("x"), "KeyError: 'x'"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_an_opaque_fact_that_fails_rejects_the_record(answer: object, value: str) -> None:
    with pytest.raises(RecordError) as caught:
        fact_of(opaque_of(answer), record(x=TEXT), x="")
    assert (caught.value.code, caught.value.path) == ("fact-failed", "odd")
    assert value in caught.value.value
    assert "an integer" in caught.value.expected
