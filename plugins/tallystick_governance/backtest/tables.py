"""What a back-test tells as Arrow tables: one row a miner, a pair of tiers, a flip, or an epoch.

Decimals are decimal128 of nine places, such as a share of 0.250000000. A column is null where
nothing applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tallystick.numbers.nano import to_decimal
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.comparison_model import EpochState, FlipRows, StateOutcome
from tallystick_governance.backtest.distribution import Distribution, published_share
from tallystick_governance.backtest.incentive import Incentives

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
    }
)
"""One row a candidate, skill type (null: all of them) and miner, in that order."""
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

Row = tuple[Any, ...]


def miner_table(comparison: CandidateComparison) -> pa.Table:
    """The miners of one candidate, all types first."""
    rows = list(_miner_rows(comparison, None, comparison.overall))
    for name, each in comparison.types.items():
        rows += _miner_rows(comparison, name, each.distribution)
    return _table(MINERS, rows)


def migration_table(comparison: CandidateComparison) -> pa.Table:
    """The tier migrations of one candidate."""
    rows: list[Row] = []
    for name, each in comparison.types.items():
        tiers = each.tiers
        if tiers is None or not (tiers.migration and tiers.tiers and tiers.candidate_tiers):
            continue
        for level, counts in zip(tiers.tiers, tiers.migration, strict=True):
            rows += (
                (comparison.identity.name, name, level, other, count, _part(count, sum(counts)))
                for other, count in zip(tiers.candidate_tiers, counts, strict=True)
            )
    return _table(MIGRATIONS, rows)


def flip_table(rows: FlipRows, candidate: str) -> pa.Table:
    """Some flips of one candidate."""
    many = len(rows)
    columns = {name: getattr(rows, name) for name in FLIPS.names if hasattr(rows, name)}
    columns |= {"candidate": pa.repeat(candidate, many)}
    columns |= {"skill_type": pa.repeat(rows.skill_type, many)}
    return pa.table(
        [_column(columns[field.name], field.type, many) for field in FLIPS], schema=FLIPS
    )


def threshold_table(state: EpochState, candidate: str) -> pa.Table:
    """The thresholds of one candidate as one epoch begins."""
    rows = [
        (candidate, state.epoch, skill_type, name, to_decimal(nano))
        for skill_type, values in sorted(state.thresholds.items())
        for name, nano in sorted(values.items())
    ]
    return _table(THRESHOLDS, rows)


def reputation_table(state: EpochState, candidate: str) -> pa.Table:
    """The reputations of one candidate as one epoch begins."""
    rows = [
        (candidate, state.epoch, hotkey, skill_type, to_decimal(nano))
        for hotkey, values in sorted(state.reputations.items())
        for skill_type, nano in sorted(values.items())
    ]
    return _table(REPUTATIONS, rows)


def incentive_table(found: Incentives, candidate: str) -> pa.Table:
    """What miners earn in each scenario of one candidate."""
    rows: list[Row] = []
    for scenario in found.scenarios:
        head = (candidate, scenario.name, scenario.adopting, to_decimal(scenario.stake))
        columns = (scenario.consensus, scenario.incentive, found.nobody.incentive)
        rows += (
            (*head, miner.uid, miner.hotkey, *map(to_decimal, (agreed, new, new - old)))
            for miner, agreed, new, old in zip(found.miners, *columns, strict=True)
        )
    return _table(INCENTIVES, rows)


def dividend_table(found: Incentives, candidate: str) -> pa.Table:
    """What validators earn in each scenario of one candidate."""
    rows: list[Row] = []
    validators = found.network.validators
    for scenario in found.scenarios:
        head = (candidate, scenario.name, scenario.adopting, to_decimal(scenario.stake))
        for place, each in enumerate(validators):
            new, old = scenario.dividends[place], found.nobody.dividends[place]
            values = (scenario.trust[place], scenario.first_dividends[place], new, new - old)
            who = (each.hotkey, to_decimal(found.network.part(each)), place < scenario.adopting)
            rows.append((*head, *who, *map(to_decimal, values)))
    return _table(DIVIDENDS, rows)


def _miner_rows(
    comparison: CandidateComparison, skill_type: str | None, found: Distribution
) -> Iterator[Row]:
    tracked = _state_rows(comparison, skill_type, found)
    for each in found.changes():
        hotkey, relative = each.miner.hotkey, each.relative
        yield (
            comparison.identity.name,
            skill_type,
            each.miner.uid,
            hotkey,
            found.measure,
            *map(to_decimal, (each.before, each.after)),
            *map(to_decimal, (each.share_before, each.share_after, each.share_change)),
            None if relative is None else to_decimal(relative),
            each.rank_before,
            each.rank_after,
            *tracked.get(hotkey, (None,) * 6),
        )


def _state_rows(
    comparison: CandidateComparison, skill_type: str | None, found: Distribution
) -> Mapping[str, Row]:
    """By hotkey, what the replay of the epochs says."""
    state = comparison.state
    if state is None:
        return {}
    tracked = state.overall if skill_type is None else state.types.get(skill_type)
    if tracked is None or tracked.measure != found.measure:
        return {}
    return {
        each.miner.hotkey: (
            *map(to_decimal, (each.before, each.after, each.share_before, each.share_after)),
            _reputation(state.before, each.miner.hotkey, skill_type),
            _reputation(state.after, each.miner.hotkey, skill_type),
        )
        for each in tracked.changes()
    }


def _reputation(outcome: StateOutcome, hotkey: str, skill_type: str | None) -> Decimal | None:
    if skill_type is None:
        return None
    nano = outcome.final.reputations.get(hotkey, {}).get(skill_type)
    return None if nano is None else to_decimal(nano)


def _part(count: int, whole: int) -> Decimal | None:
    return to_decimal(published_share(count, whole)) if whole else None


def _table(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _column(values: object, wanted: pa.DataType, many: int) -> pa.Array:
    """A column of flips; nano become decimals by another look at the same 128 bits."""
    if values is None:
        return pa.nulls(many, wanted)
    if wanted != VALUE:
        return pa.array(values, wanted) if not isinstance(values, pa.Array) else values.cast(wanted)
    whole = pa.array(values, pa.int64()) if not isinstance(values, pa.Array) else values
    return whole.cast(pa.decimal128(19, 0)).view(VALUE)
