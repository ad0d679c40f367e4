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

from tallystick.errors import FormulaError, RecordError
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

TAGGED = nested(["kind"], kind=TEXT, size=WHOLE, tool=either(TEXT, NULL))
HALF = Fraction(1, 2)


def check(fact: Node, schema: Schema, wanted: int, fields: Mapping[str, Any]) -> None:
    """The fact of the record, which is in the range that the schema gives."""
    found = fact_of(fact, schema, **fields)
    domain = domain_of(fact, schema)
    assert type(found) is int
    assert found == wanted
    assert domain.low <= found <= domain.high


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
    ("fields", "nano"),
    [({}, 500_000_000), ({"x": None}, 500_000_000), ({"x": "?"}, 500_000_000), ({"x": 0}, 0)],
)
def test_a_number_that_is_none_is_what_the_author_said(fields: dict[str, Any], nano: int) -> None:
    check(number("x", missing=HALF), record([], x=either(DECIMAL, TEXT, NULL)), nano, fields)


def test_a_number_below_an_optional_parent_may_be_missing() -> None:
    schema = record([], x=nested(y=DECIMAL))
    check(number("x.y", missing=HALF), schema, 500_000_000, {})
    check(number("x.y", missing=HALF), schema, 2_000_000_000, {"x": {"y": 2}})


def test_a_number_of_a_union_is_read_from_either_side() -> None:
    schema = record([], x=either(DECIMAL, nested(y=DECIMAL), NULL))
    whole, part = number("x", missing=1), number("x.y", missing=0)
    assert facts_of([whole, part], schema, x=3) == (3_000_000_000, 0)
    assert facts_of([whole, part], schema, x={"y": 3}) == (1_000_000_000, 3_000_000_000)
    assert facts_of([whole, part], schema, x=None) == (1_000_000_000, 0)
    assert facts_of([whole, part], schema) == (1_000_000_000, 0)


@pytest.mark.parametrize("value", [5, 5.0])
def test_an_integer_is_read_however_it_is_written(value: float) -> None:
    check(integer("x"), record(x=WHOLE), 5, {"x": value})
    check(integer("x", missing=0), record([], x=WHOLE), 5, {"x": value})


def test_an_integer_that_is_none_is_what_the_author_said() -> None:
    schema = record([], x=either(WHOLE, TRUTH, NULL))
    for fields in ({}, {"x": None}, {"x": True}, {"x": False}):
        check(integer("x", missing=-1), schema, -1, fields)


def test_a_count_takes_repeated_items_and_distinct_does_not() -> None:
    schema = record([], x=listed(TEXT))
    for items, many, different in ((["a", "b", "a"], 3, 2), ([], 0, 0)):
        check(count("x"), schema, many, {"x": items})
        check(distinct("x"), schema, different, {"x": items})
    check(count("x"), schema, 0, {})
    check(distinct("x"), schema, 0, {})


def test_objects_are_different_if_a_field_is() -> None:
    schema = record(x=listed(TAGGED))
    items = [{"kind": "a"}, {"kind": "a", "tool": None}, {"kind": "a", "size": 1}, {"kind": "b"}]
    check(count("x"), schema, 4, {"x": items})
    check(distinct("x"), schema, 3, {"x": items})


def test_a_filter_keeps_items_and_a_projection_drops_nulls() -> None:
    schema = record([], x=listed(TAGGED))
    items = [
        {"kind": "a", "tool": "t"},
        {"kind": "a", "tool": "t"},
        {"kind": "a", "tool": "u"},
        {"kind": "a", "tool": None},
        {"kind": "a"},
    ]
    check(count("x[kind=a]"), schema, 5, {"x": items})
    check(count("x[kind=a].tool"), schema, 3, {"x": items})
    check(distinct("x[kind=a].tool"), schema, 2, {"x": items})
    check(count("x[kind=b]"), schema, 0, {"x": items})
    check(count("x[kind=a].tool"), schema, 0, {})


def test_every_item_of_a_list_is_read() -> None:
    schema = record([], x=listed(nested([], size=WHOLE, tool=TEXT)), y=listed(TEXT))
    items = [{"size": 2, "tool": "t"}, {"tool": "t"}, {"size": 3}, {}]
    check(total("x[].size"), schema, 5, {"x": items})
    check(count("x[].size"), schema, 2, {"x": items})
    check(distinct("x[].tool"), schema, 1, {"x": items})
    check(overlap("x[].tool", "y"), schema, 1, {"x": items, "y": ["t", "u"]})
    check(total("x[].size"), schema, 0, {"x": []})
    check(total("x[].size"), schema, 0, {})


