"""Reputation: its change by the events of a record, and by the mean of an epoch.

The events of one record multiply and add to the reputation that its round was pinned to; what that
changes is the record's delta. At the end of an epoch the mean of the deltas moves the reputation,
which is clamped and published once. Between the two nothing is rounded. See docs/sources.md, Per
Round Updates to Clamping, and E26 to E29 and E39 of docs/errata.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from tallystick.numbers.nano import publish, to_decimal, to_fraction
from tallystick.records.schema import MISSED
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION

if TYPE_CHECKING:
    from tallystick.scoring.bound_rules import BoundRules


@attrs.frozen
class Effect:
    """The effect of the events of one record together, whatever their order (E28).

    Attributes:
        factor: the product of what multiplies, exact.
        added: the sum of what adds, exact, in units of 1.
        takes_part: whether the record takes part in the mean of its epoch (E29).
    """

    factor: Fraction
    added: Fraction
    takes_part: bool

    def delta(self, reputation: int) -> Fraction:
        """Return the change of a reputation in nano, in units of 1: exact, not clamped."""
        return to_fraction(reputation) * (self.factor - 1) + self.added


def clamped(rules: StateRules, reputation: int) -> int:
    """Return a reputation in nano, kept within floor and ceiling (docs/sources.md, Clamping).

    Raises:
        StateError: the rule set has no reputation.
    """
    floor, ceiling = rules.reputation_bounds
    return max(floor, min(ceiling, reputation))


def consensus_event(rules: StateRules | BoundRules, consensus: int) -> str | None:
    """Return the event that a published consensus is (docs/sources.md, Update Rules).

    Args:
        rules: the rules.
        consensus: in nano.

    Returns:
        The name of the event whose band holds the consensus; None when no band does, or when the
        rule set has no reputation.
    """
    reputation = rules.rule_set.section(REPUTATION)
    return None if reputation is None else reputation.consensus_event(to_decimal(consensus))


def events_of_record(reported: Iterable[str], arisen: str | None) -> tuple[str, ...]:
    """Return the events of a record, sorted: those that it reports, and that of its consensus.

    A missed deadline makes no consensus event, also where a late submission was given a consensus
    (E29 of docs/errata.md). What else is reported with it stays, or who misbehaves would only have
    to be late.

    Args:
        reported: the events that the record has; they may repeat.
        arisen: the event that its consensus is, if it is one.
    """
    events = [*reported]
    if arisen is not None and MISSED not in events:
        events.append(arisen)
    return tuple(sorted(events))


def effect(rules: StateRules, events: Iterable[str]) -> Effect:
    """Return the effect of some events of one record; one that comes n times counts n times.

    Events that the rule set does not list change nothing (E39). A record is left out of the mean
    when it has events that keep it out, and no other event that the rule set lists (E29).

    Raises:
        StateError: the rule set has no reputation.
    """
    table = rules.reputation.events
    listed = [(table[name], times) for name, times in Counter(events).items() if name in table]
    factor, added = Fraction(1), Fraction(0)
    for event, times in listed:
        factor *= Fraction(1 if event.multiply is None else event.multiply) ** times
        added += Fraction(0 if event.add is None else event.add) * times
    return Effect(factor, added, not listed or any(event.in_mean for event, _ in listed))


def record_delta(rules: StateRules, reputation: int, events: Iterable[str]) -> Fraction:
    """Return ``reputation · Π multiply + Σ add − reputation`` of one record's events (E27, E28).

    Args:
        rules: the rules.
        reputation: that the round was pinned to, in nano.
        events: of the record, in any order.

    Returns:
        The delta in units of 1, exact, neither clamped nor rounded.

    Raises:
        StateError: the rule set has no reputation.
    """
    return effect(rules, events).delta(reputation)


def mean_delta(rules: StateRules, sums: Iterable[tuple[Fraction, int]]) -> Fraction | None:
    """Return the mean delta of one miner and skill type over an epoch (E29), exact, in units of 1.

    Args:
        rules: the rules.
        sums: of each validator, the sum of the deltas of its records that take part, in units of
            1, and the number of those records, which may be 0.

    Returns:
        The mean over all records, or over the mean of each validator, as the rule set says; None
        without records.

    Raises:
        StateError: the rule set has no reputation.
    """
    present = [(total, records) for total, records in sums if records]
    if not present:
        return None
    if rules.reputation.mean == "validators":
        return sum((total / records for total, records in present), Fraction()) / len(present)
    return sum((total for total, _ in present), Fraction()) / sum(many for _, many in present)


def damped(rules: StateRules, reputation: int, mean: Fraction | None) -> int:
    """Return the reputation that the mean delta of an epoch leads to, clamped and published once.

    Args:
        rules: the rules.
        reputation: before, in nano.
        mean: of the deltas, in units of 1; None without records, which changes nothing.

    Returns:
        The reputation in nano, in [floor, ceiling] (docs/sources.md, Per Round Updates; E26).

    Raises:
        StateError: the rule set has no reputation.
    """
    if mean is None:
        return reputation
    damping = rules.reputation.damping
    share = Fraction(damping.keep or 0) if damping.mode == "replace" else Fraction(1)
    # floor and ceiling are published values, so that clamping after publishing is the same
    return clamped(rules, publish(share * to_fraction(reputation) + Fraction(damping.apply) * mean))
