from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from formula.readers import EVERY

from tallystick.formula.facts import choice, count, excess, integer, overlap, reader_of, total
from tallystick.formula.text import decimal_text, fact_text, leaf_text, lines, render, substituted
from tallystick.formula.tree import (
    Node,
    absolute,
    cases,
    clip,
    const,
    exp,
    floor,
    label,
    log,
    maximum,
    minimum,
    param,
    places,
    power,
    published,
    rank,
    root,
)
from tallystick.plugins.registry import Registry, installed

A, B, C = integer("a"), integer("b"), integer("deep.c")
PICK, OTHER = choice("p", "x", "y"), choice("q", "x", "y")
GOLDEN = Path(__file__).parent / "lines.txt"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (const(3), "3"),
        (const(-3), "−3"),
        (const(Fraction(-1, 4)), "−0.25"),
        (const(Fraction(2, 3)), "2/3"),
        (A, "a"),
        (C, "c"),
        (param("k"), "k"),
        (published("success"), "success"),
        (label("share", A / B), "a / b"),
        (1 - label("share", A / B), "1 − share"),
        (rank(PICK), "p"),
        (rank(PICK) - rank(OTHER), "rank(p) − rank(q)"),
        (A + B, "a + b"),
        (A - B, "a − b"),
        (A * B, "a · b"),
        (A / B, "a / b"),
        (-A, "0 − a"),
        (A**3, "a · a · a"),
        (minimum(A, B), "min(a, b)"),
        (maximum(A, B + 1), "max(a, b + 1)"),
        (clip(A), "min(max(a, 0), 1)"),
        (absolute(A - B), "|a − b|"),
        (A < B, "a < b"),
        (A <= B, "a ≤ b"),
        (A > B, "b < a"),
        (A == B, "a = b"),
        (A != B, "not a = b"),
        (PICK == "y", "p = y"),
        (PICK != "y", "p ≠ y"),
        (PICK == OTHER, "p = q"),
        ((A < B) & (B < 1), "a < b and b < 1"),
        ((A < B) | (B < 1), "a < b or b < 1"),
        (~((A < B) | (B < 1)), "not (a < b or b < 1)"),
        (cases((A < B, 1), (B < 1, B), otherwise=0), "{ 1 if a < b; b if b < 1; 0 otherwise }"),
        (root(A, 2), "√a"),
        (root(A + B, 3), "³√(a + b)"),
        (2 * root(A, 12), "2 · ¹²√a"),
        (power(A, Fraction(13, 10)), "a^1.3"),
        (power(A / B, Fraction(-2, 3)), "(a / b)^(−2/3)"),
        (power(A, 1), "a^1"),
        (power(A, param("curve")), "a^curve"),
        (1 / power(A, 2), "1 / a^2"),
        (root(power(A, 3), 2), "√(a^3)"),
        (exp(-A), "exp(0 − a)"),
        (log(A + 1), "ln(a + 1)"),
        (floor(A / B), "⌊a / b⌋"),
        (places(A, 2), "round(a, 2 places)"),
        (places(A, 1), "round(a, 1 place)"),
        # brackets stand where the meaning needs them
        ((A + B) * 2, "(a + b) · 2"),
        (2 * (A - B), "2 · (a − b)"),
        (A - (B - 1), "a − (b − 1)"),
        (A - B - 1, "a − b − 1"),
        (A - (B + 1), "a − (b + 1)"),
        (A / (B / 2), "a / (b / 2)"),
        (A / (B * 2), "a / (b · 2)"),
        (A / B / 2, "a / b / 2"),
        (A * B + C, "a · b + c"),
        ((A < B) * 2, "(a < b) · 2"),
        ((PICK == "x") * 2, "(p = x) · 2"),
        (((A < B) | (B < 1)) & (C < 1), "(a < b or b < 1) and c < 1"),
        ((A < B) & (B < 1) | (C < 1), "a < b and b < 1 or c < 1"),
        (absolute(A) - absolute(B - C), "|a| − |b − c|"),
        (A / Fraction(2, 3), "a / (2/3)"),
        (5 * ~(A == B), "5 · (not a = b)"),
        (5 * (PICK != "x"), "5 · (p ≠ x)"),
        ((A < B) < C, "(a < b) < c"),
        ((B < C) > A, "a < (b < c)"),
        ((A < B) == (B < C), "(a < b) = (b < c)"),
        (~(A == B) < C, "(not a = b) < c"),
        (rank(PICK) == 5, "rank(p) = 5"),
        (rank(PICK) == -1, "rank(p) = −1"),
        (rank(PICK) == Fraction(1, 2), "rank(p) = 0.5"),
    ],
)  # fmt: skip
def test_an_expression_is_written_as_people_write_it(node: Node, text: str) -> None:
    assert render(node) == text


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("number", "b"),
        ("integer", "b"),
        ("count", "|b|"),
        ("distinct", "|distinct b|"),
        ("overlap", "|b ∩ c|"),
        ("total", "Σ b"),
        ("largest", "max b"),
        ("smallest", "min b"),
        ("excess", "Σ max(0, b − c.*)"),
        ("flag", "b"),
        ("given", "[b given]"),
        ("itemised", "[b itemised]"),
        ("equal", "[b = c]"),
        ("matches", "[b fits /x+/]"),
        ("choice", "b"),
        ("opaque", "first word"),
    ],
)
def test_every_reader_has_its_text(reader: str, text: str) -> None:
    (fact,) = [fact for fact in EVERY if reader_of(fact).name == reader]
    assert fact_text(fact) == leaf_text(fact) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 2), "0.5"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(5, 4), "1.25"),
        (Fraction(1, 10**9), "0.000000001"),
        (Fraction(120), "120"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-7, 6), "-7/6"),
    ],
)
def test_a_number_is_a_decimal_where_it_ends(value: Fraction, text: str) -> None:
    assert decimal_text(value) == text


