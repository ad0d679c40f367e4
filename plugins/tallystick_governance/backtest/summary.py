"""The results of a back-test for programs: ``summary.json``, and tables for Parquet files.

The summary has everything but what there is for each single miner; its decimals are text of nine
places, and null where a metric is not defined. Tables have one row a miner, a pair of tiers, a
flip, or an epoch; their decimals are decimal128 of nine places, such as a share of 0.250000000. A
column is null where nothing applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version
from typing import Any

import attrs
import pyarrow as pa

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
"""How many of those who gain or lose most are named."""

Json = dict[str, Any]
Row = tuple[Any, ...]

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


def summary(
    outcome: Outcome,
    comparisons: Sequence[CandidateComparison],
    command: str,
    files: Mapping[str, str],
) -> Json:
    """The summary of a back-test.

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
        "baseline": _identity(outcome.baseline.identity),
        "candidates": [_candidate(each) for each in comparisons],
        "files": dict(files),
    }


def _history(history: History) -> Json:
    return {
        "source": history.source,
        "digest": history.digest,
        "lines": history.lines,
        "records": dict(history.records),
        "rejects": dict(history.rejects),
        "period": None if history.period is None else _period(history.period),
    }


def _period(period: Period) -> Json:
    (first, last), epochs = period.rounds, period.epochs
    return {
        "epochs": {"first": epochs[0], "last": epochs[-1], "number": len(epochs)},
        "rounds": {"first": first, "last": last, "number": len(period.keys)},
    }


def _identity(identity: Identity) -> Json:
    return {
        "name": identity.name,
        "reference": identity.reference,
        "digest": identity.digest,
        "changes": {each.path: each.value for each in identity.changes},
    }


def _candidate(found: CandidateComparison) -> Json:
    return {
        **_identity(found.identity),
        "overall": _distribution(found.overall) | _extremes(found.overall),
        "types": {name: _type(each) for name, each in found.types.items()},
        "records_compared": found.compared,
        "flips": _flips(found.tier_flips, found.gate_flips, found.flips),
        "state": None if found.state is None else _state(found.state),
        "proposal": _proposal(found.proposal),
        "uncertainty": None
        if found.uncertainty is None
        else _uncertainty(found.uncertainty, found.overall.changes()),
        "incentives": None if found.incentives is None else _incentives(found.incentives),
        "thresholds": _thresholds(found.thresholds),
        "new_network": None if found.new_network is None else _distribution(found.new_network),
    }


def headlines(outcome: Outcome, comparisons: Sequence[CandidateComparison]) -> Json:
    """The result of a back-test in short, for who reads no file of it.

    Args:
        outcome: of the back-test.
        comparisons: of every candidate but the baseline, in order.
    """
    return {
        "thresholds": outcome.thresholds,
        "results": [_headline(each) for each in comparisons],
    }


def _headline(found: CandidateComparison) -> Json:
    overall, known = found.overall, found.uncertainty
    changes = overall.changes()
    return {
        "name": found.identity.name,
        "measure": overall.measure,
        "share_moved": _text(overall.moved),
        "tau_b": _text(overall.tau),
        "gaining": gaining(changes),
        "losing": losing(changes),
        "flips": _flips(found.tier_flips, found.gate_flips, found.flips),
        "uncertainty": None if known is None else _intervals(known),
        "largest_gain": next(iter(_miners(winners, changes)), None),
        "largest_loss": next(iter(_miners(losers, changes)), None),
    }


def _thresholds(found: Sequence[ThresholdComparison]) -> Json:
    values: Json = {}
    for each in found:
        sides = {"baseline": each.before, "candidate": each.after}
        values.setdefault(each.skill_type, {})[each.name] = {
            side: None
            if threshold is None
            else {"first": to_text(threshold.first), "last": to_text(threshold.last)}
            for side, threshold in sides.items()
        }
    return values


def _incentives(found: Incentives) -> Json:
    network = found.network
    return {
        "validators": len(network.validators),
        "without_permit": network.without_permit,
        "parameters": attrs.asdict(network.parameters),
        "epochs": EPOCHS,
        "consensus_changes": len(found.changing),
        "scenarios": [_scenario(found, each) for each in found.scenarios],
        "warnings": [{"code": code, "message": text} for code, text in warnings(found)],
    }


def _scenario(found: Incentives, scenario: Scenario) -> Json:
    adopting, others = found.trust(scenario)
    return {
        "name": scenario.name,
        "validators": scenario.adopting,
        "stake": to_text(scenario.stake),
        "incentive_moved": to_text(found.moved(scenario)),
        "consensus_flipped": found.flipped(scenario),
        "least_trust_adopting": _text(adopting),
        "least_trust_others": _text(others),
        "dividends_gained_adopting": to_text(found.gained(scenario)),
    }


def _proposal(found: Proposal) -> Json:
    return {
        "summary": found.summary,
        "source": found.source,
        "changes": [attrs.asdict(each) for each in found.changes],
        "formulas": [{"name": each.name, "kind": each.kind} for each in found.formulas],
    }