def test_the_value_of_a_filter_is_text_whatever_is_in_it() -> None:
    odd = 'it\'s "so" \\ {x}'
    schema = record(x=listed(TAGGED))
    check(count(f"x[kind={odd}]"), schema, 1, {"x": [{"kind": odd}, {"kind": "a"}]})


def test_an_overlap_is_what_both_lists_have() -> None:
    schema = record([], x=listed(TEXT), y=listed(TAGGED), z=listed(TEXT))
    fields = {"x": ["a", "b", "a"], "y": [{"kind": "q", "tool": t} for t in ("b", "c", None)]}
    check(overlap("x", "y[kind=q].tool"), schema, 1, fields)
    check(overlap("y[kind=q].tool", "x"), schema, 1, fields)
    check(overlap("x", "x"), schema, 2, fields)
    check(overlap("x", "z"), schema, 0, fields)


def test_an_overlap_of_objects_compares_every_field() -> None:
    schema = record(x=listed(TAGGED), y=listed(TAGGED))
    fields = {"x": [{"kind": "a", "size": 1}, {"kind": "b"}], "y": [{"kind": "a"}, {"kind": "b"}]}
    check(overlap("x", "y"), schema, 1, fields)


def test_a_total_adds_up_what_there_is() -> None:
    union = record([], x=either(WHOLE, mapped(WHOLE), NULL))
    for fields, wanted in (
        ({"x": 4}, 4),
        ({"x": {"a": 4, "b": 5}}, 9),
        ({"x": {}}, 0),
        ({"x": None}, 0),
        ({}, 0),
    ):
        check(total("x"), union, wanted, fields)
    check(total("x"), record(x=listed(WHOLE)), 6, {"x": [1, 2, 3]})
    check(total("x"), record([], x=listed(WHOLE)), 0, {})


def test_a_total_of_a_projection_passes_over_what_is_missing() -> None:
    maps = record([], x=mapped(TAGGED))
    fields = {"a": {"kind": "k", "size": 4}, "b": {"kind": "k"}, "c": {"kind": "l", "size": 2}}
    check(total("x.*.size"), maps, 6, {"x": fields})
    check(total("x.*.size"), maps, 0, {})
    lists = record(x=listed(TAGGED))
    check(total("x[kind=k].size"), lists, 4, {"x": list(fields.values())})


def test_an_excess_is_taken_key_by_key() -> None:
    allowance = nested([], free=either(WHOLE, NULL))
    schema = record([], x=either(WHOLE, mapped(WHOLE), NULL), y=mapped(allowance), z=mapped(WHOLE))
    used = {"a": 5, "b": 1, "c": 3, "d": 2}
    allowed = {"a": {"free": 2}, "b": {"free": 9}, "c": {}, "e": {"free": 9}}
    check(excess("x", "y.*.free"), schema, 3 + 0 + 3 + 2, {"x": used, "y": allowed})
    check(excess("x", "z.*"), schema, 4 + 1 + 3 + 2, {"x": used, "z": {"a": 1}})
    check(excess("x", "y.*.free"), schema, 11, {"x": used})
    for fields in ({"x": 7, "y": allowed}, {"x": None}, {}):
        check(excess("x", "y.*.free"), schema, 0, fields)


def test_a_flag_is_false_unless_it_is_true() -> None:
    schema = record([], x=either(TRUTH, NULL), y=nested(z=TRUTH))
    for fields, wanted in (({"x": True}, 1), ({"x": False}, 0), ({"x": None}, 0), ({}, 0)):
        check(flag("x"), schema, wanted, fields)
    check(flag("y.z"), schema, 0, {})
    check(flag("y.z"), schema, 1, {"y": {"z": True}})


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


