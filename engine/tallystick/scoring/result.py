"""The result of one record, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import attrs

from tallystick.json_values import json_form, json_value
from tallystick.numbers.nano import to_decimal

IDENTITY = ("record", "skill_type", "task_id", "miner_uid", "miner_hotkey", "role")
"""The first fields of a result, in order, by which a record is known."""
TIER, WHOLE = "tier", ("record", "miner_uid")
"""The field of the tier; the fields that are whole numbers."""
TEXTS = (*(name for name in IDENTITY if name not in WHOLE), TIER)
"""The fields of every result that are texts."""
_TERMS = ("quality", "tier", "base_weight", "tier_multiplier")
_LAST = "emission"
AXES, GROUP, MEASURES = "axes", "group", "measures"
"""The field of the axes; those of rule sets that have groups of miners, or measures."""
FORMATS = ("jsonl", "parquet", "csv")
"""The names of all formats of results, which are extensions of file names too."""
FIELDS = frozenset({*IDENTITY, GROUP, AXES, MEASURES, *_TERMS, _LAST})
"""The names of every field but the emission factors, which are those of the skill types."""


@attrs.frozen
class ResultLayout:
    """The fields that results of a rule set have.

    Attributes:
        axes: the names of the axes, sorted.
        measures: the names of the measures, sorted, each with whether it is a ratio.
        has_group: whether a result says the group of the miner.
        factors: the names of the emission factors, in order.
    """

    axes: tuple[str, ...] = ()
    measures: Mapping[str, bool] = attrs.field(factory=dict)
    has_group: bool = False
    factors: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return (*_before_factors(self.has_group, bool(self.measures)), *self.factors, _LAST)

    @property
    def decimals(self) -> tuple[str, ...]:
        """The names of the decimal fields beside axes and measures, in order."""
        return (*(name for name in _TERMS if name != "tier"), *self.factors, _LAST)


@attrs.frozen
class Result:
    """The scores of one record. Decimals have nine places; what does not apply is None.

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
        factors: the emission factors by name, as the skill types of the rule set name them; None
            where one does not apply, which counts as 1. A factor is an attribute too.
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
    factors: Mapping[str, Decimal | None] = attrs.field(factory=dict)
    emission: Decimal | None = None
    measures: Mapping[str, Decimal | Fraction | None] | None = None
    group: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values in the order of its fields.

        Decimals are text of nine places, fractions text in lowest terms, such as ``15/23``.
        """
        fields = _before_factors(self.group is not None, self.measures is not None)
        row = {name: json_value(getattr(self, name)) for name in fields}
        row |= json_value(self.factors)
        row[_LAST] = json_value(self.emission)
        return row

    def __getattr__(self, name: str) -> Decimal | None:
        # reached for names alone that are no field; one of a half-made copy has no factors yet
        if name != "factors" and name in self.factors:
            return self.factors[name]
        raise AttributeError(f"found no field and no factor {name!r} of a result")

    def to_json(self) -> str:
        """The row as one line of JSON, as in a results file; only what must be is escaped."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))


def shown_measure(value: int | Fraction | None) -> Decimal | Fraction | None:
    """Return a measure in nano as a decimal; a ratio as it is."""
    return to_decimal(value) if isinstance(value, int) else value


@cache
def _before_factors(has_group: bool, has_measures: bool) -> tuple[str, ...]:
    group, measures = (GROUP,) * has_group, (MEASURES,) * has_measures
    return (*IDENTITY, *group, AXES, *measures, *_TERMS)


json_form(Result, Result.to_dict)
