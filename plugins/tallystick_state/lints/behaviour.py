"""Lints of a change of reputations: where ways of behaving lead, before and after.

Every figure is the engine's own: the delta of a record, the damped update of an epoch, the mean of
several validators.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import attrs

from tallystick.numbers.nano import from_decimal, publish, to_decimal
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import check, comparison, figure, less, more, old_and_new
from tallystick.scoring.scorer import Scorer
from tallystick_state.lints.reputation import delta_of, dynamics_of
from tallystick_state.reputation import effect, mean_delta
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.reputation import REPUTATION, Reputation

_EVENTS: KeyPath = ("reputation", "events")
_DAMPING: KeyPath = ("reputation", "damping")
_STEPS = 100
"""Number of scores of a group, beside 1, that are tried."""
_MANY = 99
"""Number of records of the one validator that reports most."""


@attrs.frozen
class Behaviour:
    """The ends to which reputation rules lead.

    Attributes:
        rules: the rules.
        filter: whoever is below is not selected, in nano; 0 without groups.
        rise: epochs from the initial reputation to where the best behaviour rests.
        fall: epochs from the ceiling until the worst behaviour is below the filter; None where it
            never is.
        start: part of the way from the filter to the ceiling at which a newcomer begins.
        crowd: share of the mean delta of an epoch that one of two validators decides which reports
            99 records of a miner while the other reports one.
    """

    rules: StateRules
    filter: int
    rise: int
    fall: int | None
    start: Fraction
    crowd: Fraction

    @property
    def reputation(self) -> Reputation:
        """The section."""
        return self.rules.reputation

    def delta(self, event: str, reputation: int | None = None) -> Fraction:
        """Return the change by a record with one event, 0 where it stays out of the mean.

        Args:
            event: of the record.
            reputation: of its miner, in nano; the ceiling by default.
        """
        ceiling = self.rules.reputation_bounds[1]
        return delta_of(self.rules, event, ceiling if reputation is None else reputation)

    def of_consensus(self, consensus: Fraction) -> Fraction:
        """Return the change by a record whose group scores it so, at the ceiling."""
        event = self.reputation.consensus_event(_decimal(consensus))
        return Fraction() if event is None else self.delta(event)


def _decimal(value: Fraction) -> Decimal:
    return to_decimal(publish(value))


@lru_cache(maxsize=4)
def behaviour_of(scorer: Scorer) -> Behaviour | None:
    """Return where the reputation rules of a rule set lead; None without events that count."""
    dynamics = next(iter(dynamics_of(scorer)), None)
    if dynamics is None:
        return None
    rules, least = state_rules_of(scorer), dynamics.filter
    span = Fraction(rules.reputation_bounds[1] - least)
    return Behaviour(
        rules,
        least,
        len(dynamics.best.values) - 1,
        dynamics.worst.below(least),
        (dynamics.initial - least) / span if span > 0 else Fraction(1),
        mean_delta(rules, [(Fraction(), 1), (Fraction(_MANY), _MANY)]) or Fraction(),
    )


def _both(old: Scorer, new: Scorer) -> Iterator[tuple[Behaviour, Behaviour]]:
    before, after = behaviour_of(old), behaviour_of(new)
    if before is not None and after is not None:
        yield before, after


def _event_path(after: Behaviour, event: str) -> KeyPath:
    return (*_EVENTS, event) if event in after.reputation.events else _EVENTS


@check("cheating-pays", "warning", more("found"))
def _cheating_pays(scorer: Scorer) -> Iterator[Finding]:
    """Rewards that make good for a penalty unless cheats are nearly always found.

    A miner whose records are honest, or unnoticed cheats, gains the reward of the best event, and
    loses that of the gravest where a cheat is found. At the ceiling that gives the part of its
    records that must be found before it loses more than it gains. Above a half, cheating pays even
    where every second cheat is found.

    Remedy: lower the rewards, or let the penalties multiply by less.
    """
    behaviour = behaviour_of(scorer)
    if behaviour is None:
        return
    found = _found_at_least(behaviour)
    if found is not None and found > Fraction(1, 2):
        yield Finding(
            _EVENTS,
            f"a miner loses more than it gains only where {figure(found)} of its cheats are found",
            {"found": figure(found)},
        )


def _found_at_least(behaviour: Behaviour) -> Fraction | None:
    """Return the part of records that must be found before cheating loses; None without both."""
    deltas = [behaviour.delta(name) for name in behaviour.reputation.events]
    gain, loss = max(deltas, default=Fraction()), -min(deltas, default=Fraction())
    return gain / (gain + loss) if gain > 0 and loss > 0 else None


@comparison("cheating-pays-longer", "warning", more("new"))
def _cheating_pays_longer(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """More cheats must be found than before to make cheating lose.

    The part of a miner's records that must be found to be cheats before it loses more than it
    gains, for the best reward and the gravest penalty at the ceiling. Where it is twice as large as
    before, and above a tenth, cheating pays a miner that is seldom found.

    Remedy: lower the rewards, or let the penalties multiply by less.
    """
    for before, after in _both(old, new):
        was, now = _found_at_least(before), _found_at_least(after)
        if was is not None and now is not None and now > Fraction(1, 10) and now >= 2 * was:
            yield Finding(
                _EVENTS,
                f"a miner loses more than it gains where {figure(now)} of its cheats are found; "
                f"before {figure(was)}",
                old_and_new(was, now),
            )


@comparison("penalty-weakened", "warning", less("loss"))
def _penalty_weakened(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An event takes less than half of the reputation that it took.

    What a record with the event alone takes from a reputation at the ceiling, before and after. An
    event that is gone, or that stays out of the mean, takes nothing. It is an error where the event
    now raises a reputation.

    Remedy: let the event multiply by less, and take part in the mean.
    """
    for before, after in _both(old, new):
        for event in before.reputation.events:
            was, now = before.delta(event), after.delta(event)
            if was < 0 and now > was / 2:
                changes = f"adds {figure(now)}" if now > 0 else f"takes {figure(-now)}"
                yield Finding(
                    _event_path(after, event),
                    f"{event} took {figure(-was)} of a reputation at the ceiling, and now "
                    f"{changes}",
                    {"event": event, "old_loss": figure(-was), "loss": figure(-now)},
                    "error" if now > 0 else None,
                )