def test_itemised_asks_for_an_object() -> None:
    schema = record([], x=either(WHOLE, mapped(WHOLE), NULL), y=either(DECIMAL, TAGGED))
    for fields, wanted in (({"x": 1}, 0), ({"x": {}}, 1), ({"x": None}, 0), ({}, 0)):
        check(itemised("x"), schema, wanted, fields)
    check(itemised("y"), schema, 1, {"y": {"kind": "a"}})
    check(itemised("y"), schema, 0, {"y": 1})


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
    schema = record([], x=either(TEXT, NULL))
    check(matches("x", "a+"), schema, wanted, {"x": value})
    check(matches("x", "a+"), schema, 0, {})


def test_a_pattern_is_read_as_ascii() -> None:
    schema = record(x=TEXT)
    check(matches("x", r"\d+"), schema, 0, {"x": "٣"})
    check(matches("x", r"\w+"), schema, 0, {"x": "é"})
    check(matches("x", "'\\\\"), schema, 1, {"x": "'\\"})


def test_a_choice_is_the_position_of_its_option() -> None:
    schema = record(x=OPTIONS)
    for value, wanted in (("x", 1), ("y", 2)):
        check(choice("x", "w", "x", "y"), schema, wanted, {"x": value})


def test_fields_of_any_name_are_read() -> None:
    names = ("class", "None", "_x", "__class__", "items", "values", "r", "v0", "C0", "x")
    schema = record(**dict.fromkeys(names, WHOLE))
    fields = {name: position for position, name in enumerate(names[:9])} | {"x": 9}
    assert facts_of([integer(name) for name in names], schema, **fields) == tuple(range(10))


def test_facts_come_in_the_order_in_which_they_are_asked_for() -> None:
    schema = record(x=WHOLE, y=WHOLE)
    assert facts_of([integer("y"), integer("x"), integer("y")], schema, x=1, y=2) == (2, 1, 2)
    assert facts_of([], schema, x=1, y=2) == ()


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
    plain = {"skill_type": "sample", "x": [{"kind": "a"}], "y": "é"}
    assert seen
    assert all(record == plain for record in seen)


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


# Faults that are known. Each of these tests is to pass once its fault is mended; where the schema
# is one that a reader cannot read safely, to refuse it when a rule set is bound is as well.


def check_or_refuse(fact: Node, schema: Schema, wanted: int, fields: Mapping[str, Any]) -> None:
    try:
        domain_of(fact, schema)
    except FormulaError:
        return
    check(fact, schema, wanted, fields)


def test_what_is_missing_is_exact_in_columns_too() -> None:
    most = Fraction(9_007_199_254_740_993, 10**9)
    schema = record([], x={**DECIMAL, "maximum": 10_000_000})
    check(number("x", missing=most), schema, 9_007_199_254_740_993, {})


