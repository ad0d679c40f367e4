"""The closing of an epoch, from everything that was reported in it, in plain fractions.

reputation.txt, "Per Round Updates", "Update Rules", "Clamping" and "Epoch Boundaries";
scoring.txt, "Tier Assignment"; E19 to E21, E26 to E29, E39 and E40.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from oracle.decimals import published
from oracle.tiers import BASELINES

INITIAL = Fraction("0.5")
FLOOR, CEILING = Fraction("0.05"), Fraction(1)
ADDS = {"consensus_pass": Fraction("0.02"), "rerun_pass": Fraction("0.02")}
TIMES = {
    "consensus_fail": Fraction("0.95"),
    "rerun_fail": Fraction("0.7"),
    "digest_mismatch": Fraction("0.5"),
    "validity_violation": Fraction("0.5"),
    "probe_fail": Fraction("0.7"),
    "collusion_flag": Fraction("0.6"),
}
TIMES_CORRECTED = {"parse_failure": Fraction("0.5"), "early_arrival": Fraction("0.7")}
NEUTRAL, NO_PART = "consensus_weak", "missed_deadline"

#: Hotkey and skill type to reputation.
Reputations = Mapping[tuple[str, str], Fraction]
#: Skill type to the baseline and the novel threshold.
Levels = Mapping[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True)
class Rules:
    """Where the rule sets differ."""

    corrected: bool
    drift: bool
    by_validator: bool
    floor: Fraction = FLOOR


RULES = {
    "skills@1.0.0": Rules(corrected=False, drift=False, by_validator=False),
    "skills@1.1.0": Rules(corrected=True, drift=True, by_validator=True),
    "skills@1.2.0": Rules(corrected=True, drift=True, by_validator=True),
}


@dataclass(frozen=True)
class Report:
    """What one validator said of one miner's task, at once or later."""

    validator: str
    hotkey: str
    skill_type: str
    task_id: str
    round: int
    epoch: int
    events: tuple[str, ...]
    role: str | None = None
    quality: Fraction | None = None

    @property
    def about(self) -> tuple[str, str, str, str, int, int]:
        """The record that it belongs to."""
        miner = (self.hotkey, self.skill_type)
        return (*miner, self.validator, self.task_id, self.round, self.epoch)


def delta(reputation: Fraction, events: Sequence[str], rules: Rules) -> Fraction | None:
    """What one record changes; None when it takes no part in the mean."""
    times = TIMES | TIMES_CORRECTED if rules.corrected else TIMES
    listed = [e for e in events if e in times or e in ADDS or e in (NEUTRAL, NO_PART)]
    if listed and set(listed) == {NO_PART}:
        return None
    after = reputation
    for event in listed:
        after *= times.get(event, 1)
    for event in listed:
        after += ADDS.get(event, 0)
    return after - reputation


def mean(deltas: Mapping[str, Sequence[Fraction]], rules: Rules) -> Fraction | None:
    """The mean of the deltas that each validator gives (E29)."""
    every = [each for of_one in deltas.values() for each in of_one]
    if not every:
        return None
    if rules.by_validator:
        every = [sum(of_one, Fraction(0)) / len(of_one) for of_one in deltas.values() if of_one]
    return sum(every, Fraction(0)) / len(every)


def moved(reputation: Fraction, by: Fraction | None, rules: Rules) -> Fraction:
    """The damped update, clamped and published (E26)."""
    if by is None:
        return reputation
    kept = reputation if rules.drift else Fraction("0.9") * reputation
    return published(max(rules.floor, min(CEILING, kept + Fraction("0.1") * by)))


def reputations(
    before: Reputations,
    reports: Sequence[Report],
    pinned: Mapping[int, Reputations],
    rules: Rules,
) -> Reputations:
    """Every reputation after an epoch."""
    deltas: dict[tuple[str, str], dict[str, list[Fraction]]] = {owner: {} for owner in before}
    for about, together in groupby(sorted(reports, key=_about), key=_about):
        hotkey, skill_type, validator, _, _, epoch = about
        base = pinned[epoch].get((hotkey, skill_type), INITIAL)
        change = delta(base, [event for each in together for event in each.events], rules)
        if change is not None:
            deltas[hotkey, skill_type].setdefault(validator, []).append(change)
    return {o: moved(old, mean(deltas[o], rules), rules) for o, old in before.items()}


def _about(report: Report) -> tuple[str, str, str, str, int, int]:
    return report.about


def levels(before: Levels, reports: Sequence[Report], rules: Rules) -> Levels:
    """The baseline and the novel threshold of every type after an epoch."""
    found = {}
    for skill_type, (baseline, novel) in before.items():
        scored = [r for r in reports if r.skill_type == skill_type and feeds_thresholds(r)]
        floor_at = next_baseline(skill_type, baseline, scored, rules)
        found[skill_type] = (floor_at, next_novel(novel, floor_at, scored, rules))
    return found


def feeds_thresholds(report: Report) -> bool:
    """Whether a report has a submission that came in time (E96)."""
    return report.quality is not None and NO_PART not in report.events


def next_baseline(
    skill_type: str, old: Fraction, scored: Sequence[Report], rules: Rules
) -> Fraction:
    """The median of all qualities, or the published constant (E19)."""
    if rules.corrected:
        return BASELINES[skill_type]
    return published(_middle([r.quality for r in scored])) if scored else old


def next_novel(
    old: Fraction, baseline: Fraction, scored: Sequence[Report], rules: Rules
) -> Fraction:
    """The smoothed median of the best five of the primaries, floored (E20, E21)."""
    results = [(r.quality, r.hotkey) for r in scored if r.role == "primary"]
    results.sort(reverse=True)
    if rules.corrected:
        ahead = [{hotkey for _, hotkey in results[:place]} for place in range(len(results))]
        results = [each for each, seen in zip(results, ahead, strict=True) if each[1] not in seen]
    best = [quality for quality, _ in results[:5]]
    floor = lowest_novel(baseline, rules)
    follows = Fraction("0.3") * _middle(best) + Fraction("0.7") * old if len(best) >= 3 else old
    return published(max(floor, follows))


def lowest_novel(baseline: Fraction, rules: Rules) -> Fraction:
    """The formula of the novel threshold, below which it never is (E20)."""
    floor = Fraction(3, 2) * baseline
    return min(floor, (baseline + 1) / 2) if rules.corrected else floor


def _middle(values: Sequence[Fraction]) -> Fraction:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
