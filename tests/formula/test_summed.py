"""Sums of an expression over items, beside an oracle that reads the JSON of a record by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from examples import examples
from formula.readers import EVERY
from formula.schemas import DECIMAL, TEXT, fact_of, listed, mapped, nested, record
from hypothesis import given
from hypothesis import strategies as st
from portable.javascript import node

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import evaluate
from tallystick.formula.facts import (
    FactIndex,
    count,
    domain_of,
    integer,
    number,
    path_of,
    reader_of,
)
from tallystick.formula.summed import item, summed_over
from tallystick.formula.text import render
from tallystick.formula.tree import Node, absolute, cases, exp, label, maximum, minimum
from tallystick.numbers.nano import NANO

PART = nested(["kind"], kind={"enum": ["x", "y"]}, p=DECIMAL, w=DECIMAL)
SIGNED = {"type": "number", "minimum": -2, "maximum": 2}
SCHEMA = record(
    ["y", "n"],
    y=DECIMAL,
    n={"type": "integer", "minimum": 1, "maximum": 3},
    list=listed(SIGNED),
    parts=listed(PART),
    map=mapped(DECIMAL),
)
Item = Mapping[str, Any]
Record = dict[str, Any]

p, w, y, n = item("p"), item("w"), number("y"), integer("n")
CASES: list[tuple[Node, Callable[[Any], Fraction]]] = [
    (absolute(p - y), lambda v: abs(v.p - v.y)),
    (1 - (p - y) ** 2, lambda v: 1 - (v.p - v.y) ** 2),
    (w * p / 3, lambda v: v.w * v.p / 3),
    (minimum(p, n) - maximum(w, y / -7), lambda v: min(v.p, v.n) - max(v.w, v.y / -7)),
    (
        cases((p <= y, w), ((p > n) & ~(w == 1), label("half", p / 2)), otherwise=-w),
        lambda v: v.w if v.p <= v.y else v.p / 2 if v.p > v.n and v.w != 1 else -v.w,
    ),
]
"""Expressions, each with what it is by hand."""
SELECTED: dict[str, Callable[[Item], bool]] = {
    "parts": lambda _: True,
    "parts[kind=x]": lambda part: part["kind"] == "x",
}

tenths = st.integers(0, 90).map(lambda tenth: tenth / 10)
part = st.fixed_dictionaries({"kind": st.sampled_from("xy")}, optional={"p": tenths, "w": tenths})
records = st.fixed_dictionaries(
    {"y": tenths, "n": st.integers(1, 3)}, optional={"parts": st.lists(part, max_size=5)}
)


def exact(value: float) -> Fraction:
    return Fraction(round(value * 1e9), NANO)


@pytest.mark.parametrize(("expression", "by_hand"), CASES)
@pytest.mark.parametrize("path", SELECTED)
@examples(20)
@given(fields=records)
def test_a_sum_is_exact_and_rounded_once(
    path: str,
    expression: Node,
    by_hand: Callable[[Any], Fraction],
    fields: Record,
) -> None:
    fact = summed_over(path, expression)
    named = {str(leaf.data[0]) for leaf in reader_of(fact).summand(fact).by_operator["item"]}  # type: ignore[union-attr]  # it has one
    kept = [each for each in fields.get("parts", ()) if SELECTED[path](each) and named <= {*each}]
    fixed = {"y": exact(fields["y"]), "n": fields["n"]}
    values = (
        SimpleNamespace(p=exact(each.get("p", 0)), w=exact(each.get("w", 0)), **fixed)
        for each in kept
    )
    total = sum(map(by_hand, values), Fraction(0))
    found = fact_of(fact, SCHEMA, **fields)
    assert found == round(total * NANO)
    domain = domain_of(fact, SCHEMA)
    assert domain.low <= found <= domain.high
    counted = count(path)
    integers = {fact.digest: found, counted.digest: fact_of(counted, SCHEMA, **fields)}
    domains = {each.digest: domain_of(each, SCHEMA) for each in (fact, counted)}
    conditions = list(reader_of(fact).constraints(fact, FactIndex((fact, counted), domains)))
    assert conditions
    assert all(evaluate(condition, integers, {}) for condition in conditions)


@pytest.mark.parametrize(
    ("expression", "schema", "domain"),
    [
        (absolute(item() - y), record(x=listed(DECIMAL), y=DECIMAL), Domain(0, 45 * NANO)),
        ((item() - 4) ** 2, record(x=listed(DECIMAL)), Domain(0, 5 * 25 * NANO)),
        (item() + 1, record(x={**listed(DECIMAL), "minItems": 2}), Domain(2 * NANO, 50 * NANO)),
        (item() + 1, record([], x={**listed(DECIMAL), "minItems": 2}), Domain(0, 50 * NANO)),
        (item("p") / 7, record(x=listed(nested(p=DECIMAL))), Domain(0, -(-45 * NANO // 7))),
        (0 - item("p"), record(x=listed(nested([], p=DECIMAL))), Domain(-45 * NANO, 0)),
    ],
)
def test_the_range_is_that_of_one_item_times_how_many_there_can_be(
    expression: Node, schema: Record, domain: Domain
) -> None:
    assert domain_of(summed_over("x", expression), schema) == domain


def test_the_values_of_a_map_are_items() -> None:
    fact = summed_over("map.*", item() * 2)
    assert fact_of(fact, SCHEMA, y=1, n=1, map={"a": 0.5, "b": 2}) == 5 * NANO
    assert fact_of(fact, SCHEMA, y=1, n=1) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: summed_over("x", y), "found no item"),
        (lambda: summed_over("x", y / item()), "expected a number: divide the sum"),
        (lambda: summed_over("x", item() / 0), "expected a number: divide the sum"),
        (lambda: summed_over("x", exp(item())), "found exp in what is summed over items"),
        (lambda: summed_over("x", item() - summed_over("x", item())), "found fact in what is"),
    ],
)
def test_an_expression_that_cannot_be_summed_is_refused(
    make: Callable[[], Node], message: str
) -> None:
    with pytest.raises(FormulaError, match=message):
        make()


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (summed_over("x", item("q")), "items that have the field 'q'"),
        (summed_over("x", item("t")), "items that are numbers"),
        (summed_over("x", item()), "items that are numbers"),
        (summed_over("y", item()), "items that are numbers"),
    ],
)
def test_items_without_the_numbers_are_refused(fact: Node, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        domain_of(fact, record(x=listed(nested(t=TEXT)), y=DECIMAL))


def test_the_expression_is_part_of_the_identity_and_of_the_text() -> None:
    named = summed_over("parts", label("error", absolute(p - y)))
    assert named.digest == summed_over("parts", absolute(p - y)).digest
    assert named.digest != summed_over("parts", absolute(p - w)).digest
    assert render(named / 3) == "Σ parts (|p − y|) / 3"
    assert render(summed_over("list", item() * item("q"))) == "Σ list (item · q)"
    assert reader_of(named).paths(named) == ("parts", "y")
    described = reader_of(named).described(named)
    assert json.loads(json.dumps(described))["summand"] == absolute(p - y).form
    assert path_of(named) == "parts"
    assert any(reader_of(each).name == "summed_over" for each in EVERY)


@pytest.mark.process
def test_javascript_adds_up_alike() -> None:
    """Compare both over lists with all of the parts, some, and none."""
    parts = [
        {"kind": "x", "p": 0.1, "w": 2.3},
        {"kind": "y", "p": 8.7},
        {"kind": "x", "p": 3, "w": 1},
        {"kind": "y", "p": 0.3, "w": 8.9},
    ]
    rows: list[Record] = [{"y": 0.7 * size, "n": 2, "parts": parts[:size]} for size in range(5)]
    facts = [summed_over(path, expression) for path in SELECTED for expression, _ in CASES]
    asked = [
        {"tree": fact.form, "rows": [{"record": row, "published": {}} for row in rows]}
        for fact in facts
    ]
    expected = [[str(fact_of(fact, SCHEMA, **row)) for row in rows] for fact in facts]
    assert node("trees.js", asked) == expected
