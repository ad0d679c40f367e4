from __future__ import annotations

import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tallystick.errors import FormulaError
from tallystick.formula.facts import flag, given, integer
from tallystick.formula.formula import (
    UNIT,
    Parameters,
    axis,
    composite,
    emission,
    factor,
    formulas_in,
    require,
    threshold,
)
from tallystick.formula.tree import Node, cases, names, published

A, B = integer("a"), integer("b")


@axis("acme/share@1", symbol="σ", top=UNIT, most=(Decimal("0.5"), Fraction(7, 2)))
def share(p: Parameters) -> Node:
    """How much of it.

    Not part of the summary.
    """
    return p.top * A / p.most


def test_a_declaration_keeps_what_its_author_wrote() -> None:
    assert (share.name, share.kind, share.symbol) == ("acme/share@1", "axis", "σ")
    assert share.summary == "How much of it."
    assert share.parameters == {"top": (0, 1), "most": (Fraction(1, 2), Fraction(7, 2))}
    assert (share.low, share.high) == (0, 1)
    assert names(share.tree, "param") == ("top", "most")
    assert share.digest == f"sha256:{share.tree.digest}"


def test_each_kind_has_its_range() -> None:
    def quality(_: Parameters) -> Node:
        return published("quality")

    declared = [
        composite("acme/q@1")(quality),
        factor("acme/q@1", within=(1, 2))(quality),
        emission("acme/q@1", within=(0, Decimal("5.75")))(quality),
        threshold("acme/q@1", within=(0, 10))(quality),
    ]
    assert [f.kind for f in declared] == ["composite", "factor", "emission", "threshold"]
    assert [(f.low, f.high) for f in declared] == [(0, 1), (1, 2), (0, Fraction(23, 4)), (0, 10)]
    assert [f.published for f in declared] == [("quality",)] * 4
    assert len({f.digest for f in declared}) == 1


def test_where_a_factor_applies_is_part_of_its_meaning() -> None:
    def bonus(_: Parameters) -> Node:
        return cases((A == 0, 1), otherwise=2)

    always = factor("acme/bonus@1", within=(1, 2))(bonus)
    sometimes = factor("acme/bonus@1", within=(1, 2), applies=given("c"))(bonus)
    seldom = factor("acme/bonus@1", within=(1, 2), applies=given("d"))(bonus)
    assert len({always.digest, sometimes.digest, seldom.digest}) == 3


def test_the_code_of_a_requirement_is_its_name_without_namespace() -> None:
    plain = require(A < B, "timing-window", path="a", expected="less")
    spaced = require(A < B, "acme/timing-window", path="a", expected="less")
    assert plain.code == spaced.code == "timing-window"
    assert plain.digest == spaced.digest == f"sha256:{(A < B).digest}"


def test_the_formulas_of_modules_come_once_each_in_name_order() -> None:
    first, second = types.ModuleType("first"), types.ModuleType("second")
    other = axis("acme/a@1")(lambda _: flag("f") * 1)
    first.share, first.again, first.unrelated = share, share, A  # type: ignore[attr-defined]
    second.share, second.other = share, other  # type: ignore[attr-defined]
    assert formulas_in(first, second) == (other, share)


NO_FORMULAS = (
    *("share", "acme/share", "acme/share@0", "acme/share@01", "Acme/share@1", "acme/share@1 "),
    *("acme/share@1.0", "/share@1", "acme/@1", "a/b/c@1", "acme/-x@1", "acme/share@1\n", ""),
)
NO_CODES = ("Timing", "timing window", "a/b/c", "", "-x", "x_y", "x\n")
TEXT = {"path": "a", "expected": "less"}
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    *((lambda n=n: axis(n), "expected namespace/name@version") for n in NO_FORMULAS),
    *((lambda n=n: require(A < B, n, **TEXT), "expected words-with-hyphens") for n in NO_CODES),
    (lambda: axis("a/b@1", k=UNIT)(lambda p: p.l), "found the parameter 'l', .*declares: k"),
    (lambda: axis("a/b@1")(lambda p: p.l), "declares: none"),
    (lambda: axis("a/b@1", k=UNIT)(lambda p: p._k), "found the parameter '_k'"),
    (lambda: axis("a/b@1", k=UNIT, l=UNIT)(lambda p: p.l), "never reads its parameters k"),
    (lambda: axis("a/b@1")(lambda _: 0.5), "found 0.5 in a formula"),
    (
        lambda: axis("a/b@1")(lambda _: None),
        "of a/b@1 returns None, expected",
    ),
    (lambda: axis("a/b@1")(lambda _: 1 if A == B else 0), "no truth value"),
    (lambda: axis("a/b@1", k=(0, 0.1)), "found 0.1 in a formula"),
    (lambda: axis("a/b@1", k=(0.0, 1)), "found 0.0 in a formula"),
    (lambda: axis("a/b@1", k=(False, True)), "found False in a formula"),
    (lambda: axis("a/b@1", k=(1, 0)), "expected it ascending"),
    (lambda: axis("a/b@1", sums_to_one=("k", "l"), k=UNIT), "found l in sums_to_one"),
    (lambda: composite("a/b@1")(lambda _: A), "found a fact in a/b@1, expected published"),
    (lambda: emission("a/b@1", within=UNIT)(lambda _: A), "only in a emission"),
    (lambda: threshold("a/b@1", within=UNIT)(lambda _: 1 * A), "only in a threshold"),
    (lambda: factor("a/b@1", within=UNIT, applies=A + B), "expected a condition"),
    (lambda: require(A + B, "odd", **TEXT), "expected a condition"),
    (lambda: require(A, "odd", **TEXT), "expected a condition"),
    (lambda: require(1, "odd", **TEXT), "expected a condition"),
    (lambda: require(True, "odd", **TEXT), "expected a condition"),
    (lambda: require(published("success") > 0, "odd", **TEXT), "expected a condition of facts"),
]


@pytest.mark.parametrize(("declare", "message"), MISTAKES)
def test_a_declaration_that_cannot_work_is_refused(
    declare: Callable[[], Any], message: str
) -> None:
    with pytest.raises(FormulaError, match=message):
        declare()
