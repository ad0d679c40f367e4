"""What events pay against each other: bands of a group's score, and rewards that compound."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from tallystick.governance.lint.check import Check
from tallystick.numbers.nano import from_decimal, publish, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.sections import Band, Reputation
from tallystick.rules.toml import KeyPath
from tallystick.scoring.scorer import Scorer
from tallystick.state.reputation import record_delta
from tallystick.state.rules import StateRules, state_rules_of

_EVENTS: KeyPath = ("reputation", "events")


def _order(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.reputation
    if reputation is None:
        return
    law = state_rules_of(scorer)
    for low, high in pairwise(_bands(reputation)):
        worst = max(_ends(reputation), key=lambda at: _delta(law, low, at) - _delta(law, high, at))
        less, more = (_delta(law, name, worst) for name in (high, low))
        if less < more:
            at = to_text(worst)
            moves = {name: to_text(publish(d)) for name, d in ((low, more), (high, less))}
            yield Finding(
                (*_EVENTS, high),
                f"at a reputation of {at} the lower band {low} changes it by {moves[low]}, and "
                f"the higher band {high} by {moves[high]}",
                {"reputation": at, "changes": moves},
            )


def _compounding(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.reputation
    if reputation is None:
        return
    law = state_rules_of(scorer)
    for name, event in reputation.events.items():
        if event.multiply is not None and event.multiply > 1:
            least, most = (to_text(publish(_delta(law, name, at))) for at in _ends(reputation))
            yield Finding(
                (*_EVENTS, name),
                f"{name} multiplies by {event.multiply}: it gives {least} at the floor and {most} "
                "at the ceiling",
                {"event": name, "at_floor": least, "at_ceiling": most},
            )


def _ends(reputation: Reputation) -> tuple[int, int]:
    """The floor and the ceiling in nano: a change is linear between them."""
    return from_decimal(reputation.floor), from_decimal(reputation.ceiling)


def _delta(law: StateRules, name: str, reputation: int) -> Fraction:
    """What an event does to a reputation in nano; what stays out of the mean does nothing."""
    event = law.reputation.events[name]
    return record_delta(law, reputation, (name,)) if event.in_mean else Fraction(0)


def _bands(reputation: Reputation) -> list[str]:
    """The events that are bands of a score, from the lowest band to the highest."""
    found = [(_begin(band), name) for name, e in reputation.events.items() if (band := e.consensus)]
    return [name for _, name in sorted(found)]


def _begin(band: Band) -> Fraction:
    return Fraction(band.at_least or 0)


CHECKS = (
    Check(
        "band-rewards-less-work",
        "error",
        "a band of lower scores raises a reputation more than a higher band",
        "Events with bands are ordered by the scores of a group that they are for. What a record "
        "with each event alone changes is compared for neighbours at the floor and at the ceiling, "
        "between which it is linear; an event that stays out of the mean changes nothing. Where "
        "the lower band gives more, or takes less, worse work is better for the reputation.",
        "let no band add more, or multiply by more, than the band above it",
        _order,
    ),
    Check(
        "event-compounds",
        "warning",
        "an event multiplies a reputation by more than 1",
        "What multiplies by more than 1 gives most to those who have most, and next to nothing to "
        "those at the floor: a reward is wanted to add. A penalty that was meant to take away has "
        "the wrong side of 1.",
        "let rewards add, and let penalties multiply by less than 1",
        _compounding,
    ),
)
"""The checks of what events are worth against each other."""
