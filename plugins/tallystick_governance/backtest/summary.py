"""The results of a back-test for programs: ``summary.json``.

The summary has everything but what there is for each single miner, which is in tables; its decimals
are text of nine places, and null where a metric is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version

from tallystick.json_values import (
    JsonKey,
    JsonObject,
    json_fields,
    json_object,
    json_value,
    nano_value,
)
from tallystick.numbers.nano import to_text
from tallystick_governance.backtest.candidates import Identity, Proposal
from tallystick_governance.backtest.comparison import (
    EDGES,
    CandidateComparison,
    Distances,
    MeasureComparison,
    ThresholdComparison,
    TypeComparison,
)
from tallystick_governance.backtest.distribution import (
    Concentration,
    Distribution,
    MinerChange,
    gaining,
    losers,
    losing,
    relative_losers,
    relative_winners,
    winners,
)
from tallystick_governance.backtest.incentive import EPOCHS, Incentives, Scenario
from tallystick_governance.backtest.outcome import (
    FlipCounts,
    History,
    Outcome,
    Period,
    TypeOutcome,
)
from tallystick_governance.backtest.statistics import (
    PERCENT,
    Uncertainty,
    published_share,
)
from tallystick_governance.backtest.text import warnings
from tallystick_governance.backtest.weights import WeightComparison

FORMAT = 1
"""The version of the form of a summary."""
NAMED = 10
"""Maximum number of those named who gain or lose most."""

_nano = partial(JsonKey, form=nano_value)


def _range(first: int, last: int, number: int) -> JsonObject:
    return {"first": first, "last": last, "number": number}


json_object(
    *("name", "reference", "digest"),
    JsonKey("changes", form=lambda changes: {change.path: change.value for change in changes}),
)(Identity)
json_object(
    *("summary", "source", "changes"),
    JsonKey("formulas", form=lambda all_: [{"name": f.name, "kind": f.kind} for f in all_]),
)(Proposal)
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
    JsonKey("baseline_records", "records_before"),
    JsonKey("candidate_records", "records_after"),
    _nano("baseline_mean", "mean_before"),
    _nano("candidate_mean", "mean_after"),
)(MeasureComparison)
json_object("tier", "gate", "records")(FlipCounts)
json_object(
    JsonKey("epochs", form=lambda epochs: _range(epochs[0], epochs[-1], len(epochs))),
    JsonKey("rounds", lambda p: _range(p.rounds[0], p.rounds[1], len(p.keys))),
)(Period)
json_fields(empty=("groups",), hidden=("defects",))(History)
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
        "history": json_value(outcome.history),
        "plugins": dict(outcome.plugins),
        "miners": len(outcome.miners),
        "baseline": json_value(outcome.baseline.identity),
        "candidates": [_candidate(each) for each in comparisons],
        "files": dict(files),
    }


def _candidate(found: CandidateComparison) -> JsonObject:
    return {
        **json_value(found.identity),
        "overall": json_value(found.overall) | _extremes(found.overall),
        "types": {name: _type(each) for name, each in found.types.items()},
        "records_compared": found.flips.compared,
        "flips": json_value(found.flips),
        "state": _state(found),
        "proposal": json_value(found.after.proposal),
        "uncertainty": None
        if found.uncertainty is None
        else _uncertainty(found.uncertainty, found.overall.changes()),
        "incentives": None if found.incentives is None else _incentives(found.incentives),
        "thresholds": _thresholds(found.thresholds),
        "new_network": json_value(found.new_network),
        "weight": None if found.weight is None else _weight(found.weight),
    }


def _weight(found: WeightComparison) -> JsonObject:
    """Return the weights, all of them, and what the history did not exercise."""
    shares = found.distribution
    return {
        **_weight_headline(found),
        **({} if shares is None else json_value(shares) | _extremes(shares)),
        "epochs": dict(zip(map(str, found.epochs), map(nano_value, found.moved), strict=True)),
        "switches": dict(found.switches),
    }


def _weight_headline(found: WeightComparison) -> JsonObject:
    interval = found.interval
    return {
        "share_moved": nano_value(found.share_moved),
        "interval": None if interval is None else nano_value((interval.low, interval.high)),
        "nobody": nano_value(found.nobody),
        "reasons": list(found.reasons),
        "unknown": found.unknown,
        "not_exercised": list(found.not_exercised),
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
        "weight": None if found.weight is None else _weight_headline(found.weight),
        "measure": overall.measure,
        "share_moved": nano_value(overall.moved),
        "tau_b": nano_value(overall.tau),
        "gaining": gaining(changes),
        "losing": losing(changes),
        "flips": json_value(found.flips),
        "uncertainty": None if known is None else _intervals(known),
        "largest_gain": next(iter(_miners(winners, changes)), None),
        "largest_loss": next(iter(_miners(losers, changes)), None),
    }


def _thresholds(found: Iterable[ThresholdComparison]) -> JsonObject:
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
            each.miner.hotkey: nano_value((interval.low, interval.high))
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
        "share_moved": nano_value((known.moved.low, known.moved.high)),
        "flips": [known.flips.low, known.flips.high],
        "clear_miners": known.clear,
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
    after, compared = found.after, found.compared
    return {
        **json_value(found.distribution),
        **({"measures": json_value(found.measures)} if found.measures else {}),
        "baseline_scored": found.before.scored if found.before else 0,
        "candidate_scored": after.scored if after else 0,
        "rejected": dict(sorted(after.rejected.items())) if after else {},
        "records_compared": compared.flips.compared if compared else 0,
        "flips": json_value(compared.flips) if compared else None,
        "flipped_emission": nano_value(found.distances.emission),
        "tier_distances": json_value(found.distances.tier),
        "gate_distances": json_value(found.distances.gate),
        "migration": _migration(compared) if compared else None,
    }


def _migration(found: TypeOutcome) -> JsonObject | None:
    if found.tiers is None:
        return None
    before, after = found.tiers
    rows = found.migration_rows
    return {
        "baseline_tiers": list(before),
        "candidate_tiers": list(after),
        "records": rows,
        "shares": nano_value([[published_share(n, sum(row)) for n in row] for row in rows]),
    }


def _state(found: CandidateComparison) -> JsonObject | None:
    before, after = found.before.state, found.after.state
    if before is None or after is None:
        return None
    # the amounts of a candidate are those of its replay
    return {
        "epochs": after.epochs,
        "overall": json_value(found.overall) | _extremes(found.overall),
        "types": {name: json_value(each.distribution) for name, each in found.types.items()},
        "round_scores": json_value(found.round_scores),
        "baseline_thresholds": nano_value(before.final.thresholds),
        "candidate_thresholds": nano_value(after.final.thresholds),
    }
