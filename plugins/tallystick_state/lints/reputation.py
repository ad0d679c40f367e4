"""Lints of reputation rules: where they lead the best and the worst behaviour (E26, E31).

A behaviour is the events of every record of a miner. Its trajectory is exact, by the engine's own
transition: each epoch is published before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import attrs

from tallystick.formula.text import decimal_text
from tallystick.numbers.nano import to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import check, figure, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.reputation import damped, effect, mean_delta, record_delta
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.groups import GROUPS, Groups
from tallystick_state.sections.reputation import REPUTATION, Reputation, ReputationEvent

_EVENTS: KeyPath = ("reputation", "events")
_DAMPING: KeyPath = ("reputation", "damping")
_LONGEST = 20_000
"""Maximum number of epochs of a trajectory: some years."""


@attrs.frozen
class Trajectory:
    """The reputation of a miner that behaves in one way, from epoch 0 on.

    Attributes:
        events: what each of its records comes to.
        values: the reputation in nano before each epoch; the last is where it rests.
    """

    events: tuple[str, ...]
    values: tuple[int, ...]

    @classmethod
    def of(cls, rules: StateRules, start: int, events: tuple[str, ...]) -> Trajectory:
        """Return that of a miner whose every record has the same events, from a reputation on."""
        values = [start]
        while len(values) <= _LONGEST:
            following = damped(rules, values[-1], record_delta(rules, values[-1], events))
            if following == values[-1]:
                break
            values.append(following)
        return cls(events, tuple(values))

    @property
    def rests_at(self) -> int:
        """The fixed point that it reaches, in nano."""
        return self.values[-1]

    @property
    def epochs(self) -> int:
        """The number of epochs until it rests."""
        return len(self.values) - 1

    def below(self, limit: int) -> int | None:
        """Return the number of epochs until it is below a limit in nano; None if it never is."""
        return next((epoch for epoch, value in enumerate(self.values) if value < limit), None)

    def text(self, epoch: int = -1) -> str:
        """Return the reputation before an epoch as text of nine places; by default the last."""
        return to_text(self.values[epoch])


@attrs.frozen(eq=False)
class Dynamics:
    """The ends to which the reputation rules of a rule set lead.

    Attributes:
        rules: the rules.
        groups: the section of groups; None without one.
        floor: the lowest reputation, in nano.
        filter: whoever is below is not selected, in nano; 0 without groups.
        initial: of a newcomer, in nano.
        best: the trajectory of a newcomer whose records all have the best event.
        rewarded: likewise with every event that rewards, in each record.
        worst: the trajectory from the ceiling of a miner whose records all have the worst event.
    """

    rules: StateRules
    groups: Groups | None
    floor: int
    filter: int
    initial: int
    best: Trajectory
    rewarded: Trajectory
    worst: Trajectory

    @property
    def reputation(self) -> Reputation:
        """The section."""
        return self.rules.reputation

    @property
    def fall(self) -> int | None:
        """The epochs until the worst behaviour is below the filter; None where it never is."""
        return self.worst.below(self.filter)

    @property
    def start(self) -> Fraction:
        """The part of the way from the filter to the ceiling at which a newcomer begins."""
        span = self.rules.reputation_bounds[1] - self.filter
        return Fraction(self.initial - self.filter, span) if span > 0 else Fraction(1)

    def crowd(self, many: int) -> Fraction:
        """Return the share of the mean delta of an epoch that one of two validators decides.

        Args:
            many: records of a miner that it reports, while the other reports one.
        """
        return mean_delta(self.rules, [(Fraction(), 1), (Fraction(many), many)]) or Fraction()

    def delta(self, event: str, reputation: int | None = None) -> Fraction:
        """Return the change by a record with one event, 0 where it stays out of the mean.

        Args:
            event: of the record.
            reputation: of its miner, in nano; the ceiling by default.
        """
        together = effect(self.rules, [event])
        at = self.rules.reputation_bounds[1] if reputation is None else reputation
        return together.delta(at) if together.takes_part else Fraction()

    def figures(self, trajectory: Trajectory) -> dict[str, Any]:
        """Return the figures of a trajectory; reputations as text of nine places."""
        below = trajectory.below(self.filter)
        return {
            "events": list(trajectory.events),
            "from": trajectory.text(0),
            "rests_at": trajectory.text(),
            "epochs_to_rest": trajectory.epochs,
            "epochs_until_below_filter": below,
            "reputation_then": None if below is None else trajectory.text(below),
            "epochs_until_floor": trajectory.below(self.floor + 1),
        }


@lru_cache(maxsize=4)
def dynamics_of(scorer: Scorer) -> Dynamics | None:
    """Return the dynamics of a rule set; None without a reputation with events that count."""
    if scorer.rule_set.section(REPUTATION) is None:
        return None
    rules, groups = state_rules_of(scorer), scorer.rule_set.section(GROUPS)
    initial, (floor, ceiling) = rules.initial_reputation, rules.reputation_bounds
    # at the reputation of a newcomer; of equal ones the first in the file counts
    events = rules.reputation.events.items()
    deltas = {name: record_delta(rules, initial, (name,)) for name, e in events if e.in_mean}
    if not deltas:
        return None
    best, worst = (end(deltas, key=deltas.__getitem__) for end in (max, min))
    return Dynamics(
        rules,
        groups,
        floor,
        0 if groups is None else rules.minimum_reputation,
        initial,
        Trajectory.of(rules, initial, (best,)),
        Trajectory.of(rules, initial, _rewards(rules.reputation.events) or (best,)),
        Trajectory.of(rules, ceiling, (worst,)),
    )


def _rewards(events: Mapping[str, ReputationEvent]) -> tuple[str, ...]:
    """Return every event that can raise a reputation, at most one of those that bands exclude."""
    adding = {name: _gain(e) for name, e in events.items() if _gain(e) > 0 and e.in_mean}
    banded = [name for name in adding if events[name].consensus is not None]
    best = max(banded, key=adding.__getitem__, default=None)
    return tuple(name for name in adding if name not in banded or name == best)


@check(
    "reputation-decays",
    "error",
    less("best", "epochs_until_below_filter"),
    less("best", "rests_at"),
    less("best", "epochs_until_floor"),
    of=dynamics_of,
)
def _reputation_decays(dynamics: Dynamics) -> Iterator[Finding]:
    """The best behaviour leads a reputation below the selection filter.

    The damped update is applied epoch after epoch, exactly as a state does it, to a newcomer whose
    every record has the one event that raises a reputation most. The figures say at which epoch it
    falls below the filter, where it stands then, when it is at the floor, and where it rests; and
    the same with every rewarding event in each record.

    Remedy: let the damping move the reputation by the mean delta instead of replacing it, or raise
    what the rewards add.
    """
    best = dynamics.best
    below, floor = best.below(dynamics.filter), best.below(dynamics.floor + 1)
    if below is not None:
        ends = "" if floor is None else f" and reaches the floor at epoch {floor}"
        yield finding(
            _DAMPING,
            f"a miner whose every record is {' and '.join(best.events)} falls from {best.text(0)} "
            f"below the filter {{filter}} at epoch {below} ({best.text(below)}){ends}",
            filter=to_text(dynamics.filter),
            floor=to_text(dynamics.floor),
            best=dynamics.figures(best),
            every_reward=dynamics.figures(dynamics.rewarded),
        )


@check(
    "pool-extinction", "error", less("every_reward", "epochs_until_below_filter"), of=dynamics_of
)
def _pool_extinction(dynamics: Dynamics) -> Iterator[Finding]:
    """After some epochs nobody can be selected.

    Even with every rewarding event in each of its records a miner falls below the filter, so from
    that epoch on the pool holds newcomers at most.

    Remedy: as for reputation-decays, or lower groups.minimum_reputation below the fixed point.
    """
    last = dynamics.rewarded.below(dynamics.filter)
    if dynamics.groups is not None and last is not None:
        yield finding(
            ("groups", "minimum_reputation"),
            f"even with every reward in each record nobody who is there at epoch 0 can be "
            f"selected from epoch {last} on",
            filter=to_text(dynamics.filter),
            every_reward=dynamics.figures(dynamics.rewarded),
        )


@check("floor-below-filter", "warning", less("floor"), more("filter"), of=dynamics_of)
def _floor_below_filter(dynamics: Dynamics) -> Iterator[Finding]:
    """The floor keeps a reputation that the filter then ignores.

    A miner below the filter is not selected, records nothing, and keeps its reputation for ever,
    unless a slot is kept for those below the filter.

    Remedy: enable groups.recovery, or raise the floor to the filter.
    """
    groups = dynamics.groups
    if groups is not None and not groups.recovery.enabled and dynamics.floor < dynamics.filter:
        yield finding(
            ("reputation", "floor"),
            "the floor {floor} is below the filter {filter}: who falls below the filter is never "
            "selected again, and so never rises",
            floor=to_text(dynamics.floor),
            filter=to_text(dynamics.filter),
        )


@check(
    "newcomers-outrank-veterans",
    "warning",
    more("initial"),
    less("best", "rests_at"),
    of=dynamics_of,
)
def _newcomers_outrank_veterans(dynamics: Dynamics) -> Iterator[Finding]:
    """A newcomer begins above what any veteran can hold.

    The best behaviour leads to a fixed point. Where that is below the initial reputation a fresh
    hotkey is worth more than the best history.

    Remedy: lower reputation.initial below the fixed point of the best behaviour, or raise that.
    """
    if dynamics.best.rests_at < dynamics.initial:
        yield finding(
            ("reputation", "initial"),
            "a newcomer begins at {initial}, above the {best[rests_at]} where the best behaviour "
            "leads every veteran",
            initial=to_text(dynamics.initial),
            best=dynamics.figures(dynamics.best),
        )


@check("bad-behaviour-stays", "warning", more("worst", "rests_at"), less("filter"), of=dynamics_of)
def _bad_behaviour_stays(dynamics: Dynamics) -> Iterator[Finding]:
    """The worst behaviour never falls below the selection filter.

    The damped update is applied from the ceiling to a miner whose every record has the one event
    that lowers a reputation most.

    Remedy: lower what the event multiplies by, or raise groups.minimum_reputation.
    """
    worst = dynamics.worst
    if dynamics.filter > 0 and worst.rests_at >= dynamics.filter:
        yield finding(
            ("reputation", "floor") if worst.rests_at == dynamics.floor else _DAMPING,
            f"a miner whose every record is {' and '.join(worst.events)} rests at "
            "{worst[rests_at]}, not below the filter {filter}",
            filter=to_text(dynamics.filter),
            worst=dynamics.figures(worst),
        )


@check(
    "reputation-horizon",
    "note",
    less("best", "rests_at"),
    more("best", "epochs_to_rest"),
    more("worst", "epochs_until_below_filter"),
    of=dynamics_of,
)
def _reputation_horizon(dynamics: Dynamics) -> Iterator[Finding]:
    """Where the best and the worst behaviour lead, and how fast.

    The fixed points of the damped update and the epochs until they are reached, from the initial
    reputation for the best and from the ceiling for the worst behaviour.

    Remedy: compare the epochs with how fast the network should reward and punish.
    """
    fall = dynamics.fall
    falls = "never falls" if fall is None else f"falls below it after {fall} epochs"
    yield finding(
        _DAMPING,
        "the best behaviour leads from {best[from]} to {best[rests_at]} in {best[epochs_to_rest]} "
        f"epochs; the worst {falls} from {{worst[from]}}, the filter being {{filter}}",
        filter=to_text(dynamics.filter),
        floor=to_text(dynamics.floor),
        best=dynamics.figures(dynamics.best),
        worst=dynamics.figures(dynamics.worst),
    )


@check("event-unrewarded", "note", of=REPUTATION)
def _event_unrewarded(reputation: Reputation) -> Iterator[Finding]:
    """An event takes part in the mean and adds nothing.

    The mean of an epoch is over all records that take part. An event that adds nothing moves the
    mean towards zero, which a damping that replaces the reputation turns into a loss.

    Remedy: let it add something, or keep it out of the mean with in_mean = false.
    """
    for name, event in reputation.events.items():
        if event.in_mean and _does_nothing(event):
            yield finding(
                (*_EVENTS, name),
                "{event} takes part in the mean and adds nothing, so that honest work with it "
                "lowers the mean of the epoch",
                event=name,
                adds=to_text(0),
            )


@check("event-never-matters", "note", of=REPUTATION)
def _event_never_matters(reputation: Reputation) -> Iterator[Finding]:
    """An event changes nothing.

    The event neither adds nor multiplies, and a record that has it alone stays out of the mean, so
    that the reputation is the same with it and without it.

    Remedy: remove the event, or say what it does.
    """
    for name, event in reputation.events.items():
        if not event.in_mean and _does_nothing(event):
            message = "{event} neither adds nor multiplies and stays out of the mean"
            yield finding((*_EVENTS, name), message, event=name)


@check("bands-leave-a-gap", "warning", less("from"), more("to"), of=REPUTATION)
def _bands_leave_a_gap(reputation: Reputation) -> Iterator[Finding]:
    """Some scores of a group are no event.

    The bands of the events leave a part of [0, 1] uncovered: a record whose group scores it there
    is rewarded and punished by nothing.

    Remedy: let the bands meet.
    """
    bands = sorted(e.consensus.bounds for e in reputation.events.values() if e.consensus)
    if not bands:
        return
    edges = [(Fraction(), Fraction()), *bands, (Fraction(1), Fraction(1))]
    for (_, low), (high, _) in pairwise(edges):
        if low < high:
            yield finding(
                _EVENTS,
                f"a group's score from {decimal_text(low)} to {decimal_text(high)} is no event",
                **{"from": low, "to": high},
            )


@check("nothing-rewards", "error", of=REPUTATION)
def _nothing_rewards(reputation: Reputation) -> Iterator[Finding]:
    """No event raises a reputation.

    Every event adds nothing, or takes away: reputations can only fall.

    Remedy: let an event of honest work add something.
    """
    if not any(_gain(event) > 0 for event in reputation.events.values()):
        yield finding(_EVENTS, "no event raises a reputation", events=[*reputation.events])


@check("band-rewards-less-work", "error", of=dynamics_of)
def _band_rewards_less_work(dynamics: Dynamics) -> Iterator[Finding]:
    """A band of lower scores raises a reputation more than a higher band.

    Events with bands are ordered by the scores of a group that they are for. What a record with
    each event alone changes is compared for neighbours at the floor and at the ceiling, between
    which it is linear; an event that stays out of the mean changes nothing. Where the lower band
    gives more, or takes less, worse work is better for the reputation.

    Remedy: let no band add more, or multiply by more, than the band above it.
    """
    events = dynamics.reputation.events
    banded = {name: e.consensus.bounds for name, e in events.items() if e.consensus}
    for low, high in pairwise(sorted(banded, key=lambda name: (banded[name][0], name))):
        worst = max(
            dynamics.rules.reputation_bounds,
            key=lambda at: dynamics.delta(low, at) - dynamics.delta(high, at),
        )
        moves = {name: dynamics.delta(name, worst) for name in (low, high)}
        if moves[high] < moves[low]:
            changes = {name: figure(delta) for name, delta in moves.items()}
            yield finding(
                (*_EVENTS, high),
                f"at a reputation of {{reputation}} the lower band {low} changes it by "
                f"{changes[low]}, and the higher band {high} by {changes[high]}",
                reputation=to_text(worst),
                changes=changes,
            )


@check("event-compounds", "warning", more("at_ceiling"), of=dynamics_of)
def _event_compounds(dynamics: Dynamics) -> Iterator[Finding]:
    """An event multiplies a reputation by more than 1.

    What multiplies by more than 1 gives most to those who have most, and next to nothing to those
    at the floor: a reward is wanted to add. A penalty that was meant to take away has the wrong
    side of 1.

    Remedy: let rewards add, and let penalties multiply by less than 1.
    """
    for name, event in dynamics.reputation.events.items():
        if event.multiply is not None and event.multiply > 1:
            least, most = (dynamics.delta(name, at) for at in dynamics.rules.reputation_bounds)
            yield finding(
                (*_EVENTS, name),
                f"{{event}} multiplies by {event.multiply}: it gives {{at_floor}} at the floor and "
                "{at_ceiling} at the ceiling",
                event=name,
                at_floor=least,
                at_ceiling=most,
            )


def _gain(event: ReputationEvent) -> Fraction:
    """Return the gain of an event: its addition, or its multiplier beyond 1."""
    return Fraction(event.add or 0) + Fraction(1 if event.multiply is None else event.multiply) - 1


def _does_nothing(event: ReputationEvent) -> bool:
    """Return whether an event neither adds nor multiplies."""
    return not event.add and event.multiply in (None, 1)
