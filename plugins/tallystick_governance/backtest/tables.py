"""The tables of a back-test for Parquet files.

They have one row a miner, a pair of tiers, a flip, or an epoch; decimals are decimal128 of nine
places, and a column is null where none apply. Rows hold nano, of which columns become decimals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tallystick.numbers.nano import NANO, to_decimal
from tallystick_allocation.recipients import slot_of
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.distribution import Distribution
from tallystick_governance.backtest.incentive import Incentives
from tallystick_governance.backtest.outcome import (
    EpochState,
    FlipRows,
    MinerTotals,
    StateOutcome,
    WeightOutcome,
)
from tallystick_governance.backtest.statistics import published_share

ReportRow = tuple[Any, ...]

VALUE = pa.decimal128(19, 9)
"""One published value: 19 digits hold every 64-bit integer."""
SUM = pa.decimal128(38, 9)
"""A sum of them."""
_NAME = pa.string()

MINERS = pa.schema(
    {
        "candidate": _NAME,
        "skill_type": _NAME,
        "miner_uid": pa.int64(),
        "miner_hotkey": _NAME,
        "measure": _NAME,
        "baseline_amount": SUM,
        "candidate_amount": SUM,
        "baseline_share": VALUE,
        "candidate_share": VALUE,
        "share_change": VALUE,
        "relative_change": SUM,
        "baseline_rank": pa.int64(),
        "candidate_rank": pa.int64(),
        "baseline_state_amount": SUM,
        "candidate_state_amount": SUM,
        "baseline_state_share": VALUE,
        "candidate_state_share": VALUE,
        "baseline_reputation": VALUE,
        "candidate_reputation": VALUE,
        "baseline_weight": VALUE,
        "candidate_weight": VALUE,
        "weight_change": VALUE,
    }
)
"""One row a candidate, skill type (null: all of them) and miner, in that order.

