"""Batches: the result of a record is its own, whatever stands beside it, and the same each time.

One record is scored by integers, a batch by columns, so that these are compared here, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.formula.schema_path import ANSWER
from tallystick.plugins.generator import Draw
from tallystick.records.rejects import Reject
from tallystick.records.schema import MISSED
from tallystick.scoring.result import Result
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding
from tallystick_conformance.testing.samples import JSON, SEED, line, of_type

OF_A_TYPE = 120
"""Number of records of each type that are scored, over and over."""
MOST_BYTES = 20_000
"""The longest of them; a longer one shows nothing more and takes its time."""

_BROKEN = (b"{", b"null", b'{"skill_type": "no such type"}')
"""Lines that are rejected, behind the others."""
_NUMBERS = ("line", "record")
_LONGEST = 400


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the findings about records whose result changes; one of each code for each rule set.

    Raises:
        SchemaError: no record of a skill type was found that meets its requirements.
    """
    for reference, scorer in subject.scorers.items():
        lines = _lines(scorer)
        alone = [*map(_row, scorer.score_many(lines))]
        # from the last to the first, so that what is kept between calls shows
        again = [*map(_row, scorer.score_many(lines[::-1]))][::-1]
        changing = list(_changing(reference, lines, alone, again))
        yield from changing or _beside_others(reference, scorer, lines, alone)


def _lines(scorer: Scorer) -> list[bytes]:
    """Lines of every type in turns, and some that have no scores."""
    ordered: list[tuple[int, int, bytes]] = []
    for type_number, (name, bound) in enumerate(scorer.types.items()):
        requirements = bound.required
        records = of_type(scorer.registry.skill_types[name], requirements)
        lines = [line(record) for record in (_without_answer(records[0]), *records)]
        short = [record_line for record_line in lines if len(record_line) <= MOST_BYTES]
        chosen = short[:: max(1, len(short) // OF_A_TYPE)]
        ordered += [(turn, type_number, record_line) for turn, record_line in enumerate(chosen)]
    return [record_line for *_, record_line in sorted(ordered)] + list(_BROKEN)


def _without_answer(record: JSON) -> JSON:
    rest = {name: value for name, value in record.items() if name not in ANSWER}
    return {**rest, "events": [MISSED]}


def _changing(
    reference: str, lines: Sequence[bytes], alone: Sequence[bytes], again: Sequence[bytes]
) -> Iterator[Diagnostic]:
    """Yield the first record that gives other bytes the second time."""
    for record_line, before, after in zip(lines, alone, again, strict=True):
        if before != after:
            message = f"found {_shown(before)} and then {_shown(after)}, expected the same bytes"
            yield finding("not-repeatable", reference, message, _shown_record(record_line))
            return


def _beside_others(
    reference: str, scorer: Scorer, lines: Sequence[bytes], alone: Sequence[bytes]
) -> Iterator[Diagnostic]:
    """Yield the first record that has another result in some order than alone."""
    for order, places in _orders(len(lines)).items():
        rows = _rows(scorer, [lines[index] for index in places])
        for index, row in zip(places, rows, strict=True):
            if row != alone[index]:
                message = f"found {_shown(row)} in a batch {order}, expected {_shown(alone[index])}"
                yield finding("batch-dependent", reference, message, _shown_record(lines[index]))
                return


def _orders(count: int) -> Mapping[str, list[int]]:
    """Ways to put so many records into one batch, by their places."""
    every = list(range(count))
    permuted = Draw.of(SEED, "order").some(every, count)
    return {
        "in order": every,
        "in reverse": every[::-1],
        "in another order": permuted,
        "with each record twice": [index for index in every for _ in range(2)],
        "behind itself": every * 2,
        "of every second record": every[::2],
    }


def _rows(scorer: Scorer, lines: Sequence[bytes]) -> list[bytes]:
    """Return the result of each line of one batch, without its number."""
    batch = scorer.score_lines(lines)
    outcomes: dict[int, Result | Reject] = {each.line: each for each in batch.rejects}
    outcomes |= {each.record: each for each in batch.results()}
    return [_row(outcomes[number]) for number in range(1, len(lines) + 1)]


def _row(outcome: Result | Reject) -> bytes:
    row = outcome.to_dict() if isinstance(outcome, Result) else attrs.asdict(outcome)
    return json.dumps({k: v for k, v in row.items() if k not in _NUMBERS}).encode()


def _shown(row: bytes) -> str:
    return row.decode()[:_LONGEST]


def _shown_record(text: bytes) -> dict[str, object]:
    try:
        return {"record": json.loads(text)}
    except ValueError:
        return {"line": text.decode()}
