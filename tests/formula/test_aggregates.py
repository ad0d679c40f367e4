"""Aggregates of whole numbers beside an oracle that reads the JSON of a record by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
from examples import examples
from formula.readers import EVERY
from formula.schemas import (
    DECIMAL,
    NULL,
    TEXT,
    Schema,
    either,
    fact_of,
    facts_of,
    listed,
    mapped,
    nested,
    record,
)
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import (
    constraints,
    count,
    domain_of,
    drafts,
    largest,
    reader_of,
    relations,
    smallest,
    total,
)
from tallystick.formula.tree import Node

Record = dict[str, Any]
Numbers = list[int]

WHOLE: Schema = {"type": "integer", "minimum": -3, "maximum": 9}
NATURAL: Schema = {"type": "integer", "minimum": 0, "maximum": 9}
ITEM = nested(["kind"], kind={"enum": ["x", "y"]}, size=WHOLE, inner=nested([], deep=NATURAL))
SCHEMA = record(
    [],
    list=listed(WHOLE),
    naturals=listed(NATURAL),
    map=mapped(WHOLE),
    items=listed(ITEM),
    files=mapped(nested([], lines=NATURAL)),
)
BY_HAND: dict[str, Callable[[Record], Numbers]] = {
    "list": lambda r: r.get("list", []),
    "naturals": lambda r: r.get("naturals", []),
    "map": lambda r: list(r.get("map", {}).values()),
    "map.*": lambda r: list(r.get("map", {}).values()),
    "items[kind=x].size": lambda r: [
        i["size"] for i in r.get("items", []) if i["kind"] == "x" and "size" in i
    ],
    "items[].size": lambda r: [i["size"] for i in r.get("items", []) if "size" in i],
    "items[].inner.deep": lambda r: [
        i["inner"]["deep"] for i in r.get("items", []) if "deep" in i.get("inner", {})
    ],
    "items[kind=y].inner.deep": lambda r: [
        i["inner"]["deep"]
        for i in r.get("items", [])
        if i["kind"] == "y" and "deep" in i.get("inner", {})
    ],
    "files.*.lines": lambda r: [f["lines"] for f in r.get("files", {}).values() if "lines" in f],
}
"""The numbers at each path of the schema."""
COUNTED = [path for path in BY_HAND if path != "map"]

whole, natural = st.integers(-3, 9), st.integers(0, 9)
some = st.sampled_from(["a", "b", "c", "d", "e"])
item = st.fixed_dictionaries(
    {"kind": st.sampled_from("xy")},
    optional={"size": whole, "inner": st.fixed_dictionaries({}, optional={"deep": natural})},
)
records = st.fixed_dictionaries(
    {},
    optional={
        "list": st.lists(whole, max_size=5),
        "naturals": st.lists(natural, max_size=5),
        "map": st.dictionaries(some, whole, max_size=5),
        "items": st.lists(item, max_size=5),
        "files": st.dictionaries(
            some, st.fixed_dictionaries({}, optional={"lines": natural}), max_size=5
        ),
    },
)


def largest_by_hand(values: Numbers, empty: int) -> int:
    found = empty
    for position, value in enumerate(values):
        found = value if position == 0 or value > found else found
    return found


def smallest_by_hand(values: Numbers, empty: int) -> int:
    return -largest_by_hand([-value for value in values], -empty)


ENDS: list[tuple[Callable[..., Node], Callable[[Numbers, int], int]]] = [
    (largest, largest_by_hand),
    (smallest, smallest_by_hand),
]
"""What takes the number at one end, and what it is by hand."""


def aggregates(empty: int) -> list[tuple[Node, Callable[[Record], int]]]:
    """Every aggregate of every path, with what it is by hand."""
    found: list[tuple[Node, Callable[[Record], int]]] = []
    for path, numbers in BY_HAND.items():
        found.append((total(path), lambda r, n=numbers: sum(n(r))))
        for build, by_hand in ENDS:
            fact = build(path, empty=empty)
            found.append((fact, lambda r, n=numbers, h=by_hand: h(n(r), empty)))
    found.append((count("items"), lambda r: len(r.get("items", []))))
    lengths = [(count(path), lambda r, n=BY_HAND[path]: len(n(r))) for path in COUNTED]
    return [*found, *lengths]


@given(records, st.integers(-9, 20))
def test_an_aggregate_is_what_it_is_by_hand(made: Record, empty: int) -> None:
    facts, by_hand = zip(*aggregates(empty), strict=True)
    wanted = tuple(of(made) for of in by_hand)
    assert facts_of(list(facts), SCHEMA, **made) == wanted
    for fact, value in zip(facts, wanted, strict=True):
        domain = domain_of(fact, SCHEMA)
        assert domain.low <= value <= domain.high


@given(records, st.lists(st.integers(-9, 20), min_size=1, max_size=2))
def test_what_is_told_of_aggregates_holds_for_every_record(made: Record, empty: list[int]) -> None:
    every = {fact.digest: (fact, of(made)) for e in empty for fact, of in aggregates(e)}
    facts = tuple(fact for fact, _ in every.values())
    values = {digest: value for digest, (_, value) in every.items()}
    for small, large in relations(facts):
        assert values[small.digest] <= values[large.digest]
    domains = {fact.digest: domain_of(fact, SCHEMA) for fact in facts}
    for condition in constraints(facts, domains):
        assert evaluate(condition, values, {}), condition.form


def made_up(kind: Schema, name: str, number: int) -> Any:  # noqa: ANN401  # a JSON value
    del name
    if "enum" in kind:
        return kind["enum"][0]
    if kind["type"] == "object":
        return {f: made_up(kind["properties"][f], "", 0) for f in kind.get("required", ())}
    return min(int(kind["maximum"]), number)


@examples(60)
@given(records, records, st.integers(-2, 12), st.data())
def test_a_record_is_written_for_the_aggregates_of_any_record(
    made: Record, base: Record, empty: int, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(list(BY_HAND)))
    own = [(fact, of(made)) for fact, of in aggregates(empty) if fact.data[1] == path]
    if path.startswith("items[]"):
        own += [(fact, of(made)) for fact, of in aggregates(empty) if fact.data[1] == "items"]
    asked = [pair for pair in own if data.draw(st.booleans())]
    facts = [fact for fact, _ in asked]
    for draft in islice(drafts(asked, base, SCHEMA, made_up), 5):
        if facts_of(facts, SCHEMA, **draft) == tuple(value for _, value in asked):
            return
    raise AssertionError(f"no draft has {asked}")


@pytest.mark.parametrize("build", [build for build, _ in ENDS])
@pytest.mark.parametrize("path", ["list", "items[kind=x].size"])
def test_what_no_number_can_be_is_written_as_none(build: Callable[..., Node], path: str) -> None:
    fact, base = build(path, empty=10), {"list": [1], "items": [{"kind": "x"}]}
    draft = next(drafts([(fact, 10)], base, SCHEMA, made_up))
    assert facts_of([fact], SCHEMA, **draft) == (10,)


@pytest.mark.parametrize("build", [build for build, _ in ENDS])
def test_what_an_end_of_nothing_is_belongs_to_the_fact(build: Callable[..., Node]) -> None:
    assert build("list").digest == build("list", empty=0).digest != build("list", empty=1).digest
    assert fact_of(build("list"), SCHEMA) == 0
    assert fact_of(build("list", empty=7), SCHEMA) == 7
    assert domain_of(build("list"), SCHEMA) == Domain(-3, 9)
    assert domain_of(build("list", empty=12), SCHEMA) == Domain(-3, 12)
    with pytest.raises(FormulaError, match=r"found empty=.*, expected a multiple of 1/1"):
        build("list", empty=Fraction(1, 2))
    with pytest.raises(FormulaError, match=r"found the tree .* as empty, expected a number"):
        build("list", empty=build("list"))


@pytest.mark.parametrize("build", [build for build, _ in ENDS])
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (WHOLE, "expected a list or a map of them"),
        (listed(DECIMAL), "expected whole numbers to compare"),
        (listed(TEXT), "expected whole numbers to compare"),
        (listed(either(WHOLE, NULL)), "expected values that cannot be null"),
        (listed({"type": "integer", "minimum": 0}), "found no maximum at 'a'"),
        ({"type": "array", "items": WHOLE}, "found no maxItems at 'a'"),
    ],
)
def test_an_end_is_of_many_whole_numbers(
    build: Callable[..., Node], schema: Schema, message: str
) -> None:
    with pytest.raises(FormulaError, match=message):
        domain_of(build("a"), record(a=schema))


def test_every_aggregate_is_tried() -> None:
    tried = {fact.data[0] for fact, _ in aggregates(0)}
    readers = {reader_of(fact).name for fact in EVERY if hasattr(reader_of(fact), "shape")}
    assert readers <= tried
