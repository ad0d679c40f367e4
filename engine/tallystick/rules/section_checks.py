"""The cross checks of reputation, epochs, groups, aggregation and windows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from tallystick.rules.findings import Finding, fraction_text, mistake, nearest, one_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.rules.model import RuleSet
    from tallystick.rules.partial_load import Declared
    from tallystick.rules.positions import KeyPath
    from tallystick.rules.sections import Band, Epochs, Groups, Reputation, ThresholdTracking


def check_sections(rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    """What is wrong with the sections that rule between records."""
    if rule_set.reputation is not None:
        yield from _check_reputation(rule_set.reputation)
    if rule_set.epochs is not None:
        yield from _check_epochs(rule_set.epochs, rule_set, declared)
    if rule_set.groups is not None:
        yield from _check_groups(rule_set.groups)
    yield from _check_needs(rule_set, declared)
    yield from _check_windows(rule_set, declared)


def _check_reputation(reputation: Reputation) -> Iterator[Finding]:
    if reputation.floor > reputation.ceiling:
        expected = f"at most the ceiling, {shown(reputation.ceiling)}"
        yield mistake(("reputation", "floor"), shown(reputation.floor), expected)
    elif not reputation.floor <= reputation.initial <= reputation.ceiling:
        expected = f"a number from {shown(reputation.floor)} to {shown(reputation.ceiling)}"
        yield mistake(("reputation", "initial"), shown(reputation.initial), expected)
    damping = reputation.damping
    if damping.mode == "drift" and damping.keep is not None:
        expected = 'no keep in the mode "drift": the whole reputation stays'
        yield mistake(("reputation", "damping", "keep"), shown(damping.keep), expected)
    yield from _check_bands(reputation)


def _check_bands(reputation: Reputation) -> Iterator[Finding]:
    bands = {name: e.consensus for name, e in reputation.events.items() if e.consensus is not None}
    for name, band in bands.items():
        low, high = _bounds(band)
        if low >= high:
            expected = "a band that begins below its end"
            yield mistake(_band_path(name), f"{shown(low)} to {shown(high)}", expected)
    for (first, one), (second, other) in combinations(bands.items(), 2):
        if max(_bounds(one)[0], _bounds(other)[0]) < min(_bounds(one)[1], _bounds(other)[1]):
            expected = f"a band apart from that of {first}: one consensus is one event"
            yield mistake(_band_path(second), "an overlap", expected)


def _band_path(event: str) -> KeyPath:
    return ("reputation", "events", event, "consensus")


def _bounds(band: Band) -> tuple[Fraction, Fraction]:
    """The half-open range of a band; without an end it holds every consensus, which is below 2."""
    low = Fraction(0) if band.at_least is None else Fraction(band.at_least)
    return low, Fraction(2) if band.below is None else Fraction(band.below)


def _check_epochs(epochs: Epochs, rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    baseline = epochs.baseline
    if baseline is not None and baseline.mode == "published":
        for key, value in (("roles", baseline.roles), ("empty_epoch", baseline.empty_epoch)):
            if value:
                expected = f'no {key} in the mode "published": the baseline never moves'
                yield mistake(("epochs", "baseline", key), shown(value), expected)
    for name, tracking in epochs.thresholds.items():
        path = ("epochs", "thresholds", name)
        yield from _check_tracking(path, tracking)
        yield from _check_tracked_name(path, name, rule_set, declared)


def _check_tracking(path: KeyPath, tracking: ThresholdTracking) -> Iterator[Finding]:
    total = Fraction(tracking.new) + Fraction(tracking.old)
    if total != 1:
        expected = "new and old that sum to exactly 1"
        yield mistake(path, f"a sum of {fraction_text(total)}", expected)
    if tracking.minimum > tracking.best:
        expected = f"at most best, {tracking.best}"
        yield mistake((*path, "minimum"), shown(tracking.minimum), expected)


def _check_tracked_name(
    path: KeyPath, name: str, rule_set: RuleSet, declared: Declared
) -> Iterator[Finding]:
    if rule_set.tiers is None:
        if "tiers" not in declared.sections:
            yield mistake(path, shown(name), "the section [tiers], which has its floor")
        return
    computed = [n for n, t in rule_set.tiers.thresholds.items() if t.formula is not None]
    if name not in computed:
        hint = nearest(name, computed) or f": {one_of(computed)}"
        yield mistake(path, shown(name), f"a threshold of [tiers.thresholds] with a formula{hint}")


def _check_groups(groups: Groups) -> Iterator[Finding]:
    recovery = groups.recovery
    if recovery.enabled and recovery.auditor_slot > groups.auditors:
        expected = f"a slot from 1 to {groups.auditors}, the number of auditors"
        yield mistake(
            ("groups", "recovery", "auditor_slot"), shown(recovery.auditor_slot), expected
        )


def _check_needs(rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    """Sections that work on what another section makes."""
    aggregation = rule_set.aggregation
    needs = [
        ("groups", rule_set.groups is not None, "reputation"),
        ("aggregation.round", bool(aggregation and aggregation.round), "reputation"),
        ("aggregation.round", bool(aggregation and aggregation.round), "emission"),
    ]
    for section, present, needed in needs:
        if present and needed not in declared.sections:
            expected = f"the section [{needed}], which [{section}] works with"
            yield mistake(tuple(section.split(".")), "", expected)


def _check_windows(rule_set: RuleSet, declared: Declared) -> Iterator[Finding]:
    for skill_type, roles in rule_set.windows.items():
        if skill_type not in declared.skill_types:
            hint = nearest(skill_type, declared.skill_types)
            expected = f"a skill type of this rule set{hint}"
            yield mistake(("windows", skill_type), shown(skill_type), expected)
        for role, window in roles.items():
            if window.t_min_s >= window.deadline_s:
                expected = f"more than t_min_s, {shown(window.t_min_s)}"
                path = ("windows", skill_type, role, "deadline_s")
                yield mistake(path, shown(window.deadline_s), expected)