def test_values_may_stand_in_place_of_names() -> None:
    shown = substituted({A.digest: "7", published("q").digest: "0.500000000"})
    assert render(A * published("q") + B, shown) == "7 · 0.500000000 + b"


def test_labels_and_cases_have_lines_of_their_own() -> None:
    share = label("share", A / B)
    found = lines(
        "α",
        cases((B == 0, 0), (share < label("half", const(Fraction(1, 2))), share + 1), otherwise=1),
    )
    assert found == [
        "share = a / b",
        "half = 0.5",
        "α = 0          if b = 0",
        "    share + 1  if share < half",
        "    1          otherwise",
    ]  # fmt: skip


def shipped_lines(registry: Registry) -> str:
    """Every formula of the two shipped plugins, and where a factor applies."""
    blocks = []
    for name in sorted(registry.formulas):
        formula = registry.formulas[name]
        shown = lines(formula.symbol or formula.kind, formula.tree)
        if formula.applies is not None:
            shown.append(f"applies if {render(formula.applies)}")
        blocks.append("\n".join([f"# {name}", *shown]))
    return "\n\n".join(blocks) + "\n"


def test_every_shipped_formula_is_printed_as_it_always_was() -> None:
    assert shipped_lines(installed()) == GOLDEN.read_text(encoding="utf-8")


def test_a_label_that_is_a_whole_case_is_shown_by_name() -> None:
    formula = cases((label("none", B == 0), 0), otherwise=label("share", A / B))
    assert lines("α", formula) == [
        "none = b = 0",
        "share = a / b",
        "α = 0      if none",
        "    share  otherwise",
    ]


def test_facts_of_one_name_are_told_apart_by_their_paths() -> None:
    mine, right = total("submission.grades"), total("checks.grades")
    assert render(mine - right) == "Σ submission.grades − Σ checks.grades"
    assert render(mine - A) == "Σ grades − a"
    assert lines("N", label("gap", mine) / right)[0] == "gap = Σ submission.grades"


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (overlap("mine.ids", "right.ids"), "|mine.ids ∩ right.ids|"),
        (overlap("mine.ids", "mine.ids"), "|mine.ids ∩ mine.ids|"),
        (excess("mine.nits", "task.files.*.nits"), "Σ max(0, mine.nits − task.files.*.nits)"),
        (count("task.files.*"), "|files.*|"),
        (total("checks.segments[].errors"), "Σ segments[].errors"),
    ],
)
def test_a_path_is_shown_as_far_as_it_takes_to_know_it(fact: Node, text: str) -> None:
    assert fact_text(fact) == text
