"""Lints of reputation rules: where they lead the best and the worst behaviour (E26, E31).

A behaviour is the events of every record of a miner. Its trajectory is exact, by the engine's own
transition: each epoch is published before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import attrs

from tallystick.formula.text import decimal_text
from tallystick.numbers.nano import from_decimal, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import check, figure, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.reputation import damped, effect, record_delta
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.groups import GROUPS
from tallystick_state.sections.reputation import REPUTATION, Band, Reputation, ReputationEvent

_LONGEST = 20_000
"""Maximum number of epochs of a trajectory: some years."""


@attrs.frozen
class Dynamics:
    """The reputation rules of a type, as the checks read them.

    Attributes:
        floor: the lowest reputation, in nano.
        filter: whoever is below is not selected, in nano; 0 without groups.
        initial: of a newcomer, in nano.
        best: the trajectory of a newcomer whose records all have the best event.
        rewarded: likewise with every event that rewards, in each record.
        worst: the trajectory from the ceiling of a miner whose records all have the worst event.
    """

    floor: int
    filter: int
    initial: int
    best: Trajectory
    rewarded: Trajectory
    worst: Trajectory


@lru_cache(maxsize=4)
def dynamics_of(scorer: Scorer) -> tuple[Dynamics, ...]:
    """Return the dynamics of a rule set; none without a reputation with events that count."""
    if scorer.rule_set.section(REPUTATION) is None:
        return ()
    rules = state_rules_of(scorer)
    best, worst = best_and_worst(rules)
    if not best:
        return ()
    initial, (floor, ceiling) = rules.initial_reputation, rules.reputation_bounds
    dynamics = Dynamics(
        floor=floor,
        filter=_filter(rules),
        initial=initial,
        best=trajectory(rules, initial, best),
        rewarded=trajectory(rules, initial, rewards(rules) or best),
        worst=trajectory(rules, ceiling, worst),
    )
    return (dynamics,)


def _filter(rules: StateRules) -> int:
    groups = rules.rule_set.section(GROUPS)
    return 0 if groups is None else from_decimal(groups.minimum_reputation)


@check(
    "reputation-decays",
    "error",
    less("best", "epochs_until_below_filter"),
    less("best", "rests_at"),
    less("best", "epochs_until_floor"),
)
def _reputation_decays(scorer: Scorer) -> Iterator[Finding]:
    """The best behaviour leads a reputation below the selection filter.

    The damped update is applied epoch after epoch, exactly as a state does it, to a newcomer whose
    every record has the one event that raises a reputation most. The figures say at which epoch it
    falls below the filter, where it stands then, when it is at the floor, and where it rests; and
    the same with every rewarding event in each record.

    Remedy: let the damping move the reputation by the mean delta instead of replacing it, or raise
    what the rewards add.
    """
    for dynamics in dynamics_of(scorer):
        below = dynamics.best.below(dynamics.filter)
        if below is None:
            continue
        floor = dynamics.best.below(dynamics.floor + 1)
        ends = "" if floor is None else f" and reaches the floor at epoch {floor}"
        yield Finding(
            ("reputation", "damping"),
            f"a miner whose every record is {' and '.join(dynamics.best.events)} falls from "
            f"{to_text(dynamics.initial)} below the filter {to_text(dynamics.filter)} at epoch "
            f"{below} ({to_text(dynamics.best.values[below])}){ends}",
            {
                "filter": to_text(dynamics.filter),
                "floor": to_text(dynamics.floor),
                "best": dynamics.best.figures(dynamics.filter, dynamics.floor),
                "every_reward": dynamics.rewarded.figures(dynamics.filter, dynamics.floor),
            },
        )


@check("pool-extinction", "error", less("every_reward", "epochs_until_below_filter"))
def _pool_extinction(scorer: Scorer) -> Iterator[Finding]:
    """After some epochs nobody can be selected.

    Even with every rewarding event in each of its records a miner falls below the filter, so from
    that epoch on the pool holds newcomers at most.

    Remedy: as for reputation-decays, or lower groups.minimum_reputation below the fixed point.
    """
    groups = scorer.rule_set.section(GROUPS)
    for dynamics in dynamics_of(scorer):
        last = dynamics.rewarded.below(dynamics.filter)
        if groups is None or last is None:
            continue
        yield Finding(
            ("groups", "minimum_reputation"),
            f"even with every reward in each record nobody who is there at epoch 0 can be "
            f"selected from epoch {last} on",
            {
                "filter": to_text(dynamics.filter),
                "every_reward": dynamics.rewarded.figures(dynamics.filter, dynamics.floor),
            },
        )


@check("floor-below-filter", "warning", less("floor"), more("filter"))
def _floor_below_filter(scorer: Scorer) -> Iterator[Finding]:
    """The floor keeps a reputation that the filter then ignores.

    A miner below the filter is not selected, records nothing, and keeps its reputation for ever,
    unless a slot is kept for those below the filter.

    Remedy: enable groups.recovery, or raise the floor to the filter.
    """
    groups = scorer.rule_set.section(GROUPS)
    for dynamics in dynamics_of(scorer):
        recovers = groups is not None and groups.recovery.enabled
        if groups is None or recovers or dynamics.floor >= dynamics.filter:
            continue
        yield Finding(
            ("reputation", "floor"),
            f"the floor {to_text(dynamics.floor)} is below the filter {to_text(dynamics.filter)}: "
            "who falls below the filter is never selected again, and so never rises",
            {"floor": to_text(dynamics.floor), "filter": to_text(dynamics.filter)},
        )


@check("newcomers-outrank-veterans", "warning", more("initial"), less("best", "rests_at"))
def _newcomers_outrank_veterans(scorer: Scorer) -> Iterator[Finding]:
    """A newcomer begins above what any veteran can hold.

    The best behaviour leads to a fixed point. Where that is below the initial reputation a fresh
    hotkey is worth more than the best history.

    Remedy: lower reputation.initial below the fixed point of the best behaviour, or raise that.
    """
    for dynamics in dynamics_of(scorer):
        if dynamics.best.rests_at < dynamics.initial:
            yield Finding(
                ("reputation", "initial"),
                f"a newcomer begins at {to_text(dynamics.initial)}, above the "
                f"{to_text(dynamics.best.rests_at)} where the best behaviour leads every veteran",
                {
                    "initial": to_text(dynamics.initial),
                    "best": dynamics.best.figures(dynamics.filter, dynamics.floor),
                },
            )


@check("bad-behaviour-stays", "warning", more("worst", "rests_at"), less("filter"))
def _bad_behaviour_stays(scorer: Scorer) -> Iterator[Finding]:
    """The worst behaviour never falls below the selection filter.

    The damped update is applied from the ceiling to a miner whose every record has the one event
    that lowers a reputation most.

    Remedy: lower what the event multiplies by, or raise groups.minimum_reputation.
    """
    for dynamics in dynamics_of(scorer):
        if dynamics.filter > 0 and dynamics.worst.rests_at >= dynamics.filter:
            key = "floor" if dynamics.worst.rests_at == dynamics.floor else "damping"
            yield Finding(
                ("reputation", key),
                f"a miner whose every record is {' and '.join(dynamics.worst.events)} rests at "
                f"{to_text(dynamics.worst.rests_at)}, not below the filter "
                f"{to_text(dynamics.filter)}",
                {
                    "filter": to_text(dynamics.filter),
                    "worst": dynamics.worst.figures(dynamics.filter, dynamics.floor),
                },
            )


@check(
    "reputation-horizon",
    "note",
    less("best", "rests_at"),
    more("best", "epochs_to_rest"),
    more("worst", "epochs_until_below_filter"),
)
def _reputation_horizon(scorer: Scorer) -> Iterator[Finding]:
    """Where the best and the worst behaviour lead, and how fast.

    The fixed points of the damped update and the epochs until they are reached, from the initial
    reputation for the best and from the ceiling for the worst behaviour.

    Remedy: compare the epochs with how fast the network should reward and punish.
    """
    for dynamics in dynamics_of(scorer):
        worst = dynamics.worst.below(dynamics.filter)
        falls = "never falls" if worst is None else f"falls below it after {worst} epochs"
        yield Finding(
            ("reputation", "damping"),
            f"the best behaviour leads from {to_text(dynamics.initial)} to "
            f"{to_text(dynamics.best.rests_at)} in {len(dynamics.best.values) - 1} epochs; the "
            f"worst {falls} from {to_text(dynamics.worst.values[0])}, the filter being "
            f"{to_text(dynamics.filter)}",
            {
                "filter": to_text(dynamics.filter),
                "floor": to_text(dynamics.floor),
                "best": dynamics.best.figures(dynamics.filter, dynamics.floor),
                "worst": dynamics.worst.figures(dynamics.filter, dynamics.floor),
            },
        )


@attrs.frozen
class Trajectory:
    """The reputation of a miner that behaves in one way, from epoch 0 on.

    Attributes:
        events: what each of its records comes to.
        values: the reputation in nano before each epoch; the last is where it rests.
    """

    events: tuple[str, ...]
    values: tuple[int, ...]

    @property
    def rests_at(self) -> int:
        """The fixed point that it reaches, in nano."""
        return self.values[-1]

    def below(self, limit: int) -> int | None:
        """Return the number of epochs until it is below a limit in nano; None if it never is."""
        return next((epoch for epoch, value in enumerate(self.values) if value < limit), None)

    def figures(self, filter_: int, floor: int) -> dict[str, Any]:
        """Return the figures of the trajectory; reputations as text of nine places."""
        below = self.below(filter_)
        return {
            "events": list(self.events),
            "from": to_text(self.values[0]),
            "rests_at": to_text(self.rests_at),
            "epochs_to_rest": len(self.values) - 1,
            "epochs_until_below_filter": below,
            "reputation_then": None if below is None else to_text(self.values[below]),
            "epochs_until_floor": self.below(floor + 1),
        }


def trajectory(rules: StateRules, start: int, events: tuple[str, ...]) -> Trajectory:
    """Return the reputations in nano, round by round, while every record has the same events."""
    values = [start]
    while len(values) <= _LONGEST:
        following = damped(rules, values[-1], record_delta(rules, values[-1], events))
        if following == values[-1]:
            break
        values.append(following)
    return Trajectory(events, tuple(values))


def delta_of(rules: StateRules, event: str, reputation: int) -> Fraction:
    """Return the delta on a reputation in nano of a record with one event; 0 outside the mean."""
    together = effect(rules, [event])
    return together.delta(reputation) if together.takes_part else Fraction()


def best_and_worst(rules: StateRules) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the single event that raises a reputation most, and the one that lowers it most.

    Both are asked at the reputation of a newcomer; of equal ones the first in the file counts.
    """
    start = rules.initial_reputation
    events = [name for name, event in rules.reputation.events.items() if event.in_mean]
    deltas = {name: record_delta(rules, start, (name,)) for name in events}
    if not deltas:
        return (), ()
    return (max(deltas, key=deltas.__getitem__),), (min(deltas, key=deltas.__getitem__),)


