"""Lints of reputation rules: where they lead ways of behaving, before and after (E26, E31).

A behaviour is the events of every record of a miner. Every figure is the engine's own: the delta of
a record, the mean of several validators, and the damped update, by which a trajectory is exact, as
each epoch is published before the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import attrs

from tallystick.formula.text import decimal_text
from tallystick.numbers.nano import publish, to_decimal, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import both, check, comparison, figure, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.reputation import damped, effect, mean_delta, record_delta
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.groups import GROUPS, Groups
from tallystick_state.sections.reputation import REPUTATION, Reputation, ReputationEvent

_EVENTS: KeyPath = ("reputation", "events")
_DAMPING: KeyPath = ("reputation", "damping")
_LONGEST = 20_000
"""Maximum number of epochs of a trajectory: some years."""
_STEPS = 100
"""Number of scores of a group, beside 1, that are tried."""
_BEGINS = "a newcomer begins {new} of the way from the filter to the ceiling; before {old}"
_MANY = 99
"""Number of records of the one validator that reports most."""


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


_dynamics = both(dynamics_of)


def _event_path(after: Dynamics, event: str) -> KeyPath:
    return (*_EVENTS, event) if event in after.reputation.events else _EVENTS


@check("cheating-pays", "warning", more("found"), of=dynamics_of)
def _cheating_pays(dynamics: Dynamics) -> Iterator[Finding]:
    """Rewards that make good for a penalty unless cheats are nearly always found.

    A miner whose records are honest, or unnoticed cheats, gains the reward of the best event, and
    loses that of the gravest where a cheat is found. At the ceiling that gives the part of its
    records that must be found before it loses more than it gains. Above a half, cheating pays even
    where every second cheat is found.

    Remedy: lower the rewards, or let the penalties multiply by less.
    """
    found = _found_at_least(dynamics)
    if found is not None and found > Fraction(1, 2):
        message = "a miner loses more than it gains only where {found} of its cheats are found"
        yield finding(_EVENTS, message, found=found)


def _found_at_least(dynamics: Dynamics) -> Fraction | None:
    """Return the part of records that must be found before cheating loses; None without both."""
    deltas = [dynamics.delta(name) for name in dynamics.reputation.events]
    gain, loss = max(deltas, default=Fraction()), -min(deltas, default=Fraction())
    return gain / (gain + loss) if gain > 0 and loss > 0 else None


@comparison("cheating-pays-longer", "warning", more("new"), of=_dynamics)
def _cheating_pays_longer(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """More cheats must be found than before to make cheating lose.

    The part of a miner's records that must be found to be cheats before it loses more than it
    gains, for the best reward and the gravest penalty at the ceiling. Where it is twice as large as
    before, and above a tenth, cheating pays a miner that is seldom found.

    Remedy: lower the rewards, or let the penalties multiply by less.
    """
    was, now = _found_at_least(before), _found_at_least(after)
    if was is not None and now is not None and now > Fraction(1, 10) and now >= 2 * was:
        message = "a miner loses more than it gains where {new} of its cheats are found"
        yield finding(_EVENTS, f"{message}; before {{old}}", old=was, new=now)


@comparison("penalty-weakened", "warning", less("loss"), of=_dynamics)
def _penalty_weakened(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """An event takes less than half of the reputation that it took.

    What a record with the event alone takes from a reputation at the ceiling, before and after. An
    event that is gone, or that stays out of the mean, takes nothing. It is an error where the event
    now raises a reputation.

    Remedy: let the event multiply by less, and take part in the mean.
    """
    for event in before.reputation.events:
        was, now = before.delta(event), after.delta(event)
        if was < 0 and now > was / 2:
            changes = f"adds {figure(now)}" if now > 0 else f"takes {figure(-now)}"
            yield finding(
                _event_path(after, event),
                f"{{event}} took {{old_loss}} of a reputation at the ceiling, and now {changes}",
                "error" if now > 0 else None,
                event=event,
                old_loss=-was,
                loss=-now,
            )


@comparison("penalty-for-honest-work", "warning", less("gain"), of=_dynamics)
def _reward_gone(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """An event that rewarded no longer does, or takes away.

    What a record with the event alone adds to a reputation at the floor, before and after. It is an
    error where the event now lowers a reputation.

    Remedy: let the event add what honest work was promised.
    """
    for event in before.reputation.events:
        was, now = (dynamics.delta(event, before.floor) for dynamics in (before, after))
        if was > 0 and now < was / 4:
            yield finding(
                _event_path(after, event),
                "{event} added {old_gain} to a reputation, and now {gain}",
                "error" if now < 0 else None,
                event=event,
                old_gain=was,
                gain=now,
            )


@comparison("penalty-out-of-proportion", "warning", more("loss"), of=_dynamics)
def _penalty_out_of_proportion(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """An event takes many times what it took.

    What a record with the event alone takes from a reputation at the ceiling, before and after. An
    event that took little, such as a weak consensus, befalls honest miners too: where it takes many
    times as much, or everything, one accident undoes a history.

    Remedy: let the event multiply by more.
    """
    for event in after.reputation.events:
        was, now = -before.delta(event), -after.delta(event)
        if now > Fraction(1, 4) and now > 3 * max(was, Fraction()):
            yield finding(
                (*_EVENTS, event),
                f"{{event}} took {figure(max(was, Fraction()))} of a reputation at the ceiling, "
                "and now takes {loss}",
                event=event,
                old_loss=was,
                loss=now,
            )


@comparison("score-bar-moved", "warning", more("scores"), of=_dynamics)
def _bar_moved(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """Scores of a group that were punished are not any more, or ones that were rewarded are not.

    For a hundred scores of a group from 0 to 1 the change of a reputation is compared. A band that
    ends elsewhere by more than a tenth pays for failing, or no longer for work.

    Remedy: move the band back, or in smaller steps.
    """
    if not any(event.consensus for event in before.reputation.events.values()):
        return
    scores = [Fraction(index, _STEPS) for index in range(_STEPS + 1)]
    changes = [(s, _of_consensus(before, s), _of_consensus(after, s)) for s in scores]
    moves = {
        "a score that lowered a reputation does not any more": [
            s for s, was, now in changes if was < 0 <= now
        ],
        "a score that raised no reputation raises one": [
            s for s, was, now in changes if was <= 0 < now
        ],
        "a score that raised a reputation does not any more": [
            s for s, was, now in changes if was > 0 >= now
        ],
    }
    for message, moved in moves.items():
        if len(moved) * 10 > _STEPS + 1:
            evidence = {"from": moved[0], "to": moved[-1], "scores": len(moved)}
            yield finding(_EVENTS, f"{message}: from {{from}} to {{to}}", **evidence)
            break


def _of_consensus(dynamics: Dynamics, consensus: Fraction) -> Fraction:
    """Return the change by a record whose group scores it so, at the ceiling."""
    event = dynamics.reputation.consensus_event(to_decimal(publish(consensus)))
    return Fraction() if event is None else dynamics.delta(event)


@comparison("penalties-diluted", "warning", of=_dynamics)
def _diluted(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """An event that does nothing takes part in the mean, and did not before.

    The mean of an epoch is over the records that take part. Where an event that costs nothing is
    among them, and a miner can bring it about, it thins out what penalties take.

    Remedy: keep the event out of the mean with in_mean = false.
    """
    for event in after.reputation.events:
        was, now = effect(before.rules, [event]), effect(after.rules, [event])
        if now.takes_part and not was.takes_part and after.delta(event) == 0:
            message = "a record with {event} alone counts in the mean, and changes nothing"
            yield finding((*_EVENTS, event, "in_mean"), message, event=event)


@comparison("reputation-slower", "warning", more("new"), of=_dynamics)
def _slower(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """A reputation takes much longer than before to rise or to fall.

    The epochs of the best behaviour from the initial reputation to where it rests, and those of the
    worst from the ceiling until it is below the selection filter. Three times as long, and honest
    newcomers wait, or cheats stay, for that much longer.

    Remedy: let the damping apply more of the mean, or events add or take more.
    """
    if after.fall is None and before.fall is not None:
        return  # that is bad-behaviour-stays
    limits = (Fraction(3), Fraction(8, 5))
    for (what, was, now), limit in zip(_epochs(before, after), limits, strict=True):
        if was and now is not None and now >= limit * was:
            yield finding(
                _DAMPING, f"{what} in {{new}} epochs; before in {{old}}", old=was, new=now
            )


def _epochs(before: Dynamics, after: Dynamics) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the epochs of a rise and of a fall, before and after."""
    yield "the best behaviour rises", before.best.epochs, after.best.epochs
    yield "the worst behaviour falls below the filter", before.fall, after.fall


