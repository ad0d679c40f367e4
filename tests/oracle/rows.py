"""The result row of a record."""

from fractions import Fraction
from typing import Any

from oracle import axes, emissions, reward, tiers, workflow
from oracle.composites import WEIGHTS, composite, require_shipped
from oracle.consensus import combine
from oracle.decimals import published, text
from oracle.validity import InvalidRecordError, require_valid

_AXES = {
    "skills@1.0.0": axes.PRINTED,
    "skills@1.1.0": axes.CORRECTED,
    "skills@1.2.0": axes.DECIDED,
}
_SCORED_FIELDS = (
    "quality",
    "tier",
    "base_weight",
    "tier_multiplier",
    "early_bonus",
    "role_multiplier",
    "consensus",
    "bootstrap_bonus",
    "emission",
)


def score(record: dict[str, Any], rule_set: str) -> dict[str, Any]:
    """The row of a decoded record, without `record`, its line.

    Args:
        record: a record that fits the record description.
        rule_set: skills or workflow in version 1.0.0, 1.1.0 or 1.2.0, or one of `reward.RULE_SETS`.

    Returns:
        `skill_type`, `task_id`, `miner_uid`, `miner_hotkey`, `role`, `axes` and the scored fields.
        Decimals are text with nine places. What does not apply is None, and `axes` is then empty:
        a record without `submission` or without `checks` is scored no further.

    Raises:
        InvalidRecordError: the record cannot be scored under the rule set.
        ValueError: the rule set is unknown or lacks the record's skill type.
    """
    if record["skill_type"] == "reward":
        return _rewarded(record, rule_set)
    require_shipped(record["skill_type"], rule_set)
    require_valid(record, rule_set)
    row = _identity(record) | {"axes": {}} | dict.fromkeys(_SCORED_FIELDS)
    if "submission" not in record or "checks" not in record:
        return row
    values = _axes(record, rule_set)
    quality = composite(record["skill_type"], values, rule_set)
    row["axes"] = {name: text(value) for name, value in values.items()}
    row["quality"] = text(quality)
    return row if record["skill_type"] == "workflow" else row | _emitted(record, quality, rule_set)


def _rewarded(record: dict[str, Any], rule_set: str) -> dict[str, Any]:
    """The row of a reward: its type has no factors, so that its columns are fewer."""
    if rule_set not in reward.RULE_SETS:
        raise ValueError(rule_set)
    if codes := reward.refusals(record):
        raise InvalidRecordError(codes)
    names = ("quality", "tier", "base_weight", "tier_multiplier", "emission")
    row = _identity(record) | {"axes": {}} | dict.fromkeys(names)
    if "checks" not in record:
        return row
    value = text(reward.value(record))
    return row | {"axes": {"reward": value}, "quality": value}


def _identity(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "skill_type": record["skill_type"],
        "task_id": record["task_id"],
        "miner_uid": record["miner"]["uid"],
        "miner_hotkey": record["miner"]["hotkey"],
        "role": record["role"],
    }


def _axes(record: dict[str, Any], rule_set: str) -> dict[str, Fraction]:
    if record["skill_type"] == "workflow":
        return workflow.sub_scores(record, rule_set)
    formulas = _AXES[rule_set]
    return {name: published(formulas[name](record)) for name in WEIGHTS[record["skill_type"]]}


def _emitted(record: dict[str, Any], quality: Fraction, rule_set: str) -> dict[str, str | None]:
    """The tier, the factors and the emission; an absent consensus is the factor 1."""
    skill_type = record["skill_type"]
    level = tiers.tier(quality, *tiers.thresholds(skill_type, rule_set))
    consensus = combine(record["consensus"]) if "consensus" in record else None
    factors = {
        "base_weight": emissions.BASE_WEIGHTS[skill_type],
        "tier_multiplier": tiers.MULTIPLIERS[level],
        "early_bonus": emissions.early_bonus(record),
        "role_multiplier": emissions.ROLE_MULTIPLIERS[record["role"]],
        "consensus": Fraction(1) if consensus is None else consensus,
        "bootstrap_bonus": emissions.bootstrap_bonus(skill_type, record["epoch"]),
    }
    emitted = {"tier": level, "emission": text(emissions.emission(quality, factors))}
    named = {name: text(value) for name, value in factors.items()}
    return emitted | named | {"consensus": None if consensus is None else text(consensus)}