def rewards(rules: StateRules) -> tuple[str, ...]:
    """Return every event that can raise a reputation, at most one of those that bands exclude."""
    table = rules.reputation.events
    adding = [name for name, event in table.items() if gain(event) > 0 and event.in_mean]
    banded = [name for name in adding if table[name].consensus is not None]
    best = max(banded, key=lambda name: gain(table[name]), default=None)
    return tuple(name for name in adding if name not in banded or name == best)


_EVENTS: KeyPath = ("reputation", "events")


@check("event-unrewarded", "note")
def _event_unrewarded(scorer: Scorer) -> Iterator[Finding]:
    """An event takes part in the mean and adds nothing.

    The mean of an epoch is over all records that take part. An event that adds nothing moves the
    mean towards zero, which a damping that replaces the reputation turns into a loss.

    Remedy: let it add something, or keep it out of the mean with in_mean = false.
    """
    reputation = scorer.rule_set.section(REPUTATION)
    for name, event in ({} if reputation is None else reputation.events).items():
        if event.in_mean and does_nothing(event):
            yield Finding(
                (*_EVENTS, name),
                f"{name} takes part in the mean and adds nothing, so that honest work with it "
                "lowers the mean of the epoch",
                {"event": name, "adds": to_text(0)},
            )


@check("event-never-matters", "note")
def _event_never_matters(scorer: Scorer) -> Iterator[Finding]:
    """An event changes nothing.

    The event neither adds nor multiplies, and a record that has it alone stays out of the mean, so
    that the reputation is the same with it and without it.

    Remedy: remove the event, or say what it does.
    """
    reputation = scorer.rule_set.section(REPUTATION)
    for name, event in ({} if reputation is None else reputation.events).items():
        if not event.in_mean and does_nothing(event):
            message = f"{name} neither adds nor multiplies and stays out of the mean"
            yield Finding((*_EVENTS, name), message, {"event": name})


