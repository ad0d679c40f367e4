"""A back-test in plain words: sentences, lines on a terminal, and the terms that a report explains.

Numbers are shortened for reading, from the published ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tallystick.io.text import short
from tallystick.numbers.nano import NANO, round_half_even, to_text
from tallystick.numbers.text import UNDEFINED, counted, decimal, grouped, numbered, percent, points
from tallystick_governance import exercised
from tallystick_governance.backtest.comparison import (
    EDGES,
    CandidateComparison,
    Distances,
)
from tallystick_governance.backtest.distribution import (
    Concentration,
    Distribution,
    MinerChange,
    gaining,
    losers,
    losing,
    winners,
)
from tallystick_governance.backtest.incentive import KAPPA_FLIP, NO_WEIGHTS, Incentives
from tallystick_governance.backtest.outcome import (
    EMISSION,
    NOTHING,
    UNKNOWN,
    Outcome,
    Period,
    StateOutcome,
)
from tallystick_governance.backtest.statistics import (
    PERCENT,
    Interval,
    Uncertainty,
    published_share,
)
from tallystick_governance.backtest.weights import WeightComparison

THRESHOLDS = {
    "seed": (
        "those of a new network: every epoch has the seeds of each rule set; --with-state replays "
        "what the epochs make of them"
    ),
    "replayed": "those of the replay: each epoch has what the epochs before it lead to",
    "fixed": "",
}
"""Sentences on the thresholds that records are scored by, by `Outcome.thresholds`."""
_SAME_ORDER = (
    (NANO, "is exactly the same"),
    (NANO * 95 // 100, "stays almost the same"),
    (NANO * 4 // 5, "changes somewhat"),
    (NANO * 2 // 5, "changes much"),
    (0, "has little to do with the one before"),
)
TERMS = {
    "baseline": "the rule set that the others are compared with, usually the one in force",
    "candidate": "a rule set that is proposed, or one of the values of a sweep",
    "weight": (
        "what the allocation of a rule set makes of the scores of each miner as an epoch ends, as "
        "a share of the weights of all; where nobody has one, all of it is nobody's"
    ),
    "share": (
        "what part of all emission a miner gets; where no rule set has an emission, its summed "
        "quality takes that place"
    ),
    "point": "a percentage point: a share that goes from 2 % to 3 % gains one",
    "changes hands": (
        "half the sum of all changes of shares: the part of everything that goes to someone else"
    ),
    "interval": (
        "where the value would lie in 95 of 100 histories of the same kind, from epochs that are "
        "drawn with replacement; an interval of a change without 0 says that its direction does "
        "not depend on which epochs the history happens to have"
    ),
    "tier": "the level that a record reaches by its quality, which multiplies its emission",
    "gate": "a limit of one axis; below it, the quality of a record is set whatever the rest says",
    "flip": "a record that reaches another tier, or that another gate decides",
    "rank": "the place by amount, from 1; equals share one (1, 2, 2, 4)",
    "tau-b": (
        "Kendall's rank correlation: 1 when two rankings are the same, 0 when they have nothing to "
        "do with each other, −1 when one is the reverse of the other"
    ),
    "Gini": "how unequal: 0 when everyone gets the same, towards 1 when one gets everything",
    "HHI": (
        "the Herfindahl-Hirschman index, the sum of the squares of the shares: 1 when one gets "
        "everything; 1 ÷ HHI equal miners would be as concentrated"
    ),
    "distance": (
        "how far a flipped record is from the threshold that it crossed; many flips at a tiny "
        "distance mean that chance decides them"
    ),
    "relative": "the change of a share as a part of what the share was",
    "incentive": "what part of the emission for miners one of them gets, as the chain computes it",
    "consensus": (
        "the largest weight of a miner that enough of the stake gives it; what is above counts for "
        "nothing"
    ),
    "kappa": "the part of the stake that is enough, a half on most subnets",
    "trust": "the part of a validator's weights that counts; the less, the less it earns",
    "dividends": "what part of the emission for validators one of them gets",
    "refused": "records that only the candidate refuses, by a requirement of its own",
}
"""The terms of a report, each with its meaning, to stand after a colon."""


GLOSSES = {
    "tau-b": "1: same order, −1: reversed",
    "Gini": "0: equal, 1: one has all",
    "HHI": "sum of squared shares",
    "changes hands": "share that others get",
    "refused": "by it alone",
}
"""The meaning of each column, which stands in its head."""


class Terms:
    """The terms that a page has explained so far."""

    def __init__(self) -> None:
        """Begin with no term explained."""
        self._known: set[str] = set()

    def first(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return those of some terms that occur for the first time, with their meanings."""
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        self._known.update(new)
        return [(name, TERMS[name]) for name in new]