Weights are mean shares over the epochs, of all types together.
"""
WEIGHTS = pa.schema(
    {
        "candidate": _NAME,
        "epoch": pa.int64(),
        "miner_uid": pa.int64(),
        "miner_hotkey": _NAME,
        "weight": VALUE,
        "share": VALUE,
        "reason": _NAME,
    }
)
"""One row a candidate, epoch and miner with a weight; a hotkey of null is nobody, for a reason."""
MIGRATIONS = pa.schema(
    {
        "candidate": _NAME,
        "skill_type": _NAME,
        "baseline_tier": _NAME,
        "candidate_tier": _NAME,
        "records": pa.int64(),
        "share": VALUE,
    }
)
"""One row a candidate, skill type and pair of tiers; a share is of the records of the first."""
FLIPS = pa.schema(
    {
        "candidate": _NAME,
        "skill_type": _NAME,
        "record": pa.int64(),
        "task_id": _NAME,
        "miner_uid": pa.int64(),
        "miner_hotkey": _NAME,
        "baseline_quality": VALUE,
        "candidate_quality": VALUE,
        "baseline_tier": _NAME,
        "candidate_tier": _NAME,
        "baseline_emission": VALUE,
        "candidate_emission": VALUE,
        "baseline_gate": _NAME,
        "candidate_gate": _NAME,
        "tier_distance": VALUE,
        "gate_distance": VALUE,
    }
)
"""One row a record and candidate, as in `FlipRows`."""
THRESHOLDS = pa.schema(
    {
        "candidate": _NAME,
        "epoch": pa.int64(),
        "skill_type": _NAME,
        "threshold": _NAME,
        "value": VALUE,
    }
)
"""One row a candidate, epoch, skill type and tracked threshold, as the epoch begins."""
REPUTATIONS = pa.schema(
    {
        "candidate": _NAME,
        "epoch": pa.int64(),
        "miner_hotkey": _NAME,
        "skill_type": _NAME,
        "reputation": VALUE,
    }
)
"""One row a candidate, epoch, miner and skill type, as the epoch begins."""
INCENTIVES = pa.schema(
    {
        "candidate": _NAME,
        "scenario": _NAME,
        "validators": pa.int64(),
        "stake": VALUE,
        "miner_uid": pa.int64(),
        "miner_hotkey": _NAME,
        "consensus": VALUE,
        "incentive": VALUE,
        "incentive_change": VALUE,
    }
)
"""One row a candidate, scenario of who adopts it, and miner; ``none`` is nobody."""
DIVIDENDS = pa.schema(
    {
        "candidate": _NAME,
        "scenario": _NAME,
        "validators": pa.int64(),
        "stake": VALUE,
        "validator_hotkey": _NAME,
        "validator_stake": VALUE,
        "adopts": pa.bool_(),
        "trust": VALUE,
        "first_dividends": VALUE,
        "dividends": VALUE,
        "dividends_change": VALUE,
    }
)
"""The same by validator, those with a permit."""


def miner_table(comparison: CandidateComparison) -> pa.Table:
    """Return the miners of one candidate, all types first."""
    rows = list(_miner_rows(comparison, None, comparison.overall))
    for name, by_type in comparison.types.items():
        rows += _miner_rows(comparison, name, by_type.distribution)
    return _table(MINERS, rows)


def migration_table(comparison: CandidateComparison) -> pa.Table:
    """Return the tier migrations of one candidate."""
    rows, candidate = list[ReportRow](), comparison.identity.name
    for name, by_type in comparison.types.items():
        compared = by_type.compared
        if compared is None or compared.tiers is None:
            continue
        for level, counts in zip(compared.tiers[0], compared.migration_rows, strict=True):
            rows += (
                (candidate, name, level, other, count, _part(count, sum(counts)))
                for other, count in zip(compared.tiers[1], counts, strict=True)
            )
    return _table(MIGRATIONS, rows)


def flip_table(rows: FlipRows, candidate: str) -> pa.Table:
    """Return some flips of one candidate."""
    many = len(rows)
    columns = {name: getattr(rows, name) for name in FLIPS.names if hasattr(rows, name)}
    columns |= {"candidate": pa.repeat(_scalar(candidate), many)}
    columns |= {"skill_type": pa.repeat(_scalar(rows.skill_type), many)}
    return pa.table(
        [_column(columns[field.name], field.type, many) for field in FLIPS], schema=FLIPS
    )


def threshold_table(state: EpochState, candidate: str) -> pa.Table:
    """Return the thresholds of one candidate as one epoch begins."""
    rows = [
        (candidate, state.epoch, skill_type, name, nano)
        for skill_type, values in sorted(state.thresholds.items())
        for name, nano in sorted(values.items())
    ]
    return _table(THRESHOLDS, rows)


def reputation_table(state: EpochState, candidate: str) -> pa.Table:
    """Return the reputations of one candidate as one epoch begins."""
    rows = [
        (candidate, state.epoch, hotkey, skill_type, nano)
        for hotkey, values in sorted(state.reputations.items())
        for skill_type, nano in sorted(values.items())
    ]
    return _table(REPUTATIONS, rows)


def weight_table(weights: WeightOutcome, candidate: str, miners: Sequence[MinerTotals]) -> pa.Table:
    """Return the weights of one candidate, epoch by epoch."""
    uids: dict[str, int | None] = {miner.hotkey: miner.uid for miner in miners}
    rows: list[ReportRow] = []
    for epoch, by_key, reason in zip(weights.epochs, weights.weights, weights.reasons, strict=True):
        whole = sum(by_key.values())
        rows += (
            (
                candidate,
                epoch,
                uids.get(key, slot_of(key)),
                key,
                weight,
                published_share(weight, whole),
                None,
            )
            for key, weight in sorted(by_key.items())
            if weight
        )
        if not whole:
            rows.append((candidate, epoch, None, None, None, NANO, reason))
    return _table(WEIGHTS, rows)


def incentive_table(incentives: Incentives, candidate: str) -> pa.Table:
    """Return the incentive of miners in each scenario of one candidate."""
    rows: list[ReportRow] = []
    for scenario in incentives.scenarios:
        head = (candidate, scenario.name, scenario.adopting, scenario.stake)
        columns = (scenario.consensus, scenario.incentive, incentives.nobody.incentive)
        rows += (
            (*head, miner.uid, miner.hotkey, agreed, new, new - old)
            for miner, agreed, new, old in zip(incentives.miners, *columns, strict=True)
        )
    return _table(INCENTIVES, rows)


def dividend_table(incentives: Incentives, candidate: str) -> pa.Table:
    """Return the dividends of validators in each scenario of one candidate."""
    rows: list[ReportRow] = []
    validators = incentives.network.validators
    for scenario in incentives.scenarios:
        head = (candidate, scenario.name, scenario.adopting, scenario.stake)
        for number, validator in enumerate(validators):
            new, old = scenario.dividends[number], incentives.nobody.dividends[number]
            values = (scenario.trust[number], scenario.first_dividends[number], new, new - old)
            who = (
                validator.hotkey,
                incentives.network.part(validator),
                number < scenario.adopting,
            )
            rows.append((*head, *who, *values))
    return _table(DIVIDENDS, rows)


def _miner_rows(
    comparison: CandidateComparison, skill_type: str | None, distribution: Distribution
) -> Iterator[ReportRow]:
    before, after = comparison.before.state, comparison.after.state
    weights = _weight_rows(comparison) if skill_type is None else {}
    for change in distribution.changes():
        hotkey = change.miner.hotkey
        yield (
            comparison.identity.name,
            skill_type,
            change.miner.uid,
            hotkey,
            distribution.measure,
            change.before,
            change.after,
            change.share_before,
            change.share_after,
            change.share_change,
            change.relative,
            change.rank_before,
            change.rank_after,
            *(
                (None,) * 6
                if before is None or after is None
                else (
                    # the amounts are those of the replay
                    *(change.before, change.after, change.share_before, change.share_after),
                    _reputation(before, hotkey, skill_type),
                    _reputation(after, hotkey, skill_type),
                )
            ),
            *weights.get(hotkey, (None,) * 3),
        )


def _weight_rows(comparison: CandidateComparison) -> Mapping[str, ReportRow]:
    """Return the mean shares of weight by hotkey; nothing where they are not known."""
    weight = comparison.weight
    shares = {} if weight is None else weight.shares
    return {hotkey: (old, new, new - old) for hotkey, (old, new) in shares.items()}


def _reputation(outcome: StateOutcome, hotkey: str, skill_type: str | None) -> int | None:
    if skill_type is None:
        return None
    return outcome.final.reputations.get(hotkey, {}).get(skill_type)


def _part(count: int, whole: int) -> int | None:
    return published_share(count, whole) if whole else None


def _table(schema: pa.Schema, rows: Sequence[ReportRow]) -> pa.Table:
    """Make a table of rows, whose decimals are nano."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [
        _of_nano(column, field.type)
        if pa.types.is_decimal(field.type)
        else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def _of_nano(values: Sequence[int | None], wanted: pa.DataType) -> pa.Array:
    try:
        return _decimals(pa.array(values, pa.int64()), wanted)
    except OverflowError:
        # a sum of more than 64 bits
        decimals = [None if nano is None else to_decimal(nano) for nano in values]
        return pa.array(decimals, wanted)


@cache
def _scalar(text: str) -> pa.Scalar:
    """Return a text as a value of Arrow; each takes as long as a thousand rows."""
    return pa.scalar(text, _NAME)


def _column(values: object, wanted: pa.DataType, many: int) -> pa.Array:
    """Convert a column of flips."""
    if values is None:
        return pa.nulls(many, wanted)
    if wanted != VALUE:
        return pa.array(values, wanted) if not isinstance(values, pa.Array) else values.cast(wanted)
    whole = values if isinstance(values, pa.Array) else pa.array(values, pa.int64())
    return _decimals(whole, wanted)


def _decimals(nano: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return a column of nano as decimals: the same numbers of 128 bits, with nine places."""
    if nano.null_count == len(nano):
        return pa.nulls(len(nano), wanted)
    low = (nano.fill_null(0) if nano.null_count else nano).to_numpy()
    words = np.empty((len(low), 2), "<i8")
    words[:, 0], words[:, 1] = low, low >> 63
    valid = nano.is_valid().buffers()[1] if nano.null_count else None
    return pa.Array.from_buffers(wanted, len(low), [valid, pa.py_buffer(words)])