@check("bands-leave-a-gap", "warning", less("from"), more("to"))
def _bands_leave_a_gap(scorer: Scorer) -> Iterator[Finding]:
    """Some scores of a group are no event.

    The bands of the events leave a part of [0, 1] uncovered: a record whose group scores it there
    is rewarded and punished by nothing.

    Remedy: let the bands meet.
    """
    reputation = scorer.rule_set.section(REPUTATION)
    for low, high in uncovered({} if reputation is None else reputation.events):
        yield Finding(
            _EVENTS,
            f"a group's score from {decimal_text(low)} to {decimal_text(high)} is no event",
            {"from": figure(low), "to": figure(high)},
        )


@check("nothing-rewards", "error")
def _nothing_rewards(scorer: Scorer) -> Iterator[Finding]:
    """No event raises a reputation.

    Every event adds nothing, or takes away: reputations can only fall.

    Remedy: let an event of honest work add something.
    """
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is None:
        return
    if not any(gain(event) > 0 for event in reputation.events.values()):
        yield Finding(_EVENTS, "no event raises a reputation", {"events": list(reputation.events)})


@check("band-rewards-less-work", "error")
def _band_rewards_less_work(scorer: Scorer) -> Iterator[Finding]:
    """A band of lower scores raises a reputation more than a higher band.

    Events with bands are ordered by the scores of a group that they are for. What a record with
    each event alone changes is compared for neighbours at the floor and at the ceiling, between
    which it is linear; an event that stays out of the mean changes nothing. Where the lower band
    gives more, or takes less, worse work is better for the reputation.

    Remedy: let no band add more, or multiply by more, than the band above it.
    """
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is None:
        return
    rules = state_rules_of(scorer)
    for low, high in pairwise(_bands(reputation)):
        worst = max(
            rules.reputation_bounds,
            key=lambda at: delta_of(rules, low, at) - delta_of(rules, high, at),
        )
        less, more = (delta_of(rules, name, worst) for name in (high, low))
        if less < more:
            at = to_text(worst)
            moves = {name: figure(d) for name, d in ((low, more), (high, less))}
            yield Finding(
                (*_EVENTS, high),
                f"at a reputation of {at} the lower band {low} changes it by {moves[low]}, and "
                f"the higher band {high} by {moves[high]}",
                {"reputation": at, "changes": moves},
            )


