"""The result of one record, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import attrs

CONSENSUS = "consensus"
"""The factor from which reputation events arise."""
FACTORS = ("early_bonus", "role_multiplier", CONSENSUS, "bootstrap_bonus")
"""The emission factors that a result shows."""
DECIMALS = ("quality", "base_weight", "tier_multiplier", *FACTORS, "emission")
"""The decimal fields of a result beside its axes."""
FIELDS = (
    "record",
    "skill_type",
    "task_id",
    "miner_uid",
    "miner_hotkey",
    "role",
    "axes",
    "quality",
    "tier",
    "base_weight",
    "tier_multiplier",
    *FACTORS,
    "emission",
)
"""Every field of a result, in order."""


@attrs.frozen
class Result:
    """What one record scores. Decimals have nine places; what does not apply is None.

    Attributes:
        record: the line of the record, from 1.
        skill_type: the type of the record.
        task_id: its task.
        miner_uid: its miner's slot.
        miner_hotkey: its miner's key.
        role: ``primary`` or ``auditor``.
        axes: the axes, each in [0, 1], by name; empty for a record without a submission.
        quality: the composite, Q or S, in [0, 1].
        tier: the name of the tier.
        base_weight: of the skill type.
        tier_multiplier: of the tier.
        early_bonus: for the position in the window.
        role_multiplier: for the role.
        consensus: of the group; None when consensus was off, which counts as 1.
        bootstrap_bonus: in the first epochs.
        emission: the product of the terms.
    """

    record: int
    skill_type: str
    task_id: str
    miner_uid: int
    miner_hotkey: str
    role: str
    axes: Mapping[str, Decimal]
    quality: Decimal | None = None
    tier: str | None = None
    base_weight: Decimal | None = None
    tier_multiplier: Decimal | None = None
    early_bonus: Decimal | None = None
    role_multiplier: Decimal | None = None
    consensus: Decimal | None = None
    bootstrap_bonus: Decimal | None = None
    emission: Decimal | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values, decimals as text of nine places, in the order of ``FIELDS``."""
        return {name: _plain(getattr(self, name)) for name in FIELDS}

    def to_json(self) -> str:
        """The row as one line of JSON, as in a results file; only what must be is escaped."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return value
