"""What is promised of aggregates is proved, or refuted by records that have them."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from examples import fast_rows
from governance.prove.sample import SCHEMA, sample

from tallystick.plugins.author import (
    Formula,
    Node,
    Parameters,
    Property,
    axis,
    clip,
    count,
    largest,
    less_is_better,
    never_above,
    never_below,
    smallest,
    total,
)
from tallystick_governance.prove.proving import prove

MARKS = "checks.marks"
SUM, MOST, HOW_MANY = total(MARKS), largest(MARKS), count(MARKS)
LEAST, LEAST_OR_TEN = smallest(MARKS), smallest(MARKS, empty=10)
SEGMENTS, ERRORS_OF_ONE = "checks.segments", "checks.segments[].errors"
ERRORS, MOST_ERRORS = total(ERRORS_OF_ONE), largest(ERRORS_OF_ONE)


@axis("mine/harsh@1")
def harsh(_p: Parameters) -> Node:
    """The worst mark decides."""
    return clip(1 - MOST / 10)


def schema_of(folder: Path) -> Path:
    """The schema of essays with marks."""
    schema: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    checks = schema["properties"]["checks"]["properties"]
    mark: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 10}
    checks["marks"] = {"type": "array", "maxItems": 8, "items": mark}
    segment: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["errors"],
    }
    segment["properties"] = {"errors": {"type": "integer", "minimum": 0, "maximum": 20}}
    checks["segments"] = {"type": "array", "maxItems": 6, "items": segment}
    path = folder / "essay.schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


@axis("mine/faultless@1")
def faultless(_p: Parameters) -> Node:
    """Every error costs a tenth."""
    return clip(1 - ERRORS / 10)


PROMISES: list[tuple[Callable[..., Property], str, Node, str]] = [
    (never_below, "0.5", MOST <= 5, "proved"),
    (never_below, "0.6", MOST <= 5, "counterexample"),
    (never_below, "0.5", SUM <= 5, "proved"),
    (never_below, "1", HOW_MANY == 0, "proved"),
    (never_above, "0.6", LEAST >= 4, "proved"),
    (never_above, "0.5", LEAST >= 4, "counterexample"),
    (never_above, "0.6", LEAST_OR_TEN >= 4, "counterexample"),
    (never_above, "0.6", (LEAST_OR_TEN >= 4) & (HOW_MANY > 0), "proved"),
    (never_below, "0", (SUM == 7) & (LEAST == 2), "proved"),
    (never_below, "0.6", (SUM == 7) & (LEAST == 2), "counterexample"),
    (never_above, "0.7", (SUM >= 9) & (HOW_MANY == 3), "proved"),
    (never_above, "0.6", (SUM >= 9) & (HOW_MANY == 3), "counterexample"),
]
OF_ERRORS: list[tuple[Callable[..., Property], str, Node, str]] = [
    (never_below, "0.8", ERRORS <= 2, "proved"),
    (never_above, "0.8", ERRORS >= 1, "counterexample"),
    (never_above, "0.7", (count(SEGMENTS) == 3) & (MOST_ERRORS >= 2), "counterexample"),
]


@pytest.mark.parametrize(
    ("formula", "promise", "limit", "where", "status"),
    fast_rows(
        [
            *((harsh, *row) for row in PROMISES),
            *((faultless, *row) for row in OF_ERRORS),
        ],
        *(0, 1, 9, -3, -2, -1),
    ),
)
def test_what_is_promised_of_aggregates_is_proved_or_refuted(  # noqa: PLR0913, PLR0917  # of one row
    tmp_path: Path,
    formula: Formula,
    promise: Callable[..., Property],
    limit: str,
    where: Node,
    status: str,
) -> None:
    own = promise("mine/p", "…", "style", Decimal(limit), where=where)
    further = {"style": formula.name.removesuffix("@1"), "further": (formula,)}
    scorer = sample(tmp_path, schema=schema_of(tmp_path), properties=(own,), **further)
    (answer,) = prove(scorer, only="mine/p")
    assert answer.status == status
    if answer.record is not None:
        scored = scorer.score(answer.record)
        assert scored.axes["style"] == Decimal(answer.value or "")


def test_a_smaller_largest_is_better_and_repeating_a_mark_changes_nothing(tmp_path: Path) -> None:
    directions = (less_is_better(MOST),)
    scorer = sample(
        tmp_path,
        schema=schema_of(tmp_path),
        directions=directions,
        style="mine/harsh",
        further=(harsh,),
    )
    assert {answer.status for answer in prove(scorer)} == {"proved"}