@check("event-compounds", "warning", more("at_ceiling"))
def _event_compounds(scorer: Scorer) -> Iterator[Finding]:
    """An event multiplies a reputation by more than 1.

    What multiplies by more than 1 gives most to those who have most, and next to nothing to those
    at the floor: a reward is wanted to add. A penalty that was meant to take away has the wrong
    side of 1.

    Remedy: let rewards add, and let penalties multiply by less than 1.
    """
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is None:
        return
    rules = state_rules_of(scorer)
    for name, event in reputation.events.items():
        if event.multiply is not None and event.multiply > 1:
            least, most = (figure(delta_of(rules, name, at)) for at in rules.reputation_bounds)
            yield Finding(
                (*_EVENTS, name),
                f"{name} multiplies by {event.multiply}: it gives {least} at the floor and {most} "
                "at the ceiling",
                {"event": name, "at_floor": least, "at_ceiling": most},
            )


def _bands(reputation: Reputation) -> list[str]:
    """Return the events that are bands of a score, from the lowest band to the highest."""
    bands = [(_begin(band), name) for name, e in reputation.events.items() if (band := e.consensus)]
    return [name for _, name in sorted(bands)]


def _begin(band: Band) -> Fraction:
    return Fraction(band.at_least or 0)


def gain(event: ReputationEvent) -> Fraction:
    """Return the gain of an event: its addition, or its multiplier beyond 1."""
    return Fraction(event.add or 0) + Fraction(1 if event.multiply is None else event.multiply) - 1


def does_nothing(event: ReputationEvent) -> bool:
    """Return whether an event neither adds nor multiplies."""
    return not event.add and event.multiply in (None, 1)


def uncovered(events: Mapping[str, ReputationEvent]) -> Iterable[tuple[Fraction, Fraction]]:
    """Yield the parts of [0, 1] that no band covers, each from its low end to its high end."""
    bands = [event.consensus for event in events.values() if event.consensus is not None]
    if not bands:
        return
    ends = {Fraction(0), Fraction(1)}
    ends |= {Fraction(e) for b in bands for e in (b.at_least, b.below) if e is not None}
    for low, high in pairwise(sorted(ends)):
        middle = (low + high) / 2
        if not any(_holds(band, middle) for band in bands):
            yield low, high


def _holds(band: Band, value: Fraction) -> bool:
    above = band.at_least is None or value >= band.at_least
    return above and (band.below is None or value < band.below)