@comparison("penalty-for-honest-work", "warning", less("gain"))
def _reward_gone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An event that rewarded no longer does, or takes away.

    What a record with the event alone adds to a reputation at the floor, before and after. It is an
    error where the event now lowers a reputation.

    Remedy: let the event add what honest work was promised.
    """
    for before, after in _both(old, new):
        floor = from_decimal(before.reputation.floor)
        for event in before.reputation.events:
            was, now = before.delta(event, floor), after.delta(event, floor)
            if was > 0 and now < was / 4:
                yield Finding(
                    _event_path(after, event),
                    f"{event} added {figure(was)} to a reputation, and now {figure(now)}",
                    {"event": event, "old_gain": figure(was), "gain": figure(now)},
                    "error" if now < 0 else None,
                )


@comparison("penalty-out-of-proportion", "warning", more("loss"))
def _penalty_out_of_proportion(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An event takes many times what it took.

    What a record with the event alone takes from a reputation at the ceiling, before and after. An
    event that took little, such as a weak consensus, befalls honest miners too: where it takes many
    times as much, or everything, one accident undoes a history.

    Remedy: let the event multiply by more.
    """
    for before, after in _both(old, new):
        for event in after.reputation.events:
            was, now = -before.delta(event), -after.delta(event)
            if now > Fraction(1, 4) and now > 3 * max(was, Fraction()):
                yield Finding(
                    (*_EVENTS, event),
                    f"{event} took {figure(max(was, Fraction()))} of a reputation at the ceiling, "
                    f"and now takes {figure(now)}",
                    {"event": event, "old_loss": figure(was), "loss": figure(now)},
                )


