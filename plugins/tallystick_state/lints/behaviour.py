"""Lints of a change of reputations: where ways of behaving lead, before and after.

Every figure is the engine's own: the delta of a record, the damped update of an epoch, the mean of
several validators.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from tallystick.numbers.nano import publish, to_decimal
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import both, check, comparison, figure, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.lints.reputation import Dynamics, dynamics_of
from tallystick_state.reputation import effect
from tallystick_state.sections.reputation import REPUTATION

_EVENTS: KeyPath = ("reputation", "events")
_DAMPING: KeyPath = ("reputation", "damping")
_STEPS = 100
"""Number of scores of a group, beside 1, that are tried."""
_BEGINS = "a newcomer begins {new} of the way from the filter to the ceiling; before {old}"
_MANY = 99
"""Number of records of the one validator that reports most."""


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
    event = dynamics.reputation.consensus_event(_decimal(consensus))
    return Fraction() if event is None else dynamics.delta(event)


def _decimal(value: Fraction) -> Decimal:
    return to_decimal(publish(value))


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
