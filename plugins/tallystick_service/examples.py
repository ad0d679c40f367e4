"""Examples: a record of each skill type, as its plugin ships them, put into the open epoch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tallystick.plugins.registry import Registry
from tallystick.records.decoding import MissedDeadline
from tallystick.scoring.scorer import Scorer

JsonRecord = Mapping[str, Any]


def example_of(scorer: Scorer, skill_type: str, epoch: int) -> JsonRecord | None:
    """Return the first example of a type that has a submission; None where there is none.

    Args:
        scorer: the rules that score it.
        skill_type: the type.
        epoch: which the record is to name.
    """
    for record in examples_of(scorer.registry, skill_type):
        moved = {**record, "epoch": epoch}
        decoded = scorer.decoder.convert(moved, 1)
        if not isinstance(decoded, MissedDeadline) and hasattr(decoded, "skill_type"):
            return moved
    return None


def examples_of(registry: Registry, skill_type: str) -> list[JsonRecord]:
    """Return the examples of a type, in the order of its file; none where it ships none."""
    kind = registry.skill_types.get(skill_type)
    if kind is None or kind.examples is None:
        return []
    lines = kind.examples.read_text(encoding="utf-8").splitlines()
    records = (json.loads(line) for line in lines if line.strip())
    return [record for record in records if record.get("skill_type") == skill_type]
