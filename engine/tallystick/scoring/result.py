"""The result of one record, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import attrs

from tallystick.numbers import ratio
from tallystick.numbers.nano import to_decimal

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
"""The fields of every result, in order."""
GROUP, MEASURES = "group", "measures"
"""The fields of results of rule sets that have groups of miners, or measures."""


@attrs.frozen
class ResultLayout:
    """Which fields the results of some rules have.

    Attributes:
        axes: the names of the axes, sorted.
        measures: the names of the measures, sorted, each with whether it is a ratio.
        has_group: whether a result says the group of the miner.
    """

    axes: tuple[str, ...] = ()
    measures: Mapping[str, bool] = attrs.field(factory=dict)
    has_group: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return _fields(self.has_group, bool(self.measures))


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
        measures: the measures by name, an exact one as a fraction; empty for a record without a
            submission, None where the rule set has none.
        group: the group of the miner that the allocation names; None where it names none.
        quality: the composite, Q or S, in [0, 1]; None of a type that has measures alone.
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
    measures: Mapping[str, Decimal | Fraction | None] | None = None
    group: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values in the order of its fields.

        Decimals are text of nine places, fractions text in lowest terms, such as ``15/23``.
        """
        fields = _fields(self.group is not None, self.measures is not None)
        return {name: _plain(getattr(self, name)) for name in fields}

    def to_json(self) -> str:
        """The row as one line of JSON, as in a results file; only what must be is escaped."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))


def shown_measure(value: int | Fraction | None) -> Decimal | Fraction | None:
    """A measure in nano as a decimal; a ratio as it is."""
    return to_decimal(value) if isinstance(value, int) else value


@cache
def _fields(has_group: bool, has_measures: bool) -> tuple[str, ...]:
    place = FIELDS.index("axes")
    group, measures = (GROUP,) * has_group, (MEASURES,) * has_measures
    return (*FIELDS[:place], *group, "axes", *measures, *FIELDS[place + 1 :])


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Fraction):
        return ratio.to_text(value)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return value
