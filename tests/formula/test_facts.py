from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from formula.readers import EVERY, first_word

from tallystick.canonical import digest
from tallystick.errors import FormulaError
from tallystick.formula import facts
from tallystick.formula.facts import (
    READERS,
    arguments_of,
    choice,
    count,
    equal,
    excess,
    integer,
    matches,
    number,
    opaque,
    overlap,
    path_of,
    reader_of,
    scale_of,
)
from tallystick.formula.schema_path import PathStep, steps
from tallystick.formula.summed import item, summed_over
from tallystick.formula.tree import Kind, Node
from tallystick.numbers.nano import NANO
from tallystick.source_code import reached


def test_every_reader_of_the_table_has_its_function() -> None:
    of_items = summed_over("a.b", item("c"))
    assert {reader_of(fact) for fact in EVERY} == {*READERS.values(), reader_of(of_items)}
    assert all(callable(getattr(facts, reader)) for reader in READERS)
    assert all(f"{reader} " in (facts.__doc__ or "") for reader in READERS)


@pytest.mark.parametrize("fact", EVERY, ids=lambda fact: reader_of(fact).name)
def test_a_fact_has_the_kind_and_the_scale_of_the_table(fact: Node) -> None:
    truths = {"flag", "given", "itemised", "equal", "matches"}
    kinds = dict.fromkeys(truths, Kind.TRUTH) | {"choice": Kind.CHOICE}
    assert fact.kind is kinds.get(reader_of(fact).name, Kind.NUMBER)
    scales = {"number": NANO, "opaque": NANO, "summed_over": NANO}
    assert scale_of(fact) == scales.get(reader_of(fact).name, 1)


def test_a_fact_is_its_reader_path_arguments_and_scale() -> None:
    different = [
        *EVERY,
        number("a.c"),
        number("a.b", missing=0),
        number("a.b", missing=1),
        integer("a.b", missing=0),
        overlap("c", "a.b"),
        equal("a.b", "c", ignore_case=True),
        matches("a.b", "x*"),
        choice("a.b", "y", "x"),
        choice("a.b", "x", "y", "z"),
    ]
    assert len({fact.digest for fact in different}) == len(different)
    assert (
        number("a.b", missing=Fraction(1, 2)).digest == number("a.b", missing=Decimal("0.5")).digest
    )


def test_what_is_missing_is_kept_in_the_scale_of_the_fact() -> None:
    assert arguments_of(number("a", missing=Fraction(1, 4))) == (250_000_000,)
    assert arguments_of(integer("a", missing=-3)) == (-3,)
    assert arguments_of(number("a")) == ()


def test_a_path_is_a_chain_of_steps() -> None:
    assert steps("a.b_1[c=x y].d") == (PathStep("a"), PathStep("b_1", "c", "x y"), PathStep("d"))
    assert steps("a.b[].d") == (PathStep("a"), PathStep("b", each=True), PathStep("d"))
    assert [str(step) for step in steps("a.b[].d")] == ["a", "b[]", "d"]
    assert [str(step) for step in steps("a[c=x y].d")] == ["a[c=x y]", "d"]
    assert steps("a.*.d") == (PathStep("a"), PathStep("*"), PathStep("d"))
    assert [step.many for step in steps("a.b[c=d].e")] == [False, True, False]
    assert path_of(count("a.*.d")) == "a.*.d"


def test_an_opaque_fact_is_identified_by_what_its_function_reaches() -> None:
    assert first_word.function is not None
    code = digest(reached(first_word.function)).removeprefix("sha256:")
    assert arguments_of(first_word) == (code, 0, 9)
    assert path_of(first_word) == "first word"


def test_opaque_facts_of_other_sources_are_others() -> None:
    @opaque("n", low=0, high=9)
    def one(record: Mapping[str, Any]) -> int:
        return len(record)

    @opaque("n", low=0, high=9)
    def two(record: Mapping[str, Any]) -> int:
        return 1 + len(record)

    assert one.digest != two.digest


sourceless: dict[str, Any] = {}
exec("def function(record): return 1", sourceless)  # noqa: S102  # has no source to read

NO_PATHS = (
    *("", ".", "a.", ".a", "a..b", "a b", "a-b", "é", "a[b]", "a[b=]", "a[=c]", "a[b=c", "[b=c]"),
    *("**", "a*", "a[b=c][d=e]", "a[].b[c]", "[].a", "a[][]", "a[b=c]]", "$.a", "a/b"),
)
OF_ITEMS = ("a.*.*", "a[].*", "a[].b[].c", "a[].b[c=d]", "a[b=c].*", "a[b=c].d[e=f]", "*.a[b=c]")
NO_ALLOWANCES = ("b", "b.c", "b.*.c.d", "b[c=d]", "b[c=d].e")
MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: number("a", missing=Fraction(1, 3)), "found missing=.*multiple of 1/1000000000"),
    (lambda: integer("a", missing=Fraction(1, 2)), "expected a multiple of 1/1$"),
    (lambda: number("a", missing=0.5), "found 0.5 in a formula"),
    (lambda: matches("a", "(x"), r"found the pattern '\(x', expected a regular expression"),
    (lambda: choice("a"), "expected two or more, all different"),
    (lambda: choice("a", "x"), "expected two or more, all different"),
    (lambda: choice("a", "x", "y", "x"), "expected two or more, all different"),
    *((lambda p=p: number(p), "expected name, name") for p in NO_PATHS),
    (lambda: overlap("a", "a..b"), "expected name, name"),
    (lambda: equal("a", "a..b"), "expected name, name"),
    *((lambda p=p: count(p), r"at most one filter, \[\] or \*") for p in OF_ITEMS),
    (lambda: count("a.b[]"), r"the list itself is 'a\.b'"),
    *((lambda p=p: excess("a", p), "found") for p in NO_ALLOWANCES),
    (lambda: opaque("n", low=5, high=1), "found"),
    *((lambda s=s: opaque("n", low=0, high=1, scale=s), "found") for s in (0, -1, 1000)),
    (lambda: opaque("n", low=0, high=9)(len), "found"),
    (lambda: opaque("n", low=0, high=9)(sourceless["function"]), "found no source of the opaque"),
]


@pytest.mark.parametrize(("declare", "message"), MISTAKES)
def test_a_fact_that_cannot_be_is_refused(declare: Callable[[], object], message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        declare()
