"""Reputation events: what each is worth, by itself and against the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from tallystick.formula.text import decimal_text
from tallystick.numbers.nano import from_decimal, publish, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import check, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.reputation import record_delta
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.reputation import REPUTATION, Band, Reputation, ReputationEvent

_EVENTS: KeyPath = ("reputation", "events")


@check(
    "event-unrewarded",
    "note",
    "an event takes part in the mean and adds nothing",
    documentation=(
        "The mean of an epoch is over all records that take part. An event that adds nothing moves "
        "the mean towards zero, which a damping that replaces the reputation turns into a loss."
    ),
    remedy="let it add something, or keep it out of the mean with in_mean = false",
)
def _event_unrewarded(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.section(REPUTATION)
    for name, event in ({} if reputation is None else reputation.events).items():
        if event.in_mean and does_nothing(event):
            yield Finding(
                (*_EVENTS, name),
                f"{name} takes part in the mean and adds nothing, so that honest work with it "
                "lowers the mean of the epoch",
                {"event": name, "adds": to_text(0)},
            )


@check(
    "event-never-matters",
    "note",
    "an event changes nothing",
    documentation=(
        "The event neither adds nor multiplies, and a record that has it alone stays out of the "
        "mean, so that the reputation is the same with it and without it."
    ),
    remedy="remove the event, or say what it does",
)
def _event_never_matters(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.section(REPUTATION)
    for name, event in ({} if reputation is None else reputation.events).items():
        if not event.in_mean and does_nothing(event):
            message = f"{name} neither adds nor multiplies and stays out of the mean"
            yield Finding((*_EVENTS, name), message, {"event": name})


@check(
    "bands-leave-a-gap",
    "warning",
    "some scores of a group are no event",
    less("from"),
    more("to"),
    documentation=(
        "The bands of the events leave a part of [0, 1] uncovered: a record whose group scores it "
        "there is rewarded and punished by nothing."
    ),
    remedy="let the bands meet",
)
def _bands_leave_a_gap(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.section(REPUTATION)
    for low, high in uncovered({} if reputation is None else reputation.events):
        yield Finding(
            _EVENTS,
            f"a group's score from {decimal_text(low)} to {decimal_text(high)} is no event",
            {"from": to_text(publish(low)), "to": to_text(publish(high))},
        )


@check(
    "nothing-rewards",
    "error",
    "no event raises a reputation",
    documentation="Every event adds nothing, or takes away: reputations can only fall.",
    remedy="let an event of honest work add something",
)
def _nothing_rewards(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is None:
        return
    if not any(gain(event) > 0 for event in reputation.events.values()):
        yield Finding(_EVENTS, "no event raises a reputation", {"events": list(reputation.events)})


@check(
    "band-rewards-less-work",
    "error",
    "a band of lower scores raises a reputation more than a higher band",
    documentation=(
        "Events with bands are ordered by the scores of a group that they are for. What a record "
        "with each event alone changes is compared for neighbours at the floor and at the ceiling, "
        "between which it is linear; an event that stays out of the mean changes nothing. Where "
        "the lower band gives more, or takes less, worse work is better for the reputation."
    ),
    remedy="let no band add more, or multiply by more, than the band above it",
)
def _band_rewards_less_work(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is None:
        return
    rules = state_rules_of(scorer)
    for low, high in pairwise(_bands(reputation)):
        worst = max(
            _ends(reputation), key=lambda at: _delta(rules, low, at) - _delta(rules, high, at)
        )
        less, more = (_delta(rules, name, worst) for name in (high, low))
        if less < more:
            at = to_text(worst)
            moves = {name: to_text(publish(d)) for name, d in ((low, more), (high, less))}
            yield Finding(
                (*_EVENTS, high),
                f"at a reputation of {at} the lower band {low} changes it by {moves[low]}, and "
                f"the higher band {high} by {moves[high]}",
                {"reputation": at, "changes": moves},
            )


@check(
    "event-compounds",
    "warning",
    "an event multiplies a reputation by more than 1",
    more("at_ceiling"),
    documentation=(
        "What multiplies by more than 1 gives most to those who have most, and next to nothing to "
        "those at the floor: a reward is wanted to add. A penalty that was meant to take away has "
        "the wrong side of 1."
    ),
    remedy="let rewards add, and let penalties multiply by less than 1",
)
def _event_compounds(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.section(REPUTATION)
    if reputation is None:
        return
    rules = state_rules_of(scorer)
    for name, event in reputation.events.items():
        if event.multiply is not None and event.multiply > 1:
            least, most = (to_text(publish(_delta(rules, name, at))) for at in _ends(reputation))
            yield Finding(
                (*_EVENTS, name),
                f"{name} multiplies by {event.multiply}: it gives {least} at the floor and {most} "
                "at the ceiling",
                {"event": name, "at_floor": least, "at_ceiling": most},
            )


def _ends(reputation: Reputation) -> tuple[int, int]:
    """The floor and the ceiling in nano: a change is linear between them."""
    return from_decimal(reputation.floor), from_decimal(reputation.ceiling)


def _delta(rules: StateRules, name: str, reputation: int) -> Fraction:
    """What an event does to a reputation in nano; what stays out of the mean does nothing."""
    event = rules.reputation.events[name]
    return record_delta(rules, reputation, (name,)) if event.in_mean else Fraction(0)


def _bands(reputation: Reputation) -> list[str]:
    """The events that are bands of a score, from the lowest band to the highest."""
    found = [(_begin(band), name) for name, e in reputation.events.items() if (band := e.consensus)]
    return [name for _, name in sorted(found)]


def _begin(band: Band) -> Fraction:
    return Fraction(band.at_least or 0)


def gain(event: ReputationEvent) -> Fraction:
    """What an event adds, or what it multiplies beyond 1."""
    return Fraction(event.add or 0) + Fraction(1 if event.multiply is None else event.multiply) - 1


def does_nothing(event: ReputationEvent) -> bool:
    """Whether an event neither adds nor multiplies."""
    return not event.add and event.multiply in (None, 1)


def uncovered(events: Mapping[str, ReputationEvent]) -> Iterable[tuple[Fraction, Fraction]]:
    """The parts of [0, 1] that no band covers, each from its low end to its high end."""
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
