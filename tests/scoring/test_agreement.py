"""Thousands of unseen random records agree with an oracle that shares no code, in every digit."""

import json
from pathlib import Path
from typing import Any

import pytest
from examples import fast_rows
from generators import SKILL_TYPES, lines
from oracle import InvalidRecordError
from oracle import score as oracle

import tallystick

RULE_SETS = ("skills@1.0.0", "workflow@1.0.0", "skills@1.1.0", "workflow@1.1.0")

Row = dict[str, Any]


def expected_row(record: Row, rule_set: str) -> Row | str:
    """The oracle's row, or the code of its refusal."""
    try:
        return oracle(record, rule_set)
    except InvalidRecordError as error:
        return error.code


def disagreements(records: list[bytes], found: dict[int, Row | str], rule_set: str) -> list[int]:
    """The lines whose row or code is not the oracle's."""
    return [
        number
        for number, line in enumerate(records, 1)
        if found[number] != expected_row(json.loads(line), rule_set)
    ]


def rows_of_files(output: Path) -> dict[int, Row | str]:
    """By line, the row of the results, or the code of the rejects."""
    found: dict[int, Row | str] = {}
    for text in output.read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        found[row.pop("record")] = row
    rejects = output.with_name(f"{output.name}.rejects.jsonl")
    for text in rejects.read_text(encoding="utf-8").splitlines():
        reject = json.loads(text)
        found[reject["line"]] = reject["code"]
    return found


def records_of(kind: str, seed: int, count: int) -> list[bytes]:
    types = [name for name in SKILL_TYPES if (name == "workflow") == (kind == "workflow")]
    return list(lines(seed, count, types))


@pytest.mark.parametrize(
    ("seed", "count"), [(20_261, 500), pytest.param(7_000, 32_000, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("rule_set", fast_rows(RULE_SETS, 2, 3))
def test_a_file_of_records_scores_as_the_oracle_says(
    scorers: dict[str, tallystick.Scorer], tmp_path: Path, rule_set: str, seed: int, count: int
) -> None:
    records = records_of(rule_set.partition("@")[0], seed, count)
    source, output = tmp_path / "records.jsonl", tmp_path / "results.jsonl"
    source.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in records))
    receipt = scorers[rule_set].score_file(source, output)
    assert receipt.counts.records == count
    assert not disagreements(records, rows_of_files(output), rule_set)