@comparison("reputation-faster", "warning", less("new"), of=_dynamics)
def _faster(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """A reputation rises or falls in a fraction of the epochs of before.

    The epochs of the best behaviour from the initial reputation to where it rests, and those of the
    worst from the ceiling until it is below the selection filter. In a quarter of them, a few
    records decide what was meant to be a history: a cheat is soon forgiven, or one bad epoch ends a
    miner.

    Remedy: let the damping apply less of the mean, or events add or take less.
    """
    for what, was, now in _epochs(before, after):
        if was and now and now * 4 <= was:
            yield finding(
                _DAMPING, f"{what} in {{new}} epochs; before in {{old}}", old=was, new=now
            )


@comparison("newcomer-begins-high", "warning", more("new"), of=_dynamics)
def _begins_high(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """A newcomer begins much nearer to the ceiling than before.

    The part of the way from the selection filter to the ceiling at which a newcomer begins. The
    nearer to the ceiling, the less a history is worth, and the more it pays to register anew after
    cheating.

    Remedy: lower reputation.initial.
    """
    if after.start > Fraction(2, 3) and after.start >= before.start * Fraction(3, 2):
        yield finding(("reputation", "initial"), _BEGINS, old=before.start, new=after.start)


@comparison("newcomer-begins-low", "warning", less("new"), of=_dynamics)
def _begins_low(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """A newcomer begins hardly above the selection filter.

    The part of the way from the selection filter to the ceiling at which a newcomer begins. Who
    begins at the filter is ignored after the first weak record.

    Remedy: raise reputation.initial, or lower groups.minimum_reputation.
    """
    if after.start < Fraction(1, 5) and after.start <= before.start / 2:
        same = before.filter == after.filter
        path = ("reputation", "initial") if same else ("groups", "minimum_reputation")
        yield finding(path, _BEGINS, old=before.start, new=after.start)


@comparison("one-validator-decides", "warning", more("new"), of=_dynamics)
def _one_validator(before: Dynamics, after: Dynamics) -> Iterator[Finding]:
    """A validator that reports most decides a reputation.

    Of two validators one reports one record of a miner in an epoch, and the other 99. The share of
    the mean delta that the second decides is compared.

    Remedy: write mean = "validators".
    """
    was, now = (dynamics.crowd(_MANY) for dynamics in (before, after))
    if now > was:
        message = f"a validator with {_MANY} of {_MANY + 1} records decides {{new}} of the mean"
        yield finding(("reputation", "mean"), f"{message}; before {{old}}", old=was, new=now)


@comparison("reputation-gone", "error")
def _gone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Reputations move no more.

    The older rule set has a reputation whose events move it; the newer one has no section, or no
    event that counts, or no epoch that updates it.

    Remedy: keep the section, and the step update_reputations.
    """
    if dynamics_of(old) is not None and dynamics_of(new) is None:
        has = new.rule_set.section(REPUTATION) is not None
        message = "no event counts" if has else "the rule set has no reputation"
        yield finding(_EVENTS if has else (), message)
