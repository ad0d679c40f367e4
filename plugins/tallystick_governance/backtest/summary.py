"""The summary of a back-test as JSON values: everything but what there is for each single miner.

Decimals are text of nine places, and null where a metric is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import attrs

from tallystick.numbers.nano import to_text
from tallystick_governance.backtest.bootstrap import PERCENT, Chance, Uncertainty
from tallystick_governance.backtest.comparison import (
    EDGES,
    CandidateComparison,
    Distances,
    MeasureComparison,
    StateComparison,
    ThresholdComparison,
    TypeComparison,
)
from tallystick_governance.backtest.comparison_model import (
    Comparison,
    EpochState,
    History,
    Identity,
    Outcome,
    Period,
)
from tallystick_governance.backtest.distribution import (
    Concentration,
    Distribution,
    MinerChange,
    gaining,
    losers,
    losing,
    published_share,
    relative_losers,
    relative_winners,
    winners,
)
from tallystick_governance.backtest.incentive import EPOCHS, Incentives, Scenario
from tallystick_governance.backtest.proposal import Proposal
from tallystick_governance.backtest.wording import warnings

FORMAT = 1
"""The version of the form of a summary."""
NAMED = 10
"""How many of those who gain or lose most are named."""

Json = dict[str, Any]


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