WRONG_VALUES: dict[str, tuple[Node, Schema, int, dict[str, Any]]] = {
    "number() of an integer, with missing": (
        number("x", missing=0), record([], x=WHOLE), 5_000_000_000, {"x": 5},
    ),
    "number() of a union of both, with missing": (
        number("x", missing=0), record([], x=either(TEXT, DECIMAL, {**WHOLE, "minimum": 5})),
        5_000_000_000, {"x": 5},
    ),
    "number() of one of few, with missing": (
        number("x", missing=0), record([], x={**DECIMAL, "enum": [0, 0.5, 1]}),
        1_000_000_000, {"x": 1},
    ),
    "given() of a list that is left out": (given("x"), record([], x=listed(TEXT)), 0, {}),
    "given() of a map that is left out": (given("x"), record([], x=mapped(WHOLE)), 0, {}),
    "itemised() of a map that is left out": (itemised("x"), record([], x=mapped(WHOLE)), 0, {}),
    "equal() of lists that are left out": (
        equal("x", "y"), record([], x=listed(TEXT), y=listed(TEXT)), 0, {},
    ),
    "equal() of a truth and a number": (
        equal("x", "y"), record(x=TRUTH, y=WHOLE), 0, {"x": True, "y": 1},
    ),
    "flag() of a number": (flag("x"), record([], x=either(TRUTH, WHOLE)), 0, {"x": 7}),
    "flag() of a text": (flag("x"), record([], x=either(TRUTH, TEXT)), 0, {"x": "false"}),
    "count() of a text": (count("x"), record(x=either(listed(TEXT), TEXT)), 0, {"x": "abc"}),
    "distinct() of truths and numbers": (
        distinct("x"), record(x=listed(either(TRUTH, WHOLE))), 4, {"x": [1, True, 0, False]},
    ),
    "overlap() of objects with other fields": (
        overlap("x", "y"), record(x=listed(nested(a=TEXT)), y=listed(nested(b=TEXT))),
        0, {"x": [{"a": "1"}], "y": [{"b": "1"}]},
    ),
    "a filter of a number": (
        count("x[size=3]"), record(x=listed(TAGGED)), 1, {"x": [{"kind": "a", "size": 3}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_a_wrong_value_is_mended(name: str) -> None:
    check_or_refuse(*WRONG_VALUES[name])


PLACED = nested(["kind"], kind=TEXT, place=nested([], file=TEXT))
CRASHES: dict[str, tuple[Node, Schema, int, dict[str, Any]]] = {
    "a list that may be null": (
        count("x"), record([], x=either(listed(TEXT), NULL)), 0, {"x": None},
    ),
    "a list of a union that is left out": (
        count("x"), record([], x=either(listed(TEXT), WHOLE)), 0, {},
    ),
    "a number where there may be a list": (
        count("x"), record(x=either(listed(TEXT), WHOLE)), 0, {"x": 3},
    ),
    "a filter below an optional parent": (
        count("x.y[kind=a]"), record([], x=nested(y=listed(TAGGED))), 0, {},
    ),
    "a filter of a list that may be null": (
        count("x[kind=a]"), record([], x=either(listed(TAGGED), NULL)), 0, {"x": None},
    ),
    "a filter of items that may be null": (
        count("x[kind=a]"), record(x=listed(either(TAGGED, NULL))), 1, {"x": [{"kind": "a"}, None]},
    ),
    "a map below an optional parent": (
        count("x.y.*"), record([], x=nested(y=mapped(WHOLE))), 0, {},
    ),
    "a map that may be a number": (
        count("x.*"), record([], x=either(WHOLE, mapped(WHOLE))), 0, {"x": 4},
    ),
    "a projection through an optional object": (
        count("x[kind=a].place.file"), record(x=listed(PLACED)), 1,
        {"x": [{"kind": "a"}, {"kind": "a", "place": {"file": "f"}}]},
    ),
    "one of two objects": (
        integer("x.a"), record(x=either(nested(a=WHOLE), nested(a=WHOLE, b=TEXT))),
        3, {"x": {"a": 3}},
    ),
    "the values of an object with names": (
        count("x.*"), record(x={**mapped(WHOLE), "properties": {"a": WHOLE}}),
        2, {"x": {"a": 1, "b": 2}},
    ),
    "different objects that hold lists": (
        distinct("x"), record(x=listed(nested(a=listed(TEXT)))), 1, {"x": [{"a": []}, {"a": []}]},
    ),
    "different objects that hold objects": (
        distinct("x"), record(x=listed(nested(a=nested(b=TEXT)))), 1, {"x": [{"a": {"b": ""}}]},
    ),
    "different lists": (distinct("x"), record(x=listed(listed(TEXT))), 1, {"x": [["a"], ["a"]]}),
    "different texts and objects": (
        distinct("x"), record(x=listed(either(TEXT, nested(a=TEXT)))), 2, {"x": ["a", {"a": "a"}]},
    ),
    "different objects and nulls": (
        distinct("x"), record(x=listed(either(nested(a=TEXT), NULL))), 2, {"x": [None, {"a": "a"}]},
    ),
    "a total of a map with nulls": (
        total("x"), record(x=mapped(either(WHOLE, NULL))), 1, {"x": {"a": 1, "b": None}},
    ),
    "a total of what may be text": (total("x"), record(x=either(WHOLE, TEXT)), 0, {"x": "abc"}),
    "an excess of a map with nulls": (
        excess("x", "y.*"), record(x=mapped(either(WHOLE, NULL)), y=mapped(WHOLE)), 0,
        {"x": {"a": None}, "y": {}},
    ),
    "a pattern on a number": (matches("x", "a+"), record(x=either(TEXT, WHOLE)), 0, {"x": 7}),
    "a choice that may be a number": (
        choice("x", "x", "y"), record(x=either(OPTIONS, WHOLE)), 0, {"x": 7},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CRASHES)
def test_a_valid_record_never_stops_the_engine(name: str) -> None:
    check_or_refuse(*CRASHES[name])