@comparison("score-bar-moved", "warning", more("scores"))
def _bar_moved(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Scores of a group that were punished are not any more, or ones that were rewarded are not.

    For a hundred scores of a group from 0 to 1 the change of a reputation is compared. A band that
    ends elsewhere by more than a tenth pays for failing, or no longer for work.

    Remedy: move the band back, or in smaller steps.
    """
    for before, after in _both(old, new):
        if not any(event.consensus for event in before.reputation.events.values()):
            continue
        scores = [Fraction(index, _STEPS) for index in range(_STEPS + 1)]
        moves = {
            "a score that lowered a reputation does not any more": [
                s for s in scores if before.of_consensus(s) < 0 <= after.of_consensus(s)
            ],
            "a score that raised no reputation raises one": [
                s for s in scores if before.of_consensus(s) <= 0 < after.of_consensus(s)
            ],
            "a score that raised a reputation does not any more": [
                s for s in scores if before.of_consensus(s) > 0 >= after.of_consensus(s)
            ],
        }
        for message, moved in moves.items():
            if len(moved) * 10 > _STEPS + 1:
                ends = figure(moved[0]), figure(moved[-1])
                yield Finding(
                    _EVENTS,
                    f"{message}: from {ends[0]} to {ends[1]}",
                    {"from": ends[0], "to": ends[1], "scores": len(moved)},
                )
                break


@comparison("penalties-diluted", "warning")
def _diluted(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """An event that does nothing takes part in the mean, and did not before.

    The mean of an epoch is over the records that take part. Where an event that costs nothing is
    among them, and a miner can bring it about, it thins out what penalties take.

    Remedy: keep the event out of the mean with in_mean = false.
    """
    for before, after in _both(old, new):
        for event in after.reputation.events:
            was, now = effect(before.rules, [event]), effect(after.rules, [event])
            if now.takes_part and not was.takes_part and after.delta(event) == 0:
                yield Finding(
                    (*_EVENTS, event, "in_mean"),
                    f"a record with {event} alone counts in the mean, and changes nothing",
                    {"event": event},
                )


@comparison("reputation-slower", "warning", more("new"))
def _slower(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A reputation takes much longer than before to rise or to fall.

    The epochs of the best behaviour from the initial reputation to where it rests, and those of the
    worst from the ceiling until it is below the selection filter. Three times as long, and honest
    newcomers wait, or cheats stay, for that much longer.

    Remedy: let the damping apply more of the mean, or events add or take more.
    """
    for before, after in _both(old, new):
        if after.fall is None and before.fall is not None:
            continue  # that is bad-behaviour-stays
        pairs = [
            ("the best behaviour rises", before.rise, after.rise, Fraction(3)),
            (
                "the worst behaviour falls below the filter",
                before.fall,
                after.fall,
                Fraction(8, 5),
            ),
        ]
        for what, was, now, limit in pairs:
            if was and now is not None and now >= limit * was:
                yield Finding(
                    _DAMPING,
                    f"{what} in {now} epochs; before in {was}",
                    {"old": was, "new": now},
                )


@comparison("reputation-faster", "warning", less("new"))
def _faster(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A reputation rises or falls in a fraction of the epochs of before.

    The epochs of the best behaviour from the initial reputation to where it rests, and those of the
    worst from the ceiling until it is below the selection filter. In a quarter of them, a few
    records decide what was meant to be a history: a cheat is soon forgiven, or one bad epoch ends a
    miner.

    Remedy: let the damping apply less of the mean, or events add or take less.
    """
    for before, after in _both(old, new):
        pairs = {
            "the best behaviour rises": (before.rise, after.rise),
            "the worst behaviour falls below the filter": (before.fall, after.fall),
        }
        for what, (was, now) in pairs.items():
            if was and now and now * 4 <= was:
                yield Finding(
                    _DAMPING,
                    f"{what} in {now} epochs; before in {was}",
                    {"old": was, "new": now},
                )


@comparison("newcomer-begins-high", "warning", more("new"))
def _begins_high(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A newcomer begins much nearer to the ceiling than before.

    The part of the way from the selection filter to the ceiling at which a newcomer begins. The
    nearer to the ceiling, the less a history is worth, and the more it pays to register anew after
    cheating.

    Remedy: lower reputation.initial.
    """
    for before, after in _both(old, new):
        if after.start > Fraction(2, 3) and after.start >= before.start * Fraction(3, 2):
            yield Finding(
                ("reputation", "initial"),
                f"a newcomer begins {figure(after.start)} of the way from the filter to the "
                f"ceiling; before {figure(before.start)}",
                old_and_new(before.start, after.start),
            )


@comparison("newcomer-begins-low", "warning", less("new"))
def _begins_low(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A newcomer begins hardly above the selection filter.

    The part of the way from the selection filter to the ceiling at which a newcomer begins. Who
    begins at the filter is ignored after the first weak record.

    Remedy: raise reputation.initial, or lower groups.minimum_reputation.
    """
    for before, after in _both(old, new):
        if after.start < Fraction(1, 5) and after.start <= before.start / 2:
            same = before.filter == after.filter
            yield Finding(
                ("reputation", "initial") if same else ("groups", "minimum_reputation"),
                f"a newcomer begins {figure(after.start)} of the way from the filter to the "
                f"ceiling; before {figure(before.start)}",
                old_and_new(before.start, after.start),
            )


@comparison("one-validator-decides", "warning", more("new"))
def _one_validator(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A validator that reports most decides a reputation.

    Of two validators one reports one record of a miner in an epoch, and the other 99. The share of
    the mean delta that the second decides is compared.

    Remedy: write mean = "validators".
    """
    for before, after in _both(old, new):
        if after.crowd > before.crowd:
            yield Finding(
                ("reputation", "mean"),
                f"a validator with {_MANY} of {_MANY + 1} records decides {figure(after.crowd)} of "
                f"the mean; before {figure(before.crowd)}",
                old_and_new(before.crowd, after.crowd),
            )


@comparison("reputation-gone", "error")
def _gone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Reputations move no more.

    The older rule set has a reputation whose events move it; the newer one has no section, or no
    event that counts, or no epoch that updates it.

    Remedy: keep the section, and the step update_reputations.
    """
    if behaviour_of(old) is not None and behaviour_of(new) is None:
        has = new.rule_set.section(REPUTATION) is not None
        message = "no event counts" if has else "the rule set has no reputation"
        yield Finding(_EVENTS if has else (), message, {})
