"""The results of a back-test for programs: ``summary.json``, and tables for Parquet files.

The summary has everything but what there is for each single miner; its decimals are text of nine
places, and null where a metric is not defined. Tables have one row a miner, a pair of tiers, a
flip, or an epoch; their decimals are decimal128 of nine places, such as a share of 0.250000000. A
column is null where nothing applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from tallystick.json_values import JsonKey, JsonObject, json_object, json_value, nano_value
from tallystick.numbers.nano import to_decimal, to_text
from tallystick_governance.backtest.candidates import Identity, Proposal
from tallystick_governance.backtest.comparison import (
    EDGES,
    CandidateComparison,
    Concentration,
    Distances,
    Distribution,
    MeasureComparison,
    MinerChange,
    StateComparison,
    ThresholdComparison,
    TypeComparison,
    gaining,
    losers,
    losing,
    relative_losers,
    relative_winners,
    winners,
)
from tallystick_governance.backtest.incentive import EPOCHS, Incentives, Scenario
from tallystick_governance.backtest.outcome import (
    Comparison,
    EpochState,
    FlipRows,
    History,
    Outcome,
    Period,
    StateOutcome,
)
from tallystick_governance.backtest.statistics import (
    PERCENT,
    Chance,
    Uncertainty,
    published_share,
)
from tallystick_governance.backtest.text import warnings

FORMAT = 1
"""The version of the form of a summary."""
NAMED = 10
"""Maximum number of those named who gain or lose most."""

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


_nano = partial(JsonKey, form=nano_value)

json_object(
    *("name", "reference", "digest"),
    JsonKey("changes", form=lambda changes: {change.path: change.value for change in changes}),
)(Identity)
json_object(
    *("summary", "source", "changes"),
    JsonKey("formulas", form=lambda all_: [{"name": f.name, "kind": f.kind} for f in all_]),
)(Proposal)
json_object("deals", "as_much", _nano("median"), _nano("probability"))(Chance)
json_object(_nano("gini"), _nano("hhi"))(Concentration)
json_object(
    "measure",
    JsonKey("miners", form=len),
    _nano("baseline_total", "total_before"),
    _nano("candidate_total", "total_after"),
    _nano("share_moved", "moved"),
    _nano("tau_b", "tau"),
    JsonKey("ranks_changed", lambda found: sum(miner.climb != 0 for miner in found.changes())),
    JsonKey("baseline_concentration", "concentration_before"),
    JsonKey("candidate_concentration", "concentration_after"),
)(Distribution)
json_object(
    JsonKey("hotkey", "miner.hotkey"),
    JsonKey("uid", "miner.uid"),
    _nano("baseline_share", "share_before"),
    _nano("candidate_share", "share_after"),
    _nano("share_change"),
    _nano("relative_change", "relative"),
    JsonKey("baseline_rank", "rank_before"),
    JsonKey("candidate_rank", "rank_after"),
)(MinerChange)
json_object(
    JsonKey("baseline_records", lambda measure: measure.before[0]),
    JsonKey("candidate_records", lambda measure: measure.after[0]),
    _nano("baseline_mean", "mean_before"),
    _nano("candidate_mean", "mean_after"),
)(MeasureComparison)
json_object(
    *("known", "rose", "fell", _nano("nearest"), _nano("mean")),
    JsonKey(
        "within",
        form=lambda counts: {
            to_text(edge): count for edge, count in zip(EDGES, counts, strict=True)
        },
    ),
)(Distances)


def summary(
    outcome: Outcome,
    comparisons: Sequence[CandidateComparison],
    command: str,
    files: Mapping[str, str],
) -> JsonObject:
    """Return the summary of a back-test.

    Args:
        outcome: of the back-test.
        comparisons: of every candidate but the baseline, in order.
        command: how to do it again.
        files: the digests of the other files, by name.
    """
    return {
        "format": FORMAT,
        "thresholds": outcome.thresholds,
        "engine": f"tallystick {version('tallystick')}",
        "command": command,
        "history": _history(outcome.history),
        "plugins": dict(outcome.plugins),
        "miners": len(outcome.miners),
        "baseline": json_value(outcome.baseline.identity),
        "candidates": [_candidate(each) for each in comparisons],
        "files": dict(files),
    }


def _history(history: History) -> JsonObject:
    return {
        "source": history.source,
        "digest": history.digest,
        "lines": history.lines,
        "records": dict(history.records),
        "rejects": dict(history.rejects),
        "period": None if history.period is None else _period(history.period),
    }


def _period(period: Period) -> JsonObject:
    (first, last), epochs = period.rounds, period.epochs
    return {
        "epochs": {"first": epochs[0], "last": epochs[-1], "number": len(epochs)},
        "rounds": {"first": first, "last": last, "number": len(period.keys)},
    }


def _candidate(found: CandidateComparison) -> JsonObject:
    return {
        **json_value(found.identity),
        "overall": json_value(found.overall) | _extremes(found.overall),
        "types": {name: _type(each) for name, each in found.types.items()},
        "records_compared": found.compared,
        "flips": _flips(found.tier_flips, found.gate_flips, found.flips),
        "state": None if found.state is None else _state(found.state),
        "proposal": json_value(found.proposal),
        "uncertainty": None
        if found.uncertainty is None
        else _uncertainty(found.uncertainty, found.overall.changes()),
        "incentives": None if found.incentives is None else _incentives(found.incentives),
        "thresholds": _thresholds(found.thresholds),
        "new_network": json_value(found.new_network),
    }


def headlines(outcome: Outcome, comparisons: Sequence[CandidateComparison]) -> JsonObject:
    """Return the result of a back-test in short, for who reads no file of it.

    Args:
        outcome: of the back-test.
        comparisons: of every candidate but the baseline, in order.
    """
    return {
        "thresholds": outcome.thresholds,
        "results": [_headline(each) for each in comparisons],
    }


def _headline(found: CandidateComparison) -> JsonObject:
    overall, known = found.overall, found.uncertainty
    changes = overall.changes()
    return {
        "name": found.identity.name,
        "measure": overall.measure,
        "share_moved": nano_value(overall.moved),
        "tau_b": nano_value(overall.tau),
        "gaining": gaining(changes),
        "losing": losing(changes),
        "flips": _flips(found.tier_flips, found.gate_flips, found.flips),
        "uncertainty": None if known is None else _intervals(known),
        "largest_gain": next(iter(_miners(winners, changes)), None),
        "largest_loss": next(iter(_miners(losers, changes)), None),
    }


def _thresholds(found: Sequence[ThresholdComparison]) -> JsonObject:
    values: JsonObject = {}
    for each in found:
        sides = {"baseline": each.before, "candidate": each.after}
        values.setdefault(each.skill_type, {})[each.name] = {
            side: None
            if threshold is None
            else {"first": nano_value(threshold.first), "last": nano_value(threshold.last)}
            for side, threshold in sides.items()
        }
    return values


def _incentives(found: Incentives) -> JsonObject:
    network = found.network
    return {
        "validators": len(network.validators),
        "without_permit": network.without_permit,
        "parameters": json_value(network.parameters),
        "epochs": EPOCHS,
        "consensus_changes": len(found.changing),
        "scenarios": [_scenario(found, each) for each in found.scenarios],
        "warnings": [{"code": code, "message": text} for code, text in warnings(found)],
    }


def _scenario(found: Incentives, scenario: Scenario) -> JsonObject:
    adopting, others = found.trust(scenario)
    return {
        "name": scenario.name,
        "validators": scenario.adopting,
        "stake": nano_value(scenario.stake),
        "incentive_moved": nano_value(found.moved(scenario)),
        "consensus_flipped": found.flipped(scenario),
        "least_trust_adopting": nano_value(adopting),
        "least_trust_others": nano_value(others),
        "dividends_gained_adopting": nano_value(found.gained(scenario)),
    }


def _uncertainty(known: Uncertainty, changes: Sequence[MinerChange]) -> JsonObject:
    """Return the intervals of what changes hands, of the flips, and of those who are named."""
    named = [*winners(changes, NAMED), *losers(changes, NAMED)]
    return {
        **_intervals(known),
        "share_changes": {
            each.miner.hotkey: [nano_value(interval.low), nano_value(interval.high)]
            for each in named
            for interval in [known.shares[each.miner.hotkey]]
        },
    }


def _intervals(known: Uncertainty) -> JsonObject:
    return {
        "percent": PERCENT,
        "draws": known.bootstrap.draws,
        "seed": known.bootstrap.seed,
        "unit": known.unit,
        "epochs": known.epochs,
        "rounds": known.rounds,
        "stretches": known.stretches,
        "share_moved": [nano_value(known.moved.low), nano_value(known.moved.high)],
        "flips": [known.flips.low, known.flips.high],
        "clear_miners": known.clear,
        "chance": json_value(known.chance),
    }


def _extremes(found: Distribution) -> JsonObject:
    changes = found.changes()
    return {
        "winners": _miners(winners, changes),
        "losers": _miners(losers, changes),
        "relative_winners": _miners(relative_winners, changes),
        "relative_losers": _miners(relative_losers, changes),
    }


def _miners(
    chosen: Callable[[Sequence[MinerChange], int], list[MinerChange]],
    changes: Sequence[MinerChange],
) -> list[JsonObject]:
    """Return the miners that gain or lose most, as JSON values."""
    miners: list[JsonObject] = json_value(chosen(changes, NAMED))
    return miners


def _type(found: TypeComparison) -> JsonObject:
    tiers = found.tiers
    measures = {name: json_value(each) for name, each in found.measures.items()}
    return {
        **json_value(found.distribution),
        **({"measures": measures} if measures else {}),
        "baseline_scored": found.scored_before,
        "candidate_scored": found.scored_after,
        "rejected": dict(found.rejected),
        "records_compared": tiers.compared if tiers else 0,
        "flips": _flips(tiers.tier_flips, tiers.gate_flips, tiers.flips) if tiers else None,
        "flipped_emission": nano_value(found.distances.emission),
        "tier_distances": json_value(found.distances.tier),
        "gate_distances": json_value(found.distances.gate),
        "migration": _migration(tiers) if tiers else None,
    }


def _flips(tier: int, gate: int, every: int) -> JsonObject:
    return {"tier": tier, "gate": gate, "records": every}


def _migration(found: Comparison) -> JsonObject | None:
    if found.migration is None:
        return None
    return {
        "baseline_tiers": list(found.tiers or ()),
        "candidate_tiers": list(found.candidate_tiers or ()),
        "records": [list(row) for row in found.migration],
        "shares": [
            [nano_value(published_share(n, sum(row))) for n in row] for row in found.migration
        ],
    }


def _state(found: StateComparison) -> JsonObject:
    return {
        "epochs": found.epochs,
        "overall": json_value(found.overall) | _extremes(found.overall),
        "types": {name: json_value(each) for name, each in found.types.items()},
        "round_scores": json_value(found.round_scores),
        "baseline_thresholds": nano_value(found.before.final.thresholds),
        "candidate_thresholds": nano_value(found.after.final.thresholds),
    }


def miner_table(comparison: CandidateComparison) -> pa.Table:
    """Return the miners of one candidate, all types first."""
    rows = list(_miner_rows(comparison, None, comparison.overall))
    for name, by_type in comparison.types.items():
        rows += _miner_rows(comparison, name, by_type.distribution)
    return _table(MINERS, rows)


def migration_table(comparison: CandidateComparison) -> pa.Table:
    """Return the tier migrations of one candidate."""
    rows: list[ReportRow] = []
    for name, by_type in comparison.types.items():
        tiers = by_type.tiers
        if tiers is None or not (tiers.migration and tiers.tiers and tiers.candidate_tiers):
            continue
        for level, counts in zip(tiers.tiers, tiers.migration, strict=True):
            rows += (
                (comparison.identity.name, name, level, other, count, _part(count, sum(counts)))
                for other, count in zip(tiers.candidate_tiers, counts, strict=True)
            )
    return _table(MIGRATIONS, rows)


def flip_table(rows: FlipRows, candidate: str) -> pa.Table:
    """Return some flips of one candidate."""
    many = len(rows)
    columns = {name: getattr(rows, name) for name in FLIPS.names if hasattr(rows, name)}
    columns |= {"candidate": pa.repeat(candidate, many)}
    columns |= {"skill_type": pa.repeat(rows.skill_type, many)}
    return pa.table(
        [_column(columns[field.name], field.type, many) for field in FLIPS], schema=FLIPS
    )


def threshold_table(state: EpochState, candidate: str) -> pa.Table:
    """Return the thresholds of one candidate as one epoch begins."""
    rows = [
        (candidate, state.epoch, skill_type, name, to_decimal(nano))
        for skill_type, values in sorted(state.thresholds.items())
        for name, nano in sorted(values.items())
    ]
    return _table(THRESHOLDS, rows)


def reputation_table(state: EpochState, candidate: str) -> pa.Table:
    """Return the reputations of one candidate as one epoch begins."""
    rows = [
        (candidate, state.epoch, hotkey, skill_type, to_decimal(nano))
        for hotkey, values in sorted(state.reputations.items())
        for skill_type, nano in sorted(values.items())
    ]
    return _table(REPUTATIONS, rows)


def incentive_table(incentives: Incentives, candidate: str) -> pa.Table:
    """Return the incentive of miners in each scenario of one candidate."""
    rows: list[ReportRow] = []
    for scenario in incentives.scenarios:
        head = (candidate, scenario.name, scenario.adopting, to_decimal(scenario.stake))
        columns = (scenario.consensus, scenario.incentive, incentives.nobody.incentive)
        rows += (
            (*head, miner.uid, miner.hotkey, *map(to_decimal, (agreed, new, new - old)))
            for miner, agreed, new, old in zip(incentives.miners, *columns, strict=True)
        )
    return _table(INCENTIVES, rows)


def dividend_table(incentives: Incentives, candidate: str) -> pa.Table:
    """Return the dividends of validators in each scenario of one candidate."""
    rows: list[ReportRow] = []
    validators = incentives.network.validators
    for scenario in incentives.scenarios:
        head = (candidate, scenario.name, scenario.adopting, to_decimal(scenario.stake))
        for number, validator in enumerate(validators):
            new, old = scenario.dividends[number], incentives.nobody.dividends[number]
            values = (scenario.trust[number], scenario.first_dividends[number], new, new - old)
            who = (
                validator.hotkey,
                to_decimal(incentives.network.part(validator)),
                number < scenario.adopting,
            )
            rows.append((*head, *who, *map(to_decimal, values)))
    return _table(DIVIDENDS, rows)


def _miner_rows(
    comparison: CandidateComparison, skill_type: str | None, distribution: Distribution
) -> Iterator[ReportRow]:
    tracked = _state_rows(comparison, skill_type, distribution)
    for change in distribution.changes():
        hotkey, relative = change.miner.hotkey, change.relative
        yield (
            comparison.identity.name,
            skill_type,
            change.miner.uid,
            hotkey,
            distribution.measure,
            *map(to_decimal, (change.before, change.after)),
            *map(to_decimal, (change.share_before, change.share_after, change.share_change)),
            None if relative is None else to_decimal(relative),
            change.rank_before,
            change.rank_after,
            *tracked.get(hotkey, (None,) * 6),
        )


def _state_rows(
    comparison: CandidateComparison, skill_type: str | None, distribution: Distribution
) -> Mapping[str, ReportRow]:
    """Return the results of the replay of the epochs, by hotkey."""
    state = comparison.state
    if state is None:
        return {}
    tracked = state.overall if skill_type is None else state.types.get(skill_type)
    if tracked is None or tracked.measure != distribution.measure:
        return {}
    return {
        change.miner.hotkey: (
            *map(
                to_decimal, (change.before, change.after, change.share_before, change.share_after)
            ),
            _reputation(state.before, change.miner.hotkey, skill_type),
            _reputation(state.after, change.miner.hotkey, skill_type),
        )
        for change in tracked.changes()
    }


def _reputation(outcome: StateOutcome, hotkey: str, skill_type: str | None) -> Decimal | None:
    if skill_type is None:
        return None
    nano = outcome.final.reputations.get(hotkey, {}).get(skill_type)
    return None if nano is None else to_decimal(nano)


def _part(count: int, whole: int) -> Decimal | None:
    return to_decimal(published_share(count, whole)) if whole else None


def _table(schema: pa.Schema, rows: Sequence[ReportRow]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _column(values: object, wanted: pa.DataType, many: int) -> pa.Array:
    """Convert a column of flips; nano become decimals by another view of the same 128 bits."""
    if values is None:
        return pa.nulls(many, wanted)
    if wanted != VALUE:
        return pa.array(values, wanted) if not isinstance(values, pa.Array) else values.cast(wanted)
    whole = pa.array(values, pa.int64()) if not isinstance(values, pa.Array) else values
    return whole.cast(pa.decimal128(19, 0)).view(VALUE)
