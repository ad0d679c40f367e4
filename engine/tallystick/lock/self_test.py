"""The self-test: the vectors of whole records, scored here and compared field by field.

The vectors are made by an oracle that shares nothing with the engine. A row is a line, and for each
rule set the row of results that it comes to, or the code of its reject.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.errors import InputError, RecordError, TrustError
from tallystick.io.documents import parse_json
from tallystick.resources import vectors_path

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer

SelfTestRow = tuple[str, Mapping[str, Any]]
"""A line, and the fields of the result that it must come to; of a reject ``error`` alone."""


def self_test(scorer: Scorer) -> int:
    """Score the rows of the vectors that are of a rule set, and return their number.

    Raises:
        TrustError: a row is another, or none is of the rule set.
    """
    reference = scorer.rule_set.reference
    rows = rows_of(reference)
    if not rows:
        raise TrustError(
            f"{reference}: found no vectors that ship with the engine, expected some to test by",
            code="no-vectors",
        )
    for number, (line, expected) in enumerate(rows, 1):
        result = _answer(scorer, line)
        if result != expected:
            field, here, there = next(_unlike(result, expected))
            raise TrustError(
                f"{reference}: row {number} of the vectors: {field}: found {here}, expected "
                f"{there}: this installation scores wrongly",
                code="self-test-failed",
            )
    return len(rows)


def rows_of(reference: str) -> tuple[SelfTestRow, ...]:
    """Return the rows of the vectors that are of a rule set, by its ``name@version``."""
    every = _rows(vectors_path())
    rows = ((line, answers[reference]) for line, answers in every if reference in answers)
    return tuple(
        (line, json.loads(answer) if isinstance(answer, str) else answer) for line, answer in rows
    )


@cache
def _rows(path: Path) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    try:
        cases = parse_json(path.read_bytes())["cases"]
        return tuple(
            pair for case in cases for pair in zip(case["inputs"], case["expected"], strict=True)
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no vectors ({error}): install tallystick again") from error


def _answer(scorer: Scorer, line: str) -> dict[str, Any]:
    try:
        return scorer.score(line.encode()).to_dict()
    except RecordError as error:
        return {"error": error.code}


def _unlike(
    found: Mapping[str, Any], expected: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            yield name, found.get(name), expected.get(name)
