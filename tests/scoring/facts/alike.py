"""Essays, whose facts are of the tests' own, and their axes in every way to score them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer

Record = dict[str, Any]


def essay(number: int, submission: Mapping[str, Any], checks: Mapping[str, Any]) -> Record:
    """A record of an essay with a part of its submission and of its checks."""
    return {
        "skill_type": "essay",
        "task_id": f"t-{number}",
        "round": 1,
        "epoch": 1,
        "validator": "v",
        "miner": {"uid": 1, "hotkey": "m"},
        "role": "primary",
        "task": {"least_words": 1, "most_words": 9},
        "submission": {"words": 5, **submission},
        "checks": {"style": 0.5, **checks},
    }


def axes_in_every_way(
    scorer: Scorer, records: Sequence[Record], folder: Path
) -> Iterator[list[Mapping[str, Decimal]]]:
    """The axes of records that are scored alone, of a file, and of a file of their facts."""
    yield [scorer.score(record).axes for record in records]
    lines, facts, output = (folder / name for name in ("in.jsonl", "f.parquet", "out.jsonl"))
    lines.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    extract_file(lines, facts, scorer.registry)
    for source in (lines, facts):
        scorer.score_file(source, output)
        rows = map(json.loads, output.read_text("utf-8").splitlines())
        yield [{name: Decimal(text) for name, text in row["axes"].items()} for row in rows]