def _uncertainty(known: Uncertainty, changes: Sequence[MinerChange]) -> Json:
    """The intervals of what changes hands, of the flips, and of those who are named."""
    named = [*winners(changes, NAMED), *losers(changes, NAMED)]
    return {
        **_intervals(known),
        "share_changes": {
            each.miner.hotkey: [to_text(interval.low), to_text(interval.high)]
            for each in named
            for interval in [known.shares[each.miner.hotkey]]
        },
    }


def _intervals(known: Uncertainty) -> Json:
    return {
        "percent": PERCENT,
        "draws": known.bootstrap.draws,
        "seed": known.bootstrap.seed,
        "unit": known.unit,
        "epochs": known.epochs,
        "rounds": known.rounds,
        "stretches": known.stretches,
        "share_moved": [to_text(known.moved.low), to_text(known.moved.high)],
        "flips": [known.flips.low, known.flips.high],
        "clear_miners": known.clear,
        "chance": None if known.chance is None else _chance(known.chance),
    }


def _chance(found: Chance) -> Json:
    return {
        "deals": found.deals,
        "as_much": found.as_much,
        "median": to_text(found.median),
        "probability": to_text(found.probability),
    }


def _distribution(found: Distribution) -> Json:
    changes = found.changes()
    return {
        "measure": found.measure,
        "miners": len(found.miners),
        "baseline_total": to_text(found.total_before),
        "candidate_total": to_text(found.total_after),
        "share_moved": _text(found.moved),
        "tau_b": _text(found.tau),
        "ranks_changed": sum(each.climb != 0 for each in changes),
        "baseline_concentration": _concentration(found.concentration_before),
        "candidate_concentration": _concentration(found.concentration_after),
    }


def _extremes(found: Distribution) -> Json:
    changes = found.changes()
    return {
        "winners": _miners(winners, changes),
        "losers": _miners(losers, changes),
        "relative_winners": _miners(relative_winners, changes),
        "relative_losers": _miners(relative_losers, changes),
    }


def _concentration(found: Concentration) -> Json:
    return {"gini": _text(found.gini), "hhi": _text(found.hhi)}


def _miners(
    chosen: Callable[[Sequence[MinerChange], int], list[MinerChange]],
    changes: Sequence[MinerChange],
) -> list[Json]:
    return [
        {
            "hotkey": each.miner.hotkey,
            "uid": each.miner.uid,
            "baseline_share": to_text(each.share_before),
            "candidate_share": to_text(each.share_after),
            "share_change": to_text(each.share_change),
            "relative_change": _text(each.relative),
            "baseline_rank": each.rank_before,
            "candidate_rank": each.rank_after,
        }
        for each in chosen(changes, NAMED)
    ]


def _type(found: TypeComparison) -> Json:
    tiers = found.tiers
    measures = {name: _measure(each) for name, each in found.measures.items()}
    return {
        **_distribution(found.distribution),
        **({"measures": measures} if measures else {}),
        "baseline_scored": found.scored_before,
        "candidate_scored": found.scored_after,
        "rejected": dict(found.rejected),
        "records_compared": tiers.compared if tiers else 0,
        "flips": _flips(tiers.tier_flips, tiers.gate_flips, tiers.flips) if tiers else None,
        "flipped_emission": to_text(found.distances.emission),
        "tier_distances": _distances(found.distances.tier),
        "gate_distances": _distances(found.distances.gate),
        "migration": _migration(tiers) if tiers else None,
    }


def _measure(found: MeasureComparison) -> Json:
    return {
        "baseline_records": found.before[0],
        "candidate_records": found.after[0],
        "baseline_mean": _text(found.mean_before),
        "candidate_mean": _text(found.mean_after),
    }


def _flips(tier: int, gate: int, every: int) -> Json:
    return {"tier": tier, "gate": gate, "records": every}


def _distances(found: Distances) -> Json:
    return {
        "known": found.known,
        "rose": found.rose,
        "fell": found.fell,
        "nearest": _text(found.nearest),
        "mean": _text(found.mean),
        "within": {to_text(edge): n for edge, n in zip(EDGES, found.within, strict=True)},
    }


def _migration(found: Comparison) -> Json | None:
    if found.migration is None:
        return None
    return {
        "baseline_tiers": list(found.tiers or ()),
        "candidate_tiers": list(found.candidate_tiers or ()),
        "records": [list(row) for row in found.migration],
        "shares": [[to_text(published_share(n, sum(row))) for n in row] for row in found.migration],
    }


def _state(found: StateComparison) -> Json:
    return {
        "epochs": found.epochs,
        "overall": _distribution(found.overall) | _extremes(found.overall),
        "types": {name: _distribution(each) for name, each in found.types.items()},
        "round_scores": _distribution(found.round_scores) if found.round_scores else None,
        "baseline_thresholds": _nested(found.before.final),
        "candidate_thresholds": _nested(found.after.final),
    }


def _nested(state: EpochState) -> Json:
    return {
        skill_type: {name: to_text(nano) for name, nano in values.items()}
        for skill_type, values in state.thresholds.items()
    }


def _text(nano: int | None) -> str | None:
    return None if nano is None else to_text(nano)


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
