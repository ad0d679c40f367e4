"""Reputation events that do not do what an event is for."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.formula.text import decimal_text
from tallystick.governance.lint.check import Check
from tallystick.governance.lint.trajectory import does_nothing, gain, uncovered
from tallystick.numbers.nano import publish, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.scorer import Scorer

_EVENTS: KeyPath = ("reputation", "events")


def _unrewarded(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.reputation
    for name, event in ({} if reputation is None else reputation.events).items():
        if event.in_mean and does_nothing(event):
            yield Finding(
                (*_EVENTS, name),
                f"{name} takes part in the mean and adds nothing, so that honest work with it "
                "lowers the mean of the epoch",
                {"event": name, "adds": to_text(0)},
            )


def _idle(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.reputation
    for name, event in ({} if reputation is None else reputation.events).items():
        if not event.in_mean and does_nothing(event):
            message = f"{name} neither adds nor multiplies and stays out of the mean"
            yield Finding((*_EVENTS, name), message, {"event": name})


def _gaps(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.reputation
    for low, high in uncovered({} if reputation is None else reputation.events):
        yield Finding(
            _EVENTS,
            f"a group's score from {decimal_text(low)} to {decimal_text(high)} is no event",
            {"from": to_text(publish(low)), "to": to_text(publish(high))},
        )


def _nothing_rewards(scorer: Scorer) -> Iterator[Finding]:
    reputation = scorer.rule_set.reputation
    if reputation is None:
        return
    if not any(gain(event) > 0 for event in reputation.events.values()):
        yield Finding(_EVENTS, "no event raises a reputation", {"events": list(reputation.events)})


CHECKS = (
    Check(
        "event-unrewarded",
        "note",
        "an event takes part in the mean and adds nothing",
        "The mean of an epoch is over all records that take part. An event that adds nothing moves "
        "the mean towards zero, which a damping that replaces the reputation turns into a loss.",
        "let it add something, or keep it out of the mean with in_mean = false",
        _unrewarded,
    ),
    Check(
        "event-never-matters",
        "note",
        "an event changes nothing",
        "The event neither adds nor multiplies, and a record that has it alone stays out of the "
        "mean, so that the reputation is the same with it and without it.",
        "remove the event, or say what it does",
        _idle,
    ),
    Check(
        "bands-leave-a-gap",
        "warning",
        "some scores of a group are no event",
        "The bands of the events leave a part of [0, 1] uncovered: a record whose group scores it "
        "there is rewarded and punished by nothing.",
        "let the bands meet",
        _gaps,
    ),
    Check(
        "nothing-rewards",
        "error",
        "no event raises a reputation",
        "Every event adds nothing, or takes away: reputations can only fall.",
        "let an event of honest work add something",
        _nothing_rewards,
    ),
)
