"""Examples: a record of each skill type, as its plugin ships them, put into the open epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.records.rejects import Reject
from tallystick.records.struct_builder import is_answered
from tallystick.scoring.scorer import Scorer

JsonRecord = Mapping[str, Any]


def example_of(scorer: Scorer, skill_type: str, epoch: int) -> JsonRecord | None:
    """Return the first example of a type that has a submission; None where there is none.

    Args:
        scorer: the rules that score it.
        skill_type: the type.
        epoch: which the record is to name.
    """
    from tallystick_conformance.testing.samples import examples_of

    kind = scorer.registry.skill_types.get(skill_type)
    for record in examples_of(kind) if kind is not None else ():
        moved = {**record, "epoch": epoch}
        decoded = scorer.decoder.decode(moved, 1)
        if isinstance(decoded, Reject) or not is_answered(decoded):
            continue
        if decoded.skill_type == skill_type:
            return moved
    return None