def named(change: MinerChange) -> str:
    """Name a miner, with its slot where one is known."""
    slot = "" if change.miner.uid == UNKNOWN else f" (uid {change.miner.uid})"
    return f"{short(change.miner.hotkey)}{slot}"


def sentences(candidate: CandidateComparison, changes: list[MinerChange]) -> Iterator[str]:
    """Yield a sentence or two on each question about a candidate.

    Args:
        candidate: the candidate against the baseline.
        changes: what becomes of each miner, over all types.
    """
    overall = candidate.overall
    if candidate.weight is not None:
        yield from weighed(candidate.weight)
    yield total(overall)
    yield moved(overall, changes)
    yield from extremes(changes)
    yield order(overall, changes)
    yield flips(candidate)
    yield concentration(overall)
    yield from certainty(candidate)
    refused = sum(
        of_type.after.rejected.total() for of_type in candidate.types.values() if of_type.after
    )
    if refused:
        yield f"It refuses {counted(refused, 'record')} by a requirement of its own."
    if candidate.after.state is not None:
        yield replayed(candidate.after.state, candidate.new_network)
    if candidate.incentives is not None:
        yield from adoption(candidate.incentives)


def total(overall: Distribution) -> str:
    """Say the total under both."""
    if overall.measure == NOTHING:
        return "No type has an emission or a quality: see their measures."
    what = "emission" if overall.measure == EMISSION else "quality (no type has an emission)"
    before, after = overall.total_before, overall.total_after
    change = after - before
    if not change:
        return f"The total {what} stays {decimal(before)}."
    part = percent(published_share(abs(change), before)) + " " if before else ""
    direction = "more" if change > 0 else "less"
    return f"The total {what} goes from {decimal(before)} to {decimal(after)}, {part}{direction}."


def moved(overall: Distribution, changes: list[MinerChange]) -> str:
    """Say how much changes hands."""
    up, down = gaining(changes), losing(changes)
    if overall.moved is None:
        return "Under one of the two rule sets nobody has anything, so shares cannot be compared."
    if not up and not down:
        return f"Nobody's share changes: all {counted(len(changes), 'miner')} keep theirs."
    return (
        f"{percent(overall.moved)} of everything changes hands: of "
        f"{counted(len(changes), 'miner')}, {grouped(up)} have a larger share, "
        f"{grouped(down)} a smaller one, {grouped(len(changes) - up - down)} the same."
    )


def extremes(changes: list[MinerChange]) -> Iterator[str]:
    """Say who gains most and who loses most."""
    for verb, chosen in (("gains", winners(changes, 1)), ("loses", losers(changes, 1))):
        for miner in chosen:
            yield (
                f"{named(miner)} {verb} most: from {percent(miner.share_before)} to "
                f"{percent(miner.share_after)} of everything, {_places(miner)}."
            )


def _places(change: MinerChange) -> str:
    if not change.climb:
        return f"still on rank {grouped(change.rank_before)}"
    return f"from rank {grouped(change.rank_before)} to {grouped(change.rank_after)}"


def order(overall: Distribution, changes: list[MinerChange]) -> str:
    """Say how the ranking changes."""
    if overall.tau is None:
        return "All miners have the same under one of the two rule sets: there is no order."
    verdict = next((s for least, s in _SAME_ORDER if overall.tau >= least), "is rather the reverse")
    many = counted(sum(miner.climb != 0 for miner in changes), "miner")
    tau = decimal(overall.tau)
    return (
        f"The order of the miners {verdict} (Kendall's tau-b {tau}, where 1 is the same order and "
        f"−1 its reverse); {many} change rank."
    )


def flips(candidate: CandidateComparison) -> str:
    """Say how many records are on the other side of a threshold, and how far."""
    found = candidate.flips
    scored = f"Of {counted(found.compared, 'record')} that both score"
    if not found.records:
        return f"{scored}, none changes tier or gate."
    part = percent(published_share(found.records, found.compared))
    sentence = (
        f"{scored}, {grouped(found.records)} ({part}) flip: {grouped(found.tier)} "
        f"change tier, {grouped(found.gate)} change gate."
    )
    distances = candidate.distances.tier + candidate.distances.gate
    return f"{sentence} {near(distances)}" if distances.known else sentence


def terminal_lines(outcome: Outcome, comparisons: Sequence[CandidateComparison]) -> Iterator[str]:
    """Yield a back-test for a terminal, line by line; arguments as of `summary`."""
    history = outcome.history
    if THRESHOLDS[outcome.thresholds]:
        yield f"thresholds  {THRESHOLDS[outcome.thresholds]}"
    good, bad = sum(history.records.values()), sum(history.rejects.values())
    refused = f", {bad} rejected" if bad else ""
    yield f"{history.lines} lines: {numbered(good, 'record')}{refused}"
    if history.groups:
        yield f"groups  {history.groups['source']}, whose consensus each candidate computes"
    if history.period is not None:
        yield f"period  {span(history.period)}"
        uncertainties = [
            candidate.uncertainty for candidate in comparisons if candidate.uncertainty is not None
        ]
        if len(history.period.keys) == 1:
            yield "intervals  none, as the history has one round"
        elif uncertainties:
            yield f"intervals  {drawn_of(uncertainties[0])}"
    yield f"{outcome.baseline.identity.name}  the baseline"
    for candidate in comparisons:
        yield from _candidate_lines(candidate)


def _candidate_lines(candidate: CandidateComparison) -> Iterator[str]:
    uncertainty, overall, weight = candidate.uncertainty, candidate.overall, candidate.weight
    changes = candidate.headline.changes()
    hands = f"{percent(overall.moved)} changes hands"
    flip = f"{numbered(candidate.flips.records, 'record')} change tier or gate"
    if uncertainty is not None:
        hands += f" ({percent(uncertainty.moved.low)} to {percent(uncertainty.moved.high)})"
        flip += f" ({uncertainty.flips.low} to {uncertainty.flips.high})"
    if weight is None or weight.distribution is None:
        yield f"{candidate.identity.name}  {hands}; {flip}"
    else:
        yield f"{candidate.identity.name}  {_weight_moved(weight)}; {flip}"
        yield f"    {overall.measure}  {hands}"
    if weight is not None:
        yield from (f"    {line}" for line in _weight_lines(weight))
    if candidate.incentives is not None:
        yield from _adoption_lines(candidate.incentives)
    for title, chosen in (("gain", winners(changes, 1)), ("loss", losers(changes, 1))):
        for miner in chosen:
            change = f"{points(miner.share_change)} points, {percent(miner.share_before, 3)} →"
            yield f"    largest {title}  {named(miner)}: {change} {percent(miner.share_after, 3)}"


def _weight_moved(weight: WeightComparison) -> str:
    """Write the share of all weight that changes hands, with its interval."""
    hands = f"{percent(weight.share_moved)} of all weight changes hands"
    interval = weight.interval
    return hands if interval is None else f"{hands} ({_between(interval)})"


def _between(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _weight_lines(weight: WeightComparison) -> Iterator[str]:
    if weight.unknown:
        yield f"weights are not known: {weight.unknown}"
    for which, share, reason in weight.unowned:
        yield f"nobody has {percent(share)} of it under the {which}: {reason}"
    yield from exercised.line(weight.not_exercised)


def weighed(weight: WeightComparison) -> Iterator[str]:
    """Say what becomes of weights, and what the history did not exercise."""
    if weight.unknown:
        yield f"The weights of the epochs are not known: {weight.unknown}."
    if weight.share_moved is not None:
        epochs = counted(len(weight.epochs), "epoch")
        sentence = (
            f"{percent(weight.share_moved)} of all weight changes hands, in the mean of {epochs}"
        )
        if weight.interval is not None:
            sentence += f", and {_between(weight.interval)} would in others like these"
        yield f"{sentence}."
    for which, share, reason in weight.unowned:
        yield f"Under the {which} {percent(share)} of all weight is nobody's: {reason}."
    yield from exercised.sentence(weight.not_exercised, "history")


def _adoption_lines(incentives: Incentives) -> Iterator[str]:
    for scenario in incentives.adopted:
        agreed = f"{incentives.flipped(scenario)} of {len(incentives.changing)}"
        yield (
            f"    {scenario.name:10} adopts  {percent(scenario.stake):>7} of the stake: "
            f"{percent(incentives.moved(scenario))} of the incentive moves, consensus of {agreed}"
        )
    for code, text in warnings(incentives):
        yield f"    warning {code}: {text}"


def adoption(incentives: Incentives) -> Iterator[str]:
    """Say what happens while only some validators adopt a candidate."""
    every, one = incentives.scenarios[-1], incentives.adopted[0]
    yield (
        f"Once all {counted(len(incentives.network.validators), 'validator')} adopt it, "
        f"{percent(incentives.moved(every))} of all incentive goes to other miners."
    )
    if one.adopting < every.adopting:
        trust, _ = incentives.trust(one)
        yield (
            f"Who adopts it first and alone, with {percent(one.stake)} of the stake, has a trust "
            f"of {decimal(trust)} where it had {decimal(incentives.nobody.trust[0])}; its "
            f"dividends change by {points(incentives.gained(one))} points."
        )
    yield from (text for _, text in warnings(incentives))


def warnings(incentives: Incentives) -> Iterator[tuple[str, str]]:
    """Yield the codes and the texts of warnings to a council about a network."""
    for which, reason in zip(("baseline", "candidate"), incentives.unweighed, strict=True):
        if reason:
            yield NO_WEIGHTS, f"Under the {which} nobody has a weight, so nobody earns: {reason}."
    for scenario in incentives.flips:
        _, trust = incentives.trust(scenario)
        text = (
            f"With {counted(scenario.adopting, 'validator')}, who have {percent(scenario.stake)} "
            f"of the stake, kappa flips: of {counted(len(incentives.changing), 'miner')} whose "
            f"consensus changes, {grouped(incentives.flipped(scenario))} have that of the "
            f"candidate, and who stays behind has a trust of {decimal(trust)} or more."
        )
        yield KAPPA_FLIP, text


def span(period: Period) -> str:
    """Write rounds and epochs, such as ``60 rounds, 0 to 59, of 6 epochs, 0 to 5``."""
    (first, last), epochs = period.rounds, period.epochs
    rounds = f"{counted(len(period.keys), 'round')}, {first} to {last}"
    return f"{rounds}, of {counted(len(epochs), 'epoch')}, {epochs[0]} to {epochs[-1]}"


def drawn_of(uncertainty: Uncertainty) -> str:
    """Say what intervals are drawn of, and what that leaves out."""
    if uncertainty.epochs > 1:
        return f"of {PERCENT} %, drawn from {counted(uncertainty.epochs, 'epoch')}"
    return (
        f"of {PERCENT} %, drawn from the {counted(uncertainty.rounds, 'round')} of one epoch: too "
        "narrow where rounds have tasks in common, so take a history of several epochs"
    )


def certainty(candidate: CandidateComparison) -> Iterator[str]:
    """Say how far the changes depend on the epochs that the history happens to have."""
    uncertainty = candidate.uncertainty
    if uncertainty is None:
        return
    moves, flipped = uncertainty.moved, uncertainty.flips
    yield (
        f"In other epochs like these {percent(moves.low)} to {percent(moves.high)} of everything "
        f"would change hands, and {grouped(flipped.low)} to {grouped(flipped.high)} records would "
        f"flip: intervals {drawn_of(uncertainty)}."
    )
    clear, many = uncertainty.clear, len(uncertainty.shares)
    yield (
        f"Of {counted(many, 'miner')}, {grouped(clear)} have an interval on one side of 0; for the "
        f"other {grouped(many - clear)} a change may be chance."
    )


def near(distances: Distances) -> str:
    """Say how many flips are close to their cliff."""
    edge, within = EDGES[1], distances.within[1]
    nearest = f"is {to_text(distances.nearest)} away" if distances.nearest else "lies on it"
    return (
        f"{grouped(within)} of these lie within {decimal(edge)} of the threshold; the nearest "
        f"{nearest}, the mean distance is {decimal(distances.mean)}."
    )


def concentration(overall: Distribution) -> str:
    """Say whether fewer miners get more."""
    before, after = overall.concentration_before, overall.concentration_after
    if before.gini is None or after.gini is None:
        return "Concentration cannot be compared: one side pays nothing."
    return (
        f"{_trend(overall.measure, before, after)}: Gini {decimal(before.gini)} → "
        f"{decimal(after.gini)} (0 is equal, 1 that one has all), HHI {decimal(before.hhi, 4)} → "
        f"{decimal(after.hhi, 4)} (the sum of squared shares), as if {equals(before.hhi)} → "
        f"{equals(after.hhi)} miners shared equally."
    )


def _trend(measure: str, before: Concentration, after: Concentration) -> str:
    """Say no more than the shortened numbers beside it show."""
    moves = {_direction(before.gini, after.gini, 3), _direction(before.hhi, after.hhi, 4)} - {0}
    if moves == {1}:
        return f"The {measure} becomes more concentrated"
    if moves == {-1}:
        return f"The {measure} becomes less concentrated"
    return "The two measures of concentration disagree" if moves else "Concentration stays as it is"


def _direction(before: int | None, after: int | None, places: int) -> int:
    old, new = (round_half_even(value or 0, 10 ** (9 - places)) for value in (before, after))
    return (new > old) - (new < old)


def equals(hhi: int | None) -> str:
    """Write the number of equal shares that would be as concentrated."""
    return decimal(round_half_even(NANO * NANO, hhi), 1) if hhi else UNDEFINED


def replayed(state: StateOutcome, new_network: Distribution | None) -> str:
    """Say what is by the replay of the epochs, and what a new network would see instead."""
    epochs = counted(state.epochs, "epoch")
    sentence = f"All of this is by the replay of {epochs}, whose thresholds and reputations follow."
    if new_network is None:
        return sentence
    return (
        f"{sentence} With the thresholds of a new network in every epoch, "
        f"{percent(new_network.moved)} of everything would change hands."
    )
